import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { catalogue } from '../../src/toolsets/index.ts'

const seed = JSON.parse(readFileSync(new URL('./seed-000.schemas.json', import.meta.url), 'utf8')) as Record<string, object>

/** What the seed describes and a later issue builds. */
const later = [
  'list_project_resources',
  'validate_script',
  'preview_scene',
  'generate_character_profile',
  'execute_command',
  'browser_action',
]

/** What we add to the seed's schemas: optional fields only, as its §7 allows. */
const additions: Record<string, string[]> = { 'replace_in_file.request': ['dryRun'], 'replace_in_file.response': ['diff'] }

const plain = (schema: object, id: string): unknown => {
  const copy = JSON.parse(JSON.stringify(schema)) as { properties: Record<string, unknown>; required?: string[] }
  for (const name of additions[id] ?? []) {
    expect(copy.properties).toHaveProperty(name)
    expect(copy.required).not.toContain(name)
    delete copy.properties[name]
  }
  return copy
}

for (const tool of catalogue())
  for (const [side, schema] of [
    ['request', tool.input],
    ['response', tool.output],
  ] as const)
    if (seed[`${tool.name}.${side}`])
      test(`${tool.name}: the ${side} schema equals the seed's`, () => {
        expect(plain(schema, `${tool.name}.${side}`)).toEqual(seed[`${tool.name}.${side}`])
      })

test('every schema of the seed belongs to a tool that exists or is announced', () => {
  const names = new Set(Object.keys(seed).map((id) => id.split('.')[0]))
  const built = new Set(catalogue().map((tool) => tool.name))
  expect([...names].filter((name) => !built.has(name as string)).sort()).toEqual([...later].sort())
})
