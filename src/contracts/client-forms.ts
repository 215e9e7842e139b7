import type { Approval } from './approval.ts'
import type { AgentCaller } from './gate.ts'
import type { Question } from './question.ts'
import type { Asked, Risk } from './tool.ts'

/**
 * The power to put a question to the person through the form of their client, and nothing else of a person's. What comes back is recorded
 * as that client's, `form@client`; it counts for a question of the same session, up to R2, and only where the person lets forms of this surface
 * answer.
 */
export interface ClientForms {
  /** What may be shown at a client of this surface: a form whose answer counts, and a link to our own page, where only a person gets in. */
  reach(surface: AgentCaller['surface'], risk?: Risk, client?: string): { form: boolean; url: boolean }
  /** A question that this session's own call has raised. */
  question(id: string, session: string): Approval | undefined
  /** Settles once the question no longer stands, whoever answered it and wherever. */
  settled(id: string, signal: AbortSignal): Promise<void>
  /** A form that was filled in as it was asked for. Does nothing where forms do not count for it, or the question no longer stands. */
  answer(id: string, caller: AgentCaller, said: { approve: boolean; note?: string }): void
  /** A form that was closed without an answer, which the client may have done by itself: it is written down, and the question stays open. */
  wavedAway(id: string, caller: AgentCaller, how: string): void
  /** What a session asks in words, which decides nothing: its answer goes to whoever asked, and wherever it is given first it ends the asking. */
  words: {
    /** Keeps it where the person finds it; the one that stands already where this session asks the same again, with its answer where there is one. */
    put(asked: Asked, caller: AgentCaller): Question
    /** Settles once somebody has answered, in whichever place. */
    answered(id: string, signal: AbortSignal): Promise<void>
  }
}
