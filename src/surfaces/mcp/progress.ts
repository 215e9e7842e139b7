/** Progress of one call. It never goes back, whoever reports it. */
export interface Progress {
  step(done: number, total: number | undefined, message: string | undefined): void
  /** Goes on by itself until the function it gives is called: clients that count on progress do not give up meanwhile. */
  wait(message: string): () => void
}

const tickMs = 2_000

export function openProgress(send: (params: Record<string, unknown>) => void): Progress {
  let last = -1
  const step: Progress['step'] = (done, total, message) => {
    if (done <= last) return
    last = done
    send({ progress: done, ...(total !== undefined && { total }), ...(message !== undefined && { message }) })
  }
  return {
    step,
    wait(message) {
      const tick = (): void => step(last + 1, undefined, message)
      tick()
      const timer = setInterval(tick, tickMs).unref()
      return () => clearInterval(timer)
    },
  }
}
