import { existsSync, mkdirSync, renameSync, rmSync, symlinkSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test, vi } from 'vitest'
import type { Operator } from '../../src/contracts/operator.ts'
import { mostDeaths } from '../../src/contracts/run-ports.ts'
import type { RunHeadView, RunView } from '../../src/contracts/run.ts'
import { wrongWith } from '../../src/runs/check-template.ts'
import { runInside } from '../support/inside.ts'
import { proves } from '../support/proof.ts'
import { ended, handIn, putTemplates, standIns } from '../support/runs.ts'
import { openOn, stage, template } from '../support/run-stage.ts'
import { sweep } from '../support/soak.ts'
import { openWorld, sharesRuns } from '../support/world.ts'

/** Group N of the attack list, and what hostile templates, inputs, clocks and processes try on runs. */
afterEach(() => vi.useRealTimers())

const caller = { surface: 'mcp-stdio', client: 'test/1', session: 'sess_test', role: 'agent' } as const

const waiting = (tool: string, more: object = {}): object =>
  template(tool, [
    { id: 'first', tool, input: { name: { $: 'inputs.name' } }, ...more },
    { id: 'then', tool: 'read_file', input: { path: 'a.txt' } },
  ])

async function hand(runtime: Operator, templateId: string, inputs: object, options: object = {}): Promise<RunView> {
  return (await runtime.call('run_task_template', { templateId, inputs, options: { mode: 'async', ...options } }, caller))
    .output as RunView
}
const get = async (runtime: Operator, runId: string): Promise<RunView> =>
  (await runtime.call('get_task_run', { runId }, caller)).output as RunView
const wait = async (runtime: Operator, runId: string): Promise<RunView> => (await runtime.runs()).wait(runId)

test('a template in a circle, with itself or with what comes later, or that hands in runs, is refused, and said why', async () => {
  const circle = template('circle', [
    { id: 'a', tool: 'read_file', input: { path: { $: 'steps.b.output.content' } } },
    { id: 'b', tool: 'read_file', input: { path: { $: 'steps.a.output.content' } } },
  ])
  const itself = template('itself', [{ id: 'a', tool: 'read_file', each: 'steps.a.items', input: { path: 'x' } }])
  const nested = template('nested', [{ id: 'a', tool: 'run_task_template', input: { templateId: 'nested' } }])
  expect(wrongWith(circle)).toEqual([expect.stringContaining('cycle') as string])
  expect(wrongWith(itself)).toEqual([expect.stringContaining('its own answer') as string])
  expect(wrongWith(nested)).toEqual([expect.stringContaining('cannot call run_task_template') as string])
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  putTemplates(world.base, { circle, itself, nested })
  for (const templateId of ['circle', 'itself', 'nested'])
    expect(await world.fault('run_task_template', { templateId, inputs: {} })).toMatchObject({ reason: 'template-not-found' })
  const checked = await runInside(world.project, ['templates', 'check', '--json'])
  expect(checked.code).toBe(1)
  expect(checked.out.trim().split('\n')).toHaveLength(3)
})

test('paths of a template reach own fields only, and what it makes has an end', async () => {
  const odd = template('odd', [{ id: 'a', tool: 'read_file', input: { path: 'a.txt' } }], {
    result: {
      a: { $: 'inputs.constructor' },
      b: { $: 'inputs.__proto__' },
      c: { $: 'steps.a.output.content.length' },
      d: [{ $: 'inputs.none' }],
    },
  })
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  putTemplates(world.base, { odd })
  const run = await world.call<RunView>('run_task_template', { templateId: 'odd', inputs: {}, options: { mode: 'sync' } })
  expect(run).toMatchObject({ status: 'succeeded', result: { d: [null] } })
})

test('a result of a gigabyte is not made: the run fails, and the process goes on', async () => {
  const { tools } = stage()
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  putTemplates(world.base, { much: template('much', [{ id: 'a', tool: 'say_much', input: { name: 'x' } }]) })
  const runtime = openOn(world, tools)
  const { runId } = await hand(runtime, 'much', {})
  expect(await wait(runtime, runId)).toMatchObject({
    status: 'failed',
    result: null,
    error: { errorCode: 'STEP_EXECUTION_FAILED', details: { cause: { reason: 'over-limit' } } },
  })
  await runtime.close()
})

