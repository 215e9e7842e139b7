import { expect, test } from 'vitest'
// @ts-expect-error a plain script
import { breaks } from '../../scripts/additive.mjs'

const before = {
  name: 'x',
  description: 'old',
  errors: ['E_IO'],
  input: { type: 'object', properties: { a: { type: 'string' } }, required: ['a'], additionalProperties: false },
}
const change = (edit: (copy: typeof before & Record<string, unknown>) => void): string[] => {
  const copy = structuredClone(before) as typeof before & Record<string, unknown>
  edit(copy)
  return (breaks as (a: unknown, b: unknown) => string[])(before, copy)
}

test('words, optional fields, new codes and new facts are additions', () => {
  expect(change((copy) => (copy.description = 'new'))).toEqual([])
  expect(change((copy) => Object.assign(copy.input.properties, { b: { type: 'number' } }))).toEqual([])
  expect(change((copy) => copy.errors.push('E_CONFLICT'))).toEqual([])
  expect(change((copy) => (copy['icon'] = 'x'))).toEqual([])
})

test('everything else breaks a promise', () => {
  expect(change((copy) => copy.input.required.push('b'))).not.toEqual([])
  expect(change((copy) => (copy.input.required = []))).not.toEqual([])
  expect(change((copy) => (copy.input.properties.a.type = 'number'))).not.toEqual([])
  expect(change((copy) => Object.assign(copy.input.properties.a, { minLength: 3 }))).not.toEqual([])
  expect(change((copy) => delete (copy.input.properties as { a?: unknown }).a)).not.toEqual([])
  expect(change((copy) => (copy.errors = []))).not.toEqual([])
  expect(change((copy) => (copy.input.additionalProperties = true))).not.toEqual([])
})
