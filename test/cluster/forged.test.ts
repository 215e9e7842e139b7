import { createHmac, randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ClusterWorker } from '../../src/contracts/cluster.ts'
import { bounds } from '../../src/contracts/kept.ts'
import type { NewRun, RunRecord, RunStore } from '../../src/contracts/run-ports.ts'
import { ownSession } from '../../src/contracts/run.ts'
import type { Template } from '../../src/contracts/template.ts'
import { openPostgres, type Postgres } from '../../src/host/postgres.ts'
import { migrate } from '../../src/stores/cluster/migrate.ts'
import { openClusterRuns } from '../../src/stores/cluster/runs.ts'
import { openRoster } from '../../src/stores/cluster/workers.ts'
import { ask, database, newSpace, openMachine, sites, startWorker, urls } from '../support/cluster.ts'
import { handIn } from '../support/runs.ts'

// What somebody can do who writes to the database and has not the key of any machine.

let db: Postgres
beforeAll(async () => {
  db = await openPostgres(database())
  await migrate(db)
})
afterAll(() => db.close())

const newId = (): string => `run_${randomBytes(16).toString('hex')}`
const reads = {
  ...sites,
  id: 'reads',
  secrets: ['word', 'other'],
  steps: [{ id: 'read', tool: 'read_file', input: { path: { $: 'inputs.path' } } }],
} as unknown as Template
const origin = { surface: 'mcp-stdio', client: 'test/1', session: 'sess_person', peer: 'address 192.0.2.1' }
const progress = { done: 1, total: 2, activeMs: 1 }
const policy = { reason: 'policy' }

interface Machine {
  worker: ClusterWorker
  store: RunStore
  accept(more?: Partial<NewRun>): Promise<RunRecord>
  claim(): Promise<RunRecord>
  /** As whoever comes after a process of this machine that died. */
  takeOver(): Promise<Machine>
}
async function join(space: string, place: string, isFree = false, key = randomBytes(16)): Promise<Machine> {
  const worker: ClusterWorker = { name: `${place}-${randomBytes(4).toString('hex')}`, authority: 'same', place }
  await openRoster(db, space, worker, { leaseMs: 60_000, version: 'test' }).join({ kind: 'worker', slots: 5 })
  const store = openClusterRuns({
    db,
    space,
    place,
    persist: (act) => act(),
    queueFor: async () => 'any',
    isFree: () => isFree,
    sign: (text) => createHmac('sha256', key).update(text).digest('base64url'),
  })
  return {
    worker,
    store,
    async accept(more = {}) {
      const template = isFree ? (sites as unknown as Template) : reads
      const inputs = isFree ? { items: urls(1) } : { path: 'a.txt', word: { sealed: 'c2VhbGVk' } }
      const given = { id: newId(), template, inputs, origin, holder: 'someone', mode: 'async', timeoutMs: 10_000 } as const
      const accepted = await store.accept({ ...given, totalSteps: 2, worker, ttlMs: 60_000, ...more }, bounds.runs)
      return accepted.run
    },
    async claim() {
      const run = await store.claim(worker, 5)
      expect(run).toBeDefined()
      return run as RunRecord
    },
    async takeOver() {
      await ask('UPDATE handrail.workers SET lease_until = handrail.now_ms() - 1 WHERE name = $1', [worker.name])
      return join(space, place, isFree, key)
    },
  }
}

