import Type from 'typebox'
import { expect } from 'vitest'
import type { Operator } from '../../src/contracts/operator.ts'
import type { RunsApi, RunHeadView, RunView } from '../../src/contracts/run.ts'
import { toolsUsing } from '../../src/contracts/tool.ts'
import { openDatabase } from '../../src/host/database.ts'
import { openStateFolder } from '../../src/host/state-folder.ts'
import { openRunsOn } from '../../src/runs/open.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { openArtifacts } from '../../src/stores/artifacts.ts'
import { openRuns } from '../../src/stores/runs.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { allTools } from '../../src/toolsets/index.ts'
import { proves } from '../support/proof.ts'
import { cleanEnv, openWorld, type World } from '../support/world.ts'

/** A browser session that was kept is its creator's alone. What keeps browsers open stands in here: two sessions, made by two clients. */
const creators = new Map([
  ['sess_mine', 'mine'],
  ['sess_theirs', 'theirs'],
])
const template = {
  id: 'look',
  version: '1.0.0',
  title: 'look',
  description: 'look',
  inputs: { type: 'object' },
  results: { type: 'object' },
  steps: [{ id: 'look', tool: 'look_at', input: { sessionId: { $: 'session' } } }],
  result: { done: { $: 'steps.look.output.done' } },
}

interface Ground {
  runtime: Operator
  runsApi: RunsApi
  /** The sessions that the step was given, and the caller it was made by. */
  seen: (string | undefined)[][]
  close(): Promise<void>
}

function openOn(world: World): Ground {
  const seen: (string | undefined)[][] = []
  const lookAt = toolsUsing<undefined>('stand-in')({
    name: 'look_at',
    title: 'look',
    description: 'look',
    risk: 'R0',
    input: Type.Object({ sessionId: Type.Optional(Type.String()) }, { additionalProperties: false }),
    output: Type.Object({ done: Type.Boolean() }),
    faults: [],
    examples: [],
    execute({ sessionId }, _, { session }) {
      seen.push([sessionId, session])
      return { done: true }
    },
  }).bind(undefined)
  let runsApi: RunsApi | undefined
  const runtime = openRuntime({ project: world.project, environment: cleanEnv(world.base) }, (use) => [
    ...allTools({ ...use, runs: { runsApi: async () => runsApi as RunsApi } }),
    lookAt,
  ])
  const db = openDatabase(world.state('handrail.db'), schema, schemaVersion)
  let made = 0
  const opened = openRunsOn(
    {
      store: openRuns(db),
      artifacts: openArtifacts(openStateFolder(world.state('.'))),
      sessions: { creatorOf: async (id) => creators.get(id), savedFor: async () => undefined, end: async () => undefined },
      problems: async () => [],
      seal: () => '',
      trustLevel: () => 'local',
      gate: runtime.gate,
      worker: { name: 'test 1', authority: 'test' },
      newId: (prefix) => `${prefix}_${(made++).toString(16).padStart(32, '0')}`,
      questions: { settled: async () => undefined, find: () => undefined },
      log: {
        subscribe: runtime.audit.subscribe,
        write: async (entry) => runtime.audit.note(entry),
        newestOf: () => undefined,
        lastLine: () => runtime.audit.head().seq,
      },
      limits: () => ({ maxConcurrentRuns: 5, runTtlMs: 60_000, artifactTtlMs: 60_000 }),
    },
    {
      files: () => [{ name: 'look.json', text: JSON.stringify(template), digest: '', from: 'person' }],
      ignored: () => undefined,
    },
    [],
  )
  runsApi = opened.runsApi
  return {
    runtime,
    runsApi,
    seen,
    async close() {
      await opened.close()
      await runtime.close()
      db.close()
    },
  }
}

const as = (session: string) => ({ surface: 'mcp-stdio', client: 'test/1', session, role: 'agent' }) as const

proves('runs.session', 'a session is used by its creator and shown to nobody else; to others it is not there', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  const { runtime, runsApi, seen, close } = openOn(world)
  const call = async <T>(session: string, tool: string, input: object): Promise<T> =>
    (await runtime.call(tool, input, as(session))).output as T
  const asked = (sessionId: string, options: object = {}) => ({
    templateId: 'look',
    sessionId,
    options: { mode: 'sync', ...options },
  })

  const mine = await call<RunView>('mine', 'run_task_template', asked('sess_mine', { idempotencyKey: 'k' }))
  expect(mine).toMatchObject({ status: 'succeeded', sessionId: 'sess_mine', ownsSession: false })
  expect(seen, 'the step is a call of its creator, with the session').toEqual([['sess_mine', 'mine']])

  for (const sessionId of ['sess_theirs', 'sess_none', '__proto__', ''])
    await expect(call('mine', 'run_task_template', asked(sessionId)), sessionId).rejects.toMatchObject({
      reason: sessionId === '' ? 'bad-input' : 'session-not-found',
    })
  const [theirs, none] = await Promise.all(
    ['sess_theirs', 'sess_none'].map((id) => call('mine', 'run_task_template', asked(id)).catch((fault: Error) => fault.message)),
  )
  expect(theirs, 'that of another is not told from one that never was').toBe(none)
  expect(seen).toHaveLength(1)

  const shown = async (session: string): Promise<unknown[]> => {
    const one = await call<RunView>(session, 'get_task_run', { runId: mine.runId })
    const { runs } = await call<{ runs: RunHeadView[] }>(session, 'list_task_runs', {})
    const again = await call<RunView>(session, 'run_task_template', {
      templateId: 'look',
      options: { mode: 'async', idempotencyKey: 'k' },
    })
    expect(again).toMatchObject({ runId: mine.runId, deduplicated: true })
    return [one.sessionId, runs.map(({ sessionId }) => sessionId), again.sessionId]
  }
  expect(await shown('mine')).toEqual(['sess_mine', ['sess_mine'], 'sess_mine'])
  expect(await shown('theirs')).toEqual([null, [null], null])
  expect((await runsApi.get(mine.runId)).sessionId, 'nobody in particular').toBeNull()
  await expect(
    runsApi.retry(mine.runId, { surface: 'cli', client: 'c', session: 'cli' }, {}),
    'done again by another it would use it',
  ).rejects.toMatchObject({ reason: 'session-not-found' })
  await close()
})