test.skipIf(sharesRuns)(
  'N08: ten thousand with one key are one run, and no more is kept of them than of one',
  { timeout: 1_200_000 },
  async () => {
    await using world = await openWorld({ files: { 'a.txt': 'x' } })
    putTemplates(world.base)
    const ids = new Set<string>()
    for (let n = 0; n < sweep(10_000, 100); n++) {
      const { runId } = await hand(world.runtime, 'read_all', { items: [`${n}.txt`] }, { idempotencyKey: 'one' })
      ids.add(runId)
    }
    expect(ids.size).toBe(1)
    expect((await (await world.runtime.runs()).list({})).total).toBe(1)
  },
)

const byTheClockHere = sharesRuns ? () => undefined : proves
byTheClockHere(
  'runs.keys.window',
  'N07: a key answers after a restart, and is free again when the time of its run is over',
  async () => {
    await using world = await openWorld({ files: { 'a.txt': 'x' } })
    putTemplates(world.base)
    const key = { idempotencyKey: 'k' }
    const { runId } = await hand(world.runtime, 'read_all', { items: ['a.txt'] }, key)
    await wait(world.runtime, runId)
    await world.reopen()
    expect(await hand(world.runtime, 'read_all', { items: [] }, key)).toMatchObject({ runId, deduplicated: true })
    const ended = Date.now()
    vi.useFakeTimers({ toFake: ['Date'], now: ended + 1_740_000 })
    expect(await hand(world.runtime, 'read_all', { items: [] }, key)).toMatchObject({ runId, deduplicated: true })
    vi.setSystemTime(ended + 1_801_000)
    expect(await world.fault('get_task_run', { runId })).toMatchObject({ reason: 'run-not-found' })
    const later = await hand(world.runtime, 'read_all', { items: ['a.txt'] }, key)
    expect(later).toMatchObject({ deduplicated: false })
    expect(later.runId).not.toBe(runId)
    await wait(world.runtime, later.runId)
  },
)

// Where machines share runs, the clock is the database's, and nobody's here to set.
test.skipIf(sharesRuns)(
  'a clock set back an hour: no run is lost, none has ended before it began, and the newest by their dates stand first',
  async () => {
    await using world = await openWorld({ files: { 'a.txt': 'x' } })
    const { tools, began, begun } = stage()
    putTemplates(world.base, { ...standIns, wait_reading: waiting('wait_reading') })
    const runtime = openOn(world, tools)
    const now = Date.now()
    const across = await hand(runtime, 'wait_reading', { name: 'a' })
    await begun(1)
    vi.useFakeTimers({ toFake: ['Date'], now: now - 3_600_000 })
    const second = await hand(runtime, 'read_all', { items: ['a.txt'] })
    began[0]?.end()
    for (const { runId } of [across, second]) {
      const run = await wait(runtime, runId)
      expect(run).toMatchObject({ status: 'succeeded' })
      expect(run.updatedAt).toBeGreaterThanOrEqual(run.createdAt)
      expect(run.metrics.elapsedMs).toBeGreaterThanOrEqual(0)
      expect(run.metrics.elapsedMs).toBeLessThan(3_000_000)
    }
    const { runs } = (await runtime.call('list_task_runs', {}, caller)).output as { runs: RunHeadView[] }
    expect(runs.map(({ runId }) => runId)).toEqual([across.runId, second.runId])
    await runtime.close()
  },
)

test('cancel stops the work itself, and so do the limits of a step and of a run', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  const { tools, began, begun } = stage()
  putTemplates(world.base, {
    wait_reading: waiting('wait_reading'),
    short: { ...waiting('wait_once', { timeoutMs: 50 }), id: 'short' },
  })
  const runtime = openOn(world, tools)
  const { runId } = await hand(runtime, 'wait_reading', { name: 'a' })
  await begun(1)
  await runtime.call('cancel_task_run', { runId }, caller)
  expect(began[0]?.signal.aborted).toBe(true)
  expect(await get(runtime, runId)).toMatchObject({ status: 'canceled' })
  const limited = await hand(runtime, 'wait_reading', { name: 'b' }, { timeoutMs: 50 })
  expect(await wait(runtime, limited.runId)).toMatchObject({ status: 'failed', error: { errorCode: 'RUN_TIMEOUT' } })
  // On a busy machine its time is up before its step has begun.
  expect(began.every(({ signal }) => signal.aborted)).toBe(true)
  const short = await hand(runtime, 'short', { name: 'c' })
  expect(await wait(runtime, short.runId)).toMatchObject({
    status: 'failed',
    error: { errorCode: 'STEP_EXECUTION_FAILED', details: { failedStep: 'first', stepErrorCode: 'RUN_TIMEOUT' } },
  })
  await runtime.close()
})

