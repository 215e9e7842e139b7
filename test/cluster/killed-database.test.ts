import { afterAll, beforeAll, expect, test } from 'vitest'
import type { RunsApi } from '../../src/contracts/run.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { handIn } from '../support/runs.ts'
import { sweep } from '../support/soak.ts'
import { startPostgres, type Server } from '../support/postgres.ts'
import { called, callsIn, newSpace, openMachine, startWorker, urls, type WorkerProcess } from '../support/cluster.ts'
import type { World } from '../support/world.ts'

let server: Server
const machines: World[] = []
const workers: WorkerProcess[] = []
const space = newSpace()
beforeAll(async () => {
  server = await startPostgres()
  const env = { HANDRAIL_DATABASE_URL: server.url }
  for (let n = 0; n < 3; n++) machines.push(await openMachine(space, env))
  for (const machine of machines.slice(1)) workers.push(await startWorker(machine, space, { env }))
})
afterAll(async () => {
  for (const worker of workers) await worker[Symbol.asyncDispose]()
  for (const machine of machines) await machine[Symbol.asyncDispose]()
  await server.stop()
})

test('the database killed -9 under load, again and again: nothing that was accepted is lost', async () => {
  const [here] = machines as [World]
  const runsApi: RunsApi = await here.runtime.runs()
  const accepted = new Set<string>()
  const items = 4
  const rounds = sweep(20, 2)
  const load = async (many: number): Promise<void> => {
    for (let n = 0; n < many; n++)
      try {
        accepted.add((await handIn(here, 'sites', { items: urls(items) }, { mode: 'async' })).runId)
      } catch (fault) {
        // What was not acknowledged may be lost; it is told with its reason.
        if (!(fault instanceof Fault) || fault.reason !== 'io') throw fault
      }
  }
  for (let round = 0; round < rounds; round++) {
    const goal = accepted.size + 10
    const loading = Promise.all(Array.from({ length: 4 }, () => load(8)))
    while (accepted.size < goal) await new Promise((resolve) => setTimeout(resolve, 5))
    await server.kill()
    await server.start()
    await loading
  }
  const ends = await Promise.all([...accepted].map((id) => runsApi.wait(id)))
  expect(ends.length).toBeGreaterThanOrEqual(rounds * 10)
  expect(ends.filter(({ status }) => status !== 'succeeded')).toEqual([])
  await called(machines, 'allow_sites', accepted.size * items)
  const twice = callsIn(machines, 'allow_sites') - accepted.size * items
  expect(twice).toBeGreaterThanOrEqual(0)
  process.stderr.write(
    `handrail: ${rounds} kills of the database, ${accepted.size} runs, ${twice} of ${accepted.size * items} calls made twice\n`,
  )
  for (const worker of workers) expect(worker.said()).not.toContain('hidden-word')
})
