import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { catalogue } from '../../src/toolsets/index.ts'

const seed = JSON.parse(readFileSync(new URL('./seed-000.schemas.json', import.meta.url), 'utf8')) as Record<string, object>

/** What the seed describes and a later issue builds. */
const later: string[] = []

/** What we add to the seed's schemas, by the way to it: optional fields only, as its §7 allows. */
const additions: Record<string, string[]> = {
  'replace_in_file.request': ['dryRun'],
  'replace_in_file.response': ['diff'],
  'read_file.request': ['cut', 'startLine', 'endLine'],
  'read_file.response': ['truncated', 'lines'],
  'ask_followup_question.request': ['options'],
  'write_to_file.request': ['mustExist'],
  'write_to_file.response': ['diff.notShown'],
  'preview_scene.request': ['line', 'choices'],
  'preview_scene.response': ['engine'],
  'get_runtime_info.response': ['confinement', 'projectSettings', 'projectTemplates', 'unlisted'],
  'execute_command.request': ['stop'],
  'execute_command.response': ['not_applied', 'exitCode', 'running', 'urls', 'changes', 'left', 'duration_ms', 'confined'],
  'validate_script.response': [
    ...['severity', 'code', 'column', 'endColumn'].map((name) => `diagnostics.items.${name}`),
    'notShown',
    'engine',
  ],
  'list_files.response': ['truncated'],
  'search_files.response': ['truncated'],
  'list_project_resources.response': ['leftOut'],
}

interface Shape {
  properties: Record<string, unknown>
  required?: string[]
  items?: Shape
}

/** What a person says with their yes, in the answers of whatever may ask. */
const note = 'approvalNote'

const plain = (schema: object, id: string): unknown => {
  const copy = JSON.parse(JSON.stringify(schema)) as Shape
  if (id.endsWith('.response')) delete copy.properties[note]
  expect(copy.required ?? []).not.toContain(note)
  for (const way of additions[id] ?? []) {
    const steps = way.split('.')
    const name = steps.pop() as string
    let place = copy
    for (const step of steps) place = (step === 'items' ? place.items : place.properties[step]) as Shape
    expect(place.properties).toHaveProperty(name)
    expect(place.required ?? []).not.toContain(name)
    delete place.properties[name]
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
