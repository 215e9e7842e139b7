import { expect, test } from 'vitest'
import type { RunView } from '../../src/contracts/run.ts'
import { killedRun } from '../support/killed-run.ts'
import { ended, putTemplates } from '../support/runs.ts'
import { draws } from '../support/seed.ts'
import { isSoak } from '../support/soak.ts'
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
  return [...new Set([1, all, ...Array.from({ length: sample }, () => 1 + below(all))])].toSorted((a, b) => a - b)
}

/** Every run there is, at its end. */
async function allEnded(world: World): Promise<RunView[]> {
  const desk = await world.runtime.runs()
  const { runs } = await desk.list({ limit: 1_000 })
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
  expect(killed).toBeGreaterThan(1)
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
    sample: 4,
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
    sample: 4,
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
      sample: 4,
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
