/** The candidate that takes the fewest changes to become the word, if few enough. */
export function nearest(word: string, candidates: Iterable<string>, most: number): string | undefined {
  let best: string | undefined
  let least = most + 1
  for (const candidate of candidates) {
    const distance = editDistance(word, candidate, least - 1)
    if (distance < least) {
      best = candidate
      least = distance
    }
  }
  return best
}

/** Changes of one letter, swaps of neighbours included; gives up above `most`. */
export function editDistance(from: string, to: string, most: number): number {
  if (Math.abs(from.length - to.length) > most) return most + 1
  let before: number[] = []
  let row = Array.from({ length: to.length + 1 }, (_, index) => index)
  for (let down = 1; down <= from.length; down++) {
    const next = [down]
    let least = down
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
