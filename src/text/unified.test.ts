import { applyPatch } from 'diff'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { unifiedDiff } from './unified.ts'
import { sweep } from '../../test/support/soak.ts'

test('a change has its place, three lines around it, and a file that was not there is /dev/null', () => {
  expect(unifiedDiff('f', '1\n2\n3\n4\n5\n6\n7\n8\n', '1\n2\n3\n4\nfive\n6\n7\n8\n').split('\n')).toEqual([
    '--- f',
    '+++ f',
    '@@ -2,7 +2,7 @@',
    ' 2',
    ' 3',
    ' 4',
    '-5',
    '+five',
    ' 6',
    ' 7',
    ' 8',
    '',
  ])
  expect(unifiedDiff('f', undefined, 'a\n')).toBe('--- /dev/null\n+++ f\n@@ -0,0 +1,1 @@\n+a\n')
})

test('lines added at the end come after the last one, with the empty line before them first', () => {
  expect(unifiedDiff('f', 'a\n', 'a\n\nb\n')).toBe('--- f\n+++ f\n@@ -1,1 +1,3 @@\n a\n+\n+b\n')
})

test('a last line without its newline is marked', () => {
  expect(unifiedDiff('f', 'a', 'a\n')).toBe('--- f\n+++ f\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n')
})

test('whatever the texts are, applying the diff to the one gives the other', () => {
  const text = fc
    .tuple(fc.array(fc.constantFrom('', 'a', 'b', 'c', '}', '  x'), { maxLength: 30 }), fc.boolean())
    .map(([lines, ended]) => lines.join('\n') + (ended ? '\n' : ''))
  fc.assert(
    fc.property(text, text, (before, after) => {
      fc.pre(before !== after)
      expect(applyPatch(before, unifiedDiff('f', before, after))).toBe(after)
    }),
    { numRuns: sweep(2_000, 500) },
  )
})