test('beyond the limit runs wait, however many are handed in, and one that is canceled gives its place to the next', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  const { tools, began, begun } = stage()
  putTemplates(world.base, { wait_reading: waiting('wait_reading') })
  const runtime = openOn(world, tools, { 'max-concurrent-runs': '2' })
  const all = []
  for (const name of ['a', 'b', 'c', 'd']) all.push(await hand(runtime, 'wait_reading', { name }))
  await begun(2)
  expect(await Promise.all(all.map(async ({ runId }) => (await get(runtime, runId)).status))).toEqual([
    'running',
    'running',
    'queued',
    'queued',
  ])
  await runtime.call('cancel_task_run', { runId: all[0]?.runId }, caller)
  await begun(3)
  // The first two begin side by side, in either order.
  expect(
    began
      .slice(0, 2)
      .map(({ input }) => input.name as string)
      .toSorted(),
  ).toEqual(['a', 'b'])
  expect(began[2]?.input.name).toBe('c')
  began.find(({ input }) => input.name === 'b')?.end()
  await begun(4)
  began.forEach(({ end }) => end())
  const ends = await Promise.all(all.map(({ runId }) => wait(runtime, runId)))
  expect(ends.map(({ status }) => status)).toEqual(['canceled', 'succeeded', 'succeeded', 'succeeded'])
  await runtime.close()
})

test('closed in the middle of what may not be done twice: it is let finish, and the next process goes on after it', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  const { tools, began, begun } = stage()
  putTemplates(world.base, { wait_once: waiting('wait_once') })
  const runtime = openOn(world, tools)
  const { runId } = await hand(runtime, 'wait_once', { name: 'a' })
  await begun(1)
  const closing = runtime.close()
  began[0]?.end()
  await closing
  const next = openOn(world, tools)
  ;(await next.runs()).work()
  expect(await wait(next, runId)).toMatchObject({ status: 'succeeded', progress: { doneSteps: 2 } })
  expect(began).toHaveLength(1)
  await next.close()
})

test('a run is not taken over by a process that may do more than the one it was handed in to', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x\n' } })
  putTemplates(world.base)
  const tight = openOn(world, [], { 'ask-from': 'R1' })
  const inputs = { path: 'a.txt', find: 'x', replace: 'y' }
  // Handing in is asked about too, under this setting.
  const handing = hand(tight, 'replace_once', inputs)
  await expect.poll(() => tight.approvals.list('pending').length).toBe(1)
  tight.approvals.decide(tight.approvals.list('pending')[0]?.id ?? '', { approve: true, by: 'the person' })
  const { runId } = await handing
  await expect.poll(async () => (await get(tight, runId)).waiting).toBeDefined()
  await tight.close()
  const loose = openOn(world, [])
  ;(await loose.runs()).work()
  const other = await hand(loose, 'read_all', { items: ['a.txt'] })
  expect(await wait(loose, other.runId)).toMatchObject({ status: 'succeeded' })
  expect(await get(loose, runId)).toMatchObject({ status: 'running', waiting: { approvalId: expect.any(String) as string } })
  expect(world.read('a.txt')).toBe('x\n')
  await loose.close()
  const again = openOn(world, [], { 'ask-from': 'R1' })
  ;(await again.runs()).work()
  const { waiting: asked } = await get(again, runId)
  again.approvals.decide(asked?.approvalId ?? '', { approve: true, by: 'the person' })
  expect(await wait(again, runId)).toMatchObject({ status: 'succeeded' })
  expect(world.read('a.txt')).toBe('y\n')
  await again.close()
})

test('the callers of a profile hand in no runs: those would go through the wider gate', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x\n' } })
  putTemplates(world.base)
  const gate = world.runtime.gateFor({ readOnly: true })
  const asked = { templateId: 'batch_replace', inputs: { paths: ['a.txt'], find: 'x', replace: 'y' } }
  await expect(gate.call('run_task_template', asked, caller)).rejects.toMatchObject({ reason: 'unsupported' })
  expect(world.read('a.txt')).toBe('x\n')
})

