import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkChain } from './check-chain.ts'

function logOf(entries: readonly object[]): string[] {
  let prev = '0'.repeat(64)
  return entries.map((entry, at) => {
    const body = `{"seq":${at + 1},${JSON.stringify(entry).slice(1, -1)},"prev":"${prev}"`
    prev = createHash('sha256').update(`${body}}`).digest('hex')
    return `${body},"hash":"${prev}"}`
  })
}

const headOf = (lines: readonly string[]): string => (JSON.parse(lines.at(-1) ?? '{}') as { hash: string }).hash
const claimOf = (lines: readonly string[]) => ({ entries: lines.length, head: headOf(lines) })

test('a log is intact whatever stands in it, and of any length of line: the hash is that of node:crypto', () => {
  const lines = logOf(
    [0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 1_000, 70_000].map((length) => ({
      event: 'x',
      message: 'é😀"\\\n'.repeat(length) + 'y'.repeat(length),
    })),
  )
  expect(checkChain(lines, claimOf(lines))).toEqual({ whole: true, entries: 13, head: headOf(lines) })
  fc.assert(
    fc.property(
      fc.array(fc.record({ event: fc.string({ unit: 'binary' }), input: fc.jsonValue() }), { minLength: 1, maxLength: 5 }),
      (entries) => {
        const some = logOf(entries)
        expect(checkChain(some, claimOf(some))).toMatchObject({ whole: true })
      },
    ),
    { numRuns: 50 },
  )
})

test('one changed character, an entry that is missing, added or moved, and an end that was cut: the first bad entry is named', () => {
  const lines = logOf(Array.from({ length: 6 }, (_, at) => ({ event: 'call.end', message: `entry ${at}` })))
  const claim = claimOf(lines)
  const at = (index: number, change: (text: string) => string): string[] =>
    lines.map((line, one) => (one === index ? change(line) : line))
  expect(
    checkChain(
      at(2, (line) => line.replace('entry 2', 'entry 3')),
      claim,
    ),
  ).toEqual({ whole: false, entry: 3, why: 'was changed' })
  expect(
    checkChain(
      at(2, (line) => line.slice(1)),
      claim,
    ),
  ).toMatchObject({ whole: false, entry: 3 })
  expect(checkChain(lines.toSpliced(3, 1), claim)).toMatchObject({ whole: false, entry: 4 })
  expect(checkChain(lines.toSpliced(3, 0, lines[3] as string), claim)).toMatchObject({ whole: false, entry: 5 })
  expect(checkChain(lines.slice(0, -1), claim)).toMatchObject({ whole: false, entry: 6 })
  expect(checkChain([], claim)).toMatchObject({ whole: false, entry: 1 })
  const forged = logOf([{ event: 'call.end', message: 'another story' }])
  expect(checkChain(forged, { entries: 1, head: claim.head })).toMatchObject({ whole: false })
  expect(checkChain(['[]'], claim)).toMatchObject({ whole: false, entry: 1 })
  expect(checkChain(['null'], claim)).toMatchObject({ whole: false, entry: 1 })
})
