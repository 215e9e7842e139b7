/** Runs what it is given one after the other, in the order it came. What one of them throws is its own caller's, and holds up nobody. */
export function openSerialQueue(): <T>(act: () => T | Promise<T>) => Promise<T> {
  let last: Promise<unknown> = Promise.resolve()
  return (act) => {
    const turn = last.then(act)
    last = turn.catch(() => undefined)
    return turn
  }
}
