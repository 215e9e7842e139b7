import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { Refusal } from '../../contracts/refusal.ts'
import { repeatAnswer } from '../repeat-answer.ts'
import { couple } from './relay.ts'

/** What stands before one port of a dev server. It serves whatever protocol comes, and knows HTTP from the rest. */
export interface ServerFront {
  take(client: Socket): void
}

const longestHead = 65_536
/** Requests sent ahead on one connection. Browsers send none. */
const mostAhead = 16
const loopback = new Set(['localhost', '127.0.0.1', '[::1]'])
/** Those that speak of one connection, which ends here. */
const hops = new Set(['connection', 'keep-alive', 'proxy-connection'])
/** What a browser would send or keep for every server at `localhost`, whatever its port. */
const kept = new Set(['cookie', 'set-cookie', 'service-worker-allowed', 'clear-site-data'])

/**
 * A browser keeps cookies, storage and service workers by name, and cookies whatever the port: under `localhost` an agent's server would be
 * shown those of all other servers of this machine, and could leave its own to them. So it has a name of its own, `host` with its port,
 * where it is a site like any other. Pages are shown there only; under the names it shares it gets no cookie and sets none.
 * `dial` opens a connection to the server; where there is `caughtUp`, a request goes on once that is over.
 */
export function openServerFront(host: () => string, dial: () => Socket, caughtUp?: () => Promise<void>): ServerFront {
  /** Whether it came by the server's own name. */
  const judge = ({ headers, rawHeaders, url = '' }: IncomingMessage): boolean => {
    const hosts = rawHeaders.filter((name, index) => index % 2 === 0 && name.toLowerCase() === 'host')
    const { host: asked = 'localhost' } = headers
    const own = asked === host()
    if (hosts.length > 1 || !(own || loopback.has(asked.replace(/:\d{1,5}$/, ''))))
      throw new Refusal(403, `This Host is not served here. Open http://${host()}/`)
    if (!url.startsWith('/') && url !== '*') throw new Refusal(400, 'This is no address.')
    if (!own && headers['service-worker'] !== undefined)
      throw new Refusal(403, `No service worker here, only at http://${host()}/`)
    return own
  }
  const isPage = ({ headers }: IncomingMessage): boolean =>
    headers['sec-fetch-mode'] === 'navigate' || headers.accept?.includes('text/html') === true

  const onward = (request: IncomingMessage, own: boolean, more: readonly string[], inner: Socket) =>
    send({
      method: request.method,
      path: request.url,
      headers: [...passed(request, own), ...more],
      createConnection: () => inner,
      maxHeaderSize: longestHead,
    })

  /** Opened before anybody knew that it is HTTP; the first request takes it. */
  const waiting = new WeakMap<Socket, Socket>()
  const dialFor = (client: Socket): Socket => {
    const first = waiting.get(client)
    waiting.delete(client)
    return first && !first.destroyed ? first.resume() : dial()
  }

  const ahead = new WeakMap<Socket, number>()
  const forward = (request: IncomingMessage, response: ServerResponse): void => {
    const { socket } = request
    const before = ahead.get(socket) ?? 0
    if (before >= mostAhead) throw new Refusal(503, 'Too many requests at once on one connection.')
    ahead.set(socket, before + 1)
    response.once('close', () => ahead.set(socket, (ahead.get(socket) ?? 1) - 1))
    const own = judge(request)
    if (!own && isPage(request)) {
      if (request.method !== 'GET' && request.method !== 'HEAD') throw new Refusal(403, `Open http://${host()}/ instead.`)
      const headers = { Location: `http://${host()}${request.url}`, 'Cache-Control': 'no-store', Vary: 'Accept, Sec-Fetch-Mode' }
      return void response.writeHead(302, headers).end()
    }
    if (!caughtUp) return pass(request, response, own)
    void caughtUp()
      .then(() => response.destroyed || pass(request, response, own))
      .catch(() => response.destroy())
  }
  const pass = (request: IncomingMessage, response: ServerResponse, own: boolean): void => {
    const inward = onward(request, own, ['Connection', 'close'], dialFor(request.socket))
    repeatAnswer(inward, response, (answer) => passed(answer, own))
    // Whoever waits for events sees that it may, before there is one.
    inward.once('response', () => response.destroyed || response.flushHeaders())
    inward.on('error', () => response.destroy())
    request.pipe(inward)
  }

  const upgrade = (request: IncomingMessage, client: Socket, head: Buffer): void => {
    const own = judge(request)
    const inward = onward(request, own, ['Connection', 'Upgrade'], dialFor(client))
    const answer = (from: IncomingMessage, more: readonly string[]): string =>
      `HTTP/1.1 ${from.statusCode} ${from.statusMessage}\r\n${headLines([...passed(from, own), ...more])}\r\n`
    inward.once('upgrade', (from, inner: Socket, innerHead: Buffer) => {
      client.write(answer(from, ['Connection', 'Upgrade']), 'latin1')
      client.write(innerHead)
      inner.write(head)
      couple(client, inner)
    })
    inward.once('response', (from) => {
      client.write(answer(unchunked(from), ['Connection', 'close']), 'latin1')
      from.once('error', () => client.destroy()).pipe(client)
    })
    inward.on('error', () => client.destroy())
    client.once('close', () => inward.destroy())
    inward.end()
  }

  const http = createServer({ maxHeaderSize: longestHead, requestTimeout: 0, noDelay: true }, (request, response) => {
    try {
      forward(request, response)
    } catch (thrown) {
      const { status, message } = thrown instanceof Refusal ? thrown : new Refusal(502, 'Not understood.')
      response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', Connection: 'close' }).end(`${message}\n`)
    }
  })
  http.on('clientError', (_, socket) => socket.destroy())
  http.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    socket.on('error', () => socket.destroy())
    try {
      upgrade(request, socket as Socket, head)
    } catch (thrown) {
      socket.end(`HTTP/1.1 ${thrown instanceof Refusal ? thrown.status : 502} Refused\r\nConnection: close\r\n\r\n`)
    }
  })

  return {
    take(client) {
      const inner = dial()
      const drop = (): void => {
        client.destroy()
        inner.destroy()
      }
      // In some protocols it is the server that speaks first.
      inner.pipe(client)
      inner.on('error', drop).on('close', drop)
      client.on('error', drop).on('close', drop)
      let seen = Buffer.alloc(0)
      const look = (): void => {
        for (let piece: Buffer | null; (piece = client.read() as Buffer | null) !== null;) seen = Buffer.concat([seen, piece])
        decide(protocolOf(seen))
      }
      const atEnd = (): void => decide('other')
      const decide = (protocol: Protocol | undefined): void => {
        if (protocol === undefined || client.destroyed) return
        client.off('readable', look).off('end', atEnd)
        // What is encrypted cannot be judged; and no server answers before it was asked, so that its answer would pass unjudged.
        if (protocol === 'encrypted' || (protocol === 'http' && inner.bytesRead > 0)) return drop()
        for (const one of [client, inner]) one.off('error', drop).off('close', drop)
        inner.unpipe(client)
        if (seen.length > 0) client.unshift(seen)
        if (protocol === 'other') return couple(client, inner)
        const unused = (): void => void inner.destroy()
        client.once('close', unused)
        inner.once('error', unused)
        waiting.set(client, inner)
        http.emit('connection', client)
      }
      client.on('readable', look).on('end', atEnd)
    },
  }
}

