import { spawn } from 'node:child_process'
import { dirname } from 'node:path'
import { expect, test } from 'vitest'
import type { Plan } from '../../src/contracts/plan.ts'
import { openAgentWorld, type AgentWorld } from '../support/agent.ts'
import { dyingWhen, killedAt, moments } from '../support/killed-at.ts'
import type { Asked, Line } from '../support/scripted-model.ts'
import { cleanEnv, program, runCli } from '../support/world.ts'
import { proves } from '../support/proof.ts'

const env = { HANDRAIL_KEYRING: 'off' }
const files = { 'log.txt': 'begin\n' }
const call = (name: string, input: object): Line => ({ calls: [{ name, input }] })
/** Made twice it would show. */
const append = (content: string) => ({ path: 'log.txt', content: `${content}\n`, mode: 'append', dryRun: false })
const steps = [{ tool: 'write_to_file', description: 'add two lines' }]

/** The same story whoever tells it and however often it was interrupted: what comes next stands in the conversation. */
function story({ body: { messages, tools = [] } }: Asked): Line {
  const isPlanning = tools.some((one) => one.function.name === 'propose_plan')
  if (isPlanning) return call('propose_plan', { title: 'Two lines', steps })
  const wrote = messages.flatMap((one) => one.tool_calls ?? []).filter((one) => one.function.name === 'write_to_file').length
  if (wrote < 2) return call('write_to_file', append(['one', 'two'][wrote] ?? ''))
  return call('attempt_completion', { result: '写好了。' })
}

const chat = ['chat', '--print', '--wait', '--session', 'chat_k', 'add two lines']
const state = async ({ world }: AgentWorld) => (await world.runtime.agent()).sessions.load('chat_k')

/** What was done once and for all, by the file and by the states of it that can be brought back: before, between and after. */
function once({ world }: AgentWorld): void {
  expect(world.read('log.txt')).toBe('begin\none\ntwo\n')
  expect(world.runtime.snapshots(100, 'log.txt').length).toBe(3)
}

test('killed at any write of a turn: the conversation says what is open, goes on, and nothing is done twice', async () => {
  for (const moment of moments('a turn of the agent', 120)) {
    await using at = await openAgentWorld(story, { files })
    const { code } = await killedAt(at.world.base, at.world.project, chat, moment, 'agent_sessions', env)
    const left = await state(at)
    if (code !== 0 && left?.state === 'working') {
      const { end } = await at.ask('', { session: 'chat_k' })
      expect(end, `killed at ${moment}`).toMatchObject({ type: 'completed', reply: '写好了。' })
    }
    if (left === undefined) expect(at.world.read('log.txt')).toBe('begin\n')
    else once(at)
    if (code === 0) return
  }
}, 120_000)

proves(
  'agent.retraced',
  'killed in the middle of a write, after the file has its new content: shown as begun, answered from before, not written again',
  async () => {
    await using at = await openAgentWorld(story, { files })
    const dying = { ...env, ...dyingWhen(at.world.base, 'after log.txt') }
    expect((await runCli(at.world.project, chat, { env: dying })).code).toBe(null)
    expect(at.world.read('log.txt')).toBe('begin\none\n')
    expect(await state(at)).toMatchObject({
      state: 'working',
      open: [{ call: { name: 'write_to_file' }, after: expect.any(Number) }],
    })
    await at.world.reopen()
    expect((await at.ask('', { session: 'chat_k' })).end).toMatchObject({ type: 'completed', reply: '写好了。' })
    once(at)
  },
)

test('killed before a write came to its place: it is made again under its id, and the log says so', async () => {
  await using at = await openAgentWorld(story, { files })
  expect((await runCli(at.world.project, chat, { env: { ...env, ...dyingWhen(at.world.base, 'made') } })).code).toBe(null)
  const open = (await state(at))?.open[0]?.id
  await at.world.reopen()
  expect((await at.ask('', { session: 'chat_k' })).end).toMatchObject({ type: 'completed', reply: '写好了。' })
  once(at)
  const starts = at.world.runtime.audit.last(10, (line) => line.call === open && line.event !== 'recovered')
  expect(starts.map(({ event, message }) => [event, message?.split(':')[0]])).toEqual([
    ['call.start', undefined],
    ['call.start', 'made again'],
    ['call.end', undefined],
  ])
})

