/** Does something once a signal is aborted, at once where it is already. Returns how to stop listening: nothing stays on the signal. */
export function onAbort(signal: AbortSignal | undefined, act: () => void): () => void {
  if (!signal) return () => undefined
  if (signal.aborted) {
    act()
    return () => undefined
  }
  signal.addEventListener('abort', act, { once: true })
  return () => signal.removeEventListener('abort', act)
}

/** What a promise comes to, or the reason of the signal where that is first. */
export function orAborted<T>(wait: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return wait
  return new Promise((resolve, reject) => {
    const stop = onAbort(signal, () => reject(signal.reason as Error))
    void wait.then(resolve, reject).finally(stop)
  })
}
