import { unlinkSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { RunView } from '../../src/contracts/run.ts'
import { killedAt } from '../support/killed-at.ts'
import { killedRun } from '../support/killed-run.ts'
import { ended, handIn, putTemplates } from '../support/runs.ts'
import { draws } from '../support/seed.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

/** kill -9 at every write of a run: what was accepted comes to its end, what was done stays done, and nothing is done twice that may not be. */
const flags = ['--write-requires-diff', 'false']

async function open(): Promise<World> {
  const world = await openWorld({
    files: { 'x.txt': 'x\n', 'log.txt': '', 'package.json': '{}\n' },
    flags: { 'write-requires-diff': 'false' },
  })
  putTemplates(world.base)
  // A person who agrees to whatever is asked, in a process that lives on. A process killed between the question and its line leaves only the question.
  const { audit, approvals } = world.runtime
  audit.subscribe({ events: (event) => event === 'approval.requested' || event === 'run.waiting' }, (lines) => {
    for (const { id } of lines.length > 0 ? approvals.list('pending') : [])
      approvals.decide(id, { approve: true, by: 'the person' })
  })
  return world
}

/** A number of moments in all of them, or each where this is soak. */
function momentsOf(all: number, sample: number): number[] {
  const every = Array.from({ length: all }, (_, index) => index + 1)
  if (isSoak) return every
  const below = draws('moments of a run')
  // One of each part: another with every seed.
  return Array.from({ length: sample }, (_, part) => 1 + Math.floor(((part + below(1_000) / 1_000) * all) / sample))
}

/** Every run there is, at its end. */
async function allEnded(world: World): Promise<RunView[]> {
  const runsApi = await world.runtime.runs()
  const { runs } = await runsApi.list({ limit: 1_000 })
  return Promise.all(runs.map(({ runId }) => ended(world, runId)))
}

interface Case {
  submission: object
  /** How many writes it makes at least; more are tried until none is killed. */
  sample: number
  holds(world: World, runs: RunView[], moment: number): void
}

async function sweepOver({ submission, sample, holds }: Case): Promise<void> {
  const count = await writesOf(submission)
  let killed = 0
  for (const moment of momentsOf(count, sample)) {
    await using world = await open()
    const end = await killedRun(world.base, world.project, submission, moment, flags)
    const told = `killed before write ${moment} of ${count}: ${end.err}`
    // How many writes it makes varies a little: what comes together is written together. One that was faster must have ended well.
    if (end.code !== 0) killed++
    holds(world, await allEnded(world), moment)
    const { whole } = world.runtime.audit.verify()
    expect(whole, told).toBe(true)
  }
  expect(killed).toBeGreaterThan(sweep(1, 0))
}

/** How many writes there are between acceptance and the end: before each of them it can be killed. */
async function writesOf(submission: object): Promise<number> {
  await using world = await open()
  const { code, err } = await killedRun(world.base, world.project, submission, 0, flags)
  expect(code, err).toBe(0)
  return Number(/writes (\d+)/.exec(err)?.[1])
}

test('a batch of writes: each is made once, and the run succeeds', { timeout: 1_200_000 }, async () => {
  const items = ['1\n', '2\n', '3\n'].map((text) => ({ path: 'log.txt', text }))
  await sweepOver({
    submission: { templateId: 'append_all', inputs: { items }, options: { mode: 'sync' } },
    sample: 2,
    holds(world, runs, moment) {
      // Killed before it was accepted, nobody was told that it was.
      if (runs.length === 0) return expect(world.read('log.txt'), `moment ${moment}`).toBe('')
      expect(runs, `moment ${moment}`).toMatchObject([{ status: 'succeeded', progress: { doneSteps: 3, totalSteps: 3 } }])
      expect(world.read('log.txt'), `moment ${moment}`).toBe('1\n2\n3\n')
    },
  })
})

test('a step that may not be done twice: done once, or nobody knows and the run says so', { timeout: 1_200_000 }, async () => {
  await sweepOver({
    submission: { templateId: 'replace_once', inputs: { path: 'x.txt', find: 'x', replace: 'xx' }, options: { mode: 'sync' } },
    sample: 2,
    holds(world, runs, moment) {
      const text = world.read('x.txt')
      if (runs.length === 0) return expect(text).toBe('x\n')
      const [run] = runs as [RunView]
      if (run.status === 'succeeded')
        return expect({ text, result: run.result }, `moment ${moment}`).toMatchObject({ text: 'xx\n', result: { after: 'xx\n' } })
      expect(run, `moment ${moment}`).toMatchObject({
        status: 'failed',
        error: { errorCode: 'STEP_EXECUTION_FAILED', details: { failedStep: 'replace', outcome: 'unknown' } },
      })
      expect(['x\n', 'xx\n']).toContain(text)
    },
  })
})

test(
  'a step that a person agrees to: their yes is used once, and what it lets through is done once',
  { timeout: 1_200_000 },
  async () => {
    await sweepOver({
      submission: {
        templateId: 'replace_once',
        inputs: { path: 'package.json', find: '{}', replace: '{{}}' },
        options: { mode: 'sync' },
      },
      sample: 2,
      holds(world, runs, moment) {
        const text = world.read('package.json')
        if (runs.length === 0) return expect(text).toBe('{}\n')
        const [run] = runs as [RunView]
        if (run.status === 'succeeded') return expect(text, `moment ${moment}`).toBe('{{}}\n')
        expect(run, `moment ${moment}`).toMatchObject({
          status: 'failed',
          error: { errorCode: 'STEP_EXECUTION_FAILED', details: { failedStep: 'replace', outcome: 'unknown' } },
        })
        expect(['{}\n', '{{}}\n']).toContain(text)
      },
    })
  },
)

/** What is told from outside, at every write of whoever tells it; as long as the sweeps above, so with `npm run soak` only. */
test.runIf(isSoak)(
  'killed while it cancels: the run goes on, or it is canceled, and nothing between',
  { timeout: 1_200_000 },
  async () => {
    let killed = true
    for (let moment = 1; killed; moment++) {
      await using world = await openWorld({ files: { 'package.json': '{}\n' }, flags: { 'write-requires-diff': 'false' } })
      putTemplates(world.base)
      const inputs = { path: 'package.json', find: '{}', replace: '[]' }
      const { runId } = await handIn(world, 'replace_once', inputs, { mode: 'async' })
      const runsApi = await world.runtime.runs()
      await expect.poll(async () => (await runsApi.get(runId)).waiting).toBeDefined()
      const { waiting: asked } = await runsApi.get(runId)
      const end = await killedAt(world.base, world.project, ['runs', 'cancel', runId], moment, 'UPDATE runs SET status')
      killed = end.code !== 0
      const { status, error } = await runsApi.get(runId)
      expect(status === 'running' ? error : error?.errorCode, `moment ${moment}`).toBe(
        status === 'running' ? null : 'RUN_CANCELED',
      )
      world.runtime.approvals.decide(asked?.approvalId ?? '', { approve: true, by: 'the person' })
      const last = await ended(world, runId)
      expect(last.status, `moment ${moment}`).toBe(status === 'running' ? 'succeeded' : 'canceled')
      expect(world.read('package.json'), `moment ${moment}`).toBe(status === 'running' ? '[]\n' : '{}\n')
    }
  },
)

test.runIf(isSoak)(
  'killed while it retries: what was done before is not done again, what failed is done once',
  { timeout: 1_200_000 },
  async () => {
    let killed = true
    for (let moment = 1; killed; moment++) {
      await using world = await openWorld({
        files: { 'log.txt': '', blocked: 'a file' },
        flags: { 'write-requires-diff': 'false' },
      })
      putTemplates(world.base)
      const items = [
        { path: 'log.txt', text: '1\n' },
        { path: 'blocked/x.txt', text: '2\n' },
      ]
      const first = await handIn(world, 'append_all', { items }, { mode: 'sync' })
      expect(first).toMatchObject({ status: 'partial_success' })
      unlinkSync(world.path('blocked'))
      const words = ['runs', 'retry', first.runId, '--failed', ...flags]
      killed = (await killedAt(world.base, world.project, words, moment, 'INSERT INTO runs ')).code !== 0
      const runs = (await allEnded(world)).filter(({ runId }) => runId !== first.runId)
      expect(world.read('log.txt'), `moment ${moment}`).toBe('1\n')
      if (runs.length === 0) continue
      expect(runs, `moment ${moment}`).toMatchObject([{ status: 'succeeded', progress: { doneSteps: 2, totalSteps: 2 } }])
      expect(world.read('blocked/x.txt'), `moment ${moment}`).toBe('2\n')
    }
  },
)
