import type { AgentPhase } from './agent-phase.ts'
import type { AgentCaller } from './gate.ts'
import type { JudgedPlan } from './plan.ts'

/** Who speaks over the gateway, in its own words: a chat is known by all three. */
export interface Speaker {
  session_id: string
  user_id: string
  channel: string
}

/** One message as a caller sent it, of which the text is kept. */
export interface TurnMessage {
  role: string
  type: string
  text: string
}

/** A tool named outright: no model is asked. */
export interface ToolRequest {
  name: string
  input: Record<string, unknown>
}

/** What a caller asks for in one request, in whichever dialect it came. */
export interface Turn {
  speaker: Speaker
  messages: readonly TurnMessage[]
  tool?: ToolRequest
  /** As whom the agent makes its calls. Its session is the conversation: whoever names it again goes on with it. */
  caller?: AgentCaller
  /** What the person wants of the agent: only an answer, only a plan, or the thing done. Without: it decides itself. */
  mode?: AgentPhase
}

/** An error as contract 001 tells it. */
export interface TurnError {
  status: number
  code: string
  message: string
  details?: Record<string, unknown>
}

/** What happens in a turn, in order. Every dialect of the gateway is this log, told in other words. */
export type TurnEvent =
  | { type: 'step'; step: number }
  | { type: 'tool_call'; step: number; id: string; name: string; input: Record<string, unknown> }
  /** A person is needed; the call waits. */
  | { type: 'approval'; step: number; id: string; name: string; input: Record<string, unknown>; approval: string }
  | {
      type: 'tool_result'
      step: number
      id: string
      name: string
      result: Record<string, unknown> & { ok: boolean; text: string }
    }
  | { type: 'delta'; step: number; delta: string }
  /** `asks`: it is a question, and the next turn answers it. `plan`: what the agent means to do, or has done. */
  | { type: 'completed'; step: number; reply: string; asks?: boolean; plan?: JudgedPlan }
  | { type: 'failed'; step: number; error: TurnError }

/**
 * Who answers a turn that names no tool: the agent. It tells what happens with `tell` and ends with `completed` or
 * `failed`; it ends early where the signal says that nobody waits any more.
 */
export interface TurnTaker {
  take(turn: Turn, tell: (event: TurnEvent) => void, signal: AbortSignal): Promise<void>
}
