import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { seed } from '../../../../test/support/seed.ts'
import { anchorsOf } from './definitions.ts'
import { presets } from './presets.ts'
import { addProperty, applyEdits } from './rewrite.ts'
import { eachNode, openParser, type Node } from './syntax.ts'

const parse = openParser()

function firstObject(text: string): Node {
  const found: Node[] = []
  eachNode(parse('a.ts', text).program, (node) => {
    if (node.type === 'ObjectExpression') found.push(node)
  })
  return found[0] as Node
}

/** The text with the property in its first object literal, or why not. */
function added(text: string, name = 'added', valueCode = '1'): string {
  const verdict = addProperty('a.ts', text, parse('a.ts', text), firstObject(text), { name, valueCode }, parse)
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
  ])('%s', (_, before, after) => {
    expect(added(before)).toBe(after)
    expect(parse('a.ts', after).broken).toBe(false)
    expect(added(after)).toBe('rewriter.property.already_declared')
  })

  test.each([
    ['a getter: defect 6', 'f({ get added() { return 1 } })'],
    ['a setter: defect 6', 'f({ set added(x) {} })'],
    ['a computed text: defect 6', "f({ ['added']: 1 })"],
    ['a quoted name', "f({ 'added': 1 })"],
    ['a method', 'f({ added() {} })'],
    ['a shorthand', 'f({ added })'],
    ['an empty object', 'f({ added: {} })'],
  ])('%s is declared already', (_, text) => expect(added(text)).toBe('rewriter.property.already_declared'))

  test('what cannot be known is refused', () => {
    expect(added('f({ ...rest })')).toBe('rewriter.target.object_has_spread')
    expect(added('f({ [key]: 1 })')).toBe('rewriter.target.object_has_computed_name')
    expect(added('f({ a: 1 })', 'x', '{\n}')).toBe('rewriter.value.multi_line')
    for (const value of ['1 }, ...x, {', '1, b: 2', 'a; b', '1 // gone', '', '1)', '(1', 'a, b'])
      expect(added('f({ a: 1 })', 'x', value)).toBe('rewriter.value.not_an_expression')
  })

  test('names that are no identifiers are quoted', () => {
    expect(added('f({})', "it's")).toBe(String.raw`f({ 'it\'s': 1 })`)
    expect(added('f({})', 'größe')).toBe('f({ größe: 1 })')
  })

  test('whatever the object looks like, it is a program afterwards and has one property more', () => {
    const blank = fc.constantFrom('', ' ', '\n', '\r\n', '\n  ', ' /* , */ ', ' // , \n', '\t')
    const property = fc.constantFrom('a: 1', 'b() {}', "'c d': {}", '[`e`]: [1, 2]', 'get g() { return 1 }', 'h')
    const literal = fc
      .tuple(fc.uniqueArray(property, { maxLength: 4 }), fc.array(blank, { minLength: 12, maxLength: 12 }), fc.boolean())
      .map(([all, blanks, comma]) => {
        const at = (index: number): string => blanks[index % blanks.length] as string
        const inner = all.map((one, index) => `${at(index)}${one}${at(index + 5)}`).join(',')
        return `const x = f({${inner}${comma && all.length > 0 ? `,${at(3)}` : at(4)}})\n`
      })
    fc.assert(
      fc.property(literal, (text) => {
        const after = added(text)
        expect(parse('a.ts', after).broken, after).toBe(false)
        const count = (source: string): number => (firstObject(source)['properties'] as unknown[]).length
        expect(count(after)).toBe(count(text) + 1)
        expect(after.replace(/\s/g, '')).toContain('added:1')
      }),
      { seed, numRuns: 500 },
    )
  })
})

describe('what counts as a definition', () => {
  const index = (text: string) => anchorsOf('a.ts', text, parse('a.ts', text), Object.values(presets).flat())
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
  ])('%s', (text, kind, id) => {
    const { entries, raw } = index(text)
    expect(raw).toEqual([])
    expect(entries[0]).toMatchObject({ kind, idLiteral: id })
  })

  test.each([
    ["import { defineStore } from 'pinia'\ndefineStore(name, {})", 'store.non_literal_id'],
    ["import { defineStore } from 'pinia'\ndefineStore('a', options)", 'store.def_not_object_literal'],
    ["import { defineStore } from 'pinia'\ndefineStore('a')", 'store.missing_def'],
    ["import { defineStore } from 'pinia'\ndefineStore(`a${b}`, {})", 'store.non_literal_id'],
  ])('raw: %s', (text, code) => {
    const { entries, raw } = index(text)
    expect([entries, raw[0]?.reasonCodes]).toEqual([[], [code]])
  })

  test('what is not imported from there is not one', () => {
    expect(index("import { defineStore } from './mine'\ndefineStore('a', {}); type T = 'pinia'")).toEqual({
      entries: [],
      raw: [],
    })
    expect(index("import type { defineStore } from 'pinia'\ndefineStore('a', {})")).toEqual({ entries: [], raw: [] })
  })

  test('a field that is missing has a place, and a place only where it can be known', () => {
    const { entries } = index(
      "import { createSlice } from '@reduxjs/toolkit'\ncreateSlice({ name: 'a' }); createSlice({ name: 'b', ...x })",
    )
    expect(entries.map(({ kind }) => kind)).toEqual(['StoreDef', 'AutofillTarget', 'StoreDef'])
    expect(entries[2]?.reasonCodes).toEqual(['object_has_spread'])
  })
})

test('a file that is nested so deeply that the parser would end the process is not read', () => {
  for (const [open, close] of [
    ['[', ']'],
    ['{a:', '}'],
    ['a=>', ''],
    ['!', ''],
    ['function f(){', '}'],
    ['typeof ', ''],
    ['`${', '}`'],
  ] as const) {
    const text = `x = ${open.repeat(100_000)}1${close.repeat(100_000)}`
    expect(parse('a.ts', text).broken, open).toBe(true)
    expect(added('f({})', 'x', text)).toBe('rewriter.value.not_an_expression')
  }
  expect(parse('a.ts', 'export const a = { b: [1, 2, 3], c: () => 4 }\n'.repeat(500)).broken).toBe(false)
})