test('one approval for the whole effect of a batch, all of it or none, and one undo', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x\n', 'package.json': '{"x":1}\n', 'c.txt': 'x x\n' } })
  const handed = await hand(world.runtime, 'batch_replace', {
    paths: ['a.txt', 'package.json', 'c.txt'],
    find: 'x',
    replace: 'y',
  })
  await expect.poll(() => world.runtime.approvals.list('pending').length).toBe(1)
  const [asked] = world.runtime.approvals.list('pending')
  expect(world.runtime.approvals.get(asked?.id ?? '')?.card.changes.map(({ path }) => path)).toEqual([
    'a.txt',
    'package.json',
    'c.txt',
  ])
  expect(world.read('a.txt')).toBe('x\n')
  world.runtime.approvals.decide(asked?.id ?? '', { approve: true, by: 'the person' })
  expect(await wait(world.runtime, handed.runId)).toMatchObject({ status: 'succeeded', result: { count: 4 } })
  expect([world.read('a.txt'), world.read('package.json'), world.read('c.txt')]).toEqual(['y\n', '{"y":1}\n', 'y y\n'])
  const { call } = (await (await world.runtime.runs()).steps(handed.runId))[0] ?? {}
  await world.runtime.call('undo', { call, dryRun: false }, { ...caller, role: 'person' })
  expect([world.read('a.txt'), world.read('package.json'), world.read('c.txt')]).toEqual(['x\n', '{"x":1}\n', 'x x\n'])
})

test('a run that waits for a person outlives every restart: being closed is not dying', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n' } })
  putTemplates(world.base)
  const { runId } = await hand(world.runtime, 'replace_once', { path: 'package.json', find: '{}', replace: '[]' })
  await expect.poll(async () => (await get(world.runtime, runId)).waiting).toBeDefined()
  const taken = (): number => world.runtime.audit.last(1_000, ({ event, run }) => event === 'run.started' && run === runId).length
  for (let restart = 2; restart < sweep(10, mostDeaths + 3); restart++) {
    await world.reopen()
    ;(await world.runtime.runs()).work()
    await expect.poll(taken).toBe(restart)
  }
  const { waiting: asked } = await get(world.runtime, runId)
  world.runtime.approvals.decide(asked?.approvalId ?? '', { approve: true, by: 'the person' })
  expect(await wait(world.runtime, runId)).toMatchObject({ status: 'succeeded' })
})

test.skipIf(sharesRuns)(
  'what a process left that died between an artifact and its run goes, what was just written stays',
  async () => {
    await using world = await openWorld({ files: { 'a.txt': 'x' } })
    mkdirSync(world.state('artifacts'), { recursive: true })
    const [old, young] = ['a', 'b'].map((letter) => world.state(`artifacts/art_${letter.repeat(32)}`)) as [string, string]
    for (const file of [old, young]) writeFileSync(file, '{}')
    utimesSync(old, 1, 1)
    ;(await world.runtime.runs()).work()
    await expect.poll(() => existsSync(old)).toBe(false)
    expect(existsSync(young)).toBe(true)
  },
)

test('one answer many times over is as large as it is often', async () => {
  const text = 'x'.repeat(4_000_000)
  await using world = await openWorld({ files: { 'a.txt': text } })
  const often = Object.fromEntries(Array.from({ length: 40 }, (_, n) => [`n${n}`, { $: 'steps.a.output' }]))
  putTemplates(world.base, {
    often: template('often', [{ id: 'a', tool: 'read_file', input: { path: 'a.txt' } }], { result: often }),
  })
  const { runId } = await hand(world.runtime, 'often', {})
  expect(await wait(world.runtime, runId)).toMatchObject({ status: 'failed', error: { details: { reason: 'over-limit' } } })
})

test('a secret that a person let one session read does not come out of its runs, which every agent can read', async () => {
  await using world = await openWorld({ files: { '.env': 'CANARY-granted', 'a.txt': 'one' } })
  putTemplates(world.base)
  const { session } = caller
  world.runtime.openSession({ id: session, surface: 'mcp-stdio', client: 'test/1' })
  await world.runtime.grants.give({ kind: 'secret', subject: '.env', session, by: 'me' })
  expect(JSON.stringify(await world.call('read_file', { path: '.env' }))).toContain('CANARY-granted')
  const { runId } = await handIn(world, 'read_all', { items: ['a.txt', '.env'] }, { mode: 'async' })
  const run = await ended(world, runId)
  const seen = JSON.stringify([run, await world.call('get_task_run', { runId }), await (await world.runtime.runs()).steps(runId)])
  expect(seen).not.toContain('CANARY-granted')
  expect(run).toMatchObject({ status: 'partial_success', result: { summary: { succeeded: 1, failed: 1 } } })
})

