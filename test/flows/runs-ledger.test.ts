import { readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Operator } from '../../src/contracts/operator.ts'
import type { ArtifactChunk, RunOrigin } from '../../src/contracts/run.ts'
import { chunkOf } from '../../src/runs/artifact-chunk.ts'
import { openConnection } from '../../src/host/database.ts'
import { runInside } from '../support/inside.ts'
import { openOn, stage, template } from '../support/run-stage.ts'
import { putTemplates } from '../support/runs.ts'
import { openWorld, type World } from '../support/world.ts'

/** What became of each item of a run, what its steps left, and how a new run goes on from there. */
const origin: RunOrigin = { surface: 'mcp-stdio', client: 'test/1', session: 'sess_test' }
const each = (id: string, tool: string, list = 'inputs.items'): object => ({
  id,
  tool,
  each: list,
  input: { name: { $: 'item' } },
})

async function open(): Promise<{ world: World; runtime: Operator } & Pick<ReturnType<typeof stage>, 'began' | 'begun'>> {
  const world = await openWorld({ files: { 'a.txt': 'x' } })
  const { tools, ...rest } = stage()
  putTemplates(world.base, {
    batch: template('batch', [each('wait', 'wait_reading')]),
    two: template('two', [each('first', 'wait_reading'), each('second', 'wait_reading')]),
    leaving: template('leaving', [each('leave', 'leave_and_wait')]),
    keyed: template('keyed', [{ id: 'wait', tool: 'wait_reading', input: { name: 'x' } }], {
      inputs: { type: 'object', properties: { password: { type: 'string' } }, required: ['password'] },
      secrets: ['password'],
    }),
  })
  return { world, runtime: openOn(world, tools), ...rest }
}

const hand = async (runtime: Operator, templateId: string, inputs: object, mode: 'async' | 'auto' = 'async'): Promise<string> =>
  (await (await runtime.runs()).submit({ templateId, inputs: { ...inputs }, mode }, origin)).run.runId
const chunk = async (runtime: Operator, artifactId: string): Promise<ArtifactChunk> =>
  (await runtime.runs()).artifact(artifactId, 0, 1_000)
const contents = (world: World): string[] => readdirSync(world.state('artifacts')).toSorted()

test('items that were never begun are dropped, and why; retry --failed leaves them out, retry does them', async () => {
  const { world, runtime, began, begun } = await open()
  await using _ = world
  const runsApi = await runtime.runs()
  const runId = await hand(runtime, 'batch', { items: ['a', 'b', 'c', 'd'] })
  await begun(1)
  began[0]?.end()
  await begun(2)
  began[1]?.fail()
  await begun(3)
  await runsApi.cancel(runId, 'the person')
  const ledger = async (run: string) =>
    (await runsApi.steps(run)).map(({ item, state, error }) => [item, state, error?.errorCode])
  expect(await ledger(runId)).toEqual([
    [0, 'done', undefined],
    [1, 'failed', 'EXECUTION_ERROR'],
    [2, 'dropped', 'RUN_CANCELED'],
    [3, 'dropped', 'RUN_CANCELED'],
  ])
  expect((await runsApi.steps(runId)).at(-1)?.error?.message).toBe('Not begun: the run was canceled before')
  expect((await runInside(world.project, ['runs', 'show', runId])).out).toMatch(/wait +3 +dropped +RUN_CANCELED Not begun/)

  const failed = (await runsApi.retry(runId, origin, { failed: true })).run.runId
  await begun(4)
  expect(began[3]?.input.name).toBe('b')
  began[3]?.end()
  expect(await runsApi.wait(failed)).toMatchObject({
    status: 'partial_success',
    result: { steps: { summary: { total: 4, succeeded: 2, failed: 0, dropped: 2 } } },
  })
  expect(began).toHaveLength(4)
  expect((await ledger(failed)).map(([, state]) => state)).toEqual(['done', 'done', 'dropped', 'dropped'])

  const rest = (await runsApi.retry(failed, origin, {})).run.runId
  for (const at of [4, 5]) {
    await begun(at + 1)
    began[at]?.end()
  }
  expect(began.slice(4).map(({ input }) => input.name)).toEqual(['c', 'd'])
  expect(await runsApi.wait(rest)).toMatchObject({
    status: 'succeeded',
    result: { steps: { summary: { total: 4, succeeded: 4 } } },
  })
  await runtime.close()
})

test('a batch of which an item failed makes the run a partial success, though a later one was whole', async () => {
  const { world, runtime, began, begun } = await open()
  await using _ = world
  const runId = await hand(runtime, 'two', { items: ['a', 'b'] })
  for (const [at, how] of (['end', 'fail', 'end', 'end'] as const).entries()) {
    await begun(at + 1)
    began[at]?.[how]()
  }
  expect(await (await runtime.runs()).wait(runId)).toMatchObject({ status: 'partial_success' })
  await runtime.close()
})

