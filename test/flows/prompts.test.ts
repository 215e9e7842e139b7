import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { closeRoot, openRoot } from '../../src/host/walk.ts'
import { openPrompts } from '../../src/runtime/prompts.ts'
import { readPrompt, renderPrompt } from '../../src/text/read-prompt.ts'
import { runInside } from '../support/inside.ts'
import { proves } from '../support/proof.ts'
import { openWorld, repository } from '../support/world.ts'

const sources = readdirSync(join(repository, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts') && !name.endsWith('.test.ts'))
  .map((name) => ({ name, text: readFileSync(join(repository, 'src', name), 'utf8') }))

/** Ids as code writes them, wherever a prompt is loaded or rendered. */
const referred = new Set(
  sources.flatMap(({ text }) =>
    [...text.matchAll(/\.(?:render|load)\(\s*'([a-z_]+\/[A-Za-z_0-9]+)'/g)].map(([, id]) => id as string),
  ),
)
const wanted = ['_shared/TEMPLATE', 'router/llm_first', 'router/rule_fallback', 'planner/default', 'chat/qa']

proves('prompts.files', 'every prompt that code refers to loads, is whole, and renders with nothing left over', async () => {
  await using world = await openWorld()
  const { prompts } = world.runtime
  expect(prompts.check().filter(({ wrong }) => wrong.length > 0)).toEqual([])
  expect(referred.size).toBeGreaterThan(3)
  for (const id of [...wanted, ...referred]) {
    const { inputs, output, sections } = prompts.load(id)
    const rendered = prompts.render(id, Object.fromEntries(inputs.map(({ name }) => [name, `<${name}>`])))
    expect([rendered.system, rendered.user, rendered.assistant].join('\n')).not.toMatch(/\{\{/)
    expect([sections.system !== '', output.type === 'json' ? output.schema_fields.length : output.constraints.length]).toEqual([
      true,
      expect.any(Number),
    ])
  }
})

proves('prompts.code', 'no text for a model of more than fifteen lines stands in code', () => {
  const long: string[] = []
  for (const { name, text } of sources) {
    // What the command line prints, SQL, and programs that run elsewhere are no prompts: a prompt speaks to a model.
    for (const [literal] of text.matchAll(/`(?:[^`\\]|\\[\s\S])*`/g))
      if (literal.split('\n').length > 15 && /\b(?:you are|your task|answer with|respond with|the user)\b|你是/i.test(literal))
        long.push(name)
    const lines = [...text.matchAll(/(?:^\s*'[^'\n]{20,}',?\n){16,}/gm)].filter(([run]) =>
      /\b(?:you are|respond with)\b/i.test(run),
    )
    if (lines.length > 0) long.push(name)
  }
  expect(long).toEqual([])
})

proves(
  'prompts.versions',
  'a text that changed without a new version is refused, and so is a version nobody committed',
  async () => {
    await using world = await openWorld()
    const folder = join(world.base, 'shipped')
    cpSync(join(repository, 'prompts'), folder, { recursive: true })
    const file = join(folder, 'chat/qa.md')
    const text = readFileSync(file, 'utf8')
    const root = openRoot(world.project)
    const open = () => openPrompts(root, folder, () => ({ texts: () => new Map() }))
    const wrongWith = (changed: string): unknown[] => {
      writeFileSync(file, changed)
      const prompts = open()
      const found = prompts.check().find(({ id, from }) => id === 'chat/qa' && from === 'handrail')
      if (found?.wrong.length) expect(() => prompts.load('chat/qa')).toThrow('cannot be used')
      return [...(found?.wrong ?? ['not there'])]
    }
    expect(wrongWith(text)).toEqual([])
    const changed = text.replace('briefly', 'at length')
    expect(wrongWith(changed)).toEqual([expect.stringContaining('it changed and is still version')])
    expect(wrongWith(changed.replace(/version: .*/, 'version: 9.0.0'))).toEqual([
      expect.stringContaining('9.0.0 is not in prompts/versions.json'),
    ])
    closeRoot(root)
  },
)

test('a project says a prompt in other words once it is trusted, and not with other inputs', async () => {
  const ours = readFileSync(join(repository, 'prompts/chat/qa.md'), 'utf8')
  const theirs = ours
    .replace('You answer a question by talking.', 'Answer as a pirate.')
    .replace('version: 1.1.0', 'version: 1.1.1')
  await using world = await openWorld({
    files: { 'handrail/prompts/chat/qa.md': theirs, 'handrail/prompts/planner/default.md': theirs },
  })
  const values = { identity: '', history_text: '', untrusted_rule: '', task_text: 'hi {{x}} \\1' }
  expect(world.runtime.prompts.render('chat/qa', values).system).not.toContain('pirate')
  const texts = await world.runtime.projectTexts()
  expect(texts.map(({ id, wrong }) => [id, wrong.length > 0])).toEqual([
    ['chat/qa', false],
    ['planner/default', true],
  ])
  world.runtime.trust.grant(texts[0]?.digest as string, 'test')
  const rendered = world.runtime.prompts.render('chat/qa', values)
  expect([rendered.system.includes('pirate'), rendered.user]).toEqual([true, 'hi {{x}} \\1'])
  world.write('handrail/prompts/chat/qa.md', theirs.replace('pirate', 'thief'))
  expect(world.runtime.prompts.render('chat/qa', values).system).not.toMatch(/pirate|thief/)
})

test('handrail prompts check, list and show', async () => {
  await using world = await openWorld()
  const checked = await runInside(world.project, ['prompts', 'check'])
  expect([checked.code, checked.out]).toEqual([0, expect.stringContaining('ok planner/default')])
  expect((await runInside(world.project, ['prompts', 'list', '--json'])).out).toContain('"router/llm_first"')
  expect((await runInside(world.project, ['prompts', 'show', 'chat/qa'])).out).toContain('## system')
  expect((await runInside(world.project, ['prompts', 'show', 'no/such'])).code).not.toBe(0)
})

test('the template obeys its own rules', () => {
  const { prompt, wrong } = readPrompt(
    '_shared/TEMPLATE',
    readFileSync(join(repository, 'prompts/_shared/TEMPLATE.md'), 'utf8'),
    'handrail',
  )
  expect([wrong, renderPrompt(prompt, { task_text: 'x' }).rendered.user]).toEqual([[], 'x'])
})
