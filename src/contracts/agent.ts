import type { AgentPhase } from './agent-phase.ts'
import type { Provider } from './config-agent.ts'
import type { AgentCaller } from './gate.ts'
import type { ModelCall, ModelMessage, ModelUsage } from './model.ts'
import type { JudgedPlan } from './plan.ts'
import type { TurnTaker } from './turn.ts'
import type { Risk } from './tool.ts'

/** A call that the model wants, from before it is made until its result stands in the conversation. */
export interface OpenCall {
  call: ModelCall
  /** The id it goes by in the log. */
  id: string
  /** The last line of the log before it was made; none where it was not yet begun. */
  after?: number
}

/** How a phase ends. */
export type PhaseEnd = { kind: 'said'; text: string } | { kind: 'asks'; question: string } | { kind: 'planned'; plan: JudgedPlan }

/** One conversation with the agent, as it is kept: whoever opens it goes on where it was left, also after a crash. */
export interface AgentRecord {
  session: string
  /** What the newest request is about, in the person's words. */
  goal: string
  /** `working`: a turn has begun and has not ended. */
  state: 'idle' | 'working' | 'asked'
  phase: AgentPhase
  messages: ModelMessage[]
  open: OpenCall[]
  usage: ModelUsage
  plan?: JudgedPlan
  skill?: { id: string; body: string }
  /** The router's word: calls of this turn count as at least that. */
  minRisk?: Risk
  /** Only the agent's own files are changed in this turn. */
  selfUpdate?: true
  /** Files that were written and not checked since, and how often each failed its check. */
  unchecked: string[]
  failed: Record<string, number>
  /** What the project's checks found before this turn wrote code, each as often as it did; nothing where they were not asked. */
  failedBefore?: Record<string, number>
  /** What was said while calls of an interrupted turn were still open: it comes after them. */
  waiting?: string
  /** How the phase ended, kept with the last answer of its calls: whoever goes on after a crash asks for nothing again. */
  ended?: PhaseEnd
  /** What came of a goal, until whoever pursues it has heard of it. */
  pursued?: GoalResult
  /** The newest calls, so that a third one alike is noticed. */
  recent: string[]
  updatedAt: number
}

export interface AgentSessions {
  has(session: string): boolean
  load(session: string): AgentRecord | undefined
  /** On the disk when it returns. */
  save(record: AgentRecord): void
  remove(session: string): boolean
  /** Takes a conversation in hand until what is returned is called; nothing where a running process has it in hand already. */
  take(session: string): (() => void) | undefined
  /** The last used first. */
  list(limit: number): { session: string; goal: string; state: AgentRecord['state']; updatedAt: number }[]
}

/** A skill as the agent takes it up: text, which grants nothing. */
export interface ChosenSkill {
  id: string
  description: string
  body: string
}

/** What bounds the agent; looked at each time, since settings change. */
export interface AgentLimits {
  contextTokens: number
  replyTokens: number
  budgetTokens: number
  budgetCents: number
  inputCents: number
  outputCents: number
  maxSteps: number
  maxAutoFix: number
}

/** What a conversation has used, for people. */
export interface AgentCost extends ModelUsage {
  /** By the prices in the settings, in hundredths of the person's currency; undefined where none are set. */
  cents: number | undefined
}

/** A goal that is pursued as a run. */
export interface AgentGoal {
  /** Under which its conversation is kept: the same key goes on with it. */
  key: string
  goal: string
  inputs: Record<string, unknown>
}

export interface GoalResult {
  /** False where it ended in a question. */
  done: boolean
  reply: string
  plan: { tool: string; description: string; risk: Risk }[]
  tokens: number
}

/** The agent as the person's surfaces hold it. */
export interface Agent {
  readonly taker: TurnTaker
  runGoal(goal: AgentGoal, caller: AgentCaller, signal: AbortSignal): Promise<GoalResult>
  /** Whom it asks, and where; undefined without a model. Throws where it cannot be used: no key, no address. */
  about(): Promise<{ name: string; endpoint: string } | undefined>
  /** The models that the endpoint says it has. */
  models(signal: AbortSignal): Promise<string[]>
  /** Another model of the same provider, for as long as this process runs. */
  choose(model: string): void
  /** The origin that a key for this provider is bound to. */
  originOf(provider: Provider, baseUrl: string): string
  skills(): Promise<readonly { id: string; origin: string; description: string }[]>
  cost(session: string): AgentCost
  readonly sessions: Pick<AgentSessions, 'list' | 'load' | 'remove'>
}
