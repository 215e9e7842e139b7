import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import type { RunView } from '../../src/contracts/run.ts'
import { ended, putTemplates } from '../support/runs.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { openWorld, sharesRuns, type World } from '../support/world.ts'
import { startStdio, type Server } from '../support/writers.ts'

/** Several processes on one project: one queue, one limit, and nobody's runs are lost with them. */
const flags = ['--write-requires-diff', 'false']

async function open(): Promise<World> {
  const world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: { 'write-requires-diff': 'false' } })
  putTemplates(world.base)
  return world
}

const submit = async (server: Server, input: Record<string, unknown>): Promise<string | undefined> => {
  const answer = await server.call('run_task_template', input)
  return answer.kind === 'done' ? String(answer.output['runId']) : undefined
}

/** Resolves with the first line of the log that fits, from now on. */
function heard(world: World, fits: (line: AuditLine) => boolean): Promise<AuditLine> {
  return new Promise((resolve) => {
    const stop = world.runtime.audit.subscribe({ events: (event) => event.startsWith('run.') }, (lines) => {
      const found = lines.find(fits)
      if (!found) return
      stop()
      resolve(found)
    })
  })
}

const appends = (name: string, count: number): object => ({
  templateId: 'append_all',
  inputs: { items: Array.from({ length: count }, (_, n) => ({ path: `${name}.txt`, text: `${n}\n` })) },
  options: { mode: 'async' },
})
const slots = 5
/** Those that were begun latest after their turn. */
const overtaken = (queued: string[], started: string[], most: number): Set<string> =>
  new Set(
    started
      .map((run, at) => ({ run, late: at - queued.indexOf(run) }))
      .filter(({ late }) => late > slots)
      .toSorted((a, b) => b.late - a.late)
      .slice(0, most)
      .map(({ run }) => run),
  )
const numbers = (count: number): string => Array.from({ length: count }, (_, n) => `${n}\n`).join('')

test(
  'a hundred at once: accepted, carried out in order, none lost although the process is killed in the middle',
  { timeout: 1_200_000 },
  async () => {
    await using world = await open()
    const count = sweep(100, 20)
    const server = await startStdio(world.project, flags)
    const names = Array.from({ length: count }, (_, n) => `f${n}`)
    const half = heard(world, (line) => line.event === 'run.ended')
    const handed = Promise.all(names.map(async (name) => ({ name, id: await submit(server, appends(name, 3) as never) })))
    await half
    process.kill(server.pid, 'SIGKILL')
    const accepted = (await handed).filter(({ id }) => id !== undefined) as { name: string; id: string }[]
    expect(accepted.length, 'some were told that theirs is accepted').toBeGreaterThan(0)
    for (const { name, id } of accepted) {
      expect(await ended(world, id), name).toMatchObject({ status: 'succeeded' })
      expect(world.read(`${name}.txt`), name).toBe(numbers(3))
    }
    const runsApi = await world.runtime.runs()
    const { runs, total } = await runsApi.list({ limit: 1_000 })
    const all = await Promise.all(runs.map(({ runId }) => runsApi.wait(runId)))
    expect(all.map(({ status }) => status).filter((status) => status !== 'succeeded')).toEqual([])
    expect(total).toBeGreaterThanOrEqual(accepted.length)
    const began = world.runtime.audit.last(10_000, ({ event }) => event === 'run.queued' || event === 'run.started')
    const order = (event: string): string[] => [
      ...new Set(began.filter((line) => line.event === event).map(({ run }) => String(run))),
    ]
    const queued = order('run.queued')
    const started = order('run.started').filter((run) => queued.includes(run))
    // On one machine it is known at once that a process died. Between machines what it had taken, and did not come to begin, waits for the end
    // of its lease, while the others go on: five at most, one for each slot.
    const left = sharesRuns ? overtaken(queued, started, slots) : new Set<string>()
    const inTurn = queued.filter((run) => started.includes(run) && !left.has(run))
    const late = started.filter((run) => !left.has(run)).map((run, at) => Math.abs(inTurn.indexOf(run) - at))
    // Five are begun together; beyond that nobody overtakes.
    expect(Math.max(...late)).toBeLessThanOrEqual(slots)
    await server.gone
  },
)

describe('three processes', () => {
  const steps = sweep(30, 10)
  let world: World
  let servers: Server[]
  beforeAll(async () => {
    world = await open()
    servers = await Promise.all([1, 2, 3].map(() => startStdio(world.project, flags)))
  })
  afterAll(async () => {
    await Promise.all(servers.map((server) => server.stop()))
    await world[Symbol.asyncDispose]()
  })

  test('sixty with one key from three processes are one run', { timeout: 1_200_000 }, async () => {
    const one = { ...appends('k', 1), options: { mode: 'async', idempotencyKey: 'the key' } }
    const ids = await Promise.all(Array.from({ length: 60 }, (_, n) => submit(servers[n % 3] as Server, one)))
    expect(new Set(ids).size).toBe(1)
    expect(await ended(world, ids[0] as string)).toMatchObject({ status: 'succeeded' })
    expect(world.read('k.txt')).toBe('0\n')
  })

  // The last of them: one of the processes is gone then.
  test(
    'one killed with runs in its hands: they are taken over, and each result is stored once',
    { timeout: 1_200_000 },
    async () => {
      const [victim, survivor] = servers as [Server, Server, Server]
      const names = ['p', 'q', 'r', 's', 't', 'u']
      const begun = heard(world, (line) => line.event === 'run.progress')
      const handed = names.map(async (name, at) => submit(servers[at % 3] as Server, appends(name, steps) as never))
      await begun
      process.kill(victim.pid, 'SIGKILL')
      const ids = await Promise.all(handed)
      await victim.gone
      for (const [at, id] of ids.entries()) {
        // What the killed one had not answered was not promised.
        if (id === undefined) continue
        const run = await ended(world, id)
        expect(run, names[at]).toMatchObject({ status: 'succeeded', progress: { doneSteps: steps, totalSteps: steps } })
        expect(world.read(`${names[at]}.txt`)).toBe(numbers(steps))
        const seen = await survivor.call('get_task_run', { runId: id })
        expect(seen.kind === 'done' && (seen.output as RunView)).toEqual(run)
        expect(await (await world.runtime.runs()).artifacts(id)).toHaveLength(1)
      }
    },
  )
})

test.runIf(isSoak)(
  'each process that takes them up is killed in its turn: they go on where they were, and nothing is done twice',
  { timeout: 1_200_000 },
  async () => {
    await using world = await open()
    const names = ['g', 'h', 'i', 'j', 'k', 'l', 'm', 'n']
    let ids: (string | undefined)[] = []
    for (let life = 0; life < 8; life++) {
      const progress = heard(world, (line) => line.event === 'run.progress')
      const server = await startStdio(world.project, flags)
      if (life === 0) ids = await Promise.all(names.map((name) => submit(server, appends(name, 200) as never)))
      await progress
      process.kill(server.pid, 'SIGKILL')
      await server.gone
    }
    for (const [at, id] of ids.entries()) {
      expect(await ended(world, id ?? ''), names[at]).toMatchObject({
        status: 'succeeded',
        progress: { doneSteps: 200, totalSteps: 200 },
      })
      expect(world.read(`${names[at]}.txt`)).toBe(numbers(200))
      expect(await (await world.runtime.runs()).artifacts(id)).toHaveLength(1)
    }
  },
)