type Protocol = 'http' | 'encrypted' | 'other'

/** Whatever could be the first line of a request of a browser is waited for, however slowly it comes. */
function protocolOf(seen: Buffer): Protocol | undefined {
  if (seen[0] === 0x16) return 'encrypted'
  const [line = '', ...more] = seen.toString('latin1', 0, longestHead).split('\n')
  if (!/^[\w!#$%&'*+.^`|~-]*( |$)/.test(line)) return 'other'
  if (more.length === 0) return seen.length < longestHead ? undefined : 'other'
  return / HTTP\/\d\.\d\r?$/.test(line) ? 'http' : 'other'
}

/** The headers as they came; under a shared name without what belongs to all servers there. */
function passed({ rawHeaders }: IncomingMessage, own: boolean): string[] {
  return rawHeaders.filter((_, index) => {
    const name = (rawHeaders[index - (index % 2)] as string).toLowerCase()
    return !hops.has(name) && (own || !kept.has(name))
  })
}

/** An answer whose body is passed on as it is, to its end. */
function unchunked(from: IncomingMessage): IncomingMessage {
  from.rawHeaders = from.rawHeaders.filter(
    (_, index) => (from.rawHeaders[index - (index % 2)] as string).toLowerCase() !== 'transfer-encoding',
  )
  return from
}

function headLines(headers: readonly string[]): string {
  let text = ''
  for (let at = 0; at < headers.length; at += 2) text += `${headers[at]}: ${headers[at + 1]}\r\n`
  return text
}
