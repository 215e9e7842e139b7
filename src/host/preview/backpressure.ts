import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** What may wait in memory for those who do not read, all of them together. */
const mostTogether = 32 << 20
/** Requests that may wait behind an answer on their connection. */
const mostBehind = 64

/** Keeps what nobody reads within bounds. */
export interface Backpressure {
  /** One answer at a time on a connection: waits for its turn; false where the connection is gone by then. */
  turn(socket: Socket, response: ServerResponse): Promise<boolean>
  /** To be called when something was written: where too much waits, whoever has not read for longest goes. */
  wrote(): void
  /** To be called when somebody has read what was written. */
  drained(response: ServerResponse): void
}

export function openBackpressure(): Backpressure {
  /** Those in front have not read for longest. */
  const open = new Set<ServerResponse>()
  let isDue = false
  /** Not where it is written: what the system takes at once counts until the end of the turn, and whoever reads was not heard yet. */
  const look = (): void => {
    isDue = false
    let together = 0
    for (const { writableLength } of open) together += writableLength
    for (const response of open) {
      if (together <= mostTogether) return
      if (response.writableLength === 0) continue
      together -= response.writableLength
      response.destroy()
    }
  }
  const lines = new WeakMap<Socket, { behind: number; last: Promise<void>; gone: Promise<void> }>()
  const lineOf = (socket: Socket) => {
    const known = lines.get(socket)
    if (known) return known
    const line = {
      behind: 0,
      last: Promise.resolve(),
      gone: new Promise<void>((resolve) => socket.once('close', () => resolve())),
    }
    lines.set(socket, line)
    return line
  }
  return {
    async turn(socket, response) {
      const line = lineOf(socket)
      const before = line.last
      line.last = new Promise((resolve) => response.once('close', resolve))
      if (++line.behind > mostBehind) socket.destroy()
      await Promise.race([before, line.gone])
      line.behind--
      if (socket.destroyed) return false
      open.add(response)
      response.once('close', () => open.delete(response))
      return true
    },
    wrote() {
      if (isDue) return
      isDue = true
      setImmediate(look)
    },
    drained(response) {
      if (open.delete(response)) open.add(response)
    },
  }
}
