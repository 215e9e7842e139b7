import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { nestingOf } from '../../../host/source-nesting.ts'
import { largestSource, openSourceParser } from '../../../host/source-parser.ts'
import { seed } from '../../../../test/support/seed.ts'
import { sweep } from '../../../../test/support/soak.ts'
import { anchorsOf } from './definitions.ts'
import { presets } from './presets.ts'
import { addProperty, applyEdits, openManuscript } from './rewrite.ts'
import { eachNode, type Node, type Syntax } from './syntax.ts'

const sources = openSourceParser()
afterAll(() => sources.close())
const parse = async (file: string, text: string): Promise<Syntax> => sources.parse(file, text, { client: 'test' })

function firstObject({ program }: Syntax): Node {
  const found: Node[] = []
  eachNode(program, (node) => {
    if (node.type === 'ObjectExpression') found.push(node)
  })
  return found[0] as Node
}

/** The text with the property in its first object literal, or why not. */
async function added(text: string, name = 'added', valueCode = '1'): Promise<string> {
  const syntax = await parse('a.ts', text)
  const verdict = await addProperty(openManuscript('a.ts', text, syntax), firstObject(syntax), { name, valueCode }, parse)
  return verdict.decision === 'write' ? applyEdits(text, verdict.edits) : verdict.reason
}

describe('a property is added', () => {
  test.each([
    ['to an empty object', 'f({})', 'f({ added: 1 })'],
    ['to a blank one', 'f({ })', 'f({ added: 1 })'],
    ['on one line', 'f({ a: 1 })', 'f({ a: 1, added: 1 })'],
    ['on one line without blanks', 'f({a: 1})', 'f({a: 1, added: 1})'],
    ['on one line behind a comma', 'f({ a: 1, })', 'f({ a: 1, added: 1, })'],
    ['behind a comment on one line', 'f({ a: 1 /* , */ })', 'f({ a: 1, /* , */ added: 1 })'],
    ['behind a comma', 'f({\n  a: 1,\n})', 'f({\n  a: 1,\n  added: 1,\n})'],
    ['where there is no comma: defect 1', 'f({\n  a: 1\n})', 'f({\n  a: 1,\n  added: 1\n})'],
    ['behind a line comment: defect 7', 'f({\n  a: 1 // one, two\n})', 'f({\n  a: 1, // one, two\n  added: 1\n})'],
    ['behind a comment of its own: defect 7', 'f({\n  a: 1,\n  // b: 2,\n})', 'f({\n  a: 1,\n  // b: 2,\n  added: 1,\n})'],
    ['to an object of comments alone', 'f({\n  // nothing yet\n})', 'f({\n  // nothing yet\n  added: 1,\n})'],
    ['with the line ends there are', 'f({\r\n\ta: 1\r\n})\r\n', 'f({\r\n\ta: 1,\r\n\tadded: 1\r\n})\r\n'],
    ['where the bracket has no line of its own', 'f({ a: 1,\n    b: 2 })', 'f({ a: 1,\n    b: 2,\n        added: 1\n     })'],
    ['behind a mark of the byte order: defect 5', '\uFEFFf({ a: "é😀漢" })', '\uFEFFf({ a: "é😀漢", added: 1 })'],
    ['behind a method', 'f({ a() { return {} } })', 'f({ a() { return {} }, added: 1 })'],
  ])('%s', async (_, before, after) => {
    expect(await added(before)).toBe(after)
    expect((await parse('a.ts', after)).broken).toBe(false)
    expect(await added(after)).toBe('rewriter.property.already_declared')
  })

  test.each([
    ['a getter: defect 6', 'f({ get added() { return 1 } })'],
    ['a setter: defect 6', 'f({ set added(x) {} })'],
    ['a computed text: defect 6', "f({ ['added']: 1 })"],
    ['a quoted name', "f({ 'added': 1 })"],
    ['a method', 'f({ added() {} })'],
    ['a shorthand', 'f({ added })'],
    ['an empty object', 'f({ added: {} })'],
  ])('%s is declared already', async (_, text) => expect(await added(text)).toBe('rewriter.property.already_declared'))

  test('what cannot be known is refused', async () => {
    expect(await added('f({ ...rest })')).toBe('rewriter.target.object_has_spread')
    expect(await added('f({ [key]: 1 })')).toBe('rewriter.target.object_has_computed_name')
    expect(await added('f({ a: 1 })', 'x', '{\n}')).toBe('rewriter.value.multi_line')
    for (const value of ['1 }, ...x, {', '1, b: 2', 'a; b', '1 // gone', '', '1)', '(1', 'a, b'])
      expect(await added('f({ a: 1 })', 'x', value)).toBe('rewriter.value.not_an_expression')
  })

  test('names that are no identifiers are quoted', async () => {
    expect(await added('f({})', "it's")).toBe(String.raw`f({ 'it\'s': 1 })`)
    expect(await added('f({})', 'größe')).toBe('f({ größe: 1 })')
  })

  test('whatever the object looks like, it is a program afterwards and has one property more', async () => {
    const blank = fc.constantFrom('', ' ', '\n', '\r\n', '\n  ', ' /* , */ ', ' // , \n', '\t')
    const property = fc.constantFrom('a: 1', 'b() {}', "'c d': {}", '[`e`]: [1, 2]', 'get g() { return 1 }', 'h')
    const literal = fc
      .tuple(fc.uniqueArray(property, { maxLength: 4 }), fc.array(blank, { minLength: 12, maxLength: 12 }), fc.boolean())
      .map(([all, blanks, comma]) => {
        const at = (index: number): string => blanks[index % blanks.length] as string
        const inner = all.map((one, index) => `${at(index)}${one}${at(index + 5)}`).join(',')
        return `const x = f({${inner}${comma && all.length > 0 ? `,${at(3)}` : at(4)}})\n`
      })
    await fc.assert(
      fc.asyncProperty(literal, async (text) => {
        const after = await added(text)
        expect((await parse('a.ts', after)).broken, after).toBe(false)
        const count = async (source: string): Promise<number> =>
          (firstObject(await parse('a.ts', source))['properties'] as unknown[]).length
        expect(await count(after)).toBe((await count(text)) + 1)
        expect(after.replace(/\s/g, '')).toContain('added:1')
      }),
      { seed, numRuns: 500 },
    )
  })
})

