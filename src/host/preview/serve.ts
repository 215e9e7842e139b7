import { randomBytes } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Duplex } from 'node:stream'
import { shareConnections } from '../../text/connections.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import { Refusal } from '../../contracts/refusal.ts'
import type { Files } from '../files.ts'
import { claimPort } from '../own-ports.ts'
import { openOwnUser } from '../own-user.ts'
import { openPeers } from '../peer.ts'
import { besideGame, type Engine } from './engine.ts'
import { withJumpScript } from './jump-script.ts'
import { mediaType } from './media-types.ts'
import { openBackpressure, type Backpressure } from './backpressure.ts'

export interface PreviewServer {
  readonly port: number
  /** The name under which a browser shows it, so that it shares nothing with other servers of this machine. */
  readonly name: string
  close(): Promise<void>
}

/**
 * A game is code of strangers: it may use all the engine needs, and reach nothing but this server, neither other ports of this machine
 * nor the network.
 */
const policy = [
  "default-src 'self'",
  "script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:",
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data: blob:",
  "media-src 'self' data: blob:",
  "font-src 'self' data: blob:",
  "connect-src 'self' data: blob:",
  "worker-src 'self' blob:",
  "frame-src 'none'",
  "object-src 'none'",
  "base-uri 'self'",
  "form-action 'none'",
  "frame-ancestors 'self'",
  'sandbox allow-scripts allow-same-origin allow-modals allow-downloads',
].join('; ')

/** Of each answer at most one of these waits in memory. */
const piece = 1 << 18
/** How long nothing at all may move on a connection. */
const stalledMs = 30_000
const largestPage = 4 << 20

/** The engine with the game laid over it, on a port of its own: nothing here holds a token, and nothing can be changed through it. */
export function servePreview(
  files: Pick<Files, 'readPart'>,
  engine: Engine,
  game: string,
  hideLinkedSecrets: () => Promise<void> | undefined = () => undefined,
  project?: string,
): Promise<PreviewServer> {
  const beside = besideGame(game)
  const own = `preview-${randomBytes(8).toString('hex')}.localhost`
  let names: string[] = []
  /** Cookies know no ports: whoever comes by a name that other servers have too is sent on to the one that only this one has. */
  const isElsewhere = ({ headers }: IncomingMessage): boolean =>
    headers['sec-fetch-mode'] === 'navigate' && headers.host !== names[0]

  const checkRequest = (request: IncomingMessage): void => {
    const { host = '', origin, 'sec-fetch-site': site, 'sec-fetch-mode': mode } = request.headers
    const hosts = request.rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host')
    if (hosts.length !== 1 || !names.includes(host)) throw new Refusal(403, 'This Host is not served here.')
    if (origin !== undefined && !names.some((name) => origin === `http://${name}`))
      throw new Refusal(403, 'This Origin is not served here.')
    if (site === 'cross-site' && mode !== 'navigate') throw new Refusal(403, 'Not for other pages.')
  }

  const isOwn = openOwnUser()
  const backpressure = openBackpressure()
  const page = openPage(engine)
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    if (!(await isOwn(request.socket))) return void request.socket.destroy()
    if (!(await backpressure.turn(request.socket, response))) return void response.destroy()
    response.setHeader('Cache-Control', 'no-store')
    response.setHeader('X-Content-Type-Options', 'nosniff')
    response.setHeader('Cross-Origin-Resource-Policy', 'same-origin')
    response.setHeader('Referrer-Policy', 'no-referrer')
    response.setHeader('Content-Security-Policy', policy)
    response.setHeader('X-DNS-Prefetch-Control', 'off')
    try {
      checkRequest(request)
      if (request.method !== 'GET' && request.method !== 'HEAD') throw new Refusal(405, 'Only GET and HEAD here.')
      const path = pathOf(request)
      if (isElsewhere(request)) {
        const asked = (request.url ?? '/').replace(/^\/+/, '/')
        return void response.writeHead(302, { Location: `http://${names[0]}${asked}` }).end()
      }
      if (path === '' || path === 'preview' || path === 'index.html')
        return await sendPage(request, response, page(), backpressure)
      // Its cache would show yesterday's game.
      if (path === 'webgal-serviceworker.js') throw new Refusal(404, 'Nothing here.')
      // What a link made a secret since the last request is none of the game's.
      await hideLinkedSecrets()
      await sendFile(request, response, backpressure, path, (choose) => {
        if (path.startsWith('game/')) return files.readPart((game === '' ? '' : `${game}/`) + path.slice('game/'.length), choose)
        if (path.startsWith('lib/')) return files.readPart(beside + path, choose)
        return engine.readPart(path, choose)
      })
    } catch (thrown) {
      turnAway(request, response, thrown)
    }
  }

  const server = createServer({ headersTimeout: 5_000, requestTimeout: 10_000, keepAliveTimeout: 5_000 }, (request, response) => {
    void answer(request, response)
  })
  shareConnections(server, openPeers())
  server.setTimeout(stalledMs, (socket) => socket.destroy())
  server.on('clientError', (_, socket) => socket.destroy())
  // The script in the page stands in for the editor; nobody else has business here.
  server.on('upgrade', (_: IncomingMessage, socket: Duplex) => {
    socket.on('error', () => socket.destroy())
    socket.end('HTTP/1.1 404 Not Found\r\nConnection: close\r\nContent-Length: 0\r\n\r\n')
  })
  return new Promise((done, reject) => {
    server.once('error', reject)
    server.listen(0, '127.0.0.1', () => {
      server.unref()
      const { port } = server.address() as AddressInfo
      const release = claimPort(port, project ?? '')
      names = [own, 'localhost', '127.0.0.1', '[::1]'].map((name) => `${name}:${port}`)
      done({
        port,
        name: own,
        close: () =>
          new Promise((closed) => {
            release()
            server.close(() => closed())
            server.closeAllConnections()
          }),
      })
    })
  })
}

