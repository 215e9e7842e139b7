import type { AgentGoal, GoalResult } from '../contracts/agent.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { AgentCaller } from '../contracts/gate.ts'
import type { AgentPorts } from './ports.ts'
import { fenced } from './fence.ts'
import type { LoopPorts } from './loop.ts'
import { carryOut, fresh, systemFor } from './phases.ts'
import { outlineOf } from './plan-phase.ts'

/**
 * Pursues a goal with nobody there to talk to: plans, acts, checks, and says what came of it. Where a person is needed it throws
 * `needs-approval` and is called again once they have answered; so it is after a crash. Either way it goes on where it was.
 */
export async function runGoal(
  { key, goal, inputs }: AgentGoal,
  caller: AgentCaller,
  ports: AgentPorts,
  signal: AbortSignal,
): Promise<GoalResult> {
  const model = await ports.model()
  if (!model)
    throw new Fault('unsupported', 'No model is configured, so nobody can pursue a goal', {
      hint: 'Set agent.provider and agent.model in your own settings, and a key with `handrail keys set PROVIDER`.',
    })
  const record = ports.sessions.load(key) ?? fresh(key)
  if (record.pursued) return record.pursued
  await ports.gate.mountsKnown()
  const save = (): void => {
    record.updatedAt = Date.now()
    ports.sessions.save(record)
  }
  if (record.messages.length === 0) {
    const given = Object.keys(inputs).length === 0 ? '' : `\n\n${fenced('the inputs of the run', JSON.stringify(inputs))}`
    record.goal = goal
    record.phase = 'plan'
    record.messages.push({ role: 'user', text: `${goal}${given}` })
    const { skill_id, min_risk } = await (await ports.router(undefined)).route(goal, signal)
    const skill = skill_id === undefined ? undefined : await ports.skill(skill_id)
    if (skill && skill_id !== undefined) record.skill = { id: skill_id, body: skill.body }
    if (min_risk) record.minRisk = min_risk
  }
  record.state = 'working'
  save()
  const identity = await ports.identity()
  const loop: LoopPorts = {
    gate: ports.gate,
    caller,
    tell: () => undefined,
    signal,
    waitMs: 0,
    model,
    prompts: ports.prompts,
    identity,
    limits: ports.limits,
    save,
    system: (one) => systemFor(one, identity, ports),
  }
  const { reply, asks, plan = record.plan } = await carryOut(record, undefined, loop)
  record.state = 'idle'
  record.pursued = {
    done: asks !== true,
    reply,
    plan: plan ? outlineOf(plan) : [],
    tokens: record.usage.input + record.usage.output,
  }
  save()
  return record.pursued
}
