import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { RunView, StepRecord } from '../../src/contracts/run.ts'
import { until } from '../support/everywhere.ts'
import { runInside } from '../support/inside.ts'
import { putTemplates } from '../support/runs.ts'
import { cleanEnv, openWorld, runCli, runToExit, type World } from '../support/world.ts'

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
  const elsewhere = ['--state', join(world.base, 'it is elsewhere')]
  const end = await runCli(world.project, ['run', 'read_all', '--input', items('a.txt', 'b.txt'), ...elsewhere])
  expect(end).toMatchObject({ code: 0 })
  expect(JSON.parse(end.out)).toMatchObject({ summary: { total: 2, succeeded: 2 } })
  expect(end.err).toMatch(/read_all: \d of 2\n/)
  const [, command = '', id = ''] = /all of it: (.* artifacts get (art_[0-9a-f]{32}) .*)/.exec(end.err) ?? []
  const got = await runToExit('sh', ['-c', command], { env: cleanEnv(world.base) })
  expect(JSON.parse(got.out), 'the command that was printed, as it stands').toMatchObject({ summary: { total: 2 } })
  expect((await runInside(world.project, ['artifacts', 'list', ...elsewhere])).out).toContain(id)
  expect((await runInside(world.project, ['runs', 'list', ...elsewhere])).out).toMatch(
    /run_[0-9a-f]{32} +read_all +succeeded +2\/2/,
  )
})

test('the real program stays while its run waits for the person, and does what they agreed to', async () => {
  await using world = await openWorld({ files: { 'package.json': '{"scripts":{}}\n' } })
  const inputs = JSON.stringify({ paths: ['package.json'], find: 'scripts', replace: 'bin' })
  const command = runCli(world.project, ['run', 'batch_replace', '--input', inputs])
  const asked = await until(() => world.runtime.approvals.list('pending')[0], 'a question')
  world.runtime.approvals.decide(asked.id, { approve: true, by: 'the person' })
  expect(await command).toMatchObject({ code: 0 })
  expect(world.read('package.json')).toBe('{"bin":{}}\n')
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
    [['run', 'read_all', '--input', items(), '--key', ''], '--key must have 1 to 256 characters'],
    [['run', 'read_all', '--input', items(), '--key', 'k'.repeat(257)], '--key must have 1 to 256 characters'],
    [['artifacts', 'get', '../../handrail.db'], 'There is no such artifact'],
  ] as const) {
    const end = await runInside(world.project, [...words])
    expect(end.code, words.join(' ')).not.toBe(0)
    expect(end.err).toContain(says)
  }
  expect((await runInside(world.project, ['runs', 'list'])).out).toBe('No runs.\n')
  const failed = await runInside(world.project, ['run', 'read_all', '--input', items('none.txt')])
  expect(failed.code).toBe(1)
  expect(failed.err).toContain('STEP_EXECUTION_FAILED')
  const at = `--project ${world.project}`
  const [, id = ''] = /its steps: \S+ \S+ runs show (run_\w+)/.exec(failed.err) ?? []
  expect(failed.err).toMatch(new RegExp(`handrail\\.js runs show ${id} ${at}`))
  expect(failed.err.replaceAll(/\s+/g, ' '), 'its hint names this run').toMatch(
    new RegExp(`handrail\\.js runs retry ${id} --failed ${at}`),
  )
  expect((await runInside(world.project, ['runs', 'show', id])).out).toMatch(new RegExp(`runs retry ${id} --failed ${at}`))
})

test('what it suggests is typed as it stands: the program, the project and the state are in it, and no name of a tool', async () => {
  await using world = await open()
  const state = ['--state', join(world.base, 'it is elsewhere')]
  for (const [words, suggested] of [
    [['run'], 'templates list'],
    [['run', 'nobody'], 'templates list'],
    [['run', 'read_all', '--input', '{}'], 'templates list'],
    [['runs', 'show'], 'runs list'],
    [['runs', 'show', 'run_none'], 'runs list'],
    [['runs', 'retry', 'run_none'], 'runs list'],
    [['artifacts', 'get'], 'artifacts list'],
    [['artifacts', 'get', 'art_none'], 'runs show ID'],
    [['templates', 'show', 'nobody'], 'templates list'],
  ] as const) {
    const { err } = await runInside(world.project, [...words, ...state])
    const said = err.replaceAll(/\s+/g, ' ')
    expect(said, words.join(' ')).toContain(`handrail.js ${suggested} --project ${world.project} --state '${state[1]}'`)
    expect(said, words.join(' ')).not.toMatch(/list_task|get_task|get_artifact/)
  }
  const { err } = await runInside(world.project, ['run', 'nobody', ...state])
  const [, command = ''] = /`([^`]+)`/.exec(err.replaceAll(/\n/g, ' ')) ?? []
  expect((await runToExit('sh', ['-c', command], { env: cleanEnv(world.base) })).out).toContain('read_all')
})

test('all that a run changed is taken back by its id, and that it is gone is said', async () => {
  await using world = await open()
  const flags = ['--write-requires-diff', 'false']
  const texts = ['a.txt', 'new.txt', 'a.txt', 'b.txt'].map((path, n) => ({ path, text: `${n}\n` }))
  const { runId, status } = await only(world, 'run', 'append_all', '--input', JSON.stringify({ items: texts }), ...flags)
  expect([status, world.read('a.txt')]).toEqual(['succeeded', 'one\n0\n2\n'])
  const undone = await runInside(world.project, ['undo', runId, '--yes'])
  expect(undone).toMatchObject({ code: 0, out: expect.stringMatching(/Undone: .*new\.txt/s) as string })
  expect([world.read('a.txt'), world.read('b.txt'), existsSync(world.path('new.txt'))]).toEqual(['one\n', 'two\n', false])
  const [, back = ''] = /To take this back: .*? undo (\w+)/.exec(undone.out.replaceAll(/\s+/g, ' ')) ?? []
  expect(await runInside(world.project, ['undo', back, '--yes'])).toMatchObject({ code: 0 })
  expect(world.read('a.txt')).toBe('one\n0\n2\n')
  expect((await runInside(world.project, ['undo', 'run_none', '--yes'])).err).toContain('There is no such run')
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
