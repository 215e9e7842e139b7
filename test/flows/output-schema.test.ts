import { afterAll, beforeAll, expect, test } from 'vitest'
import type { OutputTask, TaskAgent } from '../../src/contracts/task-agent.ts'
import type { RunsApi, RunView } from '../../src/contracts/run.ts'
import { openDatabase } from '../../src/host/database.ts'
import { openSchemaChecks } from '../../src/host/schema-checks.ts'
import { openStateFolder } from '../../src/host/state-folder.ts'
import { openRunsOn } from '../../src/runs/open.ts'
import { openArtifacts } from '../../src/stores/artifacts.ts'
import { openRuns } from '../../src/stores/runs.ts'
import { schema as storeSchema, schemaVersion } from '../../src/stores/schema.ts'
import { proves } from '../support/proof.ts'
import { handIn, standIns } from '../support/runs.ts'
import { openWorld, type World } from '../support/world.ts'

/** No model is configured anywhere yet: a stand-in answers what the test says, behind the real store, engine and schema checks. */
let world: World
let runsApi: RunsApi
let agent: TaskAgent | undefined
const closers: (() => unknown)[] = []
const tasks: OutputTask[] = []
beforeAll(async () => {
  world = await openWorld({ files: { 'a.txt': 'three words here' } })
  const db = openDatabase(world.state('handrail.db'), storeSchema, schemaVersion)
  const checks = openSchemaChecks()
  let made = 0
  const opened = openRunsOn(
    {
      store: openRuns(db),
      artifacts: openArtifacts(openStateFolder(world.state('.'))),
      sessions: { creatorOf: async () => undefined, savedFor: async () => undefined, end: async () => undefined },
      problems: checks.problems,
      taskAgent: () => agent,
      seal: () => '',
      trustLevel: () => 'local',
      gate: world.runtime.gate,
      worker: { name: 'test 1', authority: 'test' },
      newId: (prefix) => `${prefix}_${(made++).toString(16).padStart(32, '0')}`,
      questions: { settled: async () => undefined, find: () => undefined },
      log: {
        subscribe: world.runtime.audit.subscribe,
        write: async (entry) => world.runtime.audit.note(entry),
        newestOf: () => undefined,
        lastLine: () => world.runtime.audit.head().seq,
      },
      limits: () => ({ maxConcurrentRuns: 5, runTtlMs: 60_000, artifactTtlMs: 60_000 }),
    },
    {
      files: () => [{ name: 'read_all.json', text: JSON.stringify(standIns.read_all), digest: '', from: 'person' }],
      ignored: () => undefined,
    },
    [],
  )
  runsApi = opened.runsApi
  closers.push(opened.close, checks.close, () => db.close())
})
afterAll(async () => {
  for (const close of closers) await close()
  await world[Symbol.asyncDispose]()
})

const answering = (...answers: unknown[]): void => {
  tasks.length = 0
  agent = {
    async shape(task) {
      tasks.push(task)
      return answers[tasks.length - 1]
    },
  }
}
const origin = { surface: 'mcp-stdio', client: 'test/1', session: 'sess_test' } as const
const run = async (outputSchema: object, more: object = {}): Promise<RunView> => {
  const handed = await runsApi.submit(
    { templateId: 'read_all', inputs: { items: ['a.txt'] }, mode: 'async', outputSchema, ...more },
    origin,
  )
  runsApi.work()
  return runsApi.wait(handed.run.runId)
}
const words = { type: 'object', properties: { words: { type: 'integer' } }, required: ['words'], additionalProperties: false }

test('without a model the schema is ignored, whatever it is: the direct path, over a real surface', async () => {
  const hostile = { $ref: '#', pattern: '(a+)+$' }
  const handed = await handIn(world, 'webgal_project_report', {}, { mode: 'sync', outputSchema: hostile })
  expect(handed.status).not.toBe('queued')
  agent = undefined
  expect(await run(hostile)).toMatchObject({ status: 'succeeded', result: { summary: { succeeded: 1 } } })
})

proves('runs.output-schema.agent', 'what does not fit is told to it once, and the result as it was is an artifact', async () => {
  answering({ words: 'three' }, { words: 3 })
  const shaped = await run(words)
  expect(shaped).toMatchObject({ status: 'succeeded', result: { words: 3 } })
  expect(tasks.map(({ problems }) => problems.length)).toEqual([0, 1])
  expect(tasks[0]).toMatchObject({
    templateId: 'read_all',
    schema: words,
    result: { items: [{ output: { content: 'three words here' } }] },
  })
  const chunks = await Promise.all(shaped.artifactIds.map((id) => runsApi.artifact(id, 0, 262_144)))
  expect(chunks.map(({ data }) => JSON.parse(data) as unknown)).toMatchObject([{ words: 3 }, { summary: { succeeded: 1 } }])

  answering({ words: 'three' }, { words: 'still' }, { words: 3 })
  const failed = await run(words)
  expect(failed).toMatchObject({
    status: 'failed',
    error: { errorCode: 'STEP_EXECUTION_FAILED', details: { failedStep: 'outputSchema' } },
  })
  expect(tasks).toHaveLength(2)
  expect(JSON.parse((await runsApi.artifact(failed.artifactIds[0] as string, 0, 262_144)).data)).toMatchObject({
    summary: { succeeded: 1 },
  })
})

test('a result that fits already is left as it is, and no model is asked', async () => {
  answering()
  expect(await run({ type: 'object', required: ['summary'] })).toMatchObject({
    status: 'succeeded',
    result: { summary: { succeeded: 1 } },
  })
  expect(tasks).toEqual([])
})

test('hostile schemas are refused before anything is done, and an agent that answers nothing, too much or never has an end', async () => {
  answering({})
  let deep: object = { type: 'object' }
  for (let n = 0; n < 30; n++) deep = { properties: { a: deep } }
  const many = { anyOf: Array.from({ length: 200 }, () => ({ type: 'object' })) }
  const large = { description: 'x'.repeat(40_000) }
  for (const hostile of [
    deep,
    many,
    large,
    { $ref: '#/properties/a' },
    { $ref: 'http://127.0.0.1/x' },
    { pattern: '(' },
    { type: 'nothing' },
  ])
    await expect(run(hostile), JSON.stringify(hostile).slice(0, 60)).rejects.toMatchObject({ reason: 'bad-input' })
  answering({ words: 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa!' }, {})
  const slow = await run({ type: 'object', properties: { words: { type: 'string', pattern: '^(a+)+$' } }, required: ['words'] })
  expect(slow).toMatchObject({ status: 'failed' })
  answering(undefined, { words: 'x'.repeat(2_000_000) })
  expect(await run(words)).toMatchObject({ status: 'failed', error: { details: { failedStep: 'outputSchema' } } })
  agent = { shape: () => new Promise(() => undefined) }
  expect(await run(words, { timeoutMs: 500 })).toMatchObject({ status: 'failed', error: { errorCode: 'RUN_TIMEOUT' } })
})
