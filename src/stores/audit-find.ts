import type { AuditLine } from '../contracts/audit.ts'
import { linesOf, parse, type Readable } from './audit-lines.ts'

/** Near enough to go on line by line. */
const nearBytes = 1 << 16
const probeBytes = 1 << 12

const headingForm = /^\{"seq":(\d{1,15}),"event":"([^"\\]{1,64})"/
const headingBytes = 128

/** The number and event of a line, told by its first bytes: most lines are reads, and who skips them need not take them apart. */
export function headingOf(bytes: Buffer): { seq: number; event: string } | undefined {
  const found = headingForm.exec(bytes.toString('latin1', 0, headingBytes))
  if (found) return { seq: Number(found[1]), event: found[2] as string }
  const line: { seq?: unknown; event?: unknown } | undefined = parse(bytes.toString('utf8'))
  return Number.isSafeInteger(line?.seq) && typeof line?.event === 'string'
    ? { seq: line.seq as number, event: line.event }
    : undefined
}

/**
 * Where the first line with this number or a later one begins; the end of the log where there is none. Lines stand in the order of
 * their numbers, so halving finds it in some twenty short reads of a log of any length, with no index that could be old or forged.
 */
export function placeOf(log: Readable, seq: number): number {
  const begin = log.begin()
  const size = log.size()
  // Every line before `low` has a smaller number; every line that begins after `high` has this one or a later one.
  let low = begin
  let high = size
  while (high - low > nearBytes) {
    const middle = low + Math.floor((high - low) / 2)
    const line = lineAfter(log, middle, high)
    if (line && line.seq < seq) low = line.start
    else high = middle
  }
  let start = low
  for (const { bytes, end } of linesOf(log, low, nearBytes)) {
    if ((headingOf(bytes)?.seq ?? 0) >= seq) return start
    start = end
  }
  return start
}

/** The line with exactly this number. */
export function lineOf(log: Readable, seq: number): AuditLine | undefined {
  for (const { bytes } of linesOf(log, placeOf(log, seq), probeBytes)) {
    const line = parse(bytes.toString('utf8'))
    return line?.seq === seq ? line : undefined
  }
  return undefined
}

/** Where the log ends with a whole line, and the number of that one. */
export function endOf(log: Readable): { seq: number; end: number } {
  const begin = log.begin()
  const size = log.size()
  for (let length = nearBytes; ; length *= 2) {
    const from = Math.max(begin, size - length)
    const data = log.readAt(from, size - from)
    const end = data.lastIndexOf(0x0a) + 1
    const before = end > 1 ? data.lastIndexOf(0x0a, end - 2) + 1 : 0
    if (from > begin && (end === 0 || before === 0) && length < mostBytes) continue
    return { seq: end > 0 ? (headingOf(data.subarray(before, end - 1))?.seq ?? 0) : 0, end: from + end }
  }
}

/** No line of ours is longer. */
export const mostBytes = 1 << 24

function lineAfter(log: Readable, position: number, until: number): { start: number; seq: number } | undefined {
  let start: number | undefined
  for (const { bytes, end } of linesOf(log, position, probeBytes)) {
    // The first is the rest of a line that begins earlier.
    const seq = start === undefined ? undefined : headingOf(bytes)?.seq
    if (seq !== undefined) return { start: start as number, seq }
    if (end >= until) return undefined
    start = end
  }
  return undefined
}

/** The number of the first entry from a place on. */
export function firstIn(log: Readable, from: number): number | undefined {
  for (const { bytes } of linesOf(log, from, 1 << 12)) return headingOf(bytes)?.seq
  return undefined
}