describe('what counts as a definition', () => {
  const index = async (text: string) => anchorsOf('a.ts', text, await parse('a.ts', text), Object.values(presets).flat())
  test.each([
    ["import { defineStore as make } from 'pinia'\nexport const useCart = make('cart', { state: 1 })", 'StoreDef', 'cart'],
    ["import * as rtk from '@reduxjs/toolkit'\nconst s = rtk.createSlice({ name: 'todo', reducers: {} })", 'StoreDef', 'todo'],
    ["import { z } from 'zod'\nexport const User = z.object({ name: z.string() })", 'SchemaDef', 'User'],
    [
      "import { pgTable } from 'drizzle-orm/pg-core'\nexport const users = pgTable(`users`, { id: 1 } as const)",
      'SchemaDef',
      'users',
    ],
    [
      "import { createFileRoute } from '@tanstack/react-router'\nexport const Route = createFileRoute('/posts')({ loader: 1 })",
      'RouteDef',
      '/posts',
    ],
    ["import { test } from 'vitest'\ntest('adds', () => {})", 'TestDef', 'adds'],
  ])('%s', async (text, kind, id) => {
    const { entries, raw } = await index(text)
    expect(raw).toEqual([])
    expect(entries[0]).toMatchObject({ kind, idLiteral: id })
  })

  test.each([
    ["import { defineStore } from 'pinia'\ndefineStore(name, {})", 'store.non_literal_id'],
    ["import { defineStore } from 'pinia'\ndefineStore('a', options)", 'store.def_not_object_literal'],
    ["import { defineStore } from 'pinia'\ndefineStore('a')", 'store.missing_def'],
    ["import { defineStore } from 'pinia'\ndefineStore(`a${b}`, {})", 'store.non_literal_id'],
  ])('raw: %s', async (text, code) => {
    const { entries, raw } = await index(text)
    expect([entries, raw[0]?.reasonCodes]).toEqual([[], [code]])
  })

  test('what is not imported from there is not one', async () => {
    expect(await index("import { defineStore } from './mine'\ndefineStore('a', {}); type T = 'pinia'")).toEqual({
      entries: [],
      raw: [],
    })
    expect(await index("import type { defineStore } from 'pinia'\ndefineStore('a', {})")).toEqual({ entries: [], raw: [] })
  })

  test('a field that is missing has a place, and a place only where it can be known', async () => {
    const { entries } = await index(
      "import { createSlice } from '@reduxjs/toolkit'\ncreateSlice({ name: 'a' }); createSlice({ name: 'b', ...x })",
    )
    expect(entries.map(({ kind }) => kind)).toEqual(['StoreDef', 'AutofillTarget', 'StoreDef'])
    expect(entries[2]?.reasonCodes).toEqual(['object_has_spread'])
  })
})

