import { afterAll, beforeAll, expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { mayFollow, runStatuses, type ArtifactChunk, type RunView } from '../../src/contracts/run.ts'
import { openEverywhere, names, type Everywhere } from '../support/everywhere.ts'
import { proves } from '../support/proof.ts'
import { ended, putTemplates } from '../support/runs.ts'
import type { McpConnection, Way } from '../support/serve.ts'
import { openWorld, sharesRuns } from '../support/world.ts'

/** Seed 002 §8, line by line, over real stdio and real SSE. Where its own templates need a browser, one that reads files stands in. */
const two = ['stdio 2025', 'sse'] as const satisfies readonly Way[]
const many = Array.from({ length: 200 }, (_, n) => `${n}.txt`)

async function open(config: object): Promise<Everywhere> {
  const files = { ...Object.fromEntries(many.map((name) => [name, '一二三四五六七八九十\n'.repeat(16)])), 'package.json': '{}\n' }
  const everywhere = await openEverywhere({ files, config }, two, { real: true })
  putTemplates(everywhere.world.base)
  return everywhere
}

/** With the settings there are by default, and with one run at a time whose artifacts live for a second. */
let usual: Everywhere
let narrow: Everywhere
beforeAll(async () => {
  usual = await open({})
  narrow = await open({ limits: { maxConcurrentRuns: 1, artifactTtlMs: 1_000 } })
})
afterAll(async () => {
  await usual[Symbol.asyncDispose]()
  await narrow[Symbol.asyncDispose]()
})

const read = (items: string[], options: object = {}): Record<string, unknown> => ({
  templateId: 'read_all',
  inputs: { items },
  options,
})
const run = async (
  peer: McpConnection,
  input: Record<string, unknown>,
): Promise<RunView & { mode: string; deduplicated: boolean }> => (await peer.call('run_task_template', input)) as never

proves('runs.tools', 'all of them are offered in every project', async () => {
  const wanted = [
    'list_task_templates',
    'run_task_template',
    'get_task_run',
    'list_task_runs',
    'cancel_task_run',
    'get_artifact',
    'get_runtime_profile',
    'subscribe_task_run_events',
  ]
  for (const way of two) expect(await names(usual.on(way).client)).toEqual(expect.arrayContaining(wanted))
  const { templates } = (await usual.on('sse').call('list_task_templates', {})) as { templates: { templateId: string }[] }
  expect(templates.map(({ templateId }) => templateId)).toEqual(
    expect.arrayContaining(['webgal_project_report', 'batch_validate', 'batch_replace']),
  )
})

proves('runs.status', 'the six, and nothing follows an end', () => {
  expect([...runStatuses]).toEqual(['queued', 'running', 'succeeded', 'failed', 'partial_success', 'canceled'])
  const legal = runStatuses.flatMap((from) => runStatuses.filter((to) => mayFollow(from, to)).map((to) => `${from} ${to}`))
  expect(legal).toEqual([
    'queued running',
    'queued failed',
    'queued canceled',
    'running succeeded',
    'running failed',
    'running partial_success',
    'running canceled',
  ])
})

proves('runs.modes', 'three of them, over stdio and SSE', async () => {
  for (const way of two) {
    const peer = usual.on(way)
    const sync = await run(peer, read(['1.txt'], { mode: 'sync' }))
    expect(sync, way).toMatchObject({ mode: 'sync', status: 'succeeded', deduplicated: false, error: null })
    const { deduplicated: _, ...same } = sync
    expect(await peer.call('get_task_run', { runId: sync.runId }), way).toEqual(same)
    const late = await run(peer, read(many, { mode: 'async' }))
    expect(late, way).toEqual({ runId: late.runId, sessionId: null, status: 'queued', mode: 'async', deduplicated: false })
    expect((await run(peer, read(['1.txt']))).mode).toBe('sync')
    expect((await run(peer, read(many.slice(0, 11)))).mode).toBe('async')
  }
})

proves(['runs.object', 'runs.get'], 'before and after its end', async () => {
  const peer = narrow.on('sse')
  const first = await run(peer, read(many, { mode: 'async' }))
  const { runId } = await run(peer, read(many, { mode: 'async' }))
  const early = (await peer.call('get_task_run', { runId })) as unknown as RunView
  expect(['queued', 'running']).toContain(early.status)
  expect(early).toMatchObject({ result: null, error: null, artifactIds: [] })
  await ended(narrow.world, first.runId)
  const late = await ended(narrow.world, runId)
  expect(late).toMatchObject({ status: 'succeeded', error: null, progress: { doneSteps: 200, totalSteps: 200 } })
  expect(late.updatedAt).toBeGreaterThanOrEqual(late.createdAt)
  expect(late.createdAt).toBeGreaterThan(1_700_000_000_000)
  expect(Object.keys(late).toSorted()).toEqual([
    'artifactIds',
    'createdAt',
    'error',
    'metrics',
    'mode',
    'ownsSession',
    'progress',
    'result',
    'runId',
    'sessionId',
    'status',
    'templateId',
    'templateVersion',
    'updatedAt',
  ])
  expect(late.runId).toMatch(/^run_[0-9a-f]{32}$/)
  expect(late.artifactIds).toEqual([expect.stringMatching(/^art_[0-9a-f]{32}$/)])
})

proves('runs.list', 'every connection sees the runs of all', async () => {
  const everywhere = usual
  const [first, second] = two.map((way) => everywhere.on(way)) as [McpConnection, McpConnection]
  const before = (await first.call('list_task_runs', { templateId: 'read_all' }))['total'] as number
  const failed = (await first.call('list_task_runs', { status: 'failed' }))['total'] as number
  const a = await run(first, read(['1.txt'], { mode: 'sync' }))
  const b = await run(second, read(['none.txt'], { mode: 'sync' }))
  for (const peer of [first, second]) {
    expect(await peer.call('list_task_runs', { templateId: 'read_all', limit: 2 })).toMatchObject({
      total: before + 2,
      runs: [{ runId: b.runId }, { runId: a.runId }],
    })
    expect(await peer.call('list_task_runs', { status: 'failed', limit: 1 })).toMatchObject({
      total: failed + 1,
      runs: [{ runId: b.runId }],
    })
    expect(await peer.call('list_task_runs', { limit: 1, offset: 1 })).toMatchObject({ runs: [{ runId: a.runId }] })
    for (const bad of [{ limit: 0 }, { limit: 1_001 }, { offset: -1 }, { status: 'done' }])
      expect(await peer.call('list_task_runs', bad)).toMatchObject({ errorCode: 'INVALID_PARAMETER' })
  }
})

proves('runs.cancel', 'from another connection, and once it has ended', async () => {
  const [first, second] = two.map((way) => narrow.on(way)) as [McpConnection, McpConnection]
  const ahead = await run(first, read(many, { mode: 'async' }))
  const { runId } = await run(first, read(many, { mode: 'async' }))
  expect(await second.call('cancel_task_run', { runId })).toEqual({ success: true, runId })
  expect(await first.call('get_task_run', { runId })).toMatchObject({
    status: 'canceled',
    result: null,
    error: { errorCode: 'RUN_CANCELED' },
  })
  expect(await first.call('cancel_task_run', { runId })).toEqual({ success: false, runId, reason: expect.any(String) as string })
  expect(await first.call('cancel_task_run', { runId: 'run_none' })).toMatchObject({ errorCode: 'RUN_NOT_FOUND' })
  expect(await ended(narrow.world, ahead.runId)).toMatchObject({ status: 'succeeded' })
})

proves('runs.queue', 'in the order they came', async () => {
  const [first, second] = two.map((way) => narrow.on(way)) as [McpConnection, McpConnection]
  const a = await run(first, read(many, { mode: 'async' }))
  const b = await run(second, read(['1.txt'], { mode: 'async' }))
  expect(b.status).toBe('queued')
  for (const { runId } of [a, b]) expect(await ended(narrow.world, runId)).toMatchObject({ status: 'succeeded' })
  const line = (event: string, id: string): number =>
    narrow.world.runtime.audit.last(1, (one: AuditLine) => one.event === event && one.run === id)[0]?.seq ?? 0
  // Not after the line of the other's end: on two machines that may be written later.
  expect(line('run.started', b.runId)).toBeGreaterThan(line('run.started', a.runId))
})

proves('runs.keys', 'over whichever connection', async () => {
  const keyed = (items: string[]): Record<string, unknown> => read(items, { mode: 'async', idempotencyKey: 'task_20260210_001' })
  const { runId } = await run(usual.on('stdio 2025'), keyed(['1.txt']))
  const again = await run(usual.on('sse'), keyed(['2.txt']))
  expect(again).toMatchObject({ runId, mode: 'async', deduplicated: true })
})

proves('runs.chunk', 'bytes that break no character, the end and beyond', async () => {
  const peer = usual.on('sse')
  const { artifactIds, result } = await run(peer, read(many.slice(0, 150), { mode: 'sync' }))
  const [artifactId = ''] = artifactIds
  const chunk = async (offset: number, limit?: number): Promise<ArtifactChunk> =>
    (await peer.call('get_artifact', { artifactId, offset, ...(limit !== undefined && { limit }) })) as never
  const first = await chunk(0)
  expect(Object.keys(first).toSorted()).toEqual(['artifactId', 'complete', 'data', 'length', 'mimeType', 'offset', 'totalSize'])
  let text = ''
  let offset = 0
  for (let complete = false; !complete;) {
    const part = await chunk(offset, 10_001)
    expect(part.length).toBe(Buffer.byteLength(part.data))
    expect(part.length).toBeLessThanOrEqual(10_001)
    text += part.data
    offset += part.length
    complete = part.complete
  }
  expect(offset).toBe(first.totalSize)
  expect(text).not.toContain('\uFFFD')
  expect(JSON.parse(text)).toMatchObject({ summary: { total: 150, succeeded: 150 } })
  // It is larger than what is shown inline.
  expect(first.totalSize).toBeGreaterThan(65_536)
  expect(result).toMatchObject({ large: true, artifactId, bytes: first.totalSize, summary: { summary: { total: 150 } } })
  expect(await chunk(first.totalSize + 5)).toMatchObject({ length: 0, data: '', complete: true })
  const inside = Buffer.from(text).indexOf(Buffer.from('一')) + 1
  for (const bad of [{ offset: -1 }, { offset: inside }, { limit: 0 }, { limit: 262_145 }, { offset: 0.5 }])
    expect(await peer.call('get_artifact', { artifactId, ...bad }), JSON.stringify(bad)).toMatchObject({
      errorCode: 'INVALID_PARAMETER',
    })
  expect((await chunk(inside - 1, 1)).data, 'one whole character at least').toBe('一')
})

proves('runs.profile', 'by default', async () => {
  for (const way of two)
    expect(await usual.on(way).call('get_runtime_profile', {})).toEqual({
      maxConcurrentRuns: 5,
      maxUrls: 1_000,
      maxTabsPerSession: 20,
      syncTimeoutMs: 300_000,
      asyncTimeoutMs: 600_000,
      artifactMaxChunkSize: 262_144,
      artifactTtlMs: 86_400_000,
      runTtlMs: 1_800_000,
      supportedModes: ['sync', 'async', 'auto'],
      trustLevel: 'local',
      isRemote: false,
    })
  for (const way of two)
    expect(await narrow.on(way).call('get_runtime_profile', {}), 'what is in force, where that is another').toMatchObject({
      maxConcurrentRuns: 1,
      artifactTtlMs: 1_000,
      runTtlMs: 1_800_000,
    })
})

for (const way of two)
  proves('runs.errors', `${way}: each with a way on and its reason`, async () => {
    const peer = narrow.on(way)
    const none = `run_${'0'.repeat(32)}`
    const cases: [string, string, Record<string, unknown>][] = [
      ['TEMPLATE_NOT_FOUND', 'run_task_template', { templateId: 'nobody' }],
      ['TEMPLATE_VERSION_UNSUPPORTED', 'run_task_template', { ...read(['1.txt']), templateVersion: '9.9.9' }],
      ['SESSION_NOT_FOUND', 'run_task_template', { ...read(['1.txt']), sessionId: 'sess_none' }],
      ['INVALID_PARAMETER', 'run_task_template', { templateId: 'read_all', inputs: { items: 'no list' } }],
      ['INVALID_PARAMETER', 'run_task_template', read(['1.txt'], { timeoutMs: 0 })],
      ['INVALID_PARAMETER', 'run_task_template', read(['1.txt'], { timeoutMs: 600_001 })],
      ['INVALID_PARAMETER', 'run_task_template', read(['1.txt'], { mode: 'later' })],
      ['INVALID_PARAMETER', 'run_task_template', read(['1.txt'], { idempotencyKey: 'k'.repeat(1 << 20) })],
      ['INVALID_PARAMETER', 'list_task_runs', { status: 'done' }],
      ['INVALID_PARAMETER', 'list_task_runs', { limit: 1_001 }],
      ['RUN_NOT_FOUND', 'get_task_run', { runId: none }],
      ['RUN_NOT_FOUND', 'cancel_task_run', { runId: '../../x' }],
      ['RUN_NOT_FOUND', 'subscribe_task_run_events', { runId: none }],
      ['ARTIFACT_NOT_FOUND', 'get_artifact', { artifactId: '../../handrail.db' }],
    ]
    for (const [errorCode, tool, input] of cases)
      expect(await peer.call(tool, input), `${tool} ${JSON.stringify(input).slice(0, 100)}`).toMatchObject({
        errorCode,
        error: expect.any(String) as string,
        recoverHint: expect.any(String) as string,
        details: { reason: expect.any(String) as string },
      })
    expect(await run(peer, read(many, { mode: 'sync', timeoutMs: 1 }))).toMatchObject({
      status: 'failed',
      result: null,
      error: { errorCode: 'RUN_TIMEOUT' },
    })
    expect(await run(peer, read(['none.txt'], { mode: 'sync' }))).toMatchObject({
      status: 'failed',
      error: { errorCode: 'STEP_EXECUTION_FAILED' },
    })
    const inputs = { path: 'package.json', find: '{}', replace: '[]' }
    const asks = await run(peer, { templateId: 'replace_once', inputs, options: { mode: 'async' } })
    const asked = async (): Promise<RunView> => (await peer.call('get_task_run', { runId: asks.runId })) as never
    await expect.poll(async () => (await asked()).waiting).toBeDefined()
    narrow.world.runtime.approvals.decide((await asked()).waiting?.approvalId ?? '', { approve: false, by: 'the person' })
    await ended(narrow.world, asks.runId)
    expect(await asked()).toMatchObject({ status: 'failed', result: null, error: { errorCode: 'EXECUTION_ERROR' } })
    const { artifactIds } = await run(peer, read(['1.txt'], { mode: 'sync' }))
    const expired = async (): Promise<boolean> =>
      (await peer.call('get_artifact', { artifactId: artifactIds[0] }))['errorCode'] === 'ARTIFACT_EXPIRED'
    await expect.poll(expired).toBe(true)
  })

test('events after a cursor, and news of the run as a resource', async () => {
  const peer = usual.on('sse')
  const news: string[] = []
  peer.client.setNotificationHandler('notifications/resources/updated', ({ params }) => void news.push(params.uri))
  const { runId } = await run(peer, read(many, { mode: 'async' }))
  const uri = `handrail://runs/${runId}`
  await peer.client.subscribeResource({ uri })
  await ended(usual.world, runId)
  const {
    cursor,
    events,
    uri: told,
  } = (await peer.call('subscribe_task_run_events', { runId })) as unknown as {
    uri: string
    cursor: number
    events: { event: string; cursor: number; status?: string }[]
  }
  expect(told).toBe(uri)
  const queued = events.findIndex(({ event }) => event === 'run.queued')
  const end = events.findIndex(({ event }) => event === 'run.ended')
  expect(events[queued]).toMatchObject({ status: 'queued' })
  expect(events[end]).toMatchObject({ status: 'succeeded' })
  // A database tells the process that takes a run up sooner than the one that handed it in has written its line.
  if (!sharesRuns) expect([queued, end]).toEqual([0, events.length - 1])
  expect(await peer.call('subscribe_task_run_events', { runId, after: cursor })).toMatchObject({ events: [] })
  const rest = (await peer.call('subscribe_task_run_events', { runId, after: (events[end]?.cursor ?? 0) - 1 })) as unknown
  expect(rest).toMatchObject({ events: [{ event: 'run.ended' }, ...events.slice(end + 1).map(({ event }) => ({ event }))] })
  await expect.poll(() => news.includes(uri)).toBe(true)
  const { contents } = await peer.client.readResource({ uri })
  expect(JSON.parse((contents[0] as { text: string }).text)).toMatchObject({ runId, status: 'succeeded' })
})

proves('runs.timeout', 'and no other', async () => {
  for (const timeoutMs of [0, 600_001, 1.5, '5'])
    expect(await usual.on('sse').call('run_task_template', read(['1.txt'], { timeoutMs }))).toMatchObject({
      errorCode: 'INVALID_PARAMETER',
    })
  expect(await run(usual.on('sse'), read(['1.txt'], { mode: 'sync', timeoutMs: 600_000 }))).toMatchObject({ status: 'succeeded' })
})

test('a template for this machine only is refused to a caller from another one', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  const from = (address: string) =>
    ({ surface: 'mcp-http', client: 'c/1', session: 's', peer: `address ${address}`, role: 'agent' }) as const
  const call = async (tool: string, input: object, address: string): Promise<unknown> =>
    (await world.runtime.call(tool, input, from(address))).output
  const asked = { templateId: 'batch_replace', inputs: { paths: ['a.txt'], find: 'x', replace: 'y' } }
  await expect(call('run_task_template', asked, '192.0.2.7')).rejects.toMatchObject({ reason: 'trust-level' })
  expect(await call('get_runtime_profile', {}, '192.0.2.7')).toMatchObject({ trustLevel: 'remote', isRemote: true })
  expect(await call('run_task_template', asked, '127.0.0.1')).toMatchObject({ status: 'succeeded', result: { count: 1 } })
})

