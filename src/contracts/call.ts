import type { AuditEntry } from './audit.ts'
import type { Attachment, Risk, ToolNews } from './tool.ts'

/** Who is asking, over which way in. The surface fills it in; nothing in it comes from the arguments of a call. */
export interface Caller {
  surface: 'mcp-stdio' | 'mcp-http' | 'mcp-sse' | 'gateway' | 'bridge' | 'acp' | 'cli'
  /** Name and version the client gave of itself, for the record only. */
  client: string
  session: string
  /**
   * The process at the other end, where it is known, however many sessions and names it makes up. Slots and places for questions go by it.
   */
  peer?: string
  /** Set by the surface from its credential; an agent is never a person. */
  role: 'agent' | 'person'
}

export interface CallOptions {
  /** The id it goes by, for whoever must know it before the call is made; nobody else's. */
  id?: string
  /** A process that is gone had begun it under this id, and nobody ended it there: the log says that it is made again. */
  again?: true
  /** The run it is a step of: set by whoever carries that out. */
  run?: string
  /** Where in a trace of the caller's it belongs (`traceparentOf`): the caller's word, which decides nothing. */
  traceparent?: string | undefined
  signal?: AbortSignal
  onProgress?: (done: number, total: number | undefined, message: string | undefined) => void
  /**
   * Called with what a program prints while it runs, before it is known whether that is withheld: for the eyes of the person at their own
   * terminal, never for an agent.
   */
  onPrinted?: (chunk: Uint8Array) => void
  /** Called with what the call shows beside its answer, before it answers. */
  onAttachment?: (attachment: Attachment) => void
  /** Called with what the tool tells of its work while it goes on, in its own form (`CheckEvent`). */
  onEvent?: (event: ToolNews) => void
  /** A plan or a router may raise the risk; nothing may lower it. */
  raisedRisk?: Risk
  /** How long to wait for a person inside this request, at most; `Infinity` for as long as the question stands. */
  approvalWaitMs?: number
  /** When the caller must have its answer, by this machine's clock: waiting for a person ends then, however long the call ran before. */
  answerBy?: number
  /**
   * Called when a person is needed, so that a surface can show the card where the person is. The signal it may give ends the waiting for
   * the answer, and not the call: that stays suspended, and the same call made again goes on with it.
   */
  onApproval?: (approvalId: string) => AbortSignal | undefined | void
  /** The call reads a resource, for which there are tools that are not listed. */
  asResource?: boolean
  /** The answer is kept where other agents read it: what the person let this one read is not read for it. */
  sharesAnswer?: boolean
  /** What the person answered to the question this call asks (see `asks` in the tool form). */
  answer?: string
}

/** One call on the road. */
export interface Call {
  /** Becomes that of the call which this one goes on with, where that waited for a person. */
  id: string
  caller: Caller
  options: CallOptions
}

/** A call that waits for a person, as it is kept: the request that made it may be long gone. */
export interface SuspendedCall {
  call: string
  /** The question it waits for. */
  approval: string
  /** The question is that of the same call, which another request has in hand: nobody goes on with this one. */
  follows?: true
  /** What the log says at its end, but for how it ended: whoever ends it writes this. */
  ending: AuditEntry[]
}
