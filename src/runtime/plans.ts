import { randomBytes } from 'node:crypto'
import { judgePlan } from '../agent/judge-plan.ts'
import { planFromSkill } from '../agent/plan-from-skill.ts'
import { planTemplate } from '../agent/plan-template.ts'
import type { AskModel } from '../agent/router.ts'
import { kernelCall } from '../agent/seed-names.ts'
import type { AuditLine } from '../contracts/audit.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { AgentCaller, AgentGate } from '../contracts/gate.ts'
import { bounds } from '../contracts/kept.ts'
import { Plan, type Plans, type ToolResult } from '../contracts/plan.ts'
import type { Prompts } from '../contracts/prompt.ts'
import type { RunsApi } from '../contracts/run.ts'
import type { SkillLibrary } from '../contracts/skill.ts'
import { validatorOf } from '../text/validator.ts'
import type { Stores } from './stores.ts'

/** Plans, wired: made by skills, judged by the kernel, kept in the store, carried out by the run engine. */
export function openPlans(parts: {
  stores: Pick<Stores, 'plans' | 'audit'>
  skills: SkillLibrary
  gate: () => AgentGate
  runs: () => Promise<RunsApi>
  prompts: Prompts
  /** The model, as whoever plans knows it; undefined without one. */
  model: () => Promise<AskModel | undefined>
}): Plans {
  const { stores, skills, gate, runs } = parts
  const found = (id: string): ReturnType<Plans['get']> => {
    const kept = stores.plans.get(id)
    if (kept) return kept
    throw new Fault('not-found', `There is no such plan: ${id.slice(0, 100)}`, {
      hint: '`handrail plans list` shows those there are.',
    })
  }
  const whole = (given: Parameters<Plans['save']>[0]): Plan => {
    const plan = {
      ...given,
      plan_id: given.plan_id ?? `plan_${randomBytes(8).toString('hex')}`,
      created_at: given.created_at ?? Date.now(),
    }
    const validate = validatorOf(Plan)
    if (!validate(plan))
      throw new Fault('bad-input', `This is no plan: ${wrongIn(validate.errors ?? [])}`, {
        details: {
          fields: (validate.errors ?? []).slice(0, 20).map(({ instancePath, message }) => `${instancePath} ${message ?? ''}`),
        },
        hint: 'A plan has a title, a source and steps {step_id, tool_id, description, params}.',
      })
    if (JSON.stringify(plan).length > bounds.plans.characters)
      throw new Fault('too-large', `The plan has more than ${bounds.plans.characters} characters`, {
        hint: 'Let it name files instead of holding them.',
      })
    return plan
  }
  const plans: Plans = {
    list: stores.plans.list,
    get: found,
    save(given) {
      const plan = whole(given)
      stores.plans.put(plan)
      stores.audit.note({ event: 'plan.saved', details: { plan: plan.plan_id, steps: plan.steps.length, source: plan.source } })
      return plan
    },
    remove: stores.plans.remove,
    async fromSkill(skillId, inputs) {
      const isTool = (name: string): boolean => gate().offers(kernelCall(name, {}).tool)
      const { plan, needs, problems } = planFromSkill(await skills.load(skillId), inputs, isTool)
      return { plan: whole(plan), needs, problems }
    },
    async fromTask(task, skillId, signal) {
      const model = await parts.model()
      if (!model)
        throw new Fault('unsupported', 'No model is configured, so nobody can make a plan of words', {
          hint: 'Set agent.provider and agent.model in your own settings, and a key with `handrail keys set PROVIDER`. `handrail plans new SKILL` needs none.',
        })
      const skill = skillId === undefined ? undefined : { id: skillId, text: (await skills.load(skillId)).body }
      const { planWithModel } = await import('../agent/planner.ts')
      const tools = gate()
        .listed()
        .filter(({ audience, toolset }) => audience === 'agent' && toolset !== 'runs')
      const made = await planWithModel({ task, ...(skill && { skill }), context: {}, tools }, parts.prompts, model, signal)
      if ('plan' in made) return whole(made.plan)
      throw new Fault('model-failed', `The model’s answer is no plan: ${made.wrong[0]}`.slice(0, 500), {
        details: { wrong: made.wrong.slice(0, 10) },
        hint: 'Say it in other words, or name a skill.',
      })
    },
    judge: (plan, caller) => judgePlan(plan, gate(), caller),
    async run(planId, origin) {
      const { plan } = found(planId)
      const judged = await judgePlan(plan, gate(), { ...origin, role: 'agent' } as AgentCaller)
      if (judged.wrong.length > 0)
        throw new Fault('bad-input', `The plan cannot be run, and nothing of it was done: ${judged.wrong[0]}`, {
          details: { plan: planId, wrong: judged.wrong.slice(0, 20), missing: judged.missing },
          hint: '`handrail plans show ID` says everything that is wrong; `handrail plans edit ID` changes it.',
        })
      const { template, inputs } = planTemplate(judged, gate().tools)
      const submitted = await (await runs()).submitPlan(template, inputs, origin)
      stores.plans.ranAs(planId, submitted.run.runId)
      stores.audit.note({
        event: 'plan.run',
        run: submitted.run.runId,
        session: origin.session,
        details: { plan: planId, risk: judged.risk, steps: judged.steps.length },
      })
      return submitted
    },
    async results(runId) {
      const runsApi = await runs()
      const [run, steps] = [await runsApi.get(runId), await runsApi.steps(runId)]
      const artifacts = run.artifactIds.map((id) => `artifact:${id}`)
      const outputs = (run.result ?? {}) as Record<string, unknown>
      const results: Record<string, ToolResult> = {}
      for (const { step, state, call, error } of steps) {
        if (step.endsWith('_dry')) continue
        results[step] = {
          ok: state === 'done',
          output: outputs[step] ?? (error ? { error } : null),
          evidence_refs: [`run:${runId}`, ...(call === undefined ? [] : [`call:${call}`, ...leftBy(stores, call)]), ...artifacts],
        }
      }
      return results
    },
  }
  return plans
}

/** What the log says a call left behind: states of files, and pictures of the screen. */
function leftBy({ audit }: Pick<Stores, 'audit'>, call: string): string[] {
  const has = (line: AuditLine): boolean => line.call === call && Boolean(line.snapshots?.length || line.evidence?.length)
  const { snapshots = [], evidence = [] } = audit.last(1, has, [call])[0] ?? {}
  return [...snapshots.map((id) => `snapshot:${id}`), ...evidence.map((file) => `screenshot:${file}`)]
}

const wrongIn = (errors: readonly { instancePath: string; message?: string }[]): string =>
  errors
    .slice(0, 3)
    .map(({ instancePath, message }) => `${instancePath || 'it'} ${message ?? 'does not fit'}`)
    .join('; ')
