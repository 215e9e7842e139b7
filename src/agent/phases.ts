import type { AgentRecord, PhaseEnd } from '../contracts/agent.ts'
import type { AgentPhase } from '../contracts/agent-phase.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { TurnEvent } from '../contracts/turn.ts'
import type { AgentPorts } from './ports.ts'
import { withinBudget } from './budget.ts'
import { added, tokensOf } from './conversation.ts'
import { fenced } from './fence.ts'
import { runPhase, type LoopPorts } from './loop.ts'
import { makeCall, newCallId } from './make-call.ts'
import { ownFiles } from './own-files.ts'
import { outlineOf, planText } from './plan-phase.ts'
import { answerQuestion } from './qa.ts'
import type { AskModel } from './router.ts'

/** What a turn came to. */
export type Reply = Pick<Extract<TurnEvent, { type: 'completed' }>, 'reply' | 'asks' | 'plan'>

export const fresh = (session: string): AgentRecord => ({
  session,
  goal: '',
  state: 'idle',
  phase: 'act',
  messages: [],
  open: [],
  usage: { input: 0, output: 0 },
  unchecked: [],
  failed: {},
  recent: [],
  updatedAt: Date.now(),
})

/** Plans where that is due, has the plan looked at, and acts. */
export async function carryOut(record: AgentRecord, mode: AgentPhase | undefined, loop: LoopPorts): Promise<Reply> {
  let end = record.phase === 'answer' ? await answer(record, loop) : await runPhase(record, loop)
  while (end.kind === 'planned') {
    record.plan = end.plan
    loop.save(record)
    if (mode === 'plan') break
    const refused = await present(record, loop)
    const said = record.waiting
    if (refused !== undefined && said === undefined) return { reply: refused, plan: end.plan }
    delete record.ended
    delete record.waiting
    if (refused === undefined) {
      record.phase = 'act'
      record.messages.push({ role: 'user', text: 'The plan stands. Carry it out, step by step, and say when it is done.' })
    } else delete record.plan
    if (said !== undefined) record.messages.push({ role: 'user', text: said })
    loop.save(record)
    end = await runPhase(record, loop)
  }
  return replyOf(end)
}

/** More of what was said before does not go with a question. */
const longestHistory = 20_000

/** Words alone: there is no gate on this road, and no tool is offered. */
async function answer(record: AgentRecord, loop: LoopPorts): Promise<PhaseEnd> {
  const { model, prompts, signal, tell, save, identity } = loop
  const last = record.messages.at(-1)
  if (last?.role === 'assistant') return { kind: 'said', text: last.text }
  tell({ type: 'step', step: 1 })
  const limits = loop.limits()
  withinBudget(record.usage, limits)
  const before = record.messages
    .slice(0, -1)
    .map((one) => `${one.role}: ${one.text}`)
    .join('\n')
    .slice(-Math.min(longestHistory, limits.contextTokens))
  const ask: AskModel = async ({ system, user = '' }) => {
    const reply = await model.complete({
      system,
      messages: [{ role: 'user', text: user }],
      maxTokens: limits.replyTokens,
      signal,
      onText: (delta) => tell({ type: 'delta', step: 1, delta }),
    })
    record.usage = added(record.usage, reply.usage ?? { input: tokensOf(system + user), output: tokensOf(reply.text) })
    if (reply.end === 'refused')
      throw new Fault('model-failed', 'The model’s provider refused to answer', { hint: 'Say it in other words.' })
    return reply.text
  }
  const history = before === '' ? '(nothing)' : fenced('the conversation so far', before)
  const text = await answerQuestion({ prompts, model: ask }, { text: last?.text ?? '', history, identity }, signal)
  record.messages.push({ role: 'assistant', text })
  save(record)
  return { kind: 'said', text }
}

const replyOf = (end: PhaseEnd): Reply => {
  if (end.kind === 'asks') return { reply: end.question, asks: true }
  return end.kind === 'planned' ? { reply: planText(end.plan), plan: end.plan } : { reply: end.text }
}

/** Shows the plan to the person where its risk asks for that. What they said, where they said no. */
async function present(record: AgentRecord, loop: LoopPorts): Promise<string | undefined> {
  const tool = loop.gate.tools.find(({ name }) => name === 'present_plan')
  if (!tool || !record.plan) return undefined
  const input = { title: record.plan.plan.title, steps: outlineOf(record.plan) }
  const made = await makeCall(tool, { call: { id: 'plan', name: tool.name, input }, id: newCallId() }, 1, record, loop)
  if (made.ok) return undefined
  record.messages.push({ role: 'user', text: `The plan was not agreed to.\n${made.text}` })
  return `The plan was not agreed to: ${made.fault?.message ?? 'no'}`
}

export function closeOpen(record: AgentRecord, text: string): void {
  for (const { call } of record.open) record.messages.push({ role: 'tool', id: call.id, name: call.name, text })
  record.open = []
}

export function systemFor(
  { phase, skill, plan, selfUpdate }: AgentRecord,
  identity: string,
  { prompts, gate }: Pick<AgentPorts, 'prompts' | 'gate'>,
): string {
  const id = phase === 'plan' ? 'agent/plan' : 'agent/act'
  const none = '(none)'
  return prompts.render(id, {
    identity,
    notice: gate.notice ?? none,
    skill: skill ? fenced(`the skill ${skill.id}`, skill.body) : none,
    plan: plan ? planText(plan) : none,
    scope: selfUpdate ? `Only your own files may be changed in this turn: ${ownFiles.says}.` : 'The project.',
  }).system
}
