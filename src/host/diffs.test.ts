import { afterAll, expect, test } from 'vitest'
import { changedLines, lineDiff } from '../text/diff.ts'
import { openDiffs } from './diffs.ts'
import { sweep } from '../../test/support/soak.ts'

const diffs = openDiffs(() => 60_000)
afterAll(() => diffs.close())

/** Short lines that stand often, in an order of their own. */
function short(count: number, step: number): string {
  return Array.from({ length: count }, (_, index) => String((index * step) % 97)).join('\n')
}

/** How often the event loop came round while something was done. */
async function turnsDuring(doing: () => Promise<unknown>): Promise<number> {
  let turns = 0
  const counter = setInterval(() => turns++, 0)
  await doing()
  clearInterval(counter)
  return turns
}

test('very many short lines (soak: a megabyte) are compared beside the event loop, and truly', async () => {
  const count = sweep(350_000, 100_000)
  const [before, after] = [short(count, 7_919), short(count, 104_729)]
  let diff = lineDiff('', '')
  expect(await turnsDuring(async () => (diff = await diffs.lines(before, after)))).toBeGreaterThan(5)
  expect(diff.coarse).toBe(true)
  const lines = before.split('\n')
  const result: string[] = []
  let at = 0
  for (const { startOld, lenOld, linesOld, linesNew } of diff.hunks) {
    expect(lines.slice(startOld - 1, startOld - 1 + lenOld).join('\n')).toBe(linesOld.join('\n'))
    result.push(lines.slice(at, startOld - 1).join('\n'), linesNew.join('\n'))
    at = startOld - 1 + lenOld
  }
  result.push(lines.slice(at).join('\n'))
  expect(result.filter((part) => part !== '').join('\n')).toBe(after)
})

test('small or large, on the spot or in the thread, the answer is the same', async () => {
  const many = Array.from({ length: 30_000 }, (_, index) => `line ${index % 5_000}`)
  for (const [before, after] of [
    ['a\nb\n', 'a\nc\n'],
    [many.join('\n'), many.with(20_000, 'another').toSpliced(5, 1).join('\n')],
    [short(sweep(4_000, 2_000), 7), short(sweep(4_000, 2_000), 11)],
  ] as const) {
    const diff = lineDiff(before, after)
    expect(await diffs.lines(before, after)).toEqual(diff)
    expect(await diffs.measure(before, after, { lines: 0, characters: 0 })).toEqual({ lines: changedLines(diff) })
  }
})

test('one that nobody waits for any more is ended, and the next one is answered', async () => {
  const stop = new AbortController()
  const given = diffs.lines(short(350_000, 3), short(350_000, 5), { client: 'c', signal: stop.signal })
  setImmediate(() => stop.abort(new Error('gone')))
  await expect(given).rejects.toThrow('gone')
  expect((await diffs.lines('x\n', 'y\n')).hunks).toHaveLength(1)
})

test('an answer holds the first of a diff, says how much more there is, and each of its hunks is true', async () => {
  const many = (count: number, word: string): string => Array.from({ length: count }, (_, at) => `${word}${at}`).join('\n')
  for (const [before, after] of [
    ['', many(15_000, 'a')],
    [many(8_000, 'a'), many(8_000, 'b')],
    ['', many(sweep(400_000, 25_000), '')],
    [many(sweep(300_000, 15_000), 'a'), many(sweep(300_000, 15_000), 'b')],
    [many(30_000, 'a'), many(30_000, 'a').replaceAll('7', 'x')],
    ['', 'x'.repeat(3_000_000)],
  ] as const) {
    const [whole, shown] = [await diffs.lines(before, after), await diffs.shown(before, after)]
    expect(changedLines(shown) + (shown.notShown ?? 0)).toBe(changedLines(whole))
    expect(changedLines(shown)).toBeLessThanOrEqual(20_000)
    expect(JSON.stringify(shown).length).toBeLessThan(3_000_000)
    if (changedLines(whole) <= 20_000 && after.length < 2_000_000) expect(shown).toEqual(whole)
    shown.hunks.forEach((hunk, index) => {
      const real = whole.hunks[index] as (typeof whole.hunks)[0]
      expect([hunk.startOld, hunk.startNew]).toEqual([real.startOld, real.startNew])
      expect([hunk.lenOld, hunk.lenNew]).toEqual([hunk.linesOld.length, hunk.linesNew.length])
      expect(hunk.linesOld).toEqual(real.linesOld.slice(0, hunk.lenOld))
      expect(hunk.linesNew).toEqual(real.linesNew.slice(0, hunk.lenNew))
    })
  }
})
