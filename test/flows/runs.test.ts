import { expect, test } from 'vitest'
import type { RunView } from '../../src/contracts/run.ts'
import { ended, handIn, putTemplates } from '../support/runs.ts'
import { sweep } from '../support/soak.ts'
import { openWorld, sharesRuns, type World } from '../support/world.ts'

/** Runs inside the test process: what the contract says of them, and what survives a restart. */
async function open(flags: Record<string, string> = {}): Promise<World> {
  const world = await openWorld({
    files: { 'a.txt': 'one\n', 'b.txt': 'two\n', 'package.json': '{}\n' },
    flags: { 'write-requires-diff': 'false', ...flags },
  })
  putTemplates(world.base)
  return world
}

const get = (world: World, runId: string): Promise<RunView> => world.call('get_task_run', { runId })

test('a run that is waited for answers what get_task_run answers at its end', async () => {
  await using world = await open()
  const { mode, deduplicated, ...run } = await handIn(world, 'read_all', { items: ['a.txt', 'b.txt'] }, { mode: 'sync' })
  expect({ mode, deduplicated }).toEqual({ mode: 'sync', deduplicated: false })
  expect(run).toMatchObject({
    status: 'succeeded',
    templateId: 'read_all',
    error: null,
    progress: { doneSteps: 2, totalSteps: 2 },
    result: { summary: { total: 2, succeeded: 2, failed: 0 } },
  })
  expect({ ...run, mode }).toEqual(await get(world, run.runId))
})

test('one that is not waited for is queued or running, with neither result nor error, and comes to its end', async () => {
  await using world = await open()
  const handed = await handIn(world, 'read_all', { items: ['a.txt'] }, { mode: 'async' })
  expect(handed).toEqual({ runId: handed.runId, sessionId: null, status: 'queued', mode: 'async', deduplicated: false })
  const run = await ended(world, handed.runId)
  expect(run).toMatchObject({ status: 'succeeded' })
})

test('auto waits for few and not for many', async () => {
  await using world = await open()
  const few = await handIn(world, 'read_all', { items: ['a.txt'] })
  expect(few).toMatchObject({ mode: 'sync', status: 'succeeded' })
  const many = await handIn(world, 'read_all', { items: Array.from({ length: 11 }, () => 'a.txt') })
  expect(many).toMatchObject({ mode: 'async', status: 'queued' })
  expect(await ended(world, many.runId)).toMatchObject({ status: 'succeeded', progress: { doneSteps: 11, totalSteps: 11 } })
})

test('items that fail are told with their reason; half of them done is a partial success, fewer a failure with an error', async () => {
  await using world = await open()
  const half = await handIn(world, 'read_all', { items: ['a.txt', 'none.txt'] }, { mode: 'sync' })
  expect(half).toMatchObject({
    status: 'partial_success',
    result: {
      items: [{ success: true }, { success: false, error: { errorCode: 'INVALID_PARAMETER', details: { reason: 'not-found' } } }],
    },
  })
  const none = await handIn(world, 'read_all', { items: ['none.txt'] }, { mode: 'sync' })
  expect(none).toMatchObject({
    status: 'failed',
    result: null,
    error: { errorCode: 'STEP_EXECUTION_FAILED', details: { failed: 1 } },
  })
})

test('one key is one run, whatever its inputs or its end, and another template has keys of its own', async () => {
  await using world = await open()
  const first = await handIn(world, 'read_all', { items: ['none.txt'] }, { mode: 'sync', idempotencyKey: 'k' })
  const again = await handIn(world, 'read_all', { items: ['a.txt'] }, { mode: 'async', idempotencyKey: 'k' })
  expect(again).toMatchObject({ runId: first.runId, status: 'failed', deduplicated: true })
  const other = await handIn(world, 'append_all', { items: [] }, { mode: 'sync', idempotencyKey: 'k' })
  expect(other).toMatchObject({ deduplicated: false })
  await world.reopen()
  expect(await handIn(world, 'read_all', { items: [] }, { idempotencyKey: 'k' })).toMatchObject({
    runId: first.runId,
    deduplicated: true,
  })
})

test('a run that needs a person waits, its clock stands, it holds no slot, and it goes on with the yes', async () => {
  await using world = await open({ 'max-concurrent-runs': '1' })
  const asks = { path: 'package.json', find: '{}', replace: '{"name":"x"}' }
  const { runId } = await handIn(world, 'replace_once', asks, { mode: 'async' })
  const approval = await waiting(world, runId)
  const run = await get(world, runId)
  expect(run).toMatchObject({ status: 'running', result: null, error: null, progress: { doneSteps: 1, totalSteps: 3 } })
  expect(await handIn(world, 'read_all', { items: ['a.txt'] }, { mode: 'sync' }), 'the slot is free').toMatchObject({
    status: 'succeeded',
  })
  expect((await get(world, runId)).metrics, 'its clock stands').toEqual(run.metrics)
  world.runtime.approvals.decide(approval, { approve: true, by: 'the person' })
  expect(await ended(world, runId)).toMatchObject({ status: 'succeeded', result: { count: 1, after: '{"name":"x"}\n' } })
  expect(world.read('package.json')).toBe('{"name":"x"}\n')
})

