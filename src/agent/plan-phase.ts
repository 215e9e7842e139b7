import { randomBytes } from 'node:crypto'
import type { AgentCaller, AgentGate } from '../contracts/gate.ts'
import { higherRisk, mostPlanSteps, type JudgedPlan, type Plan, type PlanStep } from '../contracts/plan.ts'
import type { Risk } from '../contracts/tool.ts'
import { idOfWire } from '../text/mount-names.ts'
import { printableInline } from '../text/printable.ts'
import { judgePlan } from './judge-plan.ts'

/** The plan that a model handed in, judged; a tool that is not there fails it whole. Risks are the kernel's: what the model says of them is not asked. */
export async function planIn(
  input: Record<string, unknown>,
  about: { goal: string; skill?: string; minRisk?: Risk },
  gate: AgentGate,
  caller: AgentCaller,
): Promise<{ plan: JudgedPlan } | { wrong: string }> {
  const { title, steps } = input
  if (typeof title !== 'string' || title === '' || !Array.isArray(steps) || steps.length === 0)
    return { wrong: 'a plan has a title and steps, each with tool and description.' }
  if (steps.length > mostPlanSteps) return { wrong: `a plan has at most ${mostPlanSteps} steps.` }
  const plan: Plan = {
    plan_id: `plan_${randomBytes(8).toString('hex')}`,
    title: line(title, 200),
    goal: about.goal.slice(0, 20_000),
    source: about.skill === undefined ? 'model' : `skill:${about.skill}`,
    steps: steps.map(stepIn),
    created_at: Date.now(),
  }
  const judged = await judgePlan(plan, gate, caller, 'outline')
  if (judged.missing.length > 0)
    return {
      wrong: `these tools are not there: ${judged.missing.join(', ')}. Make the plan without them, or say that it cannot be done.`,
    }
  if (judged.wrong.length > 0) return { wrong: `${judged.wrong.slice(0, 5).join('; ')}.`.slice(0, 2_000) }
  const { minRisk = 'R0' } = about
  // What only looks stays what it is: a word in the request makes no reading risky.
  const raised = judged.steps.map((step) => (step.risk === 'R0' ? step : { ...step, risk: higherRisk(step.risk, minRisk) }))
  return { plan: { ...judged, steps: raised, risk: raised.reduce<Risk>((most, { risk }) => higherRisk(most, risk), 'R0') } }
}

function stepIn(given: unknown, at: number): PlanStep {
  const { tool, description, params } = (given ?? {}) as Record<string, unknown>
  const name = String(tool ?? '').slice(0, 128) || '(none)'
  return {
    step_id: `s${at + 1}`,
    tool_id: idOfWire(name) ?? name,
    description: line(description, 500),
    params: typeof params === 'object' && params !== null && !Array.isArray(params) ? (params as PlanStep['params']) : {},
  }
}

/** One line of a person's screen, however long or hidden. */
const line = (text: unknown, most: number): string =>
  printableInline(
    String(text ?? '')
      .replace(/\s+/g, ' ')
      .trim(),
  ).slice(0, most)

/** What a person is shown of each step: the tool by the kernel's name, what it is for, and its risk. */
export const outlineOf = ({ steps }: JudgedPlan): { tool: string; description: string; risk: Risk }[] =>
  steps.map(({ tool, tool_id, description, risk }) => ({ tool: tool ?? tool_id, description, risk }))

/** A plan for people and models alike. */
export const planText = (judged: JudgedPlan): string =>
  [
    judged.plan.title,
    ...outlineOf(judged).map(({ tool, description, risk }, at) => `${at + 1}. ${tool} (${risk}): ${description}`),
  ].join('\n')
