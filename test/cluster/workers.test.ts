import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { RunView } from '../../src/contracts/run.ts'
import { runInside } from '../support/inside.ts'
import { handIn } from '../support/runs.ts'
import { sweep } from '../support/soak.ts'
import type { World } from '../support/world.ts'
import {
  alive,
  ask,
  called,
  callsIn,
  database,
  newSpace,
  openCable,
  openMachine,
  reached,
  startWorker,
  urls,
  workInside,
  type Cable,
} from '../support/cluster.ts'

const space = newSpace()
let here: World
let one: World
let two: World
beforeAll(async () => {
  ;[here, one, two] = [await openMachine(space), await openMachine(space), await openMachine(space)]
})
afterAll(async () => {
  for (const machine of [here, one, two]) await machine[Symbol.asyncDispose]()
})

/** Handed in on a machine that carries nothing out itself. */
const submit = async (items: number, options: object = {}, from = here): Promise<string> =>
  (await handIn(from, 'sites', { items: urls(items) }, { mode: 'async', ...options })).runId

/** Long enough that a worker is found in the middle of it. */
const [some, many] = [sweep(300, 45), sweep(1_000, 90)]

const endOf = async (runId: string): Promise<RunView> => (await here.runtime.runs()).wait(runId)

/** Each run has one end with one artifact that has a content, and no other content lies about. */
async function storedOnce(ids: readonly string[]): Promise<void> {
  const rows = await ask<{ run: string; artifacts: string; contents: string }>(
    `SELECT r.id AS run, count(a.id) AS artifacts,
       (SELECT count(*) FROM handrail.artifact_chunks c JOIN handrail.artifacts x ON x.id = c.artifact WHERE x.run = r.id) AS contents
     FROM handrail.runs r LEFT JOIN handrail.artifacts a ON a.run = r.id WHERE r.id = ANY ($1) GROUP BY r.id`,
    [ids],
  )
  expect(rows).toHaveLength(ids.length)
  expect(rows.filter(({ artifacts, contents }) => artifacts !== '1' || contents !== '1')).toEqual([])
}

