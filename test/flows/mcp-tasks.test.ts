import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunView } from '../../src/contracts/run.ts'
import { openWire, type Message, type Wire } from '../support/raw-client.ts'
import { ended, putTemplates } from '../support/runs.ts'
import { openServe, type Served } from '../support/serve.ts'
import { openWorld, type World } from '../support/world.ts'

/** Runs as MCP tasks, spoken by hand: the extension of 2026 over HTTP, and what 2025-11-25 had over SSE. A task is a view of a run. */
const extension = 'io.modelcontextprotocol/tasks'
const many = Array.from({ length: 40 }, (_, n) => `${n}.txt`)

let world: World
let served: Served
let modern: Wire
let legacy: Wire
beforeAll(async () => {
  world = await openWorld({ files: { ...Object.fromEntries(many.map((name) => [name, 'x\n'])), 'package.json': '{}\n' } })
  putTemplates(world.base)
  served = await openServe(world.project)
  modern = await openWire('http 2026', world.project, served, { capabilities: { extensions: { [extension]: {} } } })
  legacy = await openWire('sse', world.project, served, { capabilities: {} })
})
afterAll(async () => {
  await modern[Symbol.asyncDispose]()
  await legacy[Symbol.asyncDispose]()
  await served[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

type Told = Record<string, unknown> & {
  taskId: string
  status: string
  result: { structuredContent: RunView; isError?: boolean }
}
const told = ({ result, error }: Message): Told => {
  expect(error).toBeUndefined()
  return result as unknown as Told
}
const read = (items: string[], options: object = {}): Record<string, unknown> => ({
  templateId: 'read_all',
  inputs: { items },
  options,
})
const again = {
  templateId: 'replace_once',
  inputs: { path: 'package.json', find: '{}', replace: '[]' },
  options: { mode: 'async' },
}
const waits = async (runId: string): Promise<string> => {
  const look = async (): Promise<RunView> => world.call<RunView>('get_task_run', { runId })
  await expect.poll(async () => (await look()).waiting).toBeDefined()
  return (await look()).waiting?.approvalId ?? ''
}

test('2026: a call that is not waited for becomes a task, its result is the run at its end', async () => {
  const discovered = await modern.ask('server/discover')
  expect(discovered.result).toMatchObject({ capabilities: { extensions: { [extension]: {} } } })
  const task = told(await modern.call('run_task_template', read(many)))
  expect(task).toMatchObject({ resultType: 'task', status: 'working', ttlMs: null, pollIntervalMs: 1_000 })
  expect(new Date(task['createdAt'] as string).toISOString()).toBe(task['createdAt'])
  const run = await ended(world, task.taskId)
  const done = told(await modern.ask('tasks/get', { taskId: task.taskId }))
  expect(done).toMatchObject({
    resultType: 'complete',
    taskId: run.runId,
    status: 'completed',
    statusMessage: 'succeeded: 40 of 40 steps',
  })
  expect(done['ttlMs']).toBe(run.updatedAt - run.createdAt + 1_800_000)
  expect(done.result.structuredContent).toEqual({ ...run, deduplicated: false })
  expect(done.result).not.toHaveProperty('isError')
  expect((await modern.call('get_task_run', { runId: task.taskId })).result?.structuredContent, 'the same record').toEqual(run)
})

test('2026: what is waited for, and what is refused, is answered as ever; whoever has no tasks is given none', async () => {
  expect((await modern.call('run_task_template', read(['1.txt']))).result).toMatchObject({
    resultType: 'complete',
    structuredContent: { status: 'succeeded', mode: 'sync' },
  })
  expect((await modern.call('run_task_template', { templateId: 'nobody' })).result).toMatchObject({ isError: true })
  await using plain = await openWire('http 2026', world.project, served, { capabilities: {} })
  const { result } = await plain.call('run_task_template', read(many))
  expect(result).toMatchObject({ resultType: 'complete', structuredContent: { mode: 'async' } })
  const taskId = result?.structuredContent?.['runId']
  for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
    expect((await plain.ask(method, { taskId })).error, method).toMatchObject({
      code: -32_021,
      data: { requiredCapabilities: { extensions: { [extension]: {} } } },
    })
})

test('2026: a failed run is a completed task with an error in it, a cancelled one is cancelled, and there are no others', async () => {
  const failed = told(await modern.call('run_task_template', read(['none.txt'], { mode: 'async' })))
  await ended(world, failed.taskId)
  expect(told(await modern.ask('tasks/get', { taskId: failed.taskId }))).toMatchObject({
    status: 'completed',
    result: { isError: true, structuredContent: { status: 'failed', error: { errorCode: 'STEP_EXECUTION_FAILED' } } },
  })
  const task = told(await modern.call('run_task_template', again))
  const approvalId = await waits(task.taskId)
  expect(told(await modern.ask('tasks/get', { taskId: task.taskId }))).toMatchObject({
    status: 'working',
    statusMessage: expect.stringContaining(approvalId) as string,
  })
  // Nothing that comes this way answers a question to a person.
  const inputResponses = { [approvalId]: { action: 'accept', content: { decision: 'approve' } } }
  told(await modern.ask('tasks/update', { taskId: task.taskId, inputResponses }))
  expect(world.runtime.approvals.get(approvalId)).toMatchObject({ state: 'pending' })
  for (const _ of [1, 2]) told(await modern.ask('tasks/cancel', { taskId: task.taskId }))
  const over = told(await modern.ask('tasks/get', { taskId: task.taskId }))
  expect(over).toMatchObject({ status: 'cancelled', statusMessage: expect.stringContaining('RUN_CANCELED') as string })
  expect(over).not.toHaveProperty('result')
  for (const taskId of [`run_${'0'.repeat(32)}`, '../../x', '', 'x'.repeat(5_000)])
    for (const method of ['tasks/get', 'tasks/update', 'tasks/cancel'])
      expect((await modern.ask(method, { taskId })).error, `${method} ${taskId.slice(0, 40)}`).toMatchObject({
        code: expect.any(Number) as number,
      })
  expect((await modern.ask('tasks/get', {})).error).toMatchObject({ code: expect.any(Number) as number })
})

test('one key is one run and each call its own answer, as tasks too', async () => {
  const keyed = read(many, { mode: 'async', idempotencyKey: 'one' })
  const first = told(await modern.call('run_task_template', keyed))
  const second = told(await modern.call('run_task_template', keyed))
  await ended(world, first.taskId)
  const results = await Promise.all(
    [first, second].map(async ({ taskId }) => told(await modern.ask('tasks/get', { taskId })).result),
  )
  expect(results.map(({ structuredContent }) => structuredContent)).toMatchObject([
    { runId: first.taskId, deduplicated: false },
    { runId: first.taskId, deduplicated: true },
  ])
})

test('2025-11-25: where the client asks for a task it has one, and its result when the run has its end', async () => {
  const { tools } = (await legacy.ask('tools/list')).result as unknown as { tools: { name: string; execution?: object }[] }
  expect(tools.filter(({ execution }) => execution)).toMatchObject([
    { name: 'run_task_template', execution: { taskSupport: 'optional' } },
  ])
  const call = (arguments_: object, more: object) =>
    legacy.ask('tools/call', { name: 'run_task_template', arguments: arguments_, ...more })
  const created = (await call(read(many, { mode: 'sync' }), { task: { ttl: 60_000 } })).result as unknown as { task: Told }
  const { taskId } = created.task
  expect(created.task).toMatchObject({ status: 'working', ttl: null, pollInterval: 1_000 })
  const result = await legacy.ask('tasks/result', { taskId })
  const run = await ended(world, taskId)
  expect(result.result).toMatchObject({
    structuredContent: { ...run, mode: 'async', deduplicated: false },
    _meta: { 'io.modelcontextprotocol/related-task': { taskId } },
  })
  expect(told(await legacy.ask('tasks/get', { taskId }))).toMatchObject({ taskId, status: 'completed' })
  expect((await legacy.ask('tasks/cancel', { taskId })).error).toMatchObject({ code: -32_602 })
  const failed = ((await call(read(['none.txt']), { task: {} })).result as unknown as { task: Told }).task.taskId
  expect((await legacy.ask('tasks/result', { taskId: failed })).result).toMatchObject({
    isError: true,
    structuredContent: { status: 'failed' },
  })
  expect(told(await legacy.ask('tasks/get', { taskId: failed }))).toMatchObject({ status: 'failed' })
  const waiting = ((await call(again, { task: {} })).result as unknown as { task: Told }).task.taskId
  await waits(waiting)
  expect(told(await legacy.ask('tasks/cancel', { taskId: waiting }))).toMatchObject({ taskId: waiting, status: 'cancelled' })
  const { tasks } = (await legacy.ask('tasks/list')).result as unknown as { tasks: Told[] }
  expect(tasks.map((task) => task.taskId).slice(0, 2)).toEqual([waiting, failed])
  expect((await legacy.ask('tasks/list', { cursor: 'x' })).error).toMatchObject({ code: -32_602 })
})

test('2025-11-25: what cannot be a task is refused before anything is done, and a plain call is answered as ever', async () => {
  const call = (name: string, input: object, more: object) => legacy.ask('tools/call', { name, arguments: input, ...more })
  expect((await call('read_file', { path: '1.txt' }, { task: {} })).error).toMatchObject({ code: -32_601 })
  expect((await call('run_task_template', read(['1.txt']), { task: 'yes' })).error).toMatchObject({ code: -32_602 })
  expect((await call('run_task_template', { templateId: 'nobody' }, { task: {} })).error).toMatchObject({
    code: -32_602,
    data: { errorCode: 'TEMPLATE_NOT_FOUND' },
  })
  expect((await call('run_task_template', read(['1.txt']), {})).result).toMatchObject({ structuredContent: { mode: 'sync' } })
})
