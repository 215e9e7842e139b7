import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { jsonInPage } from '../json-in-page.ts'
import { sweep } from '../../../test/support/soak.ts'
import { checkChain } from './check-chain.ts'

function logOf(entries: readonly object[]): string[] {
  let prev = '0'.repeat(64)
  return entries.map((entry, at) => {
    const body = `{"seq":${at + 1},${JSON.stringify(entry).slice(1, -1)},"prev":"${prev}"`
    prev = createHash('sha256').update(`${body}}`).digest('hex')
    return jsonInPage(JSON.parse(`${body},"hash":"${prev}"}`))
  })
}

const headOf = (lines: readonly string[]): string => (JSON.parse(lines.at(-1) ?? '{}') as { hash: string }).hash
const claimOf = (lines: readonly string[]) => ({ entries: lines.length, head: headOf(lines) })

test('a log is intact whatever stands in it, and of any length of line: the hash is that of node:crypto', () => {
  const lines = logOf(
    [0, 1, 54, 55, 56, 57, 63, 64, 65, 119, 120, 1_000, sweep(70_000, 6_000)].map((length) => ({
      event: 'x',
      message: 'é😀"\\\n'.repeat(length) + 'y'.repeat(length),
    })),
  )
  expect(checkChain(lines, claimOf(lines))).toEqual({ whole: true, from: 1, entries: 13, head: headOf(lines) })
  fc.assert(
    fc.property(
      fc.array(fc.record({ event: fc.string({ unit: 'binary' }), input: fc.jsonValue() }), { minLength: 1, maxLength: 5 }),
      (entries) => {
        const some = logOf(entries)
        expect(checkChain(some, claimOf(some))).toMatchObject({ whole: true })
      },
    ),
    { numRuns: sweep(50, 20) },
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

test('every byte counts: blanks, a name twice and other spellings of the same are changes, and so is another beginning', () => {
  const lines = logOf(Array.from({ length: 4 }, (_, at) => ({ event: 'call.end', message: `a<b ${at}`, ms: 10 })))
  const claim = claimOf(lines)
  const changed = (change: (text: string) => string) =>
    checkChain(
      lines.map((line, at) => (at === 1 ? change(line) : line)),
      claim,
    )
  for (const change of [
    (text: string) => text.replace('{', '{ '),
    (text: string) => `${text} `,
    (text: string) => text.replace('"event"', '"event":"approved","event"'),
    (text: string) => text.replace('"ms":10', '"ms":1e1'),
    (text: string) => text.replace('a\\u003cb', 'a<b'),
    (text: string) => text.replace('call.end', 'call\\u002eend'),
  ])
    expect([change.toString(), changed(change)]).toEqual([change.toString(), { whole: false, entry: 2, why: 'was changed' }])
  // Whoever takes entries from the beginning and counts anew is told apart from a log that begins there.
  expect(checkChain(lines.slice(1), { ...claim, entries: 3 })).toMatchObject({ whole: true, from: 2 })
  const begun = (lines[0] ?? '').replace(/"prev":"0{64}"/, `"prev":"${'1'.repeat(64)}"`)
  expect(checkChain([begun, ...lines.slice(1)], claim)).toMatchObject({ whole: false, entry: 1 })
})
