import { timingSafeEqual } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { isIP, type AddressInfo, type Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { openBodies } from './bodies.ts'
import { checkHost, holdTwin, isOrigin, startFault } from './address.ts'
import { logFault } from './log-fault.ts'
import { openRateLimiter } from '../text/rate-limiter.ts'
import { shareConnections, type Peers } from '../text/connections.ts'
import { openPipeliningLimiter } from './pipelining-limiter.ts'
import { openBackpressure } from './backpressure.ts'
import { Refusal } from '../contracts/refusal.ts'
import { cameByItself, findRoute, timesGiven, placeOf, showsAs, type Incoming, type Route } from './routes.ts'
import type { RejectedBy } from './rejected-requests.ts'
import { openWebSockets } from './websockets.ts'

export type { Incoming, Route } from './routes.ts'

export interface Listening {
  url: string
  port: number
  /** The origin that the person's pages have for themselves; undefined where others could sit at that name. */
  page: string | undefined
  close(): Promise<void>
}

export interface ListenOptions {
  host: string
  port: number
  /** Listen on an address that other machines can reach. */
  allowRemote: boolean
  /** Web pages, besides our own, that may talk to us: exact origins. */
  allowOrigins: readonly string[]
  requestsPerSecond: number
  peers: Peers<Socket>
  /** What an agent shows. */
  token: string
  /** Whether the request carries a person's credential; an agent's token never counts as one. */
  isPerson(request: IncomingMessage): boolean
  /** Whether this is a key that a program of the person shows. */
  isPersonKey(key: string): boolean
  page: {
    /** A host name that only the person's pages have, so that what a browser keeps for them is kept for them alone. */
    name: string
    /** The path below which they are; their cookie is sent nowhere else. */
    basePath: string
    /** What a person sees whom somebody else's page led here. */
    detour: Route
  }
  /** By path; a key that ends in `/*` takes everything below it. */
  routes: Record<string, Route>
  /** Somebody was shut out here, before any route saw the request. A request that shows no credential at all is not counted. */
  onRejected?: (by: RejectedBy) => void
  /** What is needed here, in words for whoever shows nothing that opens it, where it comes from another command than usual. */
  needs?: Partial<typeof needs>
  /** How often a WebSocket is asked whether anybody is still there. */
  heartbeatMs?: number
}

/**
 * How long nothing at all may move on a connection while an answer waits on it; Node looks twice, so it takes up to double.
 * The system takes more of an answer only once a third of what it holds (megabytes) is read: a slow reader moves in leaps.
 */
const stalledMs = 30_000
const wrongTokensPerSecond = 10
const needs = {
  anyone: '',
  agent: 'A bearer token is needed. It is in the file that `handrail serve` names.',
  key: "This is for the person: a bearer key that `handrail approvals key` prints. An agent's token does not open it.",
  'agent or key':
    'A bearer token is needed: the one in the file that `handrail serve` names, or a key that `handrail approvals key` prints.',
  person:
    "This is for the person: sign in with the link that `handrail approvals page` prints. An agent's token does not open it.",
}
const loopback = ['127.0.0.1', 'localhost', '[::1]']

/** The one listener: Host, Origin, rate, credential and method are judged here, in this order, before any route sees the request. */
export function listen(options: ListenOptions): Promise<Listening> {
  const host = checkHost(options)
  const isToken = openTokenCheck(options.token)
  const requests = openRateLimiter(options.requestsPerSecond, 2 * options.requestsPerSecond)
  const wrongTokens = openRateLimiter(wrongTokensPerSecond, 5 * wrongTokensPerSecond)
  const lines = openPipeliningLimiter()
  const backpressure = openBackpressure((busy) => connections.sweep(busy))
  const origins = options.allowOrigins.filter(isOrigin)
  let names: string[] = []
  let pageHost: string | undefined

  const rejected = (by: RejectedBy, refusal: Refusal): Refusal => {
    options.onRejected?.(by)
    return refusal
  }
  /** Whether it came by one of our names, from nobody else's page; says whether by the page's own. */
  const judgeNames = (request: IncomingMessage): boolean => {
    const { host = '', origin } = request.headers
    const named = host === pageHost
    if (timesGiven(request, 'host') !== 1 || !(named || names.includes(host)))
      throw rejected('Host', new Refusal(403, 'This Host is not served here.'))
    const known = named ? [`http://${host}`] : [...origins, ...names.map((name) => `http://${name}`)]
    if (origin !== undefined && !known.includes(origin))
      throw rejected('Origin', new Refusal(403, 'This Origin is not served here.'))
    return named
  }
  /** What a program shows; two of them are none. */
  const credentialOf = (request: IncomingMessage, apiKey: boolean): 'agent' | 'person' | undefined => {
    const { headers } = request
    // Node.js keeps the first of several and says nothing.
    if (timesGiven(request, 'authorization') > 1) return undefined
    const bearer = /^Bearer ([\w.-]{1,200})$/.exec(headers.authorization ?? '')?.[1]
    const key = apiKey ? headers['x-api-key'] : undefined
    if (headers.authorization !== undefined && key !== undefined) return undefined
    const given = bearer ?? (typeof key === 'string' && /^[\w.-]{1,200}$/.test(key) ? key : undefined)
    if (given === undefined) return undefined
    if (isToken(given)) return 'agent'
    return options.isPersonKey(given) ? 'person' : undefined
  }
  const authorize = (
    request: IncomingMessage,
    whole: string,
    named: boolean,
    upgrade = false,
  ): { route: Route; by: Incoming['by'] } => {
    let by: Incoming['by'] = 'anyone'
    const { path, within } = placeOf(whole, options.page.basePath)
    const found = findRoute(options.routes, path)
    const route = (named || within) && found && !showsAs(found) ? undefined : found
    const later = route?.webSocket?.credentialLater === true && timesGiven(request, 'authorization') === 0
    if (route?.for !== 'anyone' && !later) {
      const shown = named || within ? undefined : credentialOf(request, route?.apiKey === true)
      const opens = { agent: ['agent'], key: ['person'], 'agent or key': ['agent', 'person'] }
      const admitted =
        route?.for === 'person'
          ? within && options.isPerson(request)
          : shown !== undefined && opens[route?.for ?? 'agent'].includes(shown)
      if (admitted) by = shown ?? 'person'
      const { authorization, 'x-api-key': apiKey } = request.headers
      if (!admitted && (authorization !== undefined || apiKey !== undefined)) options.onRejected?.('token')
      if (!admitted && !wrongTokens.take()) throw new Refusal(429, 'Too many wrong tokens; wait a second.')
      const browses = request.headers.accept?.includes('text/html')
      // Where the pages were, before Handrail was started again, too.
      if (!admitted && browses && (named || route?.for === 'person' || path.startsWith('/p/')))
        throw new Refusal(303, 'This is for the person; sign in first.', '/sign-in')
      if (!admitted) throw new Refusal(401, { ...needs, ...options.needs }[route?.for ?? 'agent'])
      connections.admit(request.socket)
    }
    if (!route) throw new Refusal(404, 'Nothing here.')
    if (!route.methods.includes(request.method ?? '')) throw new Refusal(405, `Only ${route.methods.join(', ')} here.`)
    if (upgrade && !route.webSocket) throw new Refusal(426, 'No WebSocket is taken here.')
    return { route: cameByItself(request, route, upgrade) ? route : options.page.detour, by }
  }

  const readBody = openBodies(options.peers)

  const take = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    response.setHeader('X-Content-Type-Options', 'nosniff')
    response.setHeader('Cache-Control', 'no-store')
    response.setHeader('X-Frame-Options', 'DENY')
    response.setHeader('Cross-Origin-Resource-Policy', 'same-origin')
    const [whole = '/', query = ''] = (request.url ?? '/').split('?', 2)
    const { path } = placeOf(whole, options.page.basePath)
    const { socket } = request
    const entered = lines.enter(socket)
    // At once where nobody is in front: an answer must not come later than it could.
    const leave = entered instanceof Promise ? await entered : entered
    if (socket.destroyed) {
      leave()
      return void response.destroy()
    }
    backpressure.watch(response, socket)
    response.once('close', leave)
    try {
      const named = judgeNames(request)
      if (!requests.take() && !(await connections.spare(socket))) throw tooMany()
      const { route, by } = authorize(request, whole, named)
      const stays = async (): Promise<void> => {
        if (!(await connections.stay(socket))) throw new Refusal(503, 'Too many streams are open.')
      }
      await route.handle({
        request,
        response,
        path,
        get query() {
          return new URLSearchParams(query)
        },
        by,
        stays,
        body: async () => readBody(request),
      })
    } catch (thrown) {
      turnAway(request, response, thrown, findRoute(options.routes, path)?.tells)
    }
  }

  const server = createServer(
    {
      ServerResponse: backpressure.Answer,
      connectionsCheckingInterval: 500,
      headersTimeout: 5_000,
      requestTimeout: 30_000,
      keepAliveTimeout: 5_000,
      maxHeaderSize: 16_384,
      // Set once, for everything that is streamed later.
      noDelay: true,
    },
    (request, response) => void take(request, response),
  )
  const connections = shareConnections(server, options.peers, options.requestsPerSecond)
  // Node tells nobody that an answer which waits behind another will never go out: its call would run on, and what it holds would stay.
  server.on('connection', (socket) => {
    backpressure.wake()
    socket.once('close', () => {
      for (const response of backpressure.on(socket)) if (!response.socket) response.destroy().emit('close')
    })
  })
  server.on('clientError', ({ code }: NodeJS.ErrnoException, socket) => {
    const answering = backpressure.on(socket).some((response) => response.socket === socket && response.headersSent)
    // Not into the middle of an answer that is under way.
    if (answering) socket.destroy()
    else closeRaw(socket, code === 'ERR_HTTP_REQUEST_TIMEOUT' ? '408 Request Timeout' : '400 Bad Request')
  })
  const webSockets = openWebSockets({
    ...(options.heartbeatMs !== undefined && { heartbeatMs: options.heartbeatMs }),
    takes: (socket) => requests.take() || connections.spare(socket),
    admit(socket, token) {
      const admitted = isToken(token)
      if (admitted) connections.admit(socket)
      return admitted
    },
  })
  /** Judged like any request, before a byte of it is taken for a frame. */
  const upgrade = async (request: IncomingMessage, head: Buffer): Promise<void> => {
    const { socket } = request
    try {
      const named = judgeNames(request)
      if (!requests.take() && !(await connections.spare(socket))) throw tooMany()
      const { route, by } = authorize(request, (request.url ?? '/').split('?', 1)[0] as string, named, true)
      const { webSocket } = route
      // An answer that is under way would be written into the middle of the frames.
      if (backpressure.on(socket).length > 0) throw new Refusal(400, 'Answers are still under way on this connection.')
      if (!webSocket) throw new Refusal(403, 'Not from another page.')
      await webSockets.take(webSocket, request, head, by)
    } catch (fault) {
      if (!(fault instanceof Refusal)) logFault('handrail:', fault)
      closeRaw(socket, fault instanceof Refusal ? `${fault.status} Refused` : '500 Error')
    }
  }
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    void upgrade(request, head)
  })
  // Node tells a connection on which nothing moves from one that is slow: only what stands still comes here.
  server.setTimeout(stalledMs, (socket) => {
    const answers = backpressure.on(socket).filter((response) => response.socket === socket)
    if (answers.length === 0 || answers.some((response) => response.writableLength > 0)) socket.destroy()
  })
  return new Promise((resolve, reject) => {
    server.once('error', (cause: NodeJS.ErrnoException) => {
      backpressure.close()
      reject(startFault(cause, options))
    })
    server.listen(options.port, host, () => {
      const { port } = server.address() as AddressInfo
      const shown = isIP(host) === 6 ? `[${host}]` : host
      void holdTwin(server, host, port).then((twin) => {
        names = [...new Set([...loopback, shown])].map((name) => `${name}:${port}`)
        pageHost = twin && `${options.page.name}:${port}`
        const close = (): Promise<void> =>
          new Promise((closed) => {
            backpressure.close()
            webSockets.close()
            twin?.close()
            server.once('close', closed)
            server.close()
            server.closeAllConnections()
          })
        resolve({ port, url: `http://${shown}:${port}`, page: pageHost && `http://${pageHost}`, close })
      })
    })
  })
}

