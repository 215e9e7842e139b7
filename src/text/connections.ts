import { openRateLimiter } from './rate-limiter.ts'
import { byHolder, holderOf, largest, chooseVictim, type SlotHolder } from './eviction.ts'

/** What is needed of a connection, and of a server that takes them. */
interface Socket {
  once(event: 'close', heard: () => void): unknown
  destroy(): unknown
}

interface Server<S> {
  maxConnections: number
  on(event: 'connection', heard: (socket: S) => void): unknown
}

/** Says who is at the other end of a connection. */
export interface Peers<S> {
  of(socket: S): Promise<string>
}

/** The connections of a server, shared between the processes that hold them. */
export interface Connections<S> {
  /** A credential was shown on it. */
  admit(socket: S): void
  /** Whether one more request of this process is taken, where there are too many in all. */
  spare(socket: S): Promise<boolean>
  /**
   * It stays open while nothing happens, and has a place among those that do, and none among the others. Where every place is taken one of
   * whoever holds most goes; false where that is whoever asks.
   */
  stay(socket: S): Promise<boolean>
  /** Lets those go that were there long and showed no credential; says whether there are others of that kind. */
  sweep(busy: ReadonlySet<S>): boolean
}

const mostConnections = 256
/** While it is being found out who is there, so many more may come. */
const mostAtOnce = 1_024
/** Streams that wait for something to happen, besides. */
const mostStaying = 1_024
/** So long a connection may stay that has shown no credential. */
const strangerMs = 15_000
/** Processes that are known to ask much; the rest share what is left by who asked last. */
const mostAsking = 64

interface Held<S> {
  socket: S
  peer: string
  since: number
  admitted: boolean
}

/**
 * Where every place is taken, the process that holds most gives up its newest, one without a credential first. Each
 * process also has a few requests a second that no other can use up.
 */
export function shareConnections<S extends Socket>(
  server: Server<S>,
  peers: Peers<S>,
  requestsPerSecond = Number.POSITIVE_INFINITY,
): Connections<S> {
  const held = new Map<S, Held<S>>()
  /** Since when. Whose they are is found out where it matters. */
  const staying = new Map<S, number>()
  const buckets = new Map<string, ReturnType<typeof openRateLimiter>>()
  let settling: Promise<void> | undefined
  const own = Math.max(1, Math.ceil(requestsPerSecond / 20))

  /** One look for all who came meanwhile, however many they are. */
  const settle = async (): Promise<void> => {
    while (held.size > mostConnections) {
      await Promise.all([...held.values()].map(async (one) => (one.peer = await peers.of(one.socket))))
      const known = [...held.values()].filter(({ peer }) => peer !== '').toSorted(lastToGoFirst)
      const shares = [...byHolder(known).values()]
      for (let over = held.size - mostConnections; over > 0; over--) {
        const going = largest(shares).pop()
        if (!going) break
        held.delete(going.socket)
        going.socket.destroy()
      }
    }
    settling = undefined
  }

  const makeWay = async (newcomer: S): Promise<void> => {
    const placeOf = async ([socket, usedAt]: [S, number]): Promise<SlotHolder & { socket: S }> => ({
      socket,
      usedAt,
      peer: await peers.of(socket),
    })
    const places = await Promise.all([...staying].map(placeOf))
    const victim = chooseVictim(
      places.filter(({ socket }) => staying.has(socket)),
      await peers.of(newcomer),
    )
    if (!victim || staying.size < mostStaying) return
    staying.delete(victim.socket)
    victim.socket.destroy()
  }

  server.maxConnections = mostAtOnce + mostStaying
  server.on('connection', (socket) => {
    held.set(socket, { socket, peer: '', since: Date.now(), admitted: false })
    socket.once('close', () => {
      held.delete(socket)
      staying.delete(socket)
    })
    // The places of streams are not for others.
    if (held.size > mostAtOnce) return void socket.destroy()
    if (held.size > mostConnections) settling ??= settle()
  })

  return {
    admit(socket) {
      const one = held.get(socket)
      if (one) one.admitted = true
    },
    async spare(socket) {
      const holder = holderOf(await peers.of(socket))
      const bucket = buckets.get(holder) ?? openRateLimiter(own, own)
      buckets.delete(holder)
      buckets.set(holder, bucket)
      if (buckets.size > mostAsking) buckets.delete(buckets.keys().next().value as string)
      return bucket.take()
    },
    async stay(socket) {
      if (staying.size >= mostStaying) await makeWay(socket)
      if (!held.has(socket)) return staying.has(socket)
      if (staying.size >= mostStaying) return false
      held.delete(socket)
      staying.set(socket, Date.now())
      return true
    },
    sweep(busy) {
      const now = Date.now()
      let others = false
      for (const { socket, admitted, since } of held.values()) {
        if (admitted) continue
        if (now - since > strangerMs && !busy.has(socket)) socket.destroy()
        else others = true
      }
      return others
    },
  }
}

const lastToGoFirst = (one: Held<unknown>, other: Held<unknown>): number =>
  Number(other.admitted) - Number(one.admitted) || one.since - other.since