test('it waits on over a restart, and goes on with a yes that was given meanwhile', async () => {
  await using world = await open()
  const { runId } = await handIn(world, 'replace_once', { path: 'package.json', find: '{}', replace: '[]' }, { mode: 'async' })
  const approval = await waiting(world, runId)
  await world.reopen()
  expect(await get(world, runId)).toMatchObject({ status: 'running', waiting: { approvalId: approval } })
  world.runtime.approvals.decide(approval, { approve: true, by: 'the person' })
  expect(await ended(world, runId)).toMatchObject({ status: 'succeeded' })
  expect(world.read('package.json')).toBe('[]\n')
})

test('a no ends it, with the words of the person', async () => {
  await using world = await open()
  const { runId } = await handIn(world, 'replace_once', { path: 'package.json', find: '{}', replace: '[]' }, { mode: 'async' })
  world.runtime.approvals.decide(await waiting(world, runId), { approve: false, by: 'the person', note: 'leave it' })
  expect(await ended(world, runId)).toMatchObject({
    status: 'failed',
    error: { errorCode: 'EXECUTION_ERROR', details: { reason: 'declined', note: 'leave it' } },
  })
  expect(world.read('package.json')).toBe('{}\n')
})

test('cancelled while it waits: the end is its own, and a later yes does nothing', async () => {
  await using world = await open()
  const { runId } = await handIn(world, 'replace_once', { path: 'package.json', find: '{}', replace: '[]' }, { mode: 'async' })
  const approval = await waiting(world, runId)
  expect(await world.call('cancel_task_run', { runId })).toEqual({ success: true, runId })
  expect(await get(world, runId)).toMatchObject({ status: 'canceled', result: null, error: { errorCode: 'RUN_CANCELED' } })
  world.runtime.approvals.decide(approval, { approve: true, by: 'the person' })
  expect(await world.call('cancel_task_run', { runId })).toMatchObject({
    success: false,
    runId,
    reason: expect.any(String) as string,
  })
  expect(await get(world, runId)).toMatchObject({ status: 'canceled' })
  expect(world.read('package.json')).toBe('{}\n')
})

test('the newest stand first, and total counts what fits', async () => {
  await using world = await open()
  for (const item of ['a.txt', 'none.txt', 'b.txt']) await handIn(world, 'read_all', { items: [item] }, { mode: 'sync' })
  await handIn(world, 'append_all', { items: [] }, { mode: 'sync' })
  const list = async (wanted: object) => world.call<{ runs: RunView[]; total: number }>('list_task_runs', wanted)
  const all = await list({})
  expect(all.total).toBe(4)
  expect(all.runs.map(({ createdAt }) => createdAt)).toEqual(all.runs.map(({ createdAt }) => createdAt).toSorted((a, b) => b - a))
  expect(await list({ limit: 1, offset: 1 })).toMatchObject({ total: 4, runs: [{ runId: all.runs[1]?.runId }] })
  expect(await list({ status: 'failed' })).toMatchObject({ total: 1, runs: [{ status: 'failed' }] })
  expect(await list({ templateId: 'read_all', status: 'succeeded' })).toMatchObject({ total: 2 })
  expect(await list({ templateId: 'nobody' })).toEqual({ runs: [], total: 0, hasMore: false })
})

test(
  'a hundred at once: none is lost, each comes to its end, and they begin in the order they were accepted',
  { timeout: 1_200_000 },
  async () => {
    await using world = await open()
    const count = sweep(100, 15)
    const hand = (n: number): ReturnType<typeof handIn> =>
      handIn(world, 'append_all', { items: [{ path: `f${n}.txt`, text: `${n}` }] }, { mode: 'async' })
    const numbers = Array.from({ length: count }, (_, n) => n)
    const handed: Awaited<ReturnType<typeof handIn>>[] = []
    // A database takes what is handed in at once over several connections, in any order: there they come one after the other.
    if (sharesRuns) for (const n of numbers) handed.push(await hand(n))
    else handed.push(...(await Promise.all(numbers.map(hand))))
    expect(new Set(handed.map(({ runId }) => runId)).size).toBe(count)
    for (const [n, { runId }] of handed.entries()) {
      expect(await ended(world, runId)).toMatchObject({ status: 'succeeded', error: null })
      expect(world.read(`f${n}.txt`)).toBe(`${n}`)
    }
    const order = (wanted: string): unknown[] =>
      world.runtime.audit.last(10_000, ({ event }) => event === wanted).map(({ run }) => run)
    expect(order('run.started')).toEqual(order('run.queued'))
    expect(order('run.ended')).toHaveLength(count)
  },
)

/** The question a run waits for, once it does. */
async function waiting(world: World, runId: string): Promise<string> {
  const runsApi = await world.runtime.runs()
  return new Promise((resolve, reject) => {
    const over = new AbortController()
    const look = ({ waiting: asked }: RunView): void => {
      if (!asked) return
      over.abort()
      resolve(asked.approvalId)
    }
    runsApi.wait(runId, { signal: over.signal, onProgress: look }).then(
      (run) => reject(new Error(JSON.stringify(run))),
      () => undefined,
    )
  })
}
