import { expect, test } from 'vitest'
import { draws } from '../../test/support/seed.ts'
import { endOf, headingOf, lineOf, placeOf } from './audit-find.ts'
import type { Readable } from './audit-lines.ts'

// Finding a line of a log by its number: no scan, whatever the lines look like.

interface Counted extends Readable {
  /** Bytes and times read so far. */
  bytes: number
  times: number
}

function logOf(text: string): Counted {
  const data = Buffer.from(text)
  const log: Counted = {
    bytes: 0,
    times: 0,
    begin: () => 0,
    size: () => data.length,
    readAt(position, length) {
      const part = data.subarray(position, position + length)
      log.bytes += part.length
      log.times++
      return part
    },
  }
  return log
}

const line = (seq: number, length: number): string =>
  `${JSON.stringify({ seq, event: seq % 3 ? 'call.read' : 'call.end', message: 'é'.repeat(length) })}\n`

test('any line of many is found in a few short reads', () => {
  const below = draws('audit-find')
  const count = 20_000
  const log = logOf(
    Array.from({ length: count }, (_, index) => line(index + 1, below(40) === 0 ? below(9_000) : below(300))).join(''),
  )
  for (const seq of [1, 2, count - 1, count, ...Array.from({ length: 300 }, () => 1 + below(count))]) {
    log.bytes = log.times = 0
    expect(lineOf(log, seq)?.seq).toBe(seq)
    expect(log.bytes).toBeLessThan(400_000)
    expect(log.times).toBeLessThan(60)
  }
  expect(lineOf(log, 0)).toBeUndefined()
  expect(lineOf(log, count + 1)).toBeUndefined()
  expect(placeOf(log, count + 1)).toBe(log.size())
  expect(endOf(log)).toEqual({ seq: count, end: log.size() })
})

test('very long lines, a torn end, foreign lines, nothing at all', () => {
  const long = [1, 2, 3, 4].map((seq) => line(seq, 200_000))
  const torn = logOf(`${long.join('')}{"seq":5,"ev`)
  for (const seq of [1, 2, 3, 4]) expect(lineOf(torn, seq)?.seq).toBe(seq)
  expect(lineOf(torn, 5)).toBeUndefined()
  expect(endOf(torn)).toEqual({ seq: 4, end: Buffer.byteLength(long.join('')) })
  const foreign = logOf(
    Array.from({ length: 5_000 }, (_, index) => (index % 7 ? line(index + 1, 50) : 'not a line of this log\n')).join(''),
  )
  for (const seq of [2, 100, 2_501, 5_000]) expect(lineOf(foreign, seq)?.seq).toBe(seq)
  expect(lineOf(foreign, 8)).toBeUndefined()
  const empty = logOf('')
  expect([lineOf(empty, 1), placeOf(empty, 1), endOf(empty)]).toEqual([undefined, 0, { seq: 0, end: 0 }])
})

test('number and event are told by the first bytes, and by the whole line where they stand elsewhere', () => {
  expect(headingOf(Buffer.from('{"seq":12,"event":"call.read","x":'))).toEqual({ seq: 12, event: 'call.read' })
  expect(headingOf(Buffer.from('{"seq":12,"at":"now","event":"call.end"}'))).toEqual({ seq: 12, event: 'call.end' })
  expect(headingOf(Buffer.from('{"seq":"12","event":"call.end"}'))).toBeUndefined()
  expect(headingOf(Buffer.from('null'))).toBeUndefined()
})
