import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import type { ClusterWorker } from '../../src/contracts/cluster.ts'
import { bounds } from '../../src/contracts/kept.ts'
import type { NewRun, RunStore } from '../../src/contracts/run-ports.ts'
import type { Template } from '../../src/contracts/template.ts'
import { openPostgres, type Postgres } from '../../src/host/postgres.ts'
import { migrate } from '../../src/stores/cluster/migrate.ts'
import { openClusterNotifications } from '../../src/stores/cluster/notifications.ts'
import { openClusterRuns } from '../../src/stores/cluster/runs.ts'
import { clusterVersion } from '../../src/stores/cluster/schema.ts'
import { openRoster, type Roster } from '../../src/stores/cluster/workers.ts'
import { ask, database, newSpace, openCable, openMachine, sites, urls, workInside } from '../support/cluster.ts'
import { failedBesides, handIn } from '../support/runs.ts'
import { sweep } from '../support/soak.ts'

let db: Postgres
beforeAll(async () => {
  db = await openPostgres(database())
  await migrate(db)
})
afterAll(() => db.close())

/** As a machine of its own has it. */
const signing = { isFree: () => true, sign: () => 'ours' }

let ids = 0
const newRun = (worker: ClusterWorker, more: Partial<NewRun> = {}): NewRun => ({
  id: `run_${process.pid}${Date.now().toString(16)}${(ids++).toString(16).padStart(6, '0')}`,
  template: sites as unknown as Template,
  inputs: { items: [] },
  origin: { surface: 'mcp-stdio', client: 'test/1', session: 'sess_test' },
  holder: 'someone',
  mode: 'async',
  timeoutMs: 10_000,
  totalSteps: 1,
  worker,
  ttlMs: 60_000,
  ...more,
})

interface Machine {
  worker: ClusterWorker
  store: RunStore
  roster: Roster
}
/** A worker as the store knows it, alive for as long as it is told to be. */
async function join(space: string, name: string, leaseMs = 60_000, more: Partial<ClusterWorker> = {}): Promise<Machine> {
  const worker: ClusterWorker = { name: `${space}-${name}`, authority: 'same', place: name, ...more }
  const roster = openRoster(db, space, worker, { leaseMs, version: 'test' })
  await roster.join({ kind: 'worker', slots: 5 })
  const store = openClusterRuns({
    db,
    space,
    place: worker.place,
    persist: (act) => act(),
    queueFor: async () => 'any',
    ...signing,
  })
  return { worker, store, roster }
}
const progress = { done: 1, total: 1, activeMs: 1 }
const end = { status: 'succeeded', artifacts: [], activeMs: 5, artifactTtlMs: 1_000 } as const
/** As if it had been silent for longer than its lease. */
const silence = (name: string): Promise<unknown> =>
  ask('UPDATE handrail.workers SET lease_until = handrail.now_ms() - 1 WHERE name = $1', [name])

describe('a worker that lost its lease', () => {
  test('its run is taken over, and whatever it writes from then on is not written', async () => {
    const space = newSpace()
    const [one, two] = [await join(space, 'one'), await join(space, 'two')]
    const { run } = await one.store.accept(newRun(one.worker), bounds.runs)
    expect(await one.store.claim(one.worker, 5)).toMatchObject({ id: run.id, deaths: 0 })
    expect(await two.store.claim(two.worker, 5)).toBeUndefined()
    await silence(one.worker.name)
    expect(await two.store.claim(two.worker, 5)).toMatchObject({ id: run.id, deaths: 1, owner: two.worker.name })
    expect(await one.store.journal(run.id, one.worker, { step: 'ask', item: 0, state: 'done', output: 'late' }, progress)).toBe(
      false,
    )
    expect(await one.store.park(run.id, one.worker, 'appr_x', 1)).toBe(false)
    expect(await one.store.unpark(run.id, one.worker, 5)).toBe('lost')
    expect(await one.store.finish(run.id, one.worker, { ...end, result: 'late' })).toBe(false)
    await one.store.release(run.id, one.worker)
    expect(await two.store.steps(run.id)).toEqual([])
    expect(await two.store.journal(run.id, two.worker, { step: 'ask', item: 0, state: 'done', output: 'ours' }, progress)).toBe(
      true,
    )
    expect(await two.store.finish(run.id, two.worker, { ...end, result: 'ours' })).toBe(true)
    expect(await one.store.result(run.id)).toBe('ours')
    expect(await one.roster.renew([run.id], { slots: 5, draining: false })).toEqual({ lost: [run.id], givenUp: 0 })
  })

  test('one of seven kills every worker that takes it up: it alone has failed in the end', async () => {
    const space = newSpace()
    const first = await join(space, 'first')
    const runs = Array.from({ length: 7 }, () => newRun(first.worker))
    for (const run of runs) await first.store.accept(run, bounds.runs)
    let last = first
    const next = async () => {
      await silence(last.worker.name)
      last = await join(space, `${last.worker.place}+`)
      return last.worker
    }
    // Whichever process asks, the store is the same.
    const killer = (runs[3] as NewRun).id
    expect(await failedBesides(killer, { store: first.store, next })).toEqual([killer])
    expect((await first.store.list({ limit: 9, offset: 0, status: 'succeeded' })).total).toBe(6)
  })

  test('takes nothing before it is known to be alive again', async () => {
    const space = newSpace()
    const one = await join(space, 'one')
    await one.store.accept(newRun(one.worker), bounds.runs)
    await silence(one.worker.name)
    expect(await one.store.claim(one.worker, 5)).toBeUndefined()
    await one.roster.renew([], { slots: 5, draining: false })
    expect(await one.store.claim(one.worker, 5)).toBeDefined()
  })

  test('what it was given and does not know of is given up', async () => {
    const space = newSpace()
    const one = await join(space, 'one')
    const { run } = await one.store.accept(newRun(one.worker), bounds.runs)
    await one.store.claim(one.worker, 5)
    await ask('UPDATE handrail.runs SET updated_at = updated_at - 60000, created_at = created_at - 60000 WHERE id = $1', [run.id])
    await one.roster.renew([], { slots: 5, draining: false })
    expect(await one.store.get(run.id)).toMatchObject({ owner: '', deaths: 1, status: 'running' })
  })
})

