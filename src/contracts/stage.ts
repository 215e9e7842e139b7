import type { Form } from './snapshot.ts'

/** A program to run, as a tool asks for it. No shell stands between, unless it is itself the program. */
export interface Program {
  /** First the program, then its arguments. */
  argv: readonly string[]
  /** Where it starts, relative to the project. */
  cwd: string
  timeoutMs: number
  /** Most of its output that is kept, in bytes, for each of the two streams; the middle goes first. */
  outputBytes: number
  /** Added to the few variables every program gets. */
  env?: Readonly<Record<string, string>>
  /** It can reach the network: always asked before, always shown. */
  network?: boolean
  /** The only folder it may change, relative to the project; made where it is missing. All of it by default. */
  changes?: string
  /** It sees that folder and nothing else of the project. */
  alone?: boolean
  /** It keeps running after the call: it sees the project as it is, read-only, and answers on this machine's loopback only. */
  serves?: 'start' | 'stop'
  /** Files and folders outside the project it may read, e.g. the settings of another agent. */
  reads?: readonly string[]
  /** Values it gets that nobody shall see: where it prints one, that is left out before anything else reads its output. */
  secrets?: readonly string[]
  /** Nothing it changes is taken over; only what it printed counts. It runs on a stage or not at all. */
  discards?: boolean
}

/** Output as it was kept: both ends where it was long. */
export interface CapturedOutput {
  text: string
  /** All of it, in bytes. */
  bytes: number
  cut: boolean
}

export const effectKinds = ['created', 'modified', 'deleted', 'renamed', 'mode'] as const
export type EffectKind = (typeof effectKinds)[number]

/** One change a program made on its stage. */
export interface Effect {
  path: string
  kind: EffectKind
  form: Form
  /** What stood there before, where that was something else: a folder that became a file. */
  was?: Form
  /** Where it was before, for `renamed`. */
  from?: string
  /** Permission bits before and after; null where there was or will be nothing. */
  modes: readonly [number | null, number | null]
  /** Sizes before and after. */
  sizes: readonly [number | null, number | null]
  /** Content hashes before and after. */
  hashes: readonly [string | null, string | null]
  /** Targets before and after, for a link. */
  targets?: readonly [string | null, string | null]
}

/** How much a program did to the project, in numbers. */
export interface Extent {
  /** Files and links that stood in the project and were removed, emptied or moved away, or that another was moved in the place of. */
  removals: number
  /** Files and folders, each change one. */
  files: number
  /** Of everything it changed the larger side, before or after. */
  bytes: number
}

/** The bytes of a changed file before and after; nothing where there is no file. */
export type Sides = (effect: Effect) => readonly [Uint8Array | undefined, Uint8Array | undefined]

/** Something a program changed that no commit takes over. */
export interface SkippedChange {
  path: string
  why: string
}

/** A server under supervision. */
export interface Serving {
  running: boolean
  /** Where it can be opened on this machine, once it listens. */
  urls: readonly string[]
}

/** How a program ran and what it did. */
export interface ProgramResult {
  /** Null where it was ended. */
  exitCode: number | null
  /** The signal that ended it, of its own making. */
  signal?: string
  /** Why we ended it: the deadline, or the limit it broke. */
  ended?: string
  /** The same as a reason. */
  endedFor?: 'timeout' | 'cancelled' | 'over-limit'
  stdout: CapturedOutput
  stderr: CapturedOutput
  ms: number
  effects: readonly Effect[]
  /** The first of what no commit takes over. */
  leftover: readonly SkippedChange[]
  /** How many more there are. */
  leftoverMore?: number
  /** For a program that keeps running. */
  serving?: Serving
  /** `confined`: on a stage, nothing of it was real before the commit. */
  confined: boolean
  network: boolean
}

/** What the system gives us to confine with; said by `doctor`, `/healthz` and `get_runtime_info`. */
export interface Confinement {
  confined: boolean
  /** What is in force, or why nothing is, and what to do. */
  says: string
}
