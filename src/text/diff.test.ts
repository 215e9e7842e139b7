import fc from 'fast-check'
import { diffArrays } from 'diff'
import { expect, test } from 'vitest'
import { changedLines, lineDiff } from './diff.ts'
import type { LineDiff } from '../contracts/line-diff.ts'
import { sweep } from '../../test/support/soak.ts'

/** Puts the hunks in, last first, checking that what they take out is there. */
function apply(text: string, diff: LineDiff): string {
  const lines = text.split('\n')
  for (const hunk of diff.hunks.toReversed()) {
    expect(lines.slice(hunk.startOld - 1, hunk.startOld - 1 + hunk.lenOld)).toEqual(hunk.linesOld)
    lines.splice(hunk.startOld - 1, hunk.lenOld, ...hunk.linesNew)
  }
  return lines.join('\n')
}

const words = fc.array(fc.constantFrom('a', 'b', 'c', '', 'd\r', '雪'), { maxLength: 30 }).map((lines) => lines.join('\n'))

test('the hunks turn the old text into the new one, to the byte', () => {
  fc.assert(
    fc.property(words, words, (before, after) => {
      const diff = lineDiff(before, after)
      expect(apply(before, diff)).toBe(after)
      for (const hunk of diff.hunks) {
        expect(hunk.linesOld).toHaveLength(hunk.lenOld)
        expect(hunk.linesNew).toHaveLength(hunk.lenNew)
        expect(after.split('\n').slice(hunk.startNew - 1, hunk.startNew - 1 + hunk.lenNew)).toEqual(hunk.linesNew)
      }
    }),
    { numRuns: sweep(3_000, 400) },
  )
})

test('no smaller set of changed lines exists', () => {
  fc.assert(
    fc.property(words, words, (before, after) => {
      const least = diffArrays(before.split('\n'), after.split('\n')).reduce(
        (sum, part) => sum + (part.added || part.removed ? part.count : 0),
        0,
      )
      expect(changedLines(lineDiff(before, after))).toBe(least)
    }),
    { numRuns: sweep(3_000, 400) },
  )
})

const many = Array.from({ length: 5_000 }, (_, index) => `line ${index}`)

test('an insertion at the top of 5,000 lines is one hunk of one line', () => {
  expect(lineDiff(many.join('\n'), ['new', ...many].join('\n')).hunks).toEqual([
    { startOld: 1, lenOld: 0, startNew: 1, lenNew: 1, linesOld: [], linesNew: ['new'] },
  ])
})

test('large rewrites and shuffles end, and still give the new text', () => {
  const before = Array.from({ length: 50_000 }, (_, index) => `line ${(index * 7_919) % 1_000}`).join('\n')
  const after = Array.from({ length: 50_000 }, (_, index) => `line ${(index * 104_729) % 1_000}`).join('\n')
  expect(apply(before, lineDiff(before, after))).toBe(after)
  const reversed = many.toReversed().join('\n')
  expect(apply(many.join('\n'), lineDiff(many.join('\n'), reversed))).toBe(reversed)
})

test('line ends and a missing final newline are changes', () => {
  expect(changedLines(lineDiff('a\n', 'a'))).toBe(1)
  expect(changedLines(lineDiff('a\r\nb\r\n', 'a\nb\n'))).toBe(4)
  expect(lineDiff('same', 'same').hunks).toEqual([])
})

test('the pairing is the one the library makes, line for line', () => {
  const few = fc.array(fc.constantFrom('a', 'b', 'c', 'd', 'e', 'f'), { maxLength: 60 })
  fc.assert(
    fc.property(few, few, (old, now) => {
      const given = diffArrays(old, now)
      const ours = lineDiff(['<', ...old, '>'].join('\n'), ['<', ...now, '>'].join('\n'))
      const size = given.reduce((sum, part) => sum + (part.added || part.removed ? part.count : 0), 0)
      expect(changedLines(ours)).toBe(size)
    }),
    { numRuns: sweep(1_000, 200) },
  )
})

test('one budget for the whole diff: past it the rest is a block, true and marked', () => {
  const mixed = (step: number): string[] =>
    Array.from({ length: 20_000 }, (_, index) => (index % 40 === 0 ? `once ${index}` : String((index * step) % 7)))
  const [before, after] = [mixed(3).join('\n'), mixed(5).join('\n')]
  const spent = (steps: number): number => {
    const budget = { steps }
    const diff = lineDiff(before, after, budget)
    expect(apply(before, diff)).toBe(after)
    expect(diff.coarse).toBe(true)
    return steps - budget.steps
  }
  // A search that is under way ends with the row it is in, so a little more than was given may be spent.
  for (const steps of [1_000, 100_000, 1_000_000]) expect(spent(steps)).toBeLessThan(steps + 100_000)
  expect(lineDiff('a\nb\nc', 'a\nx\nc').coarse).toBeUndefined()
})