test('a run that goes on where another was names what that one left, which stays as long as the later of the two', async () => {
  const { world, runtime, began, begun } = await open()
  await using _ = world
  const runsApi = await runtime.runs()
  const runId = await hand(runtime, 'leaving', { items: ['a', 'b'] })
  await begun(1)
  began[0]?.end()
  await begun(2)
  began[1]?.fail()
  const half = await runsApi.wait(runId)
  expect(half).toMatchObject({ status: 'partial_success' })
  const next = (await runsApi.retry(runId, origin, { failed: true })).run.runId
  await begun(3)
  began[2]?.end()
  const whole = await runsApi.wait(next)
  expect(whole).toMatchObject({ status: 'succeeded' })
  const [, first = ''] = half.artifactIds
  expect(whole.artifactIds).toContain(first)
  expect((await runsApi.artifacts(next)).map(({ artifactId }) => artifactId).toSorted()).toEqual(whole.artifactIds.toSorted())
  expect(await chunk(runtime, first)).toMatchObject({ data: '<left>a 一</left>', complete: true })
  expect((await runInside(world.project, ['artifacts', 'get', first])).out, 'text as it is').toBe('<left>a 一</left>')
  await runtime.close()
})

test('a canceled run keeps what its steps left, and nothing lies there that no run names', async () => {
  const { world, runtime, began, begun } = await open()
  await using _ = world
  const runsApi = await runtime.runs()
  const runId = await hand(runtime, 'leaving', { items: ['a', 'b'] })
  await begun(1)
  began[0]?.end()
  // The second leaves something as well, and is stopped before its step is written down.
  await begun(2)
  await runsApi.cancel(runId, 'the person')
  const { artifactIds } = await runsApi.get(runId)
  expect(artifactIds).toHaveLength(1)
  expect(await chunk(runtime, artifactIds[0] ?? '')).toMatchObject({ data: '<left>a 一</left>' })
  await runtime.close()
  expect(contents(world)).toEqual(artifactIds)
})

test('a run whose end could not be written has no end, and is taken up again until it can be', async () => {
  const { world, runtime, began, begun } = await open()
  await using _ = world
  const runId = await hand(runtime, 'batch', { items: ['a'] })
  await begun(1)
  const db = openConnection(world.state('handrail.db'))
  db.exec(`CREATE TRIGGER full BEFORE UPDATE OF status ON runs WHEN new.status IN ('succeeded', 'failed')
    BEGIN SELECT RAISE(ABORT, 'the disk is full'); END`)
  const stuck = new Promise<void>((resolve) => {
    const { error } = console
    console.error = () => {
      console.error = error
      resolve()
    }
  })
  began[0]?.end()
  await stuck
  const runsApi = await runtime.runs()
  expect(await runsApi.get(runId)).toMatchObject({ status: 'running', result: null, error: null })
  db.exec('DROP TRIGGER full')
  db.close()
  expect(await runsApi.wait(runId)).toMatchObject({ status: 'succeeded' })
  expect(began, 'what was done is not done again').toHaveLength(1)
  await runtime.close()
})

test('what was handed in with secrets is not retried without them', async () => {
  const { world, runtime, began, begun } = await open()
  await using _ = world
  const runsApi = await runtime.runs()
  const runId = await hand(runtime, 'keyed', { password: 'CANARY-pass' })
  await begun(1)
  began[0]?.fail()
  expect(await runsApi.wait(runId)).toMatchObject({ status: 'failed' })
  await expect(runsApi.retry(runId, origin, {})).rejects.toMatchObject({ reason: 'conflict', details: { secrets: ['password'] } })
  await runtime.close()
})

test('auto that comes to async has the time of async', async () => {
  const { world, runtime, began, begun } = await open()
  await using _ = world
  const items = Array.from({ length: 11 }, (__, n) => String(n))
  const [many, few] = [await hand(runtime, 'batch', { items }, 'auto'), await hand(runtime, 'batch', { items: ['x'] }, 'auto')]
  const db = openConnection(world.state('handrail.db'))
  const timeOf = (id: string): unknown =>
    (db.prepare('SELECT timeout_ms AS ms FROM runs WHERE id = ?').get(id) as { ms: number }).ms
  expect([timeOf(many), timeOf(few)]).toEqual([600_000, 300_000])
  db.close()
  await begun(2)
  began.forEach(({ end }) => end())
  await runtime.close()
})

test('a text that is none has an end all the same', async () => {
  const bytes = Buffer.from([0x80, 0x61, 0xe4, 0xb8])
  const info = {
    artifactId: 'art_1',
    runId: 'run_1',
    mimeType: 'text/plain',
    bytes: 4,
    createdAt: 0,
    expiresAt: 0,
    expired: false,
  }
  const store = { read: async (__: string, offset: number, length: number) => bytes.subarray(offset, offset + length) } as never
  const read: string[] = []
  for (let offset = 0, complete = false; !complete;) {
    const part = await chunkOf(info, store, offset, 3)
    expect(part.length).toBeGreaterThan(0)
    read.push(part.data)
    ;({ complete } = part)
    offset += part.length
  }
  expect(read.join('')).toContain('a')
})