describe('answers that were lost on their way', () => {
  test('accepted twice under one id, it is one run', async () => {
    const space = newSpace()
    const one = await join(space, 'one')
    const run = newRun(one.worker)
    expect(await one.store.accept(run, bounds.runs)).toMatchObject({ deduplicated: false, run: { id: run.id } })
    expect(await one.store.accept(run, bounds.runs)).toMatchObject({ deduplicated: false, run: { id: run.id } })
    expect((await one.store.list({ limit: 10, offset: 0 })).total).toBe(1)
  })

  test('ended twice with the same artifacts, it has ended; with others, it was somebody else', async () => {
    const space = newSpace()
    const one = await join(space, 'one')
    const { run } = await one.store.accept(newRun(one.worker), bounds.runs)
    await one.store.claim(one.worker, 5)
    const artifacts = (id: string) => [{ id: `art_${id.repeat(32)}`, mimeType: 'text/plain', bytes: 1 }]
    expect(await one.store.finish(run.id, one.worker, { ...end, artifacts: artifacts('a') })).toBe(true)
    expect(await one.store.finish(run.id, one.worker, { ...end, artifacts: artifacts('a') })).toBe(true)
    expect(await one.store.finish(run.id, one.worker, { ...end, artifacts: artifacts('b') })).toBe(false)
    await ask('DELETE FROM handrail.artifacts WHERE run = $1', [run.id])
  })
})

test('machines that start together on an empty database make its tables once', async () => {
  const name = `fresh_${process.pid}_${Date.now()}`
  await ask(`CREATE DATABASE ${name}`)
  const fresh = new URL(database())
  fresh.pathname = `/${name}`
  const all = await Promise.all(Array.from({ length: 8 }, () => openPostgres(fresh.href)))
  try {
    await Promise.all(all.map(migrate))
    // Whoever waited for the first found them there and left them alone: to make them once more locks what others already use.
    const made = await all[0]?.query(
      `SELECT version, meta.xmin = pg_class.xmin AS once FROM handrail.meta, pg_class WHERE pg_class.oid = 'handrail.meta'::regclass`,
    )
    expect(made).toEqual([{ version: clusterVersion, once: true }])
    await all[0]?.query('UPDATE handrail.meta SET version = 99')
    await expect(migrate(all[1] as Postgres)).rejects.toMatchObject({ reason: 'unsupported' })
  } finally {
    for (const one of all) await one.close()
  }
})

