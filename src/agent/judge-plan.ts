import { asFault, hintFor } from '../contracts/faults/fault.ts'
import type { AgentCaller, AgentGate } from '../contracts/gate.ts'
import { higherRisk, riskOf, type JudgedPlan, type JudgedStep, type Plan } from '../contracts/plan.ts'
import type { Risk } from '../contracts/tool.ts'
import { placesIn } from './places.ts'
import { kernelCall } from './seed-names.ts'

/**
 * What the kernel makes of a plan before anything of it happens. Its risk is the highest of its steps, and each step's is the kernel's own: what
 * the plan says of it can only raise that. A tool that is not there fails the plan; it is never left out.
 */
export async function judgePlan(plan: Plan, gate: AgentGate, caller: AgentCaller): Promise<JudgedPlan> {
  const steps: JudgedStep[] = []
  for (const step of plan.steps) {
    const { tool, input } = kernelCall(step.tool_id, step.params)
    const raised = higherRisk(plan.min_risk ?? 'R0', step.risk_level === undefined ? 'R0' : riskOf(step.risk_level))
    const open = plan.needs ? placesIn(step.params).filter((name) => plan.needs?.includes(name)) : []
    const judged = (risk: Risk, wrong: readonly string[]): JudgedStep => ({
      ...step,
      ...(gate.offers(tool) && { tool }),
      params: input,
      risk: higherRisk(risk, raised),
      wrong,
    })
    if (!gate.offers(tool)) steps.push(judged('R2', [`there is no tool ${step.tool_id} here`]))
    else if (gate.tools.find(({ name }) => name === tool)?.toolset === 'runs')
      steps.push(judged('R2', [`a plan is a run, and a run cannot call ${tool}`]))
    else if (open.length > 0) steps.push(judged('R2', [`it still needs ${open.map((name) => `{{${name}}}`).join(', ')}`]))
    else
      try {
        steps.push(judged(await gate.assess(tool, input, caller), []))
      } catch (thrown) {
        const fault = asFault(thrown)
        steps.push(judged('R2', [[fault.message, hintFor(fault, (name) => name)].filter(Boolean).join(' ')]))
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