test('a factory is found by whatever name a source has for it, wherever that name stands', async () => {
  const text = `import { defineStore as define } from 'pinia'
import * as pinia from 'pinia'
const a = 'define', notes = { define: 1 } // define
class A { b = [() => pinia.defineStore('inside', {})] }
export const c = (define)<Cart>('typed', { define: 2 }) satisfies object
export const d = d\u0065fine('escaped', {})
`
  const found = async (source: string): Promise<unknown[]> =>
    anchorsOf('a.ts', source, await parse('a.ts', source), presets['store'] ?? []).entries.map((one) =>
      'idLiteral' in one ? [one.idLiteral, one.binding] : one.kind,
    )
  const plain = [
    ['inside', undefined],
    ['typed', 'c'],
  ]
  expect(await found(text)).toEqual([...plain, ['escaped', 'd']])
  // With no escape anywhere only what is about these names is looked through.
  expect(await found(text.replace(/.*escaped.*/, ''))).toEqual(plain)
})

const deep = [
  ['[', ']'],
  ['{a:', '}'],
  ['a=>', ''],
  ['!', ''],
  ['function f(){', '}'],
  ['typeof ', ''],
  ['`${', '}`'],
  ['a?1:', ''],
  ['new ', ''],
  ['f(', ')'],
  ['async a=>', ''],
  ['class{static{', '}}'],
  ['<T,>()=>', ''],
] as const

test('a file that is nested so deeply that the parser would end the process is not read', async () => {
  for (const [open, close] of deep.slice(0, 3)) {
    const text = `x = ${open.repeat(200_000)}1${close.repeat(200_000)}`
    expect((await parse('a.ts', text)).broken, open).toBe('too_deep')
    expect(await added('f({})', 'x', text)).toBe('rewriter.value.not_an_expression')
  }
  expect((await parse('a.ts', ' '.repeat(2_000_000))).broken).toBe('too_large')
})

/** What the thread takes. */
const mostNesting = 8

/** As many levels of a shape as are let through to the thread. */
function deepest(open: string, close: string): number {
  const fits = (levels: number): boolean => {
    const text = `x = ${open.repeat(levels)}1${close.repeat(levels)}`
    return text.length <= largestSource && nestingOf(text) <= mostNesting
  }
  let low = 1
  let high = largestSource
  while (low < high) {
    const middle = (low + high + 1) >> 1
    if (fits(middle)) low = middle
    else high = middle - 1
  }
  return low
}

test('what this process could not bear is read by a thread: deep files, and large ones', async () => {
  // Each was seen to end a process that parses it on its own stack.
  for (const [open, close] of deep.slice(0, sweep(deep.length, 1))) {
    const levels = sweep(deepest(open, close), 11_000)
    const text = `x = ${open.repeat(levels)}1${close.repeat(levels)}`
    expect((await parse('a.ts', text)).broken, `${levels} times ${open}`).toBe(false)
  }
  const many = `export const a = { b: [1, 2, 3n], c: () => f({ d: /e/ }), ...g } as const // h\n`
  const text = `import { defineStore } from 'pinia'\n${many.repeat(1_000)}export const s = defineStore(\`last\`, { state: 1 })\n`
  const syntax = await parse('a.ts', text)
  expect([syntax.broken, syntax.comments.length]).toEqual([false, 1_000])
  expect(anchorsOf('a.ts', text, syntax, presets['store'] ?? []).entries).toMatchObject([
    { idLiteral: 'last', binding: 's', span: { start: { line: 1_002 } }, properties: ['state'] },
  ])
  expect(await added(text)).toBe('rewriter.target.object_has_spread')
  expect(await added(text.replaceAll(', ...g', ''))).toContain('c: () => f({ d: /e/ }), added: 1 } as const // h\n')
  expect((await parse('a.ts', `${text})`)).broken).toBe('not_parsed')
})