describe('notices', () => {
  const closing: (() => Promise<void>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).toReversed()) await close()
  })

  test('after a cut they come again, and whoever listens is told that some were missed', async () => {
    const cable = await openCable(Number(new URL(database()).port))
    closing.push(cable.close)
    const through = new URL(database())
    through.port = String(cable.port)
    const far = await openPostgres(through.href)
    closing.push(far.close)
    const news = openClusterNotifications(far, 'mark', 'place-a')
    closing.push(news.close)
    let tell: (what: string) => void = () => undefined
    const next = (): Promise<string> => new Promise((resolve) => (tell = resolve))
    let heard = next()
    news.subscribe({ onLost: () => tell('lost') }, ([line]) => tell(line?.run ?? ''))
    // Told once it listens.
    expect(await heard).toBe('lost')
    heard = next()
    await db.query(`SELECT pg_notify('handrail_runs', 'mark place-b run_1 run.ended succeeded')`)
    expect(await heard).toBe('run_1')
    heard = next()
    cable.cut()
    cable.mend()
    expect(await heard).toBe('lost')
    heard = next()
    await db.query(`SELECT pg_notify('handrail_runs', 'mark place-b run_2 run.ended succeeded')`)
    expect(await heard).toBe('run_2')
  })
})

test('runs whose offers were lost with the queue are carried out all the same', async () => {
  const space = newSpace()
  await using here = await openMachine(space)
  await using there = await openMachine(space)
  await using _worker = await workInside(there, space)
  const first = await handIn(here, 'sites', { items: urls(1) }, { mode: 'async' })
  const runsApi = await here.runtime.runs()
  await runsApi.wait(first.runId)
  // The rows are there, and nobody was told of them.
  const { worker } = await join(space, 'elsewhere', 1_000)
  const [known] = await ask<{ authority: string }>(
    `SELECT authority FROM handrail.workers WHERE space = $1 AND kind = 'worker' AND authority <> 'same'`,
    [space],
  )
  const store = openClusterRuns({
    db,
    space,
    place: 'elsewhere',
    persist: (act) => act(),
    queueFor: async () => 'any',
    ...signing,
  })
  const lost = await Promise.all(
    [1, 2, 3].map(() =>
      store.accept(newRun({ ...worker, authority: known?.authority ?? '' }, { inputs: { items: urls(1) } }), bounds.runs),
    ),
  )
  for (const { run } of lost) expect(await runsApi.wait(run.id)).toMatchObject({ status: 'succeeded' })
})

test('a run that only a dead process could carry out ends, and says why', async () => {
  const space = newSpace()
  await using there = await openMachine(space)
  await using _worker = await workInside(there, space)
  const gone = await join(space, 'gone', 1_000)
  const store = openClusterRuns({
    db,
    space,
    place: 'gone',
    persist: (act) => act(),
    queueFor: async () => `=${gone.worker.name}`,
    ...signing,
  })
  const { run } = await store.accept(newRun(gone.worker), bounds.runs)
  const runsApi = await there.runtime.runs()
  expect(await runsApi.wait(run.id)).toMatchObject({ status: 'failed', error: { errorCode: 'SESSION_NOT_FOUND' } })
})

test('what somebody wrote into the database who has not the key of a machine is not carried out on it', async () => {
  const space = newSpace()
  await using there = await openMachine(space)
  await using _worker = await workInside(there, space)
  const [known] = await ask<{ authority: string; place: string }>(
    'SELECT authority, place FROM handrail.workers WHERE space = $1',
    [space],
  )
  const forger = { name: 'nobody', authority: known?.authority ?? '', place: known?.place ?? '' }
  const store = openClusterRuns({
    db,
    space,
    place: forger.place,
    persist: (act) => act(),
    queueFor: async () => `@${forger.place}`,
    ...signing,
  })
  const reads = { ...sites, id: 'reads', steps: [{ id: 'read', tool: 'read_file', input: { path: 'a.txt' } }], result: {} }
  const { run } = await store.accept(newRun(forger, { template: reads as unknown as Template }), bounds.runs)
  const runsApi = await there.runtime.runs()
  expect(await runsApi.wait(run.id)).toMatchObject({
    status: 'failed',
    error: { message: expect.stringContaining('on another machine') as string },
  })
  expect(there.runtime.audit.last(100, ({ tool }) => tool === 'read_file')).toEqual([])
})

test('a step begun on another machine is never made again here', async () => {
  const space = newSpace()
  await using there = await openMachine(space)
  const gone = await join(space, 'gone', 1_000)
  let authority = ''
  {
    // Gone again before there is a run, which it would take.
    await using _early = await workInside(there, space)
    const [known] = await ask<{ authority: string }>(
      `SELECT authority FROM handrail.workers WHERE space = $1 AND kind = 'worker' AND authority <> 'same'`,
      [space],
    )
    authority = known?.authority ?? ''
  }
  const template = { ...sites, steps: [{ ...sites.steps[0], repeat: false }] } as unknown as Template
  const given = newRun({ ...gone.worker, authority }, { template, inputs: { items: urls(2) } })
  const { run } = await gone.store.accept(given, bounds.runs)
  // It was in the hands of a worker that began a step and was never heard of again.
  await ask(`UPDATE handrail.runs SET status = 'running', owner = $2 WHERE id = $1`, [run.id, gone.worker.name])
  await gone.store.journal(
    run.id,
    gone.worker,
    { step: 'ask', item: 0, state: 'begun', call: 'call_of_another_machine' },
    progress,
  )
  await using _worker = await workInside(there, space)
  const runsApi = await there.runtime.runs()
  expect(await runsApi.wait(run.id)).toMatchObject({
    status: 'failed',
    error: { errorCode: 'STEP_EXECUTION_FAILED', details: { outcome: 'unknown' } },
  })
})