describe('workers', () => {
  test('what is handed in on one machine is carried out on another; everybody sees how far it is, what it left and what happened', async () => {
    await using worker = await startWorker(one, space, { args: ['--slots', '2', '--port', '0'] })
    const id = await submit(3)
    const ended = await endOf(id)
    expect(ended).toMatchObject({
      status: 'succeeded',
      progress: { doneSteps: 3, totalSteps: 3 },
      result: { summary: { total: 3 } },
    })
    await called([one], 'allow_sites', 3)
    expect(callsIn([one], 'allow_sites')).toBe(3)
    expect(callsIn([here, two], 'allow_sites')).toBe(0)
    const chunk = await two.call('get_artifact', { artifactId: ended.artifactIds[0], offset: 0, limit: 1_000 })
    expect(chunk).toMatchObject({ complete: true, mimeType: 'application/json' })
    const { events } = await two.call<{ events: { event: string }[] }>('subscribe_task_run_events', { runId: id })
    expect(events.map(({ event }) => event)).toEqual(expect.arrayContaining(['run.queued', 'run.started', 'run.ended']))
    const shown = await runInside(two.project, ['runs', 'workers'], { env: { HANDRAIL_RUN_SPACE: space } })
    expect(shown.out).toContain(String(worker.pid))
    expect(shown.out).not.toContain('hidden-word')
    const health = await fetch(`${worker.url}/healthz`)
    expect(await health.json()).toMatchObject({ ok: true })
    expect((await fetch(`${worker.url}/metrics`)).status).toBe(401)
    const metrics = await fetch(`${worker.url}/metrics`, { headers: { authorization: `Bearer ${one.runtime.token().token}` } })
    const text = await metrics.text()
    expect(text).toMatch(/^handrail_runs\{status="succeeded"\} [1-9]/m)
    expect(text).toMatch(/^handrail_workers\{state="alive"\} [1-9]/m)
  })

  test('a run that touches files is carried out where its project is, and nowhere else', async () => {
    await using _worker = await workInside(one, space)
    const handed = await handIn(here, 'read_all', { items: ['a.txt'] }, { mode: 'async' })
    const free = await submit(1)
    await endOf(free)
    // The worker had its turn; this one is not for it.
    const [row] = await ask<{ status: string; queue: string }>('SELECT status, queue FROM handrail.runs WHERE id = $1', [
      handed.runId,
    ])
    expect(row?.queue).toMatch(/^@/)
    const runsApi = await here.runtime.runs()
    const ended = await runsApi.wait(handed.runId)
    expect(ended).toMatchObject({ status: 'succeeded' })
    expect(callsIn([one], 'read_file')).toBe(0)
    await called([here], 'read_file', 1)
    expect(callsIn([here], 'read_file')).toBe(1)
  })

  test('cancelled on one machine, it stops on the other', async () => {
    await using _worker = await workInside(one, space)
    const id = await submit(many)
    const runsApi = await here.runtime.runs()
    await reached(runsApi, id, 1)
    expect(await two.call('cancel_task_run', { runId: id })).toMatchObject({ success: true })
    expect(await endOf(id)).toMatchObject({ status: 'canceled', error: { errorCode: 'RUN_CANCELED' } })
    // Its worker is free again.
    expect(await endOf(await submit(1))).toMatchObject({ status: 'succeeded' })
    expect(callsIn([one, two], 'allow_sites')).toBeLessThan(many)
  })

  test('one killed -9 in the middle: its runs end elsewhere, each result stored once', async () => {
    await using first = await startWorker(one, space, { args: ['--slots', '3'] })
    await using _second = await workInside(two, space, { args: ['--slots', '3'] })
    const before = callsIn([one, two], 'allow_sites')
    const ids = await Promise.all(Array.from({ length: 6 }, () => submit(some)))
    const runsApi = await here.runtime.runs()
    await Promise.all(ids.map((id) => reached(runsApi, id, 1)))
    first.signal('SIGKILL')
    await first.ended
    const left = await ask(`SELECT 1 FROM handrail.runs WHERE id = ANY ($1) AND status = 'running' AND owner LIKE $2`, [
      ids,
      `${first.pid}-%`,
    ])
    expect(left, 'it had runs in its hands').not.toEqual([])
    const ends = await Promise.all(ids.map(endOf))
    expect(ends.map(({ status }) => status)).toEqual(ids.map(() => 'succeeded'))
    expect(ends.map(({ progress }) => progress.doneSteps)).toEqual(ids.map(() => some))
    await storedOnce(ids)
    const calls = callsIn([one, two], 'allow_sites') - before
    // At most what was under way in each slot was done twice. (The last reads of one that is killed may not be in its log.)
    expect(calls).toBeLessThanOrEqual(6 * some + 3)
  })

  test('SIGTERM drains: what it has comes to its end, nothing more is taken, and it ends', async () => {
    await using first = await startWorker(one, space, { args: ['--slots', '1'] })
    const before = callsIn([one], 'allow_sites')
    const id = await submit(some)
    await reached(await here.runtime.runs(), id, 1)
    const next = await submit(1)
    first.signal('SIGTERM')
    expect(await first.ended).toBe(0)
    expect(await endOf(id)).toMatchObject({ status: 'succeeded', progress: { doneSteps: some } })
    // All of it was done there, and nothing of the other.
    expect(callsIn([one], 'allow_sites') - before).toBe(some)
    await using _second = await workInside(two, space)
    expect(await endOf(next)).toMatchObject({ status: 'succeeded' })
  })

  test('put down at the end of its time to drain, a run goes on where it was', async () => {
    await using first = await startWorker(one, space, { args: ['--slots', '1', '--drain', '0'] })
    await using _second = await workInside(two, space, { args: ['--slots', '1'] })
    const before = [callsIn([one], 'allow_sites'), callsIn([two], 'allow_sites')] as const
    // One for each of them, of which the first to be put down goes on with the other.
    const [id, other] = [await submit(many), await submit(many)]
    const runsApi = await here.runtime.runs()
    await Promise.all([reached(runsApi, id, 1), reached(runsApi, other, 1)])
    first.signal('SIGTERM')
    expect(await first.ended).toBe(0)
    await endOf(other)
    const done = [callsIn([one], 'allow_sites') - before[0], callsIn([two], 'allow_sites') - before[1]] as const
    expect(done[0]).toBeLessThan(many)
    expect(await endOf(id)).toMatchObject({ status: 'succeeded', progress: { doneSteps: many } })
    await storedOnce([id, other])
  })

  test('a worker takes the templates it was told to, and leaves the others', async () => {
    await using _picky = await startWorker(one, space, { args: ['--worker-templates', 'batch_extract_pages'] })
    const id = await submit(1)
    const before = callsIn([one], 'allow_sites')
    await using _other = await workInside(two, space)
    expect(await endOf(id)).toMatchObject({ status: 'succeeded' })
    expect(callsIn([one], 'allow_sites')).toBe(before)
  })

  test('one that goes by other settings takes nothing', async () => {
    await using _other = await workInside(one, space, { args: ['--read-only'] })
    const id = await submit(1)
    const before = callsIn([one], 'allow_sites')
    await using _same = await workInside(two, space)
    expect(await endOf(id)).toMatchObject({ status: 'succeeded' })
    expect(callsIn([one], 'allow_sites')).toBe(before)
  })

  test('two submitters with one key get one run', async () => {
    await using _worker = await workInside(one, space)
    const key = { idempotencyKey: `key-${space}` }
    const ids = await Promise.all(Array.from({ length: sweep(60, 20) }, (_, at) => submit(1, key, at % 2 ? here : two)))
    expect(new Set(ids).size).toBe(1)
    expect(await endOf(ids[0] as string)).toMatchObject({ status: 'succeeded' })
  })
})

describe('a cable', () => {
  let cable: Cable
  beforeAll(async () => {
    cable = await openCable(Number(new URL(database()).port))
  })
  afterAll(() => cable.close())

  test('a worker cut off from the database does no more, its runs end elsewhere, and it takes others when it is back', async () => {
    const through = new URL(database())
    through.port = String(cable.port)
    await using far = await startWorker(one, space, { args: ['--slots', '2'], env: { HANDRAIL_DATABASE_URL: through.href } })
    const ids = await Promise.all([submit(many), submit(many)])
    const runsApi = await here.runtime.runs()
    await Promise.all(ids.map((id) => reached(runsApi, id, 1)))
    cable.cut()
    {
      await using _near = await workInside(two, space, { args: ['--slots', '2'] })
      const ends = await Promise.all(ids.map(endOf))
      expect(ends.map(({ status, progress }) => [status, progress.doneSteps])).toEqual(ids.map(() => ['succeeded', many]))
    }
    const before = callsIn([one], 'allow_sites')
    cable.mend()
    await alive(here, far.pid)
    const next = await submit(2)
    expect(await endOf(next)).toMatchObject({ status: 'succeeded' })
    await called([one], 'allow_sites', before + 2)
    expect(callsIn([one], 'allow_sites')).toBe(before + 2)
    await storedOnce([...ids, next])
  })
})
