import type { Socket } from 'node:net'

/** Requests of one connection that are looked at together; the others wait behind them and cost nothing yet. */
const together = 8

/** More than this behind an answer that does not end is no client of ours. */
const mostWaiting = 1_024

/** The way out, to be taken once. */
type Leave = () => void

/** Keeps requests that come down one connection from being taken up faster than their answers are fetched. */
export function openPipeliningLimiter(): { enter(socket: Socket): Leave | Promise<Leave> } {
  const lines = new WeakMap<Socket, { inside: number; waiting: (() => void)[] }>()
  return {
    enter(socket) {
      const line = lines.get(socket) ?? { inside: 0, waiting: [] }
      if (!lines.has(socket)) {
        lines.set(socket, line)
        // Whoever waits behind a connection that is gone is let through, to see that it is gone.
        socket.once('close', () => line.waiting.splice(0).forEach((go) => go()))
      }
      const step = (): Leave => {
        line.inside++
        let left = false
        return () => {
          if (left) return
          left = true
          line.inside--
          line.waiting.shift()?.()
        }
      }
      if (line.waiting.length >= mostWaiting) socket.destroy()
      return line.inside < together ? step() : new Promise((resolve) => line.waiting.push(() => resolve(step())))
    },
  }
}