test('no template comes from where agents write, whatever links the person made', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one' } })
  putTemplates(world.base, {})
  const theirs = join(world.base, 'config/handrail/templates')
  const planted = JSON.stringify(template('planted', [{ id: 'read', tool: 'read_file', input: { path: 'a.txt' } }]))
  const offered = async (): Promise<string> => JSON.stringify(await world.call('list_task_templates', {}))
  // One file of it is a link into the project.
  world.write('planted.json', planted)
  symlinkSync(world.path('planted.json'), join(theirs, 'linked.json'))
  expect(await offered()).not.toContain('planted')
  // All of the folder is one: it is read, and out of every tool's reach.
  rmSync(join(theirs, 'linked.json'))
  renameSync(theirs, world.path('mine'))
  symlinkSync(world.path('mine'), theirs)
  await world.reopen()
  const write = { path: 'mine/planted.json', content: planted, dryRun: false }
  expect((await world.fault('write_to_file', write)).code).toBe('E_DENY_PATH')
  expect(await offered()).not.toContain('planted')
})

test('N01, N06, N09: ids that climb or are another thing, keys without end, parts of artifacts that are not there', async () => {
  await using world = await openWorld({ files: { 'a.txt': '一二三\n' } })
  putTemplates(world.base)
  const ends = await Promise.all(
    ['a.txt', 'a.txt'].map(async (item) => {
      const { runId } = await hand(world.runtime, 'read_all', { items: [item] })
      return wait(world.runtime, runId)
    }),
  )
  const [one, other] = ends.map(({ artifactIds }) => artifactIds[0] ?? '') as [string, string]
  const reason = async (tool: string, input: object): Promise<string> => (await world.fault(tool, input)).reason
  for (const id of [
    '../../x',
    '../artifacts/x',
    'constructor',
    '__proto__',
    one.replace('art_', 'run_'),
    `${ends[0]?.runId}\0`,
  ]) {
    expect(await reason('get_task_run', { runId: id }), id).toBe('run-not-found')
    expect(await reason('cancel_task_run', { runId: id }), id).toBe('run-not-found')
    expect(await reason('get_artifact', { artifactId: id }), id).toBe('artifact-not-found')
  }
  for (const idempotencyKey of ['k'.repeat(1 << 20), '', 7])
    expect(
      await reason('run_task_template', { templateId: 'read_all', inputs: { items: [] }, options: { idempotencyKey } }),
      String(idempotencyKey).slice(0, 9),
    ).toBe('bad-input')
  for (const idempotencyKey of [
    '__proto__',
    'constructor',
    '../../x',
    "'; DROP TABLE runs; --",
    'k',
    'k\0',
    'k\0a',
    'k\ud800',
    'k\ud801',
  ]) {
    const first = await hand(world.runtime, 'read_all', { items: [] }, { idempotencyKey })
    expect(first).toMatchObject({ deduplicated: false })
    expect(await hand(world.runtime, 'read_all', { items: [] }, { idempotencyKey })).toMatchObject({
      runId: first.runId,
      deduplicated: true,
    })
  }
  expect(one).not.toBe(other)
  const chunk = (input: object) => world.call<{ data: string; totalSize: number }>('get_artifact', { artifactId: one, ...input })
  const { totalSize, data } = await chunk({})
  expect(Buffer.byteLength(data)).toBe(totalSize)
  for (const offset of [totalSize, totalSize + 1, Number.MAX_SAFE_INTEGER])
    expect(await chunk({ offset })).toMatchObject({ offset, length: 0, data: '', complete: true })
  for (const bad of [
    { offset: -1 },
    { offset: -0.5 },
    { offset: 1e308 },
    { limit: 2 ** 53 },
    { limit: 0 },
    { limit: -1 },
    { offset: '0' },
  ])
    expect(await reason('get_artifact', { artifactId: one, ...bad }), JSON.stringify(bad)).toBe('bad-input')
})

test('N10: however many runs have been, what a process holds of them stays what it is', { timeout: 1_200_000 }, async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  putTemplates(world.base)
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as () => void
  const runsApi = await world.runtime.runs()
  const [batch, rounds] = [sweep(50, 20), sweep(400, 4)]
  const held: number[] = []
  for (let round = 0; round < rounds; round++) {
    const all = await Promise.all(Array.from({ length: batch }, () => hand(world.runtime, 'read_all', { items: ['a.txt'] })))
    for (const { runId } of all) await runsApi.wait(runId)
    if (round % (rounds / 4) < rounds / 4 - 1) continue
    collect()
    held.push(process.memoryUsage().heapUsed)
  }
  expect((await runsApi.list({})).total).toBe(batch * rounds)
  // A run that stayed behind with its template, inputs and answer would take some thousand bytes.
  const each = ((held.at(-1) as number) - (held[0] as number)) / (batch * rounds * 0.75)
  expect(each, held.join(' ')).toBeLessThan(sweep(200, 20_000))
})
