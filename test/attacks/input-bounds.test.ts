import { expect, test } from 'vitest'
import { errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import type { Tool } from '../../src/contracts/tool.ts'
import { longestContent, longestText, mostItems } from '../../src/kernel/bounds.ts'
import { checkInput } from '../../src/kernel/check.ts'
import { catalogue } from '../../src/toolsets/index.ts'
import { openWorld } from '../support/world.ts'

interface Schema {
  type?: string
  const?: unknown
  enum?: unknown[]
  default?: unknown
  pattern?: string
  minLength?: number
  maxLength?: number
  maxItems?: number
  minimum?: number
  items?: Schema
  properties?: Record<string, Schema>
  patternProperties?: Record<string, Schema>
  additionalProperties?: boolean | Schema
  required?: string[]
  oneOf?: { required: string[] }[]
}

/** Fields that carry what stands in files, and why they may be large. Nothing else may. */
const contents: Record<string, string> = {
  'write_to_file.content': 'the file itself; limits.maxReadBytes bounds it',
  'replace_in_file.find': 'a stretch of a file; a pattern is bounded by 16,384',
  'replace_in_file.replace': 'a stretch of a file; the result is bounded',
  'replace_in_files.find': 'as in one file',
  'replace_in_files.replace': 'as in one file',
  'ask_followup_question.question': 'the tool says itself what is too long for a person',
  'attempt_completion.result': 'the same',
  'write_artifacts.files.text': 'what a command made, larger than any text of a call',
  'validate_script.content': 'a scene; limits.maxReadBytes bounds it',
}

/** Something small that fits, so that only the field that is tried can be the reason. */
function fitting(schema: Schema): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.type === 'integer' || schema.type === 'number') return schema.minimum ?? 1
  if (schema.type === 'boolean') return false
  if (schema.type === 'array') return []
  if (schema.type === 'object')
    return Object.fromEntries((schema.required ?? []).map((name) => [name, fitting(schema.properties?.[name] ?? {})]))
  if (schema.pattern?.includes('snap_')) return 'snap_20260101T000000_00000000'
  return 'a'
}

/** Every text and list in a schema, with a value of a given size put there. */
function* places(schema: Schema, way: string[] = []): Generator<{ way: string[]; schema: Schema }> {
  if ((schema.type === 'string' && !schema.enum && schema.const === undefined) || schema.type === 'array') yield { way, schema }
  if (schema.items) yield* places(schema.items, [...way, '0'])
  for (const [name, one] of Object.entries(schema.properties ?? {})) yield* places(one, [...way, name])
  for (const one of Object.values(schema.patternProperties ?? {})) yield* places(one, [...way, 'HANDRAIL_SKILL_X'])
}

function withAt(input: unknown, [name, ...rest]: string[], value: unknown): unknown {
  if (name === undefined) return value
  if (name === '0') return [withAt((input as unknown[] | undefined)?.[0], rest, value)]
  const object = (input ?? {}) as Record<string, unknown>
  return { ...object, [name]: withAt(object[name], rest, value) }
}

function codeOf(tool: Tool, input: unknown): string {
  try {
    checkInput(tool, input)
    return 'ok'
  } catch (fault) {
    if (fault instanceof Fault) return errorCodeOf(fault)
    throw fault
  }
}

test('B30 every text and every list of every tool has a bound, and what is beyond it is refused by name', () => {
  let tried = 0
  const large: string[] = []
  for (const tool of catalogue()) {
    const schema = tool.input as Schema
    const small = fitting(schema) as Record<string, unknown>
    for (const one of places(schema)) {
      const field = `${tool.name}.${one.way.filter((step) => step !== '0').join('.')}`
      const chosen = schema.oneOf ? Object.fromEntries(Object.entries(small).filter(([name]) => name === one.way[0])) : small
      const isList = one.schema.type === 'array'
      const most = isList
        ? (one.schema.maxItems ?? mostItems)
        : (one.schema.maxLength ?? (tool.contents.includes(one.way[0] ?? '') ? longestContent : longestText))
      if (!isList && most > longestText) large.push(field)
      const value = isList
        ? Array.from({ length: most + 1 }, () => fitting(one.schema.items ?? {}))
        : `${one.schema.pattern?.startsWith('^http') ? 'http://localhost/' : ''}${'a'.repeat(most + 1)}`
      // A path is refused as a path, unless its schema says already how it looks.
      const code = expect.stringMatching(field.endsWith('.path') ? /^E_(DENY_PATH|BAD_ARGS)$/ : /^E_BAD_ARGS$/)
      expect([field, codeOf(tool, withAt(chosen, one.way, value))]).toEqual([field, code])
      tried++
    }
    expect([tool.name, (schema as { additionalProperties?: boolean }).additionalProperties]).toEqual([tool.name, false])
  }
  expect(tried).toBeGreaterThan(30)
  expect(large.toSorted()).toEqual(Object.keys(contents).toSorted())
})

test('B30 what fits its bound goes through: a large file, a long question, many globs', async () => {
  await using world = await openWorld()
  await world.put('big.txt', 'x'.repeat(3_000_000))
  expect(await world.call('ask_followup_question', { question: 'q'.repeat(10_000) })).toEqual({ ack: true })
  expect(await world.call('attempt_completion', { result: 'r'.repeat(200_000) })).toEqual({ ack: true })
  expect((await world.fault('attempt_completion', { result: 'r'.repeat(200_001) })).code).toBe('E_TOO_LARGE')
  expect(
    (await world.fault('replace_in_file', { path: 'big.txt', find: 'x', replace: 'y', flags: 'g'.repeat(1_000_000) })).code,
  ).toBe('E_BAD_ARGS')
})

test('B31 what a session says, rehearses and fails at is kept in bounds, the newest of it', async () => {
  await using world = await openWorld()
  for (let index = 0; index < 230; index++) await world.call('attempt_completion', { result: `done ${index}` })
  const notes = world.runtime.notes('sess_test')
  expect(notes).toHaveLength(200)
  expect([notes[0]?.text, notes.at(-1)?.text]).toEqual(['done 30', 'done 229'])
})
