import { lineDiff } from './diff.ts'
import type { Hunk, LineDiff } from '../contracts/line-diff.ts'

const context = 3
/** Stands at the end of a last line that no newline ends, so that it differs from one that does. */
const unended = '\0'

/** A change of one text as a unified diff, as `patch` reads it. */
export function unifiedDiff(file: string, before: string | undefined, after: string): string {
  return [`--- ${before === undefined ? '/dev/null' : file}`, `+++ ${file}`, ...unifiedRows(before ?? '', after), ''].join('\n')
}

/** Its rows alone: the places, and the lines with their signs. */
function unifiedRows(before: string, after: string): string[] {
  const [old, now] = [linesOf(before), linesOf(after)]
  return rowsOf(old, wholeSide(old, now) ?? lineDiff(old.join('\n'), now.join('\n')).hunks)
}

/** The same, with the comparing done elsewhere. */
export async function unifiedRowsBy(
  compare: (before: string, after: string) => Promise<LineDiff>,
  before: string,
  after: string,
): Promise<string[]> {
  const [old, now] = [linesOf(before), linesOf(after)]
  return rowsOf(old, wholeSide(old, now) ?? (await compare(old.join('\n'), now.join('\n'))).hunks)
}

function rowsOf(old: string[], hunks: Hunk[]): string[] {
  return together(hunks).flatMap((near) => section(near, old))
}

function linesOf(text: string): string[] {
  if (text === '') return []
  return text.endsWith('\n') ? text.slice(0, -1).split('\n') : `${text}${unended}`.split('\n')
}

/** No lines at all and one empty line are the same text to the diff, so it is not asked about an empty side. */
function wholeSide(linesOld: string[], linesNew: string[]): Hunk[] | undefined {
  const [lenOld, lenNew] = [linesOld.length, linesNew.length]
  if (lenOld > 0 && lenNew > 0) return undefined
  return lenOld === lenNew ? [] : [{ startOld: 1, startNew: 1, lenOld, lenNew, linesOld, linesNew }]
}

/** Hunks so near to each other that their context would touch. */
function together(hunks: Hunk[]): Hunk[][] {
  const groups: Hunk[][] = []
  for (const hunk of hunks) {
    const last = groups.at(-1)?.at(-1)
    if (last && hunk.startOld - (last.startOld + last.lenOld) <= 2 * context) groups.at(-1)?.push(hunk)
    else groups.push([hunk])
  }
  return groups
}

function section(hunks: Hunk[], lines: string[]): string[] {
  const [first, last] = [hunks[0] as Hunk, hunks.at(-1) as Hunk]
  const from = Math.max(0, first.startOld - 1 - context)
  const to = Math.min(lines.length, last.startOld - 1 + last.lenOld + context)
  const rows: string[] = []
  let at = from
  for (const { startOld, lenOld, linesOld, linesNew } of hunks) {
    rows.push(...marked(' ', lines.slice(at, startOld - 1)), ...marked('-', linesOld), ...marked('+', linesNew))
    at = startOld - 1 + lenOld
  }
  rows.push(...marked(' ', lines.slice(at, to)))
  const grown = hunks.reduce((sum, { lenOld, lenNew }) => sum + lenNew - lenOld, 0)
  const shift = first.startNew - first.startOld
  return [`@@ -${range(from, to - from)} +${range(from + shift, to - from + grown)} @@`, ...rows]
}

/** An empty side is named by the line before it. */
const range = (start: number, count: number): string => `${count === 0 ? start : start + 1},${count}`

function marked(sign: string, lines: string[]): string[] {
  return lines.flatMap((line) =>
    line.endsWith(unended) ? [`${sign}${line.slice(0, -1)}`, '\\ No newline at end of file'] : [sign + line],
  )
}
