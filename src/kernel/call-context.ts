import type { Call } from '../contracts/call.ts'
import type { Config } from '../contracts/config.ts'
import type { Program } from '../contracts/stage.ts'
import type { Staged } from '../contracts/staged.ts'
import type { Tool, Touch } from '../contracts/tool.ts'
import type { Mark, Marks, MarksNow } from './marks.ts'
import type { PathScheduler } from './path-scheduler.ts'
import type { Policy } from './policy.ts'
import type { Ports } from './ports.ts'
import type { DuplicateCalls } from './duplicate-calls.ts'
import type { CallAudit } from './call-audit.ts'

/** What every call has at hand. */
export interface KernelContext {
  ports: Ports
  policy: Policy
  /** Which of the files a call writes are not like any other. */
  marks: Marks
  marksNow: MarksNow
  scheduler: PathScheduler
  duplicates: DuplicateCalls
  /** Aborted when Handrail is closed here. */
  closing: AbortSignal
  config: Config
  offered: readonly string[]
}

/** A call that has been judged: what it is, what it touches, and its record. */
export interface CallContext {
  kernel: KernelContext
  tool: Tool
  input: unknown
  /** The input with its content fields as size and digest. */
  redactedInput: Record<string, unknown>
  touches: Touch[]
  call: Call
  callAudit: CallAudit
  /** Names the tool and its exact input; made only where it is needed. */
  inputDigest: () => string
  /** What a person was told of its files when they agreed to it. */
  agreed?: readonly Mark[]
  /** What it is done to, as it was told when they agreed. */
  agreedTo?: readonly string[] | undefined
}

/** A call that runs a program: whether it can be confined, and the stage it ran on already where it waits for a person. */
export interface ProgramContext {
  program: Program
  confined: boolean
  says: string
  waiting: Staged | undefined
  /** Whatever it changes is asked about, be it ever so plain. */
  asksAfter: boolean
  /** The project as it was when a person was asked whether it may run; it runs on exactly that. */
  seen?: string
}
