import { diffArrays } from 'diff'

/** One changed stretch. `start…` are 1-based; where nothing stands on a side, it is the line the change comes before. */
export interface Hunk {
  startOld: number
  lenOld: number
  startNew: number
  lenNew: number
  linesOld: string[]
  linesNew: string[]
}

export interface LineDiff {
  type: 'line'
  hunks: Hunk[]
}

/** Past this many edits the exact search gives way to anchors on lines that stand once on both sides. */
const exactEdits = 1_500

/**
 * The least change of lines from one text to another; no context lines. Lines are what stands between `\n`, so
 * joining the new lines with `\n` gives the new text to the byte, line ends and missing final newline included.
 */
export function lineDiff(before: string, after: string): LineDiff {
  if (before === after) return { type: 'line', hunks: [] }
  const head = commonHead(before, after)
  const tail = commonTail(before, after, head)
  const old = before.slice(head, before.length - tail).split('\n')
  const now = after.slice(head, after.length - tail).split('\n')
  // Where the shared tail starts with a newline, both middles end in a whole line; otherwise that tail is empty.
  return { type: 'line', hunks: toHunks(old, now, pairLines(old, now), countLines(before, head)) }
}

/** Lines added and taken away, together. */
export function changedLines(diff: LineDiff): number {
  return diff.hunks.reduce((sum, hunk) => sum + hunk.lenOld + hunk.lenNew, 0)
}

/** Length of the shared beginning, cut back to the start of a line. */
function commonHead(a: string, b: string): number {
  const most = Math.min(a.length, b.length)
  let same = 0
  for (let step = 1 << 15; step >= 1; step >>= 1)
    while (same + step <= most && a.slice(same, same + step) === b.slice(same, same + step)) same += step
  return same === 0 ? 0 : a.lastIndexOf('\n', same - 1) + 1
}

/** Length of the shared end after `head`, cut back so that it starts with a newline. */
function commonTail(a: string, b: string, head: number): number {
  const most = Math.min(a.length, b.length) - head
  let same = 0
  for (let step = 1 << 15; step >= 1; step >>= 1)
    while (
      same + step <= most &&
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

type Pair = readonly [number, number]

/** Which old line stays as which new line, in order. Lines that stand on one side only are left out first: it never changes the answer. */
function pairLines(old: string[], now: string[]): Pair[] {
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
  align(a.id, b.id, 0, 0, pairs)
  return pairs.map(([i, j]) => [a.at[i] as number, b.at[j] as number])
}

/** Pairs equal numbers of two sequences, exactly where that is affordable, else between anchors. */
function align(a: number[], b: number[], offsetA: number, offsetB: number, out: Pair[]): void {
  let head = 0
  while (head < a.length && head < b.length && a[head] === b[head]) {
    out.push([offsetA + head, offsetB + head])
    head++
  }
  let tail = 0
  while (tail < a.length - head && tail < b.length - head && a[a.length - 1 - tail] === b[b.length - 1 - tail]) tail++
  const midA = a.slice(head, a.length - tail)
  const midB = b.slice(head, b.length - tail)
  if (midA.length && midB.length) alignMiddle(midA, midB, offsetA + head, offsetB + head, out)
  for (let k = tail; k > 0; k--) out.push([offsetA + a.length - k, offsetB + b.length - k])
}

function alignMiddle(a: number[], b: number[], offsetA: number, offsetB: number, out: Pair[]): void {
  const anchors = anchorsOf(a, b)
  const allUnique = anchors.candidates === a.length && anchors.candidates === b.length
  if (!allUnique) {
    const exact = diffArrays(a, b, { maxEditLength: exactEdits })
    if (exact) {
      let i = 0
      let j = 0
      for (const part of exact) {
        if (part.removed) i += part.count
        else if (part.added) j += part.count
        else for (let k = 0; k < part.count; k++) out.push([offsetA + i++, offsetB + j++])
      }
      return
    }
  }
  // Every line once on both sides: the longest rising run of anchors is the exact answer, in n log n.
  let fromA = 0
  let fromB = 0
  for (const [i, j] of anchors.pairs) {
    if (!allUnique) align(a.slice(fromA, i), b.slice(fromB, j), offsetA + fromA, offsetB + fromB, out)
    out.push([offsetA + i, offsetB + j])
    fromA = i + 1
    fromB = j + 1
  }
  if (!allUnique && anchors.pairs.length) align(a.slice(fromA), b.slice(fromB), offsetA + fromA, offsetB + fromB, out)
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