test('killed between two requests to the model: the next process asks for what comes next, and only that', async () => {
  let kill = (): void => undefined
  const silent: Line = { raw: () => kill() }
  let first = true
  await using at = await openAgentWorld(
    (asked, index) => {
      if (index !== 1 || !first) return story(asked)
      first = false
      return silent
    },
    { files },
  )
  const child = spawn(process.execPath, [program, ...chat, '--project', at.world.project], {
    env: cleanEnv(dirname(at.world.project), env),
    stdio: 'ignore',
  })
  kill = () => void child.kill('SIGKILL')
  await new Promise((resolve) => child.once('close', resolve))
  expect(at.world.read('log.txt')).toBe('begin\none\n')
  expect(await state(at)).toMatchObject({ state: 'working', open: [] })
  expect((await at.ask('', { session: 'chat_k' })).end).toMatchObject({ type: 'completed', reply: '写好了。' })
  once(at)
  expect(at.model.asked.length).toBe(4)
})

test('a goal that is killed in the middle of its write goes on as the same run, and its plan is asked about once', async () => {
  await using at = await openAgentWorld(story, { files, config: { policies: { askFrom: 'R2' } } })
  const submission = { templateId: 'agent_goal', inputs: { goal: 'add two lines' }, options: { mode: 'sync' } }
  const dying = { ...env, ...dyingWhen(at.world.base, 'after log.txt') }
  const killed = await runCli(at.world.project, ['call', 'run_task_template', JSON.stringify(submission)], { env: dying })
  expect([killed.code, at.world.read('log.txt')]).toEqual([null, 'begin\none\n'])
  const runs = await at.world.runtime.runs()
  const { runs: listed } = await runs.list({ templateId: 'agent_goal' })
  runs.work()
  const ended = await runs.wait(listed[0]?.runId ?? '')
  expect([ended.status, ended.result]).toMatchObject(['succeeded', { done: true, reply: '写好了。' }])
  once(at)
  // One plan, two writes, one end: no request was made twice.
  expect(at.model.asked.length).toBe(4)
})

test('a goal whose plan waits for a person is not planned anew when they have answered', async () => {
  await using at = await openAgentWorld(story, { files, config: { policies: { askFrom: 'R1' } } })
  const submission = { templateId: 'agent_goal', inputs: { goal: 'add two lines' }, options: { mode: 'async' } }
  const asked: string[] = []
  const stop = at.world.runtime.audit.subscribe({ events: (event) => event === 'approval.requested' }, (lines) => {
    for (const { approval = '', tool = '' } of lines) {
      asked.push(tool)
      at.world.runtime.approvals.decide(approval, { approve: true, by: 'me' })
    }
  })
  const { runId } = await at.world.call<{ runId: string }>('run_task_template', submission)
  const ended = await (await at.world.runtime.runs()).wait(runId)
  stop()
  expect([ended.status, asked]).toEqual(['succeeded', ['run_task_template', 'present_plan', 'write_to_file', 'write_to_file']])
  expect(at.model.asked.length).toBe(4)
  once(at)
})

test('a plan that is killed in the middle of a step goes on after it, and does nothing twice', async () => {
  await using at = await openAgentWorld([], { files })
  const step = (step_id: string, content: string): Plan['steps'][number] => ({
    step_id,
    tool_id: 'write_to_file',
    description: '',
    params: append(content),
  })
  const plan = at.world.runtime.plans.save({ title: 'Two lines', source: 'person', steps: [step('a', 'one'), step('b', 'two')] })
  const dying = { ...env, ...dyingWhen(at.world.base, 'after log.txt') }
  const killed = await runCli(at.world.project, ['plans', 'run', plan.plan_id, '--yes'], { env: dying })
  expect([killed.code, at.world.read('log.txt')]).toEqual([null, 'begin\none\n'])
  await at.world.reopen()
  const run = at.world.runtime.plans.get(plan.plan_id).run ?? ''
  const runs = await at.world.runtime.runs()
  const before = await at.world.runtime.plans.results(run)
  expect(Object.entries(before).filter(([, { ok }]) => ok)).toEqual([])
  runs.work()
  expect((await runs.wait(run)).status).toBe('succeeded')
  once(at)
  expect(Object.values(await at.world.runtime.plans.results(run)).map(({ ok }) => ok)).toEqual([true, true])
})