test('turns go round between those who wait, whichever machine they hand in on and whoever takes them', async () => {
  const space = newSpace()
  const [one, two] = [await join(space, 'one'), await join(space, 'two')]
  for (const [holder, n] of [['much', 12] as const, ['some', 4] as const, ['little', 1] as const])
    for (let at = 0; at < n; at++) await one.store.accept(newRun(one.worker, { holder, template: named(holder) }), bounds.runs)
  const served: string[] = []
  for (let at = 0; at < 17; at++) {
    const taker = at % 2 ? two : one
    served.push((await taker.store.claim(taker.worker, 100))?.template ?? '')
  }
  const rounds = [served.slice(0, 3), served.slice(3, 5), served.slice(5, 7), served.slice(7, 9)].map((round) => round.toSorted())
  expect(rounds).toEqual([['little', 'much', 'some'], ...Array.from({ length: 3 }, () => ['much', 'some'])])
  expect(new Set(served.slice(9))).toEqual(new Set(['much']))
  expect(await db.query('SELECT 1 FROM handrail.run_turns WHERE space = $1', [space])).toEqual([])
})

test('one that is handed in while the last before it is being taken still has its turn', async () => {
  const space = newSpace()
  const one = await join(space, 'one', 3_600_000)
  const put = (): Promise<unknown> => one.store.accept(newRun(one.worker), bounds.runs)
  await put()
  for (let round = 0; round < sweep(500, 30); round++) {
    await Promise.all([one.store.claim(one.worker, 1_000_000), put(), put()])
    while (await one.store.claim(one.worker, 1_000_000));
    expect(await db.query(`SELECT id FROM handrail.runs WHERE space = $1 AND status = 'queued'`, [space])).toEqual([])
    await put()
  }
})
const named = (id: string): Template => ({ ...sites, id }) as unknown as Template

test('so many wait for each and in all: one more is refused and says whose they are', async () => {
  const space = newSpace()
  const one = await join(space, 'one')
  const room = { ...bounds.runs, queued: 5, queuedEach: 3 }
  const put = (holder: string): Promise<unknown> => one.store.accept(newRun(one.worker, { holder }), room)
  for (let n = 0; n < 3; n++) await put('a')
  await expect(put('a')).rejects.toMatchObject({ reason: 'busy', details: { waiting: 3, yours: true } })
  await put('b')
  await put('b')
  await expect(put('c')).rejects.toMatchObject({ reason: 'busy', details: { waiting: 5 } })
  expect(await one.store.claim(one.worker, 5)).toBeDefined()
  await put('c')
})

test('what is past its time goes, with its journal and its key; that an artifact was there stays known', async () => {
  const space = newSpace()
  const one = await join(space, 'one')
  const { run } = await one.store.accept(newRun(one.worker, { key: 'k', ttlMs: 1 }), bounds.runs)
  await one.store.claim(one.worker, 5)
  await one.store.journal(run.id, one.worker, { step: 'ask', item: 0, state: 'done', output: 1 }, progress)
  const artifact = { id: `art_${'e'.repeat(32)}`, mimeType: 'text/plain', bytes: 1 }
  await one.store.finish(run.id, one.worker, { ...end, artifacts: [artifact], artifactTtlMs: 1 })
  await ask('SELECT pg_sleep(0.01)')
  expect(await one.store.get(run.id)).toBeUndefined()
  expect(await one.store.artifact(artifact.id)).toMatchObject({ expired: true })
  expect(await one.store.purge(bounds.runs)).toEqual({ contents: [artifact.id], more: true })
  expect(await ask('SELECT 1 FROM handrail.run_steps WHERE run = $1', [run.id])).toEqual([])
  expect(await one.store.artifact(artifact.id)).toMatchObject({ expired: true })
  expect(await one.store.accept(newRun(one.worker, { key: 'k' }), bounds.runs)).toMatchObject({ deduplicated: false })
  await ask('DELETE FROM handrail.artifacts WHERE id = $1', [artifact.id])
})