export function answer(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'Content-Type': 'application/json' })
  response.end(`${JSON.stringify(body)}\n`)
}

/** How long a connection stays after an answer to somebody who still sends. */
const lingerMs = 1_000

/**
 * The rest of a body that came too far is not read: the answer goes out, then the connection ends. Not at once, as Node would end it: with
 * bytes unread the system breaks it off, and whoever still sends finds that before the answer.
 */
export function leaveUnread(request: IncomingMessage, response: ServerResponse): void {
  if (request.complete) return
  response.setHeader('Connection', 'close')
  request.pause()
  const { socket } = response
  if (!socket) return
  socket.destroySoon = () => {
    socket.end()
    setTimeout(() => socket.destroy(), lingerMs).unref()
  }
}

const tooMany = (): Refusal => new Refusal(429, 'Too many requests; wait a second.')

function turnAway(request: IncomingMessage, response: ServerResponse, thrown: unknown, tells?: Route['tells']): void {
  const fault = thrown instanceof Refusal ? thrown : new Refusal(500, 'Handrail met an unexpected fault.')
  if (fault !== thrown) logFault('handrail:', thrown)
  if (response.headersSent) return void response.destroy()
  if (fault.location !== undefined) response.setHeader('Location', fault.location)
  if (fault.status === 401) response.setHeader('WWW-Authenticate', 'Bearer')
  if (fault.status === 429 || fault.status === 503) response.setHeader('Retry-After', '1')
  leaveUnread(request, response)
  const told = tells?.(fault, request)
  for (const [name, value] of Object.entries(told?.headers ?? {})) response.setHeader(name, value)
  answer(response, fault.status, told?.body ?? { error: fault.message })
}

/** The longest credential that is looked at. */
const longestToken = 200

/** Compares in the same time whatever is given: both are laid out in so many bytes, the rest of them zero, which no token holds. */
function openTokenCheck(token: string): (given: string) => boolean {
  const secret = Buffer.alloc(longestToken)
  const shown = Buffer.alloc(longestToken)
  if (Buffer.byteLength(token) > longestToken) throw new RangeError('A token has 200 characters at most')
  secret.write(token)
  return (given) => {
    shown.fill(0).write(given, 'latin1')
    // Only what is laid out alike is looked at again: letters beyond a byte, or zeros behind the end, are none of the token.
    return timingSafeEqual(shown, secret) && given === token
  }
}

function closeRaw(socket: Duplex, status: string): void {
  if (socket.writable) socket.end(`HTTP/1.1 ${status}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n`, () => socket.destroy())
  else socket.destroy()
}
