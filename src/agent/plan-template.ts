import type { AgentGate } from '../contracts/gate.ts'
import { planTemplateId, type JudgedPlan } from '../contracts/plan.ts'
import type { Template, TemplateStep } from '../contracts/template.ts'

/** A plan as the run engine takes it: what a step sends stands in the inputs, so that nothing in it is taken for a path. */
export function planTemplate(
  { plan, steps }: JudgedPlan,
  tools: AgentGate['tools'],
): { template: Template; inputs: Record<string, unknown> } {
  const inputs: Record<string, unknown> = { plan: plan.plan_id }
  const made = steps.flatMap(({ step_id, tool = '', params, risk }): TemplateStep[] => {
    const call = (id: string, input: Record<string, unknown>): TemplateStep => {
      inputs[id] = input
      return { id, tool, input: { $: `inputs.${id}` }, risk }
    }
    const how = tools.find(({ name }) => name === tool)?.dryRun?.(params)
    // What a person would look at before it is written is made first, as every other caller must.
    const dry = how && !how.dry ? [{ ...call(`${step_id}_dry`, { ...params, dryRun: true }), risk: 'R0' as const }] : []
    return [...dry, call(step_id, params)]
  })
  const template: Template = {
    id: planTemplateId,
    version: '1.0.0',
    title: plan.title,
    description: plan.goal?.slice(0, 2_000) || plan.title,
    trust: ['local'],
    inputs: { type: 'object' },
    results: { type: 'object' },
    limits: { timeoutMs: 600_000 },
    expects: { ms: 60_000 },
    steps: made,
    result: Object.fromEntries(steps.map(({ step_id }) => [step_id, { $: `steps.${step_id}.output` }])),
  }
  return { template, inputs }
}
