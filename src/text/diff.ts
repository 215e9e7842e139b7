import type { Hunk, LineDiff } from '../contracts/line-diff.ts'
/** What a diff may still cost: one step is one comparison. Shared by everything that is to cost no more together. */
export interface DiffBudget {
  steps: number
  /** Most characters to look at between the shared ends; where there are more, nothing is compared and only `coarse` is answered. */
  characters?: number
}

/** Well under a tenth of a second, whatever the texts are; no diff that a person would read comes near it. */
export const wholeBudget = 8_000_000

export type Differ = (before: string, after: string, budget?: DiffBudget) => LineDiff

/** Lines added and taken away, together. */
export function changedLines(diff: LineDiff): number {
  return diff.hunks.reduce((sum, hunk) => sum + hunk.lenOld + hunk.lenNew, 0)
}

/**
 * The least change of lines from one text to another; no context lines. Lines are what stands between `\n`, so
 * joining the new lines with `\n` gives the new text to the byte, line ends and missing final newline included.
 * Large texts belong to `host/diffs.ts`, which does the same beside the event loop.
 */
export const lineDiff: Differ = makeDiffer(wholeBudget)

/** The whole of it as one function that refers to nothing outside itself: a thread is handed its source. */
export function makeDiffer(most: number): Differ {
  type Pair = readonly [number, number]
  interface Search {
    steps: number
    coarse: boolean
  }
  /** Past this many edits the exact search gives way to anchors on lines that stand once on both sides. */
  const exactEdits = 1_500

  /** Length of the shared beginning, cut back to the start of a line. */
  function commonHead(a: string, b: string): number {
    const longest = Math.min(a.length, b.length)
    let same = 0
    for (let step = 1 << 15; step >= 1; step >>= 1)
      while (same + step <= longest && a.slice(same, same + step) === b.slice(same, same + step)) same += step
    return same === 0 ? 0 : a.lastIndexOf('\n', same - 1) + 1
  }

  /** Length of the shared end after `head`, cut back so that it starts with a newline. */
  function commonTail(a: string, b: string, head: number): number {
    const longest = Math.min(a.length, b.length) - head
    let same = 0
    for (let step = 1 << 15; step >= 1; step >>= 1)
      while (
        same + step <= longest &&
        a.slice(a.length - same - step, a.length - same) === b.slice(b.length - same - step, b.length - same)
      )
        same += step
    if (same === 0) return 0
    const newline = a.indexOf('\n', a.length - same)
    return newline < 0 ? 0 : a.length - newline
  }

  function countLines(text: string, end: number): number {
    let count = 0
    for (let at = text.indexOf('\n'); at >= 0 && at < end; at = text.indexOf('\n', at + 1)) count++
    return count
  }

  /** Which old line stays as which new line, in order. Lines that stand on one side only are left out first: it never changes the answer. */
  function pairLines(old: string[], now: string[], search: Search): Pair[] {
    const ids = new Map<string, number>()
    for (const line of old) if (!ids.has(line)) ids.set(line, ids.size)
    const shared = new Set<number>()
    for (const line of now) {
      const id = ids.get(line)
      if (id !== undefined) shared.add(id)
    }
    const keep = (lines: string[]): { id: number[]; at: number[] } => {
      const kept = { id: [] as number[], at: [] as number[] }
      lines.forEach((line, index) => {
        const id = ids.get(line)
        if (id === undefined || !shared.has(id)) return
        kept.id.push(id)
        kept.at.push(index)
      })
      return kept
    }
    const a = keep(old)
    const b = keep(now)
    const pairs: Pair[] = []
    align(a.id, b.id, 0, 0, pairs, search)
    return pairs.map(([i, j]) => [a.at[i] as number, b.at[j] as number])
  }

  /** Pairs equal numbers of two sequences, exactly where that is affordable, else between anchors. */
  function align(a: number[], b: number[], offsetA: number, offsetB: number, out: Pair[], search: Search): void {
    let head = 0
    while (head < a.length && head < b.length && a[head] === b[head]) {
      out.push([offsetA + head, offsetB + head])
      head++
    }
    let tail = 0
    while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
    const midA = a.slice(head, a.length - tail)
    const midB = b.slice(head, b.length - tail)
    if (midA.length && midB.length) alignMiddle(midA, midB, offsetA + head, offsetB + head, out, search)
    for (let k = tail; k > 0; k--) out.push([offsetA + a.length - k, offsetB + b.length - k])
  }

  function alignMiddle(a: number[], b: number[], offsetA: number, offsetB: number, out: Pair[], search: Search): void {
    const anchors = anchorsOf(a, b)
    const allUnique = anchors.candidates === a.length && anchors.candidates === b.length
    if (!allUnique) {
      if (exact(a, b, offsetA, offsetB, out, search)) return
      // What was left out of the exact search stands as one block, or between anchors.
      search.coarse = true
    }
    // Every line once on both sides: the longest rising run of anchors is the exact answer, in n log n.
    let fromA = 0
    let fromB = 0
    const between = (toA: number, toB: number): void => {
      // Looking for anchors costs too; without a budget the rest stays one block.
      search.steps -= toA - fromA + toB - fromB
      if (!allUnique && search.steps > 0)
        align(a.slice(fromA, toA), b.slice(fromB, toB), offsetA + fromA, offsetB + fromB, out, search)
    }
    for (const [i, j] of anchors.pairs) {
      between(i, j)
      out.push([offsetA + i, offsetB + j])
      fromA = i + 1
      fromB = j + 1
    }
    if (anchors.pairs.length) between(a.length, b.length)
  }

  /** Myers' greedy search, branch for branch as the library `diff` does it; false where it takes too many edits or steps. */
  function exact(a: number[], b: number[], offsetA: number, offsetB: number, out: Pair[], search: Search): boolean {
    const most = Math.min(a.length + b.length, exactEdits)
    const none = -2
    const middle = most + 1
    /** How far down the old side each diagonal has come, and the last equal run on its way. */
    const best = new Int32Array(2 * most + 3).fill(none)
    const last = new Int32Array(2 * most + 3).fill(-1)
    const runs: number[] = []
    /** Goes along what is equal; true at the end of both. */
    const extend = (diagonal: number, from: number, run: number): boolean => {
      let i = from
      let j = i - diagonal
      while (i + 1 < a.length && j + 1 < b.length && a[i + 1] === b[j + 1]) {
        i++
        j++
      }
      search.steps -= i - from + 1
      best[middle + diagonal] = i
      last[middle + diagonal] = i > from ? runs.push(from + 1, from + 1 - diagonal, i - from, run) / 4 - 1 : run
      return i + 1 >= a.length && j + 1 >= b.length
    }
    const found = (diagonal: number): true => {
      const way: number[] = []
      for (let run = last[middle + diagonal] as number; run >= 0; run = runs[run * 4 + 3] as number) way.push(run)
      for (const run of way.reverse()) {
        const [i, j, count] = [runs[run * 4] as number, runs[run * 4 + 1] as number, runs[run * 4 + 2] as number]
        for (let k = 0; k < count; k++) out.push([offsetA + i + k, offsetB + j + k])
      }
      return true
    }
    if (extend(0, -1, -1)) return found(0)
    let lowest = -most
    let highest = most
    for (let edits = 1; edits <= most; edits++) {
      if (search.steps <= 0) return false
      for (let diagonal = Math.max(lowest, -edits); diagonal <= Math.min(highest, edits); diagonal += 2) {
        const at = middle + diagonal
        const removed = best[at - 1] as number
        const added = best[at + 1] as number
        best[at - 1] = none
        const canAdd = added !== none && added - diagonal >= 0 && added - diagonal < b.length
        const canRemove = removed !== none && removed + 1 < a.length
        if (!canAdd && !canRemove) {
          best[at] = none
          continue
        }
        const adds = !canRemove || (canAdd && removed < added)
        if (extend(diagonal, adds ? added : removed + 1, last[adds ? at + 1 : at - 1] as number)) return found(diagonal)
        const i = best[at] as number
        if (i + 1 >= a.length) highest = Math.min(highest, diagonal - 1)
        if (i - diagonal + 1 >= b.length) lowest = Math.max(lowest, diagonal + 1)
      }
    }
    return false
  }

  /** Numbers that stand once on each side, and the longest run of them that keeps its order. */
  function anchorsOf(a: number[], b: number[]): { candidates: number; pairs: Pair[] } {
    const once = (list: number[]): Map<number, number> => {
      const seen = new Map<number, number>()
      list.forEach((value, index) => seen.set(value, seen.has(value) ? -1 : index))
      return seen
    }
    const inA = once(a)
    const inB = once(b)
    const candidates: Pair[] = []
    for (const [value, i] of inA) {
      const j = inB.get(value)
      if (i >= 0 && j !== undefined && j >= 0) candidates.push([i, j])
    }
    candidates.sort((x, y) => x[0] - y[0])
    const piles: number[] = []
    const back: number[] = []
    candidates.forEach(([, j], index) => {
      let low = 0
      let high = piles.length
      while (low < high) {
        const middle = (low + high) >> 1
        if ((candidates[piles[middle] as number] as Pair)[1] < j) low = middle + 1
        else high = middle
      }
      back[index] = low > 0 ? (piles[low - 1] as number) : -1
      piles[low] = index
    })
    const pairs: Pair[] = []
    for (let at = piles.at(-1) ?? -1; at >= 0; at = back[at] as number) pairs.push(candidates[at] as Pair)
    return { candidates: candidates.length, pairs: pairs.reverse() }
  }

  function toHunks(old: string[], now: string[], pairs: Pair[], before: number): Hunk[] {
    const hunks: Hunk[] = []
    let i = 0
    let j = 0
    for (const [nextI, nextJ] of [...pairs, [old.length, now.length] as const]) {
      if (nextI > i || nextJ > j)
        hunks.push({
          startOld: before + i + 1,
          lenOld: nextI - i,
          startNew: before + j + 1,
          lenNew: nextJ - j,
          linesOld: old.slice(i, nextI),
          linesNew: now.slice(j, nextJ),
        })
      i = nextI + 1
      j = nextJ + 1
    }
    return hunks
  }

  return (before, after, budget = { steps: most }) => {
    if (before === after) return { type: 'line', hunks: [] }
    const search: Search = { steps: budget.steps, coarse: false }
    const head = commonHead(before, after)
    const tail = commonTail(before, after, head)
    const between = before.length + after.length - 2 * (head + tail)
    if (budget.characters !== undefined && between > budget.characters) return { type: 'line', hunks: [], coarse: true }
    const old = before.slice(head, before.length - tail).split('\n')
    const now = after.slice(head, after.length - tail).split('\n')
    // Where the shared tail starts with a newline, both middles end in a whole line; otherwise that tail is empty.
    const hunks = toHunks(old, now, pairLines(old, now, search), countLines(before, head))
    budget.steps = search.steps
    return { type: 'line', hunks, ...(search.coarse && { coarse: true as const }) }
  }
}