function pathOf(request: IncomingMessage): string {
  try {
    return decodeURIComponent((request.url ?? '/').split(/[?#]/, 1)[0] as string).replace(/^\/+/, '')
  } catch {
    throw new Refusal(400, 'This is no address.')
  }
}

async function sendPage(
  request: IncomingMessage,
  response: ServerResponse,
  page: Buffer,
  backpressure: Backpressure,
): Promise<void> {
  response.writeHead(200, { 'Content-Type': 'text/html; charset=utf-8', 'Content-Length': page.length })
  for (let at = 0; at < page.length && request.method !== 'HEAD'; at += piece)
    if (!(await sent(response, page.subarray(at, at + piece), backpressure))) return
  response.end()
}

/** The first page as the engine has it now; all who wait for the same one share it. */
function openPage(engine: Engine): () => Buffer {
  let last: { source: Buffer; page: Buffer } | undefined
  return () => {
    const { bytes: source } = engine.readPart('index.html', () => ({ start: 0, end: largestPage }))
    if (!last?.source.equals(source)) last = { source, page: Buffer.from(withJumpScript(source.toString('utf8'))) }
    return last.page
  }
}

/** A file of any size, piece by piece, or the part of it that was asked for: players of sound and film ask for parts. */
async function sendFile(
  request: IncomingMessage,
  response: ServerResponse,
  backpressure: Backpressure,
  path: string,
  read: (choose: Parameters<Files['readPart']>[1]) => { size: number; bytes: Buffer },
): Promise<void> {
  let range: { start: number; end: number } | undefined | 'none'
  const first = read((size) => {
    range = rangeOf(request.headers.range, size)
    const { start, end } = typeof range === 'object' ? range : { start: 0, end: size }
    return { start, end: request.method === 'HEAD' || range === 'none' ? start : Math.min(end, start + piece) }
  })
  response.setHeader('Content-Type', mediaType(path))
  response.setHeader('Accept-Ranges', 'bytes')
  if (range === 'none') {
    response.writeHead(416, { 'Content-Range': `bytes */${first.size}` })
    return void response.end()
  }
  const part = range as { start: number; end: number } | undefined
  const { start, end } = part ?? { start: 0, end: first.size }
  response.writeHead(part ? 206 : 200, {
    'Content-Length': end - start,
    ...(part && { 'Content-Range': `bytes ${start}-${end - 1}/${first.size}` }),
  })
  if (request.method === 'HEAD') return void response.end()
  let next = first.bytes
  for (let at = start; ;) {
    at += next.length
    if (!(await sent(response, next, backpressure))) return
    if (at >= end) break
    next = read(() => ({ start: at, end: Math.min(end, at + piece) })).bytes
    // It became shorter while it was sent: a broken answer says so, a padded one would not.
    if (next.length === 0) return void response.destroy()
  }
  response.end()
}

/** Goes on once there is room for more; false where nobody is there any more. */
async function sent(response: ServerResponse, bytes: Buffer, backpressure: Backpressure): Promise<boolean> {
  const room = response.write(bytes)
  backpressure.wrote()
  if (!room && !response.destroyed) {
    await new Promise<void>((resolve) => {
      const ready = (): void => {
        response.off('drain', ready).off('close', ready)
        resolve()
      }
      response.on('drain', ready).on('close', ready)
    })
    backpressure.drained(response)
  }
  return !response.destroyed
}

function rangeOf(asked: string | undefined, size: number): { start: number; end: number } | undefined | 'none' {
  const [, from = '', to = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(asked ?? '') ?? []
  if (from === '' && to === '') return undefined
  const start = from === '' ? Math.max(0, size - Number(to)) : Number(from)
  const end = from === '' || to === '' ? size : Math.min(size, Number(to) + 1)
  return start < end ? { start, end } : 'none'
}

function turnAway(request: IncomingMessage, response: ServerResponse, thrown: unknown): void {
  if (response.headersSent) return void response.destroy()
  const status =
    thrown instanceof Refusal ? thrown.status : !(thrown instanceof Fault) ? 500 : thrown.reason === 'path-denied' ? 403 : 404
  // A file that is not there keeps its type: a script of another type would be a second complaint about the same thing.
  const type = thrown instanceof Refusal ? 'text/plain; charset=utf-8' : mediaType((request.url ?? '').split('?', 1)[0] as string)
  response.writeHead(status, { 'Content-Type': type })
  response.end(thrown instanceof Refusal && request.method !== 'HEAD' ? thrown.message : undefined)
}
