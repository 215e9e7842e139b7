/** A line about an answer is in the log just before the answer is in the store: so long it is looked for at most. */
const storeMs = 20_000

/** Looks now and after 1, 2, 4… ms, until it is there: what the log tells of may still be on its way into the store. Returns how to stop. */
export function pollWithBackoff(isThere: () => boolean): () => void {
  const before = Date.now() + storeMs
  let again: ReturnType<typeof setTimeout> | undefined
  const next = (ms: number): void => {
    if (!isThere() && Date.now() < before) again = setTimeout(next, ms, ms * 2).unref()
  }
  next(1)
  return () => clearTimeout(again)
}
