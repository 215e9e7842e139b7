import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import { openRateLimiter } from './rate-limiter.ts'
import { byPeer, largest } from './giving-way.ts'

/** Says who is at the other end of a connection. */
export interface Peers {
  of(socket: Socket): Promise<string>
}

/** The connections of a server, shared between the processes that hold them. */
export interface Connections {
  /** A credential was shown on it. */
  admit(socket: Socket): void
  /** Whether one more request of this process is taken, where there are too many in all. */
  spare(socket: Socket): Promise<boolean>
  /** Lets those go that were there long and showed no credential. */
  sweep(busy: ReadonlySet<Socket>): void
}

const mostConnections = 256
/** While it is being found out who is there, so many more may come. */
const mostAtOnce = 1_024
/** So long a connection may stay that has shown no credential. */
const strangerMs = 15_000
/** Processes that are known to ask much; the rest share what is left by who asked last. */
const mostAsking = 64

interface Held {
  socket: Socket
  peer: string
  since: number
  admitted: boolean
}

/**
 * Where every place is taken, the process that holds most gives up its newest, one without a credential first. Each
 * process also has a few requests a second that no other can use up.
 */
export function shareConnections(server: Server, peers: Peers, requestsPerSecond: number): Connections {
  const held = new Map<Socket, Held>()
  const buckets = new Map<string, ReturnType<typeof openRateLimiter>>()
  let settling: Promise<void> | undefined
  const own = Math.max(1, Math.ceil(requestsPerSecond / 20))

  /** One look for all who came meanwhile, however many they are. */
  const settle = async (): Promise<void> => {
    while (held.size > mostConnections) {
      await Promise.all([...held.values()].map(async (one) => (one.peer = await peers.of(one.socket))))
      const known = [...held.values()].filter(({ peer }) => peer !== '').toSorted(lastToGoFirst)
      const shares = [...byPeer(known).values()]
      for (let over = held.size - mostConnections; over > 0; over--) {
        const going = largest(shares).pop()
        if (!going) break
        held.delete(going.socket)
        going.socket.destroy()
      }
    }
    settling = undefined
  }

  server.maxConnections = mostAtOnce
  server.on('connection', (socket: Socket) => {
    held.set(socket, { socket, peer: '', since: Date.now(), admitted: false })
    socket.once('close', () => held.delete(socket))
    if (held.size > mostConnections) settling ??= settle()
  })

  return {
    admit(socket) {
      const one = held.get(socket)
      if (one) one.admitted = true
    },
    async spare(socket) {
      const peer = await peers.of(socket)
      const bucket = buckets.get(peer) ?? openRateLimiter(own, own)
      buckets.delete(peer)
      buckets.set(peer, bucket)
      if (buckets.size > mostAsking) buckets.delete(buckets.keys().next().value as string)
      return bucket.take()
    },
    sweep(busy) {
      const now = Date.now()
      for (const { socket, admitted, since } of held.values())
        if (!admitted && now - since > strangerMs && !busy.has(socket)) socket.destroy()
    },
  }
}

const lastToGoFirst = (one: Held, other: Held): number => Number(other.admitted) - Number(one.admitted) || one.since - other.since
