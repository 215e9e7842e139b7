import { expect, test } from 'vitest'
import type { RunView } from '../../src/contracts/run.ts'
import type { NewRun, RunCapacity } from '../../src/contracts/run-ports.ts'
import { openDatabase } from '../../src/host/database.ts'
import { openRuns } from '../../src/stores/runs.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { putTemplates, standIns } from '../support/runs.ts'
import { sweep } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

/** Whose turn it is in the queue: in order for each client, by turns between them, and nobody takes all the room. */
const callerOf = (session: string, peer?: string) =>
  ({ surface: 'mcp-http', client: 'test/1', session, role: 'agent', ...(peer !== undefined && { peer }) }) as const

async function hand(world: World, caller: ReturnType<typeof callerOf>): Promise<string> {
  const asked = { templateId: 'read_all', inputs: { items: ['a.txt'] }, options: { mode: 'async' } }
  return ((await world.runtime.call('run_task_template', asked, caller)).output as RunView).runId
}

const started = (world: World): string[] =>
  world.runtime.audit.last(100_000, ({ event }) => event === 'run.started').map(({ run }) => String(run))

test(
  'one who hands in many keeps nobody waiting: between clients by turns, in order for each',
  { timeout: 1_200_000 },
  async () => {
    await using world = await openWorld({ files: { 'a.txt': 'x' }, flags: { 'max-concurrent-runs': '1' } })
    putTemplates(world.base)
    const count = sweep(10_000, 20)
    const flood = await Promise.all(
      // One process with many sessions is one client.
      Array.from({ length: count }, (_, n) => hand(world, callerOf(`flood ${n % 3}`, 'process 1'))),
    )
    const began = started(world).length
    const other = await Promise.all([1, 2, 3].map(() => hand(world, callerOf('other', 'process 2'))))
    const third = await hand(world, callerOf('third'))
    const runsApi = await world.runtime.runs()
    for (const runId of [...other, third]) expect(await runsApi.wait(runId)).toMatchObject({ status: 'succeeded' })
    const order = started(world)
    const at = (runId: string): number => order.indexOf(runId)
    // While they were handed in one more of the flood may have had its turn.
    expect(Math.max(...other.map(at)), 'three turns of three clients').toBeLessThan(began + 3 * 3 + 2)
    expect(at(third)).toBeLessThan(began + 3 + 2)
    expect(other.map(at)).toEqual(other.map(at).toSorted((a, b) => a - b))
    const ofFlood = new Set(flood)
    const mine = order.filter((run) => ofFlood.has(run))
    expect(mine).toEqual(flood.slice(0, mine.length))
    await Promise.all(flood.slice(mine.length).map((runId) => runsApi.cancel(runId, 'test')))
  },
)

const newRun = (id: string, holder: string, inputs: Record<string, unknown> = {}): NewRun => ({
  id,
  template: standIns.read_all as unknown as NewRun['template'],
  inputs,
  origin: { surface: 'cli', client: 'c', session: holder },
  holder,
  mode: 'async',
  timeoutMs: 1_000,
  totalSteps: 1,
  worker,
  ttlMs: 60_000,
})
const worker = { name: 'nobody 1', authority: 'a' }
const capacity: RunCapacity = { queued: 5, queuedEach: 3, most: 100, bytes: 1_000_000 }

test('so many wait for each and in all: one more is refused and says whose they are, and a turn makes room', async () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const store = openRuns(db)
  const accept = (id: string, holder: string) => store.accept(newRun(id, holder), capacity)
  for (const id of ['a1', 'a2', 'a3']) await accept(id, 'a')
  await expect(accept('a4', 'a')).rejects.toMatchObject({ reason: 'busy', details: { waiting: 3, yours: true } })
  for (const id of ['b1', 'b2']) await accept(id, 'b')
  await expect(accept('c1', 'c')).rejects.toMatchObject({ reason: 'busy', details: { waiting: 5 } })
  const turns = []
  for (let run = await store.claim(worker, 9); run; run = await store.claim(worker, 9)) turns.push(run.id)
  expect(turns).toEqual(['a1', 'b1', 'a2', 'b2', 'a3'])
  expect(db.all('SELECT * FROM run_turns')).toEqual([])
  await accept('a4', 'a')
  // Cancelled in the queue, it stands in nobody's way.
  await store.cancel('a4', { errorCode: 'RUN_CANCELED', message: '', recoverHint: '', details: {} }, 1_000)
  expect(db.all('SELECT * FROM run_turns')).toEqual([])
  db.close()
})

test('what runs take has a bound: the oldest ended go, and where none has ended no more are accepted', async () => {
  const db = openDatabase(':memory:', schema, schemaVersion)
  const store = openRuns(db)
  const bytes = (): number => db.get<{ n: number }>('SELECT n FROM run_bytes')?.n ?? 0
  const large = (id: string) => store.accept(newRun(id, id, { text: 'x'.repeat(400_000) }), { ...capacity, queued: 100 })
  for (const id of ['one', 'two', 'three']) await large(id)
  await expect(large('four')).rejects.toMatchObject({ reason: 'busy', details: { bytes: bytes() } })
  const first = await store.claim(worker, 1)
  const output = { text: 'y'.repeat(100_000) }
  await store.journal('one', worker, { step: 'read', item: 0, state: 'done', output }, { done: 1, total: 1, activeMs: 1 })
  expect(bytes()).toBeGreaterThan(1_300_000)
  await store.finish(first?.id ?? '', worker, { status: 'succeeded', artifacts: [], activeMs: 1, artifactTtlMs: 1_000 })
  await large('four')
  expect(await store.get('one'), 'it had ended').toBeUndefined()
  expect(db.all('SELECT * FROM run_steps')).toEqual([])
  const kept = db.get<{ n: number }>('SELECT sum(bytes) AS n FROM runs')?.n
  expect(bytes()).toBe(kept)
  db.close()
})
