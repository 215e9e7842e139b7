import Type, { type Static } from 'typebox'
import type { AgentCaller } from './gate.ts'
import type { RunOrigin, Submitted } from './run.ts'
import { AnyObject, closed } from './shapes.ts'
import { risks, type Risk } from './tool.ts'

/** So many steps a plan has at most: each may need a dry run beside it, and a run has fifty. */
export const mostPlanSteps = 24

/** What runs of plans go by; they are listed as plans, not among the runs of templates. */
export const planTemplateId = 'plan'

const RiskLevel = Type.Enum([...risks], { type: 'string' })

/**
 * One call of a tool (seed 004). `risk_level` is what whoever wrote the plan takes it for: it may raise what the kernel works out, and never
 * lower it. `tool_id` may be a name of seed 004 (`local.file.write`) until the plan is checked.
 */
export const PlanStep = Type.Object(
  {
    step_id: Type.String({ pattern: '^[a-z][a-z0-9_]{0,40}$' }),
    tool_id: Type.String({ minLength: 1, maxLength: 128 }),
    description: Type.String({ maxLength: 2_000 }),
    params: AnyObject(),
    risk_level: Type.Optional(RiskLevel),
  },
  closed,
)
export type PlanStep = Static<typeof PlanStep>

/** What a skill asks for, in its own words, and which calls of the plan do it. None: it is left to a model or a person, and said so. */
export const PlanItem = Type.Object(
  {
    text: Type.String({ maxLength: 2_000 }),
    line: Type.Integer({ minimum: 1, description: 'Where it stands in the skill' }),
    step_ids: Type.Array(Type.String()),
  },
  closed,
)
export type PlanItem = Static<typeof PlanItem>

/** A plan is data: nothing of it happens before it is run, and then each step is a call like any other. */
export const Plan = Type.Object(
  {
    plan_id: Type.String({ pattern: '^plan_[0-9a-f]{16}$' }),
    title: Type.String({ minLength: 1, maxLength: 200 }),
    goal: Type.Optional(Type.String({ maxLength: 20_000 })),
    source: Type.Unsafe<string | null>({ type: ['string', 'null'], description: '`skill:<id>`, `model`, `person`, or null' }),
    steps: Type.Array(PlanStep, { maxItems: mostPlanSteps }),
    outline: Type.Optional(Type.Array(PlanItem, { maxItems: 200 })),
    needs: Type.Optional(
      Type.Array(Type.String({ maxLength: 64 }), {
        maxItems: 100,
        description: 'Values that its steps leave open, `{{name}}`, until somebody gives them',
      }),
    ),
    min_risk: Type.Optional(RiskLevel),
    created_at: Type.Integer({ minimum: 0 }),
  },
  closed,
)
export type Plan = Static<typeof Plan>

/** What the kernel makes of a step before anything happens. */
export interface JudgedStep extends PlanStep {
  /** The kernel's name of the tool; absent where there is none. */
  tool?: string
  /** The higher of what the kernel works out and what the plan says. */
  risk: Risk
  /** Why it cannot be done; empty where it can. */
  wrong: readonly string[]
}

/** A plan as the kernel sees it: a missing tool or a wrong input fails it whole, and is never left out. */
export interface JudgedPlan {
  plan: Plan
  steps: readonly JudgedStep[]
  /** The highest of its steps. */
  risk: Risk
  /** Tools that it names and that are not there. */
  missing: readonly string[]
  wrong: readonly string[]
}

/** What a step came to (seed 004 §1.3): with a side effect there is evidence, such as the call, snapshots, artifacts or screenshots. */
export interface ToolResult {
  ok: boolean
  output: unknown
  /** `run:<id>`, `call:<id>`, `snapshot:<id>`, `screenshot:<file>`, `artifact:<id>` of the run. */
  evidence_refs: readonly string[]
}

/** The higher of two. */
export const higherRisk = (one: Risk, other: Risk): Risk => (risks.indexOf(one) >= risks.indexOf(other) ? one : other)

/** What is no risk we know counts as R2. */
export const riskOf = (given: unknown): Risk => ((risks as readonly unknown[]).includes(given) ? (given as Risk) : 'R2')

/** How a plan stands. */
export interface KeptPlan {
  plan: Plan
  /** The run it was last carried out as. */
  run?: string
  updated_at: number
}

/** A plan that a skill was made into, as far as that goes without a model. */
export interface PlanFromSkill {
  plan: Plan
  /** Values that the skill leaves open and nobody gave. */
  needs: readonly string[]
  /** What of it could not be made a step. */
  problems: readonly string[]
}

/** Plans, from whoever wrote them to what became of them. Carrying one out is calls at a gate, one by one: nothing here agrees to anything. */
export interface Plans {
  /** The newest first. */
  list(): readonly KeptPlan[]
  /** Throws `not-found`. */
  get(planId: string): KeptPlan
  /** Keeps a plan as it is, under a new id where it has none yet. Throws `bad-input` where it is none. */
  save(plan: Omit<Plan, 'plan_id' | 'created_at'> & Partial<Pick<Plan, 'plan_id' | 'created_at'>>): Plan
  remove(planId: string): boolean
  /** Without a model: by the steps that the skill is written in. It is not kept yet. */
  fromSkill(skillId: string, inputs: Readonly<Record<string, unknown>>): Promise<PlanFromSkill>
  /** By the model, along a skill where one is named. It is asked once and has no tools; the plan is not kept yet. Throws `unsupported` without a model. */
  fromTask(task: string, skillId: string | undefined, signal: AbortSignal): Promise<Plan>
  judge(plan: Plan, caller: AgentCaller): Promise<JudgedPlan>
  /** Hands it in as a run; throws `bad-input` where a step cannot be done, and then nothing is. */
  run(planId: string, origin: RunOrigin): Promise<Submitted>
  /** What each step of a run of a plan came to. */
  results(runId: string): Promise<Readonly<Record<string, ToolResult>>>
}
