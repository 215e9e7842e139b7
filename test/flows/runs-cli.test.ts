import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { RunView, StepRecord } from '../../src/contracts/run.ts'
import { runInside } from '../support/inside.ts'
import { putTemplates } from '../support/runs.ts'
import { openWorld, runCli, type World } from '../support/world.ts'

/** Runs on the command line: handed in, looked at, retried where they failed. */
async function open(): Promise<World> {
  const world = await openWorld({ files: { 'a.txt': 'one\n', 'b.txt': 'two\n' } })
  putTemplates(world.base)
  return world
}

const items = (...names: string[]): string => JSON.stringify({ items: names })
const only = async (world: World, ...words: string[]): Promise<RunView & { steps: StepRecord[] }> => {
  const end = await runInside(world.project, [...words, '--json'])
  return JSON.parse(end.out) as RunView & { steps: StepRecord[] }
}

test('the real program: a run with a line for each step, its result, and its artifact', async () => {
  await using world = await open()
  const end = await runCli(world.project, ['run', 'read_all', '--input', items('a.txt', 'b.txt')])
  expect(end).toMatchObject({ code: 0 })
  expect(JSON.parse(end.out)).toMatchObject({ summary: { total: 2, succeeded: 2 } })
  expect(end.err).toMatch(/read_all: \d of 2\n/)
  const id = /artifacts get (art_[0-9a-f]{32})/.exec(end.err)?.[1] ?? ''
  const got = await runInside(world.project, ['artifacts', 'get', id])
  expect(JSON.parse(got.out)).toMatchObject({ summary: { total: 2 } })
  expect((await runInside(world.project, ['artifacts', 'list'])).out).toContain(id)
  expect((await runInside(world.project, ['runs', 'list'])).out).toMatch(/run_[0-9a-f]{32} +read_all +succeeded +2\/2/)
})

test('what is wrong is said, and where to look', async () => {
  await using world = await open()
  for (const [words, says] of [
    [['run'], 'Which template?'],
    [['run', 'nobody'], 'There is no such template'],
    [['run', 'read_all', '--input', '[]'], 'no JSON object'],
    [['run', 'read_all', '--input', '{}'], 'inputs.items is required'],
    [['runs', 'show'], 'Which run?'],
    [['runs', 'show', 'run_none'], 'There is no such run'],
    [['runs', 'burn', 'x'], 'Unknown: runs burn'],
    [['artifacts', 'get', '../../handrail.db'], 'There is no such artifact'],
  ] as const) {
    const end = await runInside(world.project, [...words])
    expect(end.code, words.join(' ')).not.toBe(0)
    expect(end.err).toContain(says)
  }
  const failed = await runInside(world.project, ['run', 'read_all', '--input', items('none.txt')])
  expect(failed.code).toBe(1)
  expect(failed.err).toMatch(/STEP_EXECUTION_FAILED[^]*handrail runs show run_/)
})

test('retry --failed does what failed and nothing else', async () => {
  await using world = await open()
  const half = await only(world, 'run', 'read_all', '--input', items('a.txt', 'later.txt'))
  expect(half).toMatchObject({ status: 'partial_success' })
  const before = await only(world, 'runs', 'show', half.runId)
  expect(before.steps).toMatchObject([
    { step: 'read', item: 0, state: 'done' },
    { step: 'read', item: 1, state: 'failed', error: { details: { reason: 'not-found' } } },
  ])
  world.write('later.txt', 'three\n')
  const again = await only(world, 'runs', 'retry', half.runId, '--failed')
  expect(again).toMatchObject({ status: 'succeeded', result: { summary: { total: 2, succeeded: 2 } } })
  const after = await only(world, 'runs', 'show', again.runId)
  expect(
    after.steps.map(({ call }) => call),
    'what was done is the call it was',
  ).toEqual([before.steps[0]?.call, expect.any(String)])
  const none = await runInside(world.project, ['runs', 'retry', again.runId, '--failed'])
  expect(none).toMatchObject({ code: 1 })
  expect(none.err).toContain('No item of this run failed')
})

test('a run that is only handed in is answered by its key', async () => {
  await using world = await open()
  const handed = await runCli(world.project, [
    'run',
    'read_all',
    '--input',
    items('a.txt'),
    '--key',
    'k',
    '--detach',
    '--max-concurrent-runs',
    '1',
  ])
  const runId = handed.out.trim()
  expect(runId).toMatch(/^run_/)
  const again = await runInside(world.project, ['run', 'read_all', '--input', items('b.txt'), '--key', 'k', '--detach', '--json'])
  expect(JSON.parse(again.out)).toEqual({ runId, deduplicated: true })
})

test('templates: those there are, and everything that is wrong with one', async () => {
  await using world = await open()
  const list = await runInside(world.project, ['templates', 'list'])
  for (const id of ['webgal_project_report', 'batch_validate', 'batch_replace', 'read_all']) expect(list.out).toContain(id)
  expect(await runInside(world.project, ['templates', 'check'])).toMatchObject({ code: 0 })
  const file = join(world.base, 'mine.json')
  const wrong = {
    id: 'batch_replace',
    version: '1.0.0',
    title: 't',
    description: 'd',
    inputs: { type: 'object' },
    results: { type: 'object', minLenght: 1 },
    steps: [{ id: 'a', tool: 'no_tool', input: { x: { $: 'item' } } }],
    result: { y: { $: 'steps.b' } },
  }
  writeFileSync(file, JSON.stringify(wrong))
  const checked = await runInside(world.project, ['templates', 'check', file])
  expect(checked.code).toBe(1)
  for (const says of [
    'there is no tool no_tool',
    'no item without each',
    'there is no step "b"',
    'comes with Handrail',
    'results is no JSON Schema',
  ])
    expect(checked.out).toContain(says)
  writeFileSync(file, '{')
  expect((await runInside(world.project, ['templates', 'check', file])).out).toContain('it is no JSON')
})
