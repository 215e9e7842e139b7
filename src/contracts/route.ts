import Type, { type Static } from 'typebox'
import { closed } from './shapes.ts'
import { risks, type Risk } from './tool.ts'

/** Where a request may go (seed 004 §4). */
export const routeTypes = ['qa', 'task', 'skill', 'tool', 'mcp', 'clarify', 'self_update'] as const

/** A model that is less sure than this is not believed: it is asked back. */
export const clarifyBelow = 0.45

/** The choice of a road, and nothing more: it acts on nothing. */
export const RouteDecision = Type.Object(
  {
    route_type: Type.Enum([...routeTypes], { type: 'string' }),
    confidence: Type.Number({ minimum: 0, maximum: 1 }),
    reason: Type.String({ minLength: 1, maxLength: 1_000 }),
    skill_id: Type.Optional(Type.String({ minLength: 1, maxLength: 200 })),
    tool_ids: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 128 }), { minItems: 1, maxItems: 20 })),
    clarify_questions: Type.Optional(Type.Array(Type.String({ minLength: 1, maxLength: 500 }), { minItems: 1, maxItems: 5 })),
    min_risk: Type.Optional(Type.Enum([...risks], { type: 'string' })),
  },
  closed,
)
export type RouteDecision = Static<typeof RouteDecision>

/** What there is to choose from, in few words each: what router and planner are told. Scripts by name and path, never their content. */
export interface CapabilityIndex {
  skills: readonly SkillCapability[]
  tools: readonly ToolCapability[]
}

export interface SkillCapability {
  id: string
  name: string
  /** 120 characters at most. */
  description: string
  tags: readonly string[]
  allowed_tools: readonly string[]
  disable_model_invocation: boolean
  path: string
  scripts: readonly { name: string; relative_path: string }[]
}

export interface ToolCapability {
  id: string
  /** 120 characters at most. */
  description: string
  risk_default: Risk | 'by input'
  /** It is another MCP server's. */
  mcp?: true
}

/** What was decided. `unasked`: the rules decided alone, since the model could not be asked, and why. */
export type Routed = RouteDecision & { unasked?: string }

/** Chooses, and has nothing at hand with which it could do something. */
export interface Router {
  route(text: string, signal?: AbortSignal): Promise<Routed>
}
