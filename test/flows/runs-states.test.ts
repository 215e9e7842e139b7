import { expect, test } from 'vitest'
import { advice002, contract002, runErrorOf } from '../../src/contracts/faults/contract-002.ts'
import { Fault, type Reason } from '../../src/contracts/faults/fault.ts'
import type { NewRun, RunEnd, RunStore } from '../../src/contracts/run-ports.ts'
import { isTerminal, mayFollow, runStatuses, type RunStatus } from '../../src/contracts/run.ts'
import { openDatabase } from '../../src/host/database.ts'
import { ownName } from '../../src/host/running.ts'
import { openRuns } from '../../src/stores/runs.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { proves } from '../support/proof.ts'
import { ended, failedBesides, handIn, putTemplates, standIns } from '../support/runs.ts'
import { openWorld } from '../support/world.ts'

/** What the store lets happen to a run: in each of its states, everything that anybody can try. */
const [mine, other] = ['1', '2'].map((number) => ({ name: `${ownName()} ${number}`, authority: 'a' })) as [
  { name: string; authority: string },
  { name: string; authority: string },
]
const room = { queued: 9, queuedEach: 9, most: 100, bytes: 1_000_000 }
const error = { errorCode: 'X', message: 'x', recoverHint: 'x', details: {} }
const id = `run_${'0'.repeat(32)}`
const run: NewRun = {
  id,
  key: 'k',
  template: standIns.read_all as unknown as NewRun['template'],
  inputs: {},
  origin: { surface: 'cli', client: 'c', session: 's' },
  holder: 's',
  mode: 'async',
  timeoutMs: 1_000,
  totalSteps: 1,
  worker: mine,
  ttlMs: 60_000,
}
const endAs = (status: RunEnd['status']): RunEnd => ({ status, error, artifacts: [], activeMs: 1, artifactTtlMs: 1_000 })

const reached: Record<RunStatus, (store: RunStore) => Promise<unknown>> = {
  queued: (store) => store.accept(run, room),
  running: async (store) => {
    await reached.queued(store)
    await store.claim(mine, 5)
  },
  ...(Object.fromEntries(
    (['succeeded', 'failed', 'partial_success'] as const).map((status) => [
      status,
      async (store: RunStore) => {
        await reached.running(store)
        await store.finish(id, mine, endAs(status))
      },
    ]),
  ) as Pick<Record<RunStatus, (store: RunStore) => Promise<unknown>>, 'succeeded' | 'failed' | 'partial_success'>),
  canceled: async (store) => {
    await reached.running(store)
    await store.cancel(id, error, 1_000)
  },
}

const tried: Record<string, (store: RunStore) => Promise<unknown>> = {
  'handed in again under its key': (store) => store.accept({ ...run, id: `run_${'1'.repeat(32)}` }, room),
  'claimed by its owner': (store) => store.claim(mine, 5),
  'claimed by another': (store) => store.claim(other, 5),
  'claimed where no slot is free': (store) => store.claim(other, 0),
  'put down': (store) => store.release(id, mine),
  'put down by another': (store) => store.release(id, other),
  parked: (store) => store.park(id, mine, 'appr_1', 1),
  'parked by another': (store) => store.park(id, other, 'appr_1', 1),
  'parked and taken up': async (store) => {
    await store.park(id, mine, 'appr_1', 1)
    await store.unpark(id, mine, 5)
  },
  'taken up by another': (store) => store.unpark(id, other, 5),
  journalled: (store) => store.journal(id, mine, { step: 'read', state: 'done', output: 1 }, { done: 1, total: 1, activeMs: 1 }),
  'journalled by another': (store) =>
    store.journal(id, other, { step: 'read', state: 'done', output: 1 }, { done: 1, total: 1, activeMs: 1 }),
  canceled: (store) => store.cancel(id, error, 1_000),
  abandoned: (store) => store.abandon({ name: 'x', authority: 'b' }, -1_000, error, 1_000),
  purged: (store) => store.purge(room),
  ...Object.fromEntries(
    (['succeeded', 'failed', 'partial_success'] as const).flatMap((status) => [
      [`ended as ${status}`, (store: RunStore) => store.finish(id, mine, endAs(status))],
      [`ended as ${status} by another`, (store: RunStore) => store.finish(id, other, endAs(status))],
    ]),
  ),
}

for (const from of runStatuses)
  proves('runs.status', `${from}: whatever is tried, by whom it may be, it goes on legally or not at all`, async () => {
    for (const [what, act] of Object.entries(tried)) {
      const db = openDatabase(':memory:', schema, schemaVersion)
      const store = openRuns(db)
      await reached[from](store)
      const before = await store.get(id)
      expect(before?.status, what).toBe(from)
      await act(store)
      const after = await store.get(id)
      if (what.endsWith('by another') && from === 'running') expect(after, what).toEqual(before)
      if (isTerminal(from)) expect(after, what).toEqual(before)
      else expect(after?.status === from || mayFollow(from, after?.status as RunStatus), `${what}: ${after?.status}`).toBe(true)
      expect((await store.list({ limit: 9, offset: 0 })).total, what).toBe(1)
      db.close()
    }
  })

