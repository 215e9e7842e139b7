/**
 * How often the event loop went round while something was done: a piece of work that keeps everybody waiting until it is over leaves it
 * none. A count, not a time, so that a slow machine changes nothing.
 */
export async function turnsDuring<T>(doing: () => Promise<T>): Promise<{ turns: number; result: T }> {
  let turns = 0
  let open = true
  const tick = (): void => {
    if (!open) return
    turns++
    setImmediate(tick)
  }
  setImmediate(tick)
  try {
    const result = await doing()
    return { turns, result }
  } finally {
    open = false
  }
}
