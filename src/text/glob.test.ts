import fc from 'fast-check'
import { expect, test } from 'vitest'
import { compileGlobs } from './glob.ts'

const hits = (glob: string, ...paths: string[]): string[] => paths.filter(compileGlobs([glob]))

test.each([
  ['*.txt', ['a.txt', '.a.txt'], ['a/b.txt', 'a.txt.bak', 'txt']],
  ['**/*.txt', ['a.txt', 'a/b.txt', 'a/b/c.txt'], ['a.md', 'a/b.txt/c']],
  ['a/**', ['a/b', 'a/b/c', 'a/.x'], ['a', 'ab', 'b/a']],
  ['a/**/b', ['a/b', 'a/x/b', 'a/x/y/b'], ['a/bb', 'b', 'a/b/c']],
  ['**', ['a', 'a/b'], []],
  ['a?c', ['abc', 'a海c', 'a😀c'], ['ac', 'a/c', 'abbc']],
  ['[a-c]x', ['ax', 'cx'], ['dx', 'x']],
  ['[!a-c]x', ['dx'], ['ax']],
  ['*.{txt,md}', ['a.txt', 'b.md'], ['c.js']],
  ['{a,b/**}', ['a', 'b/c'], ['c', 'b']],
  ['!*.txt', ['a.md'], ['a.txt']],
  ['a{b', ['a{b'], ['ab']],
  ['(a|b)+', ['(a|b)+'], ['a', 'ab']],
  ['\\*', ['*'], ['a']],
  ['*a*b*c*', ['xaxbxcx', 'abc'], ['acb']],
  ['../**', [], ['a', 'x/y']],
])('%s', (glob, yes, no) => {
  expect(hits(glob, ...yes, ...no)).toEqual(yes)
})

test('a glob of plain letters and stars agrees with the plain reading of it', () => {
  const letters = fc.array(fc.constantFrom('a', 'b', '*', '?'), { maxLength: 8 }).map((list) => list.join(''))
  const names = fc.array(fc.constantFrom('a', 'b', 'c'), { maxLength: 8 }).map((list) => list.join(''))
  fc.assert(
    fc.property(letters, names, (glob, name) => {
      fc.pre(glob !== '' && glob !== '**' && name !== '')
      const plain = new RegExp(`^${glob.replaceAll('?', '.').replace(/\*+/g, '.*')}$`)
      expect(compileGlobs([glob])(name)).toBe(plain.test(name))
    }),
  )
})

test('what would explode is bounded or refused', () => {
  const name = `${'a'.repeat(250)}!`
  for (const glob of ['*a'.repeat(200), '**/'.repeat(100), `${'a*'.repeat(100)}b`]) expect(compileGlobs([glob])(name)).toBe(false)
  for (const glob of ['', 'x'.repeat(600), '{a,b}'.repeat(20)]) expect(() => compileGlobs([glob])).toThrow(/Not a usable glob/)
})

test('letter case and base names', () => {
  expect(compileGlobs(['Package.JSON'], { nocase: true })('PACKAGE.json')).toBe(true)
  expect(compileGlobs(['*.md'], { matchBase: true })('a/b/c.md')).toBe(true)
})
