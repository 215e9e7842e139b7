import type { AuditListener, Subscription } from './audit.ts'
import type { CallOptions, Caller } from './call.ts'
import type { Session } from './session.ts'
import type { SkillListing } from './skill.ts'
import type { Risk, Tool } from './tool.ts'

/** Whoever comes in at a gate: never a person. */
export type AgentCaller = Caller & { role: 'agent' }

export interface CallResult {
  callId: string
  output: unknown
  snapshots: string[]
}

/** That something happened in the project, whoever did it; not what. Neither: somebody has read something. */
export interface News {
  log: boolean
  snapshots: boolean
  /** Runs to which something happened, by their ids. */
  runs: readonly string[]
}

/**
 * What code that serves agents holds, and all it holds: the tools, the one way to ask for them, and what became of that. Nothing here
 * answers a question, trusts, lets anybody in or says who the person is, so whoever holds only this cannot approve itself.
 */
export interface AgentGate {
  readonly version: string
  /** What a client is told of what the project brings, where that asks for more than it gets: its settings, its templates. */
  readonly notice: string | undefined
  /** How long clients wait for an answer, and calls for a person. */
  readonly waits: { readonly answerWithinMs: number; readonly approvalWaitMs: number }
  /** Everything an agent may call. */
  readonly tools: readonly Tool[]
  /** What an agent is shown of it: the rest is of no use in this project, and can be called all the same. */
  listed(): readonly Tool[]
  /** Whether a tool can be called here, listed or not. */
  offers(tool: string): boolean
  /** Whether the contract and the switches would let this input through; says nothing of paths, risk or consent. */
  accepts(tool: string, input: unknown): boolean
  /**
   * The risk that a call would have now, before anything happens: by its contract, what it touches, and the rules. What a program would
   * change is known only once it ran, so the call itself may come to more. Throws what the call would throw.
   */
  assess(tool: string, input: unknown, caller: AgentCaller): Promise<Risk>
  /** The skills there are, by what they say of themselves; `read_skill` reads one. */
  offeredSkills(): Promise<SkillListing>
  /** Told when a change of the settings has changed the list of tools. */
  onToolsChanged(listener: () => void): void
  /** Whether MCP clients are offered the tools of mounted servers. */
  readonly wraps: boolean
  /** Settles once every mounted server that was never seen has said which tools it has, or could not be reached. */
  mountsKnown(): Promise<void>
  openSession(session: Pick<Session, 'id' | 'surface' | 'client'>): void
  call(name: string, input: unknown, caller: AgentCaller, options?: CallOptions): Promise<CallResult>
  /** What is written down of one session, from now on or from a line on. Returns how to stop. */
  events(session: string, wanted: Omit<Subscription, 'events'>, listener: AuditListener): () => void
  /** Returns how to stop. */
  onNews(listener: (news: News) => void): () => void
  /** The number of the newest line of the log. */
  lastLine(): number
  /** The newest states that are kept, by their ids. */
  snapshotIds(): string[]
}