proves('runs.output-schema', 'whatever it is, the run is what it is without', async () => {
  const deep: Record<string, unknown> = {}
  let inner = deep
  for (let depth = 0; depth < 60; depth++) inner = inner['not'] = {}
  for (const outputSchema of [
    { type: 'object' },
    { type: 'string' },
    { $ref: 'http://127.0.0.1:9/x' },
    { pattern: '^(a+)+$' },
    deep,
  ])
    for (const way of two)
      expect(await run(usual.on(way), read(['1.txt'], { mode: 'sync', outputSchema }))).toMatchObject({
        status: 'succeeded',
        result: { summary: { succeeded: 1 } },
      })
  expect(await usual.on('sse').call('run_task_template', read(['1.txt'], { outputSchema: 'no' }))).toMatchObject({
    errorCode: 'INVALID_PARAMETER',
  })
})

proves('runs.ends', 'each of the four', async () => {
  const peer = usual.on('stdio 2025')
  const all = await Promise.all([
    run(peer, read(['1.txt'], { mode: 'sync' })),
    run(peer, read(['1.txt', 'none.txt'], { mode: 'sync' })),
    run(peer, read(['none.txt'], { mode: 'sync' })),
  ])
  expect(all.map(({ status }) => status)).toEqual(['succeeded', 'partial_success', 'failed'])
  for (const { status, result, error } of all) {
    expect(result === null, status).toBe(status === 'failed')
    expect(error === null, status).toBe(status !== 'failed')
  }
  const waits = await run(peer, {
    templateId: 'replace_once',
    inputs: { path: 'package.json', find: '{}', replace: '[]' },
    options: { mode: 'async' },
  })
  await peer.call('cancel_task_run', { runId: waits.runId })
  const canceled = (await peer.call('get_task_run', { runId: waits.runId })) as unknown as RunView
  for (const { error } of [canceled, ...all.slice(2)])
    expect(error).toEqual({
      errorCode: expect.any(String) as string,
      message: expect.stringMatching(/./) as string,
      recoverHint: expect.stringMatching(/./) as string,
      details: expect.any(Object) as object,
    })
})

proves('runs.polling', 'over stdio and SSE', async () => {
  for (const way of two) {
    const peer = usual.on(way)
    const { runId } = await run(peer, read(many.slice(0, 50), { mode: 'async' }))
    const seen: string[] = []
    const look = async (): Promise<string> => {
      const { status } = (await peer.call('get_task_run', { runId })) as unknown as RunView
      if (seen.at(-1) !== status) seen.push(status)
      return status
    }
    await expect.poll(look).toBe('succeeded')
    expect(['queued running succeeded', 'running succeeded', 'queued succeeded', 'succeeded']).toContain(seen.join(' '))
    const { runs } = (await peer.call('list_task_runs', { templateId: 'read_all', limit: 50 })) as { runs: RunView[] }
    expect(runs.map((one) => one.runId)).toContain(runId)
  }
})
