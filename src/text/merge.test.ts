import fc from 'fast-check'
import { expect, test } from 'vitest'
import { lineDiff } from './diff.ts'
import { mergedText } from './merge.ts'

const merge = (base: string, mine: string, theirs: string): string | undefined =>
  mergedText(base, lineDiff(base, mine), lineDiff(base, theirs))

test('changes of other lines come together', () => {
  expect(merge('a\nb\nc\nd\ne\n', 'A\nb\nc\nd\ne\n', 'a\nb\nc\nd\nE\n')).toBe('A\nb\nc\nd\nE\n')
  expect(merge('a\nb\nc\nd\ne', 'a\nb\nc\nd\ne\nmine', 'first\na\nb\nc\nd\ne')).toBe('first\na\nb\nc\nd\ne\nmine')
})

test('different changes of the same lines, or of lines beside each other, do not', () => {
  expect(merge('a\nb\nc\n', 'a\nmine\nc\n', 'a\ntheirs\nc\n')).toBeUndefined()
  expect(merge('a\nb\nc\n', 'A\nb\nc\n', 'a\nB\nc\n')).toBeUndefined()
})

test('the same change on both sides is made once', () => {
  expect(merge('a\nb\nc\n', 'a\nB\nc\n', 'a\nB\nc\n')).toBe('a\nB\nc\n')
})

const words = fc.array(fc.constantFrom('a', 'b', '', 'd\r', '雪'), { maxLength: 12 }).map((lines) => lines.join('\n'))

test('with one side as it was, the other side is the answer; both orders agree', () => {
  fc.assert(
    fc.property(words, words, words, (base, one, other) => {
      expect(merge(base, one, base)).toBe(one)
      expect(merge(base, base, other)).toBe(other)
      expect(merge(base, one, other)).toBe(merge(base, other, one))
    }),
    { numRuns: 400 },
  )
})