describe('secrets of a run', () => {
  test('are put over its inputs as they were sealed, and are gone with its end without the rest being doubted', async () => {
    const here = await join(newSpace(), 'here')
    const { id } = await here.accept()
    expect(await here.claim()).toMatchObject({ id, origin })
    expect(await here.store.body(id)).toMatchObject({ inputs: { path: 'a.txt', word: { sealed: 'c2VhbGVk' } } })
    await here.store.finish(id, here.worker, { status: 'failed', artifacts: [], activeMs: 1, artifactTtlMs: 1_000 })
    expect((await here.store.body(id))?.inputs).toEqual({ path: 'a.txt' })
  })

  test.each([
    ['other inputs', '{"path":"../secret"}'],
    ['those of another run', '{"word":{"sealed":"b3RoZXI"}}'],
    ['one more that the template hides', '{"word":{"sealed":"c2VhbGVk"},"other":{"sealed":"b3RoZXI"}}'],
    ['in the clear', '{"word":"mine"}'],
    ['none', null],
  ])('%s in their place: it is not carried out', async (_, secrets) => {
    const here = await join(newSpace(), 'here')
    const { id } = await here.accept()
    await ask('UPDATE handrail.run_bodies SET secrets = $2 WHERE run = $1', [id, secrets])
    await expect(here.store.body(id)).rejects.toMatchObject(policy)
    await here.claim()
    await expect(here.store.body(id)).rejects.toMatchObject(policy)
  })

  test('of a run that any machine may carry out are nobody’s', async () => {
    const here = await join(newSpace(), 'here', true)
    const { id } = await here.accept()
    await ask(`UPDATE handrail.run_bodies SET secrets = '{"items":["https://example.org/"]}' WHERE run = $1`, [id])
    await here.claim()
    await expect(here.store.body(id)).rejects.toMatchObject(policy)
  })
})

describe('a run that is changed', () => {
  const changes: [string, string, (id: string) => unknown][] = [
    ['runs', 'origin', () => JSON.stringify({ ...origin, peer: undefined })],
    ['runs', 'session_id', () => `sess_${'a'.repeat(32)}`],
    ['runs', 'mode', () => 'sync'],
    ['runs', 'timeout_ms', () => 99_999_999],
    ['run_bodies', 'template', () => JSON.stringify({ ...reads, title: 'other' })],
    ['run_bodies', 'inputs', () => '{"path":"b.txt"}'],
    ['run_bodies', 'output_schema', () => '{"type":"object"}'],
    ['run_bodies', 'mac', () => '.'],
  ]
  test.each(changes)('%s.%s: it is not carried out', async (table, column, value) => {
    const here = await join(newSpace(), 'here')
    const { id } = await here.accept()
    await ask(`UPDATE handrail.${table} SET ${column} = $2 WHERE ${table === 'runs' ? 'id' : 'run'} = $1`, [id, value(id)])
    expect((await here.claim()).origin).toMatchObject({ session: `foreign:${id}` })
    await expect(here.store.body(id)).rejects.toMatchObject(policy)
  })

  test('under whose rules it was handed in: it is not carried out under others', async () => {
    const space = newSpace()
    const key = randomBytes(16)
    const [narrow, wide] = [await join(space, 'here', false, key), await join(space, 'here', false, key)]
    const { id } = await narrow.accept({ worker: { ...narrow.worker, authority: 'read-only' } })
    await ask(`UPDATE handrail.runs SET authority = 'same' WHERE id = $1`, [id])
    await wide.claim()
    await expect(wide.store.body(id)).rejects.toMatchObject(policy)
    const { id: second } = await narrow.accept({ worker: { ...narrow.worker, authority: 'read-only' } })
    await ask('UPDATE handrail.runs SET submitter = $2 WHERE id = $1', [second, wide.worker.name])
    expect(await wide.claim()).toMatchObject({ id: second })
    await expect(wide.store.body(second)).rejects.toMatchObject(policy)
  })
})

test('what its result is to fit is kept with a run', async () => {
  const here = await join(newSpace(), 'here')
  const outputSchema = { type: 'object', required: ['title'] }
  const { id } = await here.accept({ outputSchema })
  expect(await here.store.body(id)).toMatchObject({ outputSchema })
  await here.claim()
  expect(await here.store.body(id)).toMatchObject({ outputSchema })
})

