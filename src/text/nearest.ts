/** How much comparing one call does before it stops looking for names that are nearly right. What is wrong is told all the same. */
export interface Patience {
  left: number
}

export const patience = (): Patience => ({ left: 30_000_000 })

/** Most of it that one search takes: a few milliseconds. */
const atOnce = 1_000_000
/** Longer names are nobody's slip of the finger. */
const longest = 256

/** The candidate that takes the fewest changes to become the word, if few enough. */
export function nearest(word: string, candidates: Iterable<string>, most: number, given = patience()): string | undefined {
  if (word.length > longest) return undefined
  let best: string | undefined
  let least = most + 1
  const work = { left: Math.min(given.left, atOnce) }
  const before = work.left
  for (const candidate of candidates) {
    if (work.left-- <= 0) break
    const distance = editDistance(word, candidate, least - 1, work)
    if (distance < least) {
      best = candidate
      least = distance
    }
  }
  given.left -= before - work.left
  return best
}

/** Changes of one letter, swaps of neighbours included; gives up above `most`. */
function editDistance(from: string, to: string, most: number, work: Patience): number {
  if (Math.abs(from.length - to.length) > most) return most + 1
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let down = 1; down <= from.length; down++) {
    const next = [down]
    let least = down
    work.left -= to.length
    for (let across = 1; across <= to.length; across++) {
      const same = from[down - 1] === to[across - 1]
      let cost = Math.min((row[across] ?? 0) + 1, (next[across - 1] ?? 0) + 1, (row[across - 1] ?? 0) + (same ? 0 : 1))
      const swapped = down > 1 && across > 1 && from[down - 1] === to[across - 2] && from[down - 2] === to[across - 1]
      if (swapped) cost = Math.min(cost, (before[across - 2] ?? 0) + 1)
      next.push(cost)
      least = Math.min(least, cost)
    }
    if (least > most) return most + 1
    before = row
    row = next
  }
  return row[to.length] ?? most + 1
}
