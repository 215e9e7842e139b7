import fc from 'fast-check'
import { expect, test } from 'vitest'
import '../../test/support/fast-check.ts'
import { asFields, readFrontMatter, simpleFields } from './front-matter.ts'

const fieldsOf = (text: string) => readFrontMatter(text).fields

test('plain values stay as they were written', () => {
  const read = readFrontMatter('---\nname: a\nversion: 1.10\nat: 2026-01-02\non: yes\ntags: [x, "y"]\nempty:\n---\n# Body\n')
  expect(read).toEqual({
    fields: { name: 'a', version: '1.10', at: '2026-01-02', on: 'yes', tags: ['x', 'y'], empty: '' },
    body: '# Body\n',
    bodyLine: 9,
    notes: [],
  })
})

test.each([
  [
    'a colon in a value',
    '---\nname: a\ndescription: Use when: the user asks\n---\nx',
    { name: 'a', description: 'Use when: the user asks' },
  ],
  [
    'a colon in a value over several lines',
    '---\ndescription: Use: this\n  and: that\nname: a\n---\n',
    { description: 'Use: this and: that', name: 'a' },
  ],
  [
    'a quotation that ends too early',
    '---\nname: a\ndescription: "One" or "two"\n---\n',
    { name: 'a', description: 'One" or "two' },
  ],
  ['tabs', '---\nname: a: b\nmetadata:\n\tauthor: me\n---\n', { name: 'a: b', metadata: { author: 'me' } }],
  [
    'a star, an at sign, a backtick',
    '---\nname: a\ndescription: `code` first\n---\n',
    { name: 'a', description: '`code` first' },
  ],
  [
    'what is beyond YAML',
    '---\nname: a\n  : [\ndescription: still here: yes\n}\n---\n',
    { name: 'a', description: 'still here: yes' },
  ],
])('%s is mended', (_, text, wanted) => {
  const { fields, notes } = readFrontMatter(text)
  expect(fields).toMatchObject(wanted)
  expect(notes).not.toEqual([])
})

test('a byte order mark, blank lines and the line ends of Windows are no mistake', () => {
  expect(readFrontMatter('\uFEFF\r\n---\r\nname: a\r\n---\r\nBody')).toEqual({
    fields: { name: 'a' },
    body: 'Body',
    bodyLine: 5,
    notes: [],
  })
})

test('front matter that is not closed ends where it cannot go on', () => {
  expect(readFrontMatter('---\nname: a\ndescription: b\n\n# Title\ntext: no\n')).toMatchObject({
    fields: { name: 'a', description: 'b' },
    notes: [expect.stringContaining('not closed')],
  })
})

test('without front matter all of it is the body', () => {
  expect(readFrontMatter('# A\n\n---\nname: a\n---\n')).toMatchObject({ body: '# A\n\n---\nname: a\n---\n', bodyLine: 1 })
  expect(fieldsOf('')).toBeUndefined()
})

test('aliases do not multiply, and depth has no end that hurts', () => {
  const bomb = `---\na: &a [x,x,x,x,x,x,x,x,x]\n${[...'bcdefghi'].map((one, at) => `${one}: &${one} [${Array(9).fill(`*${'abcdefghi'[at]}`).join(',')}]`).join('\n')}\n---\n`
  expect(JSON.stringify(fieldsOf(bomb) ?? {}).length).toBeLessThan(10_000)
  for (const one of ['[', '{a: ', '- ', '? ', '- ? ', '{? [', '&a [', '!t {', '-\t', '- - [ '])
    expect(readFrontMatter(`---\nname: a\nb:\n ${one.repeat(15_000)}\n---\n`).fields).toEqual({ name: 'a' })
  const stairs = Array.from({ length: 300 }, (_, at) => `${' '.repeat(at)}a:`).join('\n')
  expect(() => readFrontMatter(`---\n${stairs}\n---\n`)).not.toThrow()
  expect(Object.getPrototypeOf(fieldsOf('---\n__proto__: {x: 1}\nname: a\n---\n') ?? {})).not.toHaveProperty('x')
})

test('whatever stands in a file, it is read without an error and nothing of the body is lost', () => {
  const line = fc.oneof(
    fc.string(),
    fc.constantFrom('---', '...', 'name: a', 'description: a: b', '- x', '\t- y', 'a: |', '  z', '*a', '&b c'),
  )
  fc.assert(
    fc.property(fc.array(line, { maxLength: 12 }), fc.constantFrom('\n', '\r\n', '\r'), (lines, end) => {
      const text = lines.join(end)
      const { body } = readFrontMatter(text)
      expect(text.endsWith(body)).toBe(true)
    }),
    { numRuns: 300 },
  )
})

test('what is read without the parser is what the parser reads', () => {
  const word = fc.oneof(
    fc.stringMatching(/^[\w ,.;()-]{0,12}$/),
    fc.constantFrom('a b', '~', 'yes', '1.10', '"', "'", '#', ': ', '- ', '[', '\t', '*x', '|', '%', '\u00a0', 'null'),
  )
  const value = fc.array(word, { maxLength: 4 }).map((words) => words.join(''))
  const quote = fc.constantFrom('', '"', "'")
  const line = fc
    .tuple(fc.constantFrom('name', 'b-c', 'd_e'), value, quote)
    .map(([name, text, mark]) => `${name}: ${mark}${text}${mark}`)
  expect(simpleFields('name: a b\u00a0') ?? asFields('name: a b\u00a0')).toEqual({ name: 'a b\u00a0' })
  let simple = 0
  fc.assert(
    fc.property(fc.array(line, { minLength: 1, maxLength: 4 }), (lines) => {
      const read = simpleFields(lines.join('\n'))
      if (!read) return
      simple++
      expect(read).toEqual(asFields(lines.join('\n')))
    }),
    { numRuns: 500 },
  )
  expect(simple).toBeGreaterThan(20)
})