describe('pages for somebody of another machine', () => {
  test('are visited for nobody that is known here, as for a caller from outside, in a session of the run', async () => {
    const space = newSpace()
    const [here, there] = [await join(space, 'here', true), await join(space, 'there', true)]
    const id = newId()
    await here.accept({ id, origin: { surface: 'cli', client: 'person', session: 'sess_person' }, sessionId: ownSession(id) })
    const run = await there.claim()
    expect(run).toMatchObject({ id, sessionId: ownSession(id) })
    expect(run.origin).toEqual({
      surface: 'cluster',
      client: 'another machine',
      session: `foreign:${id}`,
      peer: `address foreign ${id}`,
    })
    expect(await there.store.body(id)).toMatchObject({ elsewhere: true })
  })

  test('are not visited in a session that was kept', async () => {
    const space = newSpace()
    const [here, there] = [await join(space, 'here', true), await join(space, 'there', true)]
    const { id } = await here.accept({ sessionId: `sess_${'b'.repeat(32)}` })
    expect((await there.claim()).sessionId).toBe(ownSession(id))
    await expect(there.store.body(id)).rejects.toMatchObject(policy)
  })

  test('whoever writes a run for a session of a machine does not get what that session was granted', async () => {
    const space = newSpace()
    await using there = await openMachine(space)
    await using _worker = await startWorker(there, space)
    const [known] = await ask<{ authority: string }>('SELECT authority FROM handrail.workers WHERE space = $1', [space])
    const forger = await join(space, 'nowhere', true)
    const { id } = await forger.accept({
      worker: { ...forger.worker, authority: known?.authority ?? '' },
      origin: { surface: 'cli', client: 'person', session: 'sess_person' },
    })
    // Nobody but the machine carries it out.
    await ask('DELETE FROM handrail.workers WHERE name = $1', [forger.worker.name])
    const runsApi = await there.runtime.runs()
    await runsApi.wait(id)
    const lines = there.runtime.audit.last(100, ({ tool }) => tool === 'allow_sites')
    expect(new Set(lines.map(({ session }) => session))).toEqual(new Set([`foreign:${id}`]))
  })

  test('such a run is not handed in anew under the name of whoever retries it', async () => {
    const space = newSpace()
    await using here = await openMachine(space)
    await using there = await openMachine(space)
    const run = await handIn(here, 'sites', { items: urls(1) }, { mode: 'sync' })
    const [mine, other] = [await here.runtime.runs(), await there.runtime.runs()]
    await expect(other.retry(run.runId, origin, {})).rejects.toMatchObject(policy)
    expect((await mine.retry(run.runId, origin, {})).run.runId).not.toBe(run.runId)
    await ask(`UPDATE handrail.run_bodies SET inputs = '{"items":["https://example.org/"]}' WHERE run = $1`, [run.runId])
    await expect(mine.retry(run.runId, origin, {})).rejects.toMatchObject(policy)
  })
})

describe('the journal of a run', () => {
  const done = { step: 'read', state: 'done', output: { text: 'as it was' } } as const
  async function begun(isFree = false): Promise<{ id: string; here: Machine }> {
    const here = await join(newSpace(), 'here', isFree)
    const { id } = await here.accept()
    await here.claim()
    expect(await here.store.journal(id, here.worker, done, progress)).toBe(true)
    return { id, here }
  }

  test('as this machine wrote it: what is done is behind it', async () => {
    const { id, here } = await begun()
    const next = await here.takeOver()
    expect((await next.claim()).origin).toEqual(origin)
    expect(await next.store.body(id)).toMatchObject({ template: { id: 'reads' } })
    const [step] = await next.store.steps(id)
    expect(step).toMatchObject(done)
    expect(step).not.toHaveProperty('elsewhere')
  })

  test.each([
    ['changed', `UPDATE handrail.run_steps SET output = '{"text":"evil"}' WHERE run = $1`],
    ['with a step more', `INSERT INTO handrail.run_steps (run, step, item, state, at) VALUES ($1, 'more', -1, 'done', 0)`],
  ])('%s by others: what is bound to this machine is not gone on with', async (_, sql) => {
    const { id, here } = await begun()
    await ask(sql, [id])
    const next = await here.takeOver()
    await next.claim()
    await expect(next.store.body(id)).rejects.toMatchObject(policy)
  })

  test('of pages that another machine visited: it goes on, for nobody that is known here, and so does what is retried from it', async () => {
    const { id, here } = await begun(true)
    await ask(`UPDATE handrail.run_steps SET mac = 'of another machine' WHERE run = $1`, [id])
    const next = await here.takeOver()
    expect((await next.claim()).origin).toMatchObject({ session: `foreign:${id}` })
    const behind = await next.store.steps(id)
    expect(behind).toMatchObject([{ ...done, elsewhere: true }])
    const again = await next.accept({ behind })
    expect(await next.claim()).toMatchObject({ id: again.id, origin: { session: `foreign:${again.id}` } })
  })
})
