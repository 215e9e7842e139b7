import Type from 'typebox'
import { mostPlanSteps, PlanStep, riskOf } from '../contracts/plan.ts'
import type { Prompts } from '../contracts/prompt.ts'
import { closed } from '../contracts/shapes.ts'
import type { Tool } from '../contracts/tool.ts'
import { wrongReply } from '../text/read-prompt.ts'
import { validatorOf } from '../text/validator.ts'
import type { PlanDraft } from './plan-from-skill.ts'
import { jsonIn, type AskModel } from './router.ts'

/** What a model answers when it is asked for a plan. */
const Answer = Type.Object(
  { title: Type.String({ minLength: 1, maxLength: 200 }), steps: Type.Array(PlanStep, { minItems: 1, maxItems: mostPlanSteps }) },
  closed,
)

export interface PlanRequest {
  task: string
  /** The skill that was chosen, with its text. */
  skill?: { id: string; text: string }
  context: object
  tools: readonly Tool[]
}

/** A plan by a model: checked for its form here, and judged by the kernel like every other. Says what is wrong where it is none. */
export async function planWithModel(
  request: PlanRequest,
  prompts: Prompts,
  model: AskModel,
  signal: AbortSignal,
): Promise<{ plan: PlanDraft } | { wrong: string[] }> {
  const prompt = prompts.render('planner/default', {
    plan_schema: JSON.stringify(Answer),
    tools_json: JSON.stringify(
      request.tools.map(({ name, description, input }) => ({ tool_id: name, description, params: input })),
    ),
    skill_text: request.skill?.text ?? '',
    context_json: JSON.stringify(request.context),
    untrusted_rule: prompts.load('_shared/untrusted').sections.system ?? '',
    task_text: request.task,
  })
  const given = normal(jsonIn(await model(prompt, Answer, signal)))
  const missing = wrongReply(prompt, given)
  if (missing.length > 0) return { wrong: missing }
  const validate = validatorOf(Answer)
  if (!validate(given))
    return {
      wrong: (validate.errors ?? [])
        .slice(0, 10)
        .map(({ instancePath, message }) => `${instancePath || 'the plan'} ${message ?? 'does not fit'}`),
    }
  const { title, steps } = given as { title: string; steps: PlanDraft['steps'] }
  return {
    plan: { title, goal: request.task.slice(0, 20_000), source: request.skill ? `skill:${request.skill.id}` : 'model', steps },
  }
}

/** A risk that nobody knows counts as R2, and a step without a name gets one; all else must be right. */
function normal(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || !Array.isArray((given as { steps?: unknown }).steps)) return given
  const steps = (given as { steps: unknown[] }).steps.map((step, at) => {
    if (typeof step !== 'object' || step === null) return step
    const one = step as Record<string, unknown>
    return {
      ...one,
      step_id: typeof one['step_id'] === 'string' ? one['step_id'] : `s${at + 1}`,
      description: one['description'] ?? '',
      ...('risk_level' in one && { risk_level: riskOf(one['risk_level']) }),
    }
  })
  return { ...given, steps }
}