proves('runs.advice', 'whatever the reason, with its own hint or the one of the contract', () => {
  const codes = new Set<string>()
  for (const reason of Object.keys(contract002) as Reason[]) {
    const { errorCode, recoverHint, details } = runErrorOf(new Fault(reason, 'x', {}), (tool) => tool)
    codes.add(errorCode)
    expect([recoverHint, details['reason']], reason).toEqual([advice002[errorCode], reason])
    expect(runErrorOf(new Fault(reason, 'x', { hint: 'Do this.' }), (tool) => tool).recoverHint).toBe('Do this.')
  }
  expect([...codes].toSorted()).toEqual(Object.keys(advice002).toSorted())
  expect(codes.size).toBe(16)
})

test("closed before what was claimed has begun: it is in nobody's hands, and whoever opens the project next carries it out", async () => {
  for (let turns = 0; turns < 6; turns++) {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
    putTemplates(world.base)
    const { runId } = await handIn(world, 'read_all', { items: ['a.txt'] }, { mode: 'async' })
    for (let n = 0; n < turns; n++) await new Promise((resolve) => setImmediate(resolve))
    await world.runtime.close()
    const db = openDatabase(world.state('handrail.db'), schema, schemaVersion)
    expect(db.get('SELECT owner, deaths FROM runs WHERE id = ?', runId)).toMatchObject({ owner: '', deaths: 0 })
    db.close()
    await world.reopen()
    expect(await ended(world, runId)).toMatchObject({ status: 'succeeded' })
  }
})

test.each([1, 4, 7])(
  'one of seven kills every process that takes it up, the %ith: it alone has failed in the end',
  async (nth) => {
    const db = openDatabase(':memory:', schema, schemaVersion)
    const store = openRuns(db)
    const ids = Array.from({ length: 7 }, (_, n) => `run_${String(n + 1).repeat(32)}`)
    for (const one of ids) await store.accept({ ...run, id: one, key: one }, room)
    let lives = 0
    // None of these is a process that runs.
    const next = async () => ({ name: `gone ${lives++}`, authority: 'a' })
    const killer = `run_${String(nth).repeat(32)}`
    expect(await failedBesides(killer, { store, next })).toEqual([killer])
    const { runs } = await store.list({ limit: 9, offset: 0, status: 'succeeded' })
    expect(runs.length).toBe(6)
    db.close()
  },
)

test('one that is carried out alone has nothing beside it: not from the queue, nor what comes back from a person', async () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const store = openRuns(db)
  const [suspect, asking, third] = ['5', '6', '7'].map((digit) => `run_${digit.repeat(32)}`) as [string, string, string]
  for (const one of [suspect, asking, third]) await store.accept({ ...run, id: one, key: one }, room)
  await store.claim(mine, 5)
  await store.claim(mine, 5)
  await store.park(asking, mine, 'appr_1', 1)
  await store.release(suspect, mine)
  db.run('UPDATE runs SET deaths = 3 WHERE id = ?', suspect)
  // It waits for nobody that waits for a person.
  expect(await store.claim(mine, 5)).toMatchObject({ id: suspect, deaths: 3 })
  expect(await store.claim(mine, 5)).toBeUndefined()
  expect(await store.unpark(asking, mine, 5)).toBe('full')
  expect(await store.claim(other, 5), 'another process has room').toMatchObject({ id: third })
  // Once it has finished a step it is like any other.
  await store.journal(suspect, mine, { step: 'read', state: 'done', output: 1 }, { done: 1, total: 1, activeMs: 1 })
  expect(await store.unpark(asking, mine, 5)).toBe('running')
  // One that comes back from a person itself waits until it is alone.
  await store.park(asking, mine, 'appr_2', 1)
  db.run('UPDATE runs SET deaths = 3 WHERE id = ?', asking)
  expect(await store.unpark(asking, mine, 5)).toBe('full')
  await store.finish(suspect, mine, endAs('succeeded'))
  expect(await store.unpark(asking, mine, 5)).toBe('running')
  db.close()
})

test('one that was carried out alone has others beside it as soon as it has finished a step', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: { 'write-requires-diff': 'false' } })
  putTemplates(world.base)
  const items = Array.from({ length: 30 }, (_, n) => ({ path: 'b.txt', text: `${n}\n` }))
  const { runId: suspect } = await handIn(world, 'append_all', { items }, { mode: 'async' })
  await world.runtime.close()
  const db = openDatabase(world.state('handrail.db'), schema, schemaVersion)
  const store = openRuns(db)
  const { authority } = db.get<{ authority: string }>('SELECT authority FROM runs') as { authority: string }
  const gone = (life: number): { name: string; authority: string } => ({ name: `gone ${life}`, authority })
  for (let life = 0, deaths = 0; deaths < 3; life++) deaths = (await store.claim(gone(life), 5))?.deaths ?? 9
  const next = `run_${'8'.repeat(32)}`
  const inputs = { items: [{ path: 'c.txt', text: 'x' }] }
  const template = standIns.append_all as unknown as NewRun['template']
  await store.accept({ ...run, id: next, template, inputs, worker: gone(9) }, room)
  db.close()
  await world.reopen()
  expect(await ended(world, suspect)).toMatchObject({ status: 'succeeded' })
  expect(await ended(world, next)).toMatchObject({ status: 'succeeded' })
  const lines = world.runtime.audit.last(
    1_000,
    ({ event, run: of }) => of === suspect || (of === next && event === 'run.started'),
  )
  const order = lines.map(({ event, run: of }) => (of === suspect ? event : 'the other'))
  expect(order.lastIndexOf('the other')).toBeLessThan(order.lastIndexOf('run.ended'))
  expect(order.lastIndexOf('the other')).toBeGreaterThan(order.indexOf('run.progress'))
})
