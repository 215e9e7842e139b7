import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'
import type { RawData, WebSocket, WebSocketServer } from 'ws'
import { openRateLimiter } from '../text/rate-limiter.ts'
import { logFault } from './log-fault.ts'

/** Whose credential was shown. */
export type ShownBy = 'anyone' | 'agent' | 'person'

/** A WebSocket that was let in. */
export interface WebSocketPeer {
  readonly request: IncomingMessage
  /** The sub-protocol that was agreed on, if any. */
  readonly protocol: string
  /** Whose credential was shown before it was let in. */
  readonly by: ShownBy
  /** Bytes that the other side has not read yet: whoever tells of events leaves some out before this grows. */
  unread(): number
  /** Resolves once the system has taken it; false where nobody is there any more. */
  send(text: string): Promise<boolean>
  /** A credential shown in a message, judged like one in a header: with an agent's it need not go after a few seconds. */
  admit(token: string): boolean
  close(code: number, reason: string): void
}

/** What a route does with a WebSocket. */
export interface WebSocketRoute {
  /** The sub-protocols it speaks; the first that the client offers too is agreed on. */
  protocols?: readonly string[]
  /** The longest message, in bytes. */
  longest?: number
  /** A credential may come in the messages instead, for browsers, which cannot send it before. A wrong one is refused all the same. What is no WebSocket comes to `handle` without any, too. */
  credentialLater?: true
  open(peer: WebSocketPeer): {
    /** A text, or bytes where the client sent them as such. */
    message(data: string | Buffer): void
    closed?(): void
  }
}

export interface WebSockets {
  /** Makes a WebSocket of a request that was judged and let in. */
  take(route: WebSocketRoute, request: IncomingMessage, head: Buffer, by: ShownBy): Promise<void>
  close(): void
}

interface Held {
  socket: WebSocket
  raw: Socket
  /** So much of the connection belonged to messages that came whole. */
  whole: number
  /** Heartbeats without any sign. */
  missed: number
}

const longestMessage = 1 << 20
/** What may wait for one that does not read. */
const mostUnread = 4 << 20
/** Unread and half-sent messages, all connections together. */
const mostTogether = 64 << 20
/** From here on a connection is weighed against the others. */
const worthWeighing = 1 << 16
/** Messages of one connection that wait for their turn; more come in one piece only from who wants to flood. */
const mostWaiting = 1_024
const controlsPerSecond = 10
const heartbeatMs = 30_000
const mostMissed = 2
/** So long one who was shut out has to read why. */
const lingerMs = 250

/**
 * The WebSockets of one listener, each within bounds whatever its other end does: how long a message is, how many come, how much waits
 * unread, and how long nobody answers. Nothing is compressed: what is small on the wire is small in memory.
 */
export function openWebSockets(options: {
  heartbeatMs?: number
  /** Whether one more message of this connection is taken: it is one more request. */
  takes(socket: Socket): boolean | Promise<boolean>
  admit(socket: Socket, token: string): boolean
}): WebSockets {
  const open = new Set<Held>()
  const servers = new WeakMap<WebSocketRoute, WebSocketServer>()
  let timer: NodeJS.Timeout | undefined
  let closed = false

  const beat = (): void => {
    for (const one of open) {
      if (one.missed++ >= mostMissed) one.socket.terminate()
      else one.socket.ping()
    }
  }
  const weight = ({ socket, raw, whole }: Held): number => socket.bufferedAmount + raw.bytesRead - whole
  /** Where all of them hold too much, whoever holds most goes. */
  const weigh = (): void => {
    let together = 0
    for (const one of open) together += weight(one)
    if (together <= mostTogether) return
    const heaviest = [...open].reduce((most, one) => (weight(one) > weight(most) ? one : most))
    open.delete(heaviest)
    heaviest.socket.terminate()
  }
  const serverFor = async (route: WebSocketRoute): Promise<WebSocketServer> => {
    // Loaded with the first one: most servers never see any.
    const { WebSocketServer } = await import('ws')
    const known = servers.get(route)
    if (known) return known
    const server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      autoPong: false,
      maxPayload: route.longest ?? longestMessage,
      handleProtocols: (offered) => route.protocols?.find((one) => offered.has(one)) ?? false,
    })
    servers.set(route, server)
    return server
  }

  const attend = (route: WebSocketRoute, request: IncomingMessage, socket: WebSocket, by: ShownBy): void => {
    const raw = request.socket
    const held: Held = { socket, raw, whole: raw.bytesRead, missed: 0 }
    const controls = openRateLimiter(controlsPerSecond, 5 * controlsPerSecond)
    const waiting: (string | Buffer)[] = []
    let over = false
    const end = (code: number, reason: string): void => {
      if (over) return
      over = true
      waiting.length = 0
      socket.close(code, reason)
      // Nothing more of it is read.
      socket.pause()
      setTimeout(() => socket.terminate(), lingerMs).unref()
    }
    open.add(held)
    timer ??= setInterval(beat, options.heartbeatMs ?? heartbeatMs).unref()
    socket.once('close', () => {
      over = true
      open.delete(held)
      if (open.size > 0) return
      clearInterval(timer)
      timer = undefined
    })
    // A frame that is none, or a message that is too long: `ws` has sent the code for it.
    socket.on('error', () => setTimeout(() => socket.terminate(), lingerMs).unref())
    raw.on('data', () => {
      if (raw.bytesRead - held.whole > worthWeighing) weigh()
    })

    const peer: WebSocketPeer = {
      request,
      protocol: socket.protocol,
      by,
      unread: () => socket.bufferedAmount,
      send: (text) =>
        new Promise((resolve) => {
          if (over) return resolve(false)
          socket.send(text, (fault) => resolve(!fault))
          if (socket.bufferedAmount > mostUnread) socket.terminate()
          else if (socket.bufferedAmount > worthWeighing) weigh()
        }),
      admit: (token) => options.admit(raw, token),
      close: end,
    }
    const listener = route.open(peer)
    socket.once('close', () => listener.closed?.())
    const pass = async (): Promise<void> => {
      for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
        const taken = options.takes(raw)
        if (!(taken instanceof Promise ? await taken : taken)) return end(1008, 'Too many messages; wait a second.')
        if (over) return
        waiting.shift()
        listener.message(next)
      }
    }
    socket.on('message', (data: RawData, isBinary: boolean) => {
      held.missed = 0
      held.whole = raw.bytesRead
      if (over) return
      const bytes = data as Buffer
      waiting.push(isBinary ? bytes : bytes.toString('utf8'))
      if (waiting.length > mostWaiting) return end(1008, 'Too many messages at once.')
      if (waiting.length === 1)
        void pass().catch((fault: unknown) => {
          logFault('handrail:', fault)
          end(1011, 'Handrail met an unexpected fault.')
        })
    })
    const control = (): boolean => {
      held.missed = 0
      if (over || controls.take()) return !over
      end(1008, 'Too many pings.')
      return false
    }
    socket.on('pong', control)
    socket.on('ping', (data: Buffer) => {
      if (control()) socket.pong(data)
    })
  }

  return {
    async take(route, request, head, by) {
      const server = await serverFor(route)
      if (closed || request.socket.destroyed) return void request.socket.destroy()
      server.handleUpgrade(request, request.socket, head, (socket) => attend(route, request, socket, by))
    },
    close() {
      closed = true
      clearInterval(timer)
      for (const { socket } of open) {
        socket.close(1001, 'Handrail is closing.')
        socket.terminate()
      }
    },
  }
}
