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

const plain = (schema: object): unknown => JSON.parse(JSON.stringify(schema))

for (const tool of catalogue())
  for (const [side, schema] of [
    ['request', tool.input],
    ['response', tool.output],
  ] as const)
    if (seed[`${tool.name}.${side}`])
      test(`${tool.name}: the ${side} schema equals the seed's`, () => {
        expect(plain(schema)).toEqual(seed[`${tool.name}.${side}`])
      })

test('every schema of the seed belongs to a tool that exists or is announced', () => {
  const names = new Set(Object.keys(seed).map((id) => id.split('.')[0]))
  const built = new Set(catalogue().map((tool) => tool.name))
  expect([...names].filter((name) => !built.has(name as string)).sort()).toEqual([...later].sort())
})
