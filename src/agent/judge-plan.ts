import { asFault, hintFor } from '../contracts/faults/fault.ts'
import type { AgentCaller, AgentGate } from '../contracts/gate.ts'
import { higherRisk, riskOf, type JudgedPlan, type JudgedStep, type Plan } from '../contracts/plan.ts'
import type { Risk, Tool } from '../contracts/tool.ts'
import { placeholdersIn } from './placeholders.ts'
import { kernelCall } from './seed-names.ts'

/**
 * What the kernel makes of a plan before anything of it happens. Its risk is the highest of its steps, and each step's is the kernel's own: what
 * the plan says of it can only raise that. A tool that is not there fails the plan; it is never left out. Of an `outline` the calls are made later,
 * by whoever acts: what their input lacks is no fault yet.
 */
export async function judgePlan(
  plan: Plan,
  gate: AgentGate,
  caller: AgentCaller,
  as: 'run' | 'outline' = 'run',
): Promise<JudgedPlan> {
  const steps: JudgedStep[] = []
  for (const step of plan.steps) {
    const { tool, input } = kernelCall(step.tool_id, step.params)
    const raised = higherRisk(plan.min_risk ?? 'R0', step.risk_level === undefined ? 'R0' : riskOf(step.risk_level))
    const open = plan.needs ? placeholdersIn(step.params).filter((name) => plan.needs?.includes(name)) : []
    const judged = (risk: Risk, wrong: readonly string[]): JudgedStep => ({
      ...step,
      ...(gate.offers(tool) && { tool }),
      params: input,
      risk: higherRisk(risk, raised),
      wrong,
    })
    const known = gate.tools.find(({ name }) => name === tool)
    if (!known || !gate.offers(tool)) steps.push(judged('R2', [`there is no tool ${step.tool_id} here`]))
    else if (as === 'run' && known.toolset === 'runs')
      steps.push(judged('R2', [`a plan is a run, and a run cannot call ${tool}`]))
    else if (open.length > 0) steps.push(judged('R2', [`it still needs ${open.map((name) => `{{${name}}}`).join(', ')}`]))
    else
      try {
        steps.push(judged(await gate.assess(tool, input, caller), []))
      } catch (thrown) {
        const fault = asFault(thrown)
        if (as === 'outline' && fault.reason === 'bad-input') steps.push(judged(usualRisk(known, input), []))
        else steps.push(judged('R2', [[fault.message, hintFor(fault, (name) => name)].filter(Boolean).join(' ')]))
      }
  }
  const ids = steps.map(({ step_id }) => step_id)
  const twice = ids.filter((id, at) => ids.indexOf(id) !== at).map((id) => `two steps are called ${id}`)
  const empty = steps.length === 0 ? ['it has no steps'] : []
  return {
    plan,
    steps,
    risk: steps.reduce<Risk>((most, { risk }) => higherRisk(most, risk), plan.min_risk ?? 'R0'),
    missing: [...new Set(steps.filter(({ tool }) => tool === undefined).map(({ tool_id }) => tool_id))],
    wrong: [...empty, ...twice, ...steps.flatMap(({ step_id, wrong }) => wrong.map((one) => `${step_id}: ${one}`))],
  }
}

/** What is not known yet counts as what the tool does at its worst that is usual: R1 where the input decides, R2 where nobody knows. */
function usualRisk({ floor, risk }: Tool, input: Record<string, unknown>): Risk {
  if (floor !== 'by input') return floor
  try {
    return Object.keys(input).length === 0 ? 'R1' : higherRisk('R1', risk(input))
  } catch {
    return 'R2'
  }
}
