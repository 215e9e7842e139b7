import { ServerResponse, type IncomingMessage } from 'node:http'
import type { Duplex } from 'node:stream'
import type { Socket } from 'node:net'

/** What may wait for a client that does not read, and for all of them together. */
const mostUnread = 8 << 20
const mostUnreadTogether = 64 << 20
/** So long a large answer may stand still: one that is being read moves, however large it is. */
const standsStillMs = 2_000
const lookMs = 250

/** Answers that are being given. A client that does not read what it asked for is let go before it fills our memory. */
export interface Backpressure {
  /** For the server to make its answers with: they say when they are not taken at once. */
  readonly Answer: typeof ServerResponse<IncomingMessage>
  watch(response: ServerResponse, socket: Socket): void
  /** The answers on a connection, those among them that wait behind another. */
  on(socket: Duplex): ServerResponse[]
  /** Somebody is there who may have to be let go. */
  wake(): void
  close(): void
}

/** `sweep` lets others go who are there for nothing; it is handed who is being answered, and says whether it must look again. */
export function openBackpressure(sweep: (busy: ReadonlySet<Socket>) => boolean): Backpressure {
  const open = new Map<ServerResponse, { socket: Socket; sent: number; since: number }>()
  let timer: NodeJS.Timeout | undefined

  /** Whether there is reason to look again: at rest nobody does. */
  const look = (): boolean => {
    const now = Date.now()
    let together = 0
    for (const [response, seen] of open) {
      // An answer that waits behind another on its connection has no socket of its own yet, and keeps what it holds until that goes.
      const sent = seen.socket.bytesWritten
      if (response.writableLength === 0 || sent !== seen.sent) Object.assign(seen, { sent, since: now })
      together += response.writableLength
      if (response.writableLength > mostUnread && now - seen.since > standsStillMs) seen.socket.destroy()
    }
    const again = sweep(new Set([...open.values()].map(({ socket }) => socket))) || together > 0
    if (together <= mostUnreadTogether) return again
    // Whoever leaves the most unread goes first, and of those alike whoever has stood still the longest; nobody who has nothing unread.
    const heaviest = [...open].toSorted(([one, a], [other, b]) => other.writableLength - one.writableLength || a.since - b.since)
    for (const [response, { socket }] of heaviest) {
      if (together <= mostUnreadTogether) break
      together -= response.writableLength
      socket.destroy()
    }
    return again
  }
  const lookLater = (): void => {
    timer = setTimeout(() => {
      timer = undefined
      if (look()) lookLater()
    }, lookMs).unref()
  }
  const wake = (): void => {
    if (timer) return
    // Nothing was unread while nobody looked, so nothing stood still.
    const now = Date.now()
    for (const seen of open.values()) seen.since = now
    lookLater()
  }

  class Answer extends ServerResponse {
    override write(...given: unknown[]): boolean {
      const taken = super.write(...(given as Parameters<ServerResponse['write']>))
      if (!taken) wake()
      return taken
    }

    override end(...given: unknown[]): this {
      super.end(...(given as Parameters<ServerResponse['end']>))
      if (this.writableLength > 0) wake()
      return this
    }
  }

  return {
    Answer,
    watch(response, socket) {
      open.set(response, { socket, sent: socket.bytesWritten, since: Date.now() })
      response.once('close', () => open.delete(response))
    },
    on: (socket) => [...open].flatMap(([response, seen]) => (seen.socket === socket ? [response] : [])),
    wake,
    close: () => clearTimeout(timer),
  }
}
