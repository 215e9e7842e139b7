/** Whoever goes round for ever takes a whole processor, also while nothing is done but waiting: after so many turns one in a millisecond is enough. */
const eager = 50

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
    if (turns < eager) setImmediate(tick)
    else setTimeout(tick, 1)
  }
  setImmediate(tick)
  try {
    const result = await doing()
    return { turns, result }
  } finally {
    open = false
  }
}
