import type { ArtifactInfo, RunError, RunOrigin, RunStatus, StepRecord, StepState } from './run.ts'
import type { Template } from './template.ts'

/**
 * What the run engine needs kept. All of it is async, so that a database on another machine can stand behind it; the embedded one
 * (`stores/runs.ts`) answers at once.
 */
export interface RunStore {
  /** Durable when it resolves. A run of the same template and key whose record lives is answered in its place, whatever became of it. */
  accept(run: NewRun, capacity: RunCapacity): Promise<{ run: RunRecord; deduplicated: boolean }>
  get(id: string): Promise<RunRecord | undefined>
  /** What it was accepted with. */
  body(id: string): Promise<RunBody | undefined>
  result(id: string): Promise<unknown>
  /** Newest first; `total` counts all that fit. */
  list(wanted: {
    status?: RunStatus | undefined
    template?: string | undefined
    /** Not those of this template. */
    without?: string | undefined
    limit: number
    offset: number
  }): Promise<{ runs: RunRecord[]; total: number }>
  /**
   * Takes the next run in hand: first one whose process died, then, while fewer than `slots` run, one of whoever has waited longest for
   * a turn, and of theirs the one that was accepted first. Only those that this process handed in itself, or that were handed in under
   * the same authority.
   */
  claim(worker: Worker, slots: number): Promise<RunRecord | undefined>
  /** Whether there are runs that another process has in hand: that one may die without a word. */
  hasForeign(worker: Worker): Promise<boolean>
  /** It waits for a person and gives its slot back. False where it is no longer this worker's. */
  park(id: string, worker: Worker, waiting: string, activeMs: number): Promise<boolean>
  /** It has its answer and takes a slot again; `full` where there is none. */
  unpark(id: string, worker: Worker, slots: number): Promise<'running' | 'full' | 'lost'>
  /** Puts it down where it is, for whoever claims it next. */
  release(id: string, worker: Worker): Promise<void>
  steps(id: string): Promise<JournalledStep[]>
  /** Writes down how far a step is. False where the run is no longer this worker's: then nothing was written. */
  journal(id: string, worker: Worker, step: NewStep, progress: Progress): Promise<boolean>
  /** The largest content of an artifact that is handed over with the end of its run, where that is cheaper than to write it before. */
  readonly contentsWithEnd?: number
  /** Ends it, with its artifacts. False where it has its end already, or is no longer this worker's. */
  finish(id: string, worker: Worker, end: RunEnd): Promise<boolean>
  /**
   * Ends it from outside, whoever has it in hand; what its steps left is kept for `artifactTtlMs`. Undefined where there is no such run; its
   * record else, and whether this ended it.
   */
  cancel(id: string, error: RunError, artifactTtlMs: number): Promise<{ run: RunRecord; done: boolean } | undefined>
  /** Ends what nobody will take in hand any more: handed in under another authority by a process that is gone, this long ago. */
  abandon(worker: Worker, olderThanMs: number, error: RunError, artifactTtlMs: number): Promise<RunRecord[]>
  artifact(id: string): Promise<ArtifactInfo | undefined>
  artifacts(run?: string): Promise<ArtifactInfo[]>
  /** Of what is past its time, or beyond the room there is, some goes; says which contents may go with it, and whether there may be more. */
  purge(capacity: RunCapacity): Promise<{ contents: string[]; more: boolean }>
}

/** Contents of artifacts, by their ids. */
export interface ArtifactStore {
  /** Durable when it resolves. */
  put(id: string, bytes: Uint8Array): Promise<void>
  read(id: string, offset: number, length: number): Promise<Uint8Array>
  remove(id: string): Promise<void>
  /** Those that were written so long ago: what no run names by then was left by a process that died. */
  writtenBefore(time: number): Promise<string[]>
}

/** How many runs wait for their turn at most, in all and of each who hands them in; how many are kept, and how much they take together. */
export interface RunCapacity {
  queued: number
  queuedEach: number
  most: number
  bytes: number
}

/** Browser sessions that are kept between calls, wherever they are kept. Who may use one is judged by runs. */
export interface KeptSessions {
  /** The session (of calls) that made it; undefined where there is none, or no longer. */
  creatorOf(sessionId: string): Promise<string | undefined>
  /** Of one that was saved over restarts: whether this session (of calls) may use it now, or once a person agreed; undefined where there is none. */
  savedFor(sessionId: string, session: string): Promise<'now' | 'asks' | undefined>
  /** Closes it, unless it is to be kept. */
  end(sessionId: string): Promise<void>
}

/** Something in a value that does not fit its schema. */
export interface SchemaProblem {
  /** Where it is, as a JSON pointer. */
  at: string
  says: string
  /** The field that is missing, or that nobody knows. */
  named?: string
}

/**
 * Deaths of its process, with no step finished in between, after which a run is carried out with nothing beside it: what others make their
 * process die of is not its fault, and only a death that it had alone says so much.
 */
export const aloneAfter = 3
/** One that still kills whoever takes it up has its end after so many. */
export const mostDeaths = 5

/** A process that carries runs out. */
export interface Worker {
  /** Names one run of a process for good: see `host/running.ts`. */
  name: string
  /** What its calls may do, as far as that is not the same for all processes of the project. */
  authority: string
}

export interface RunBody {
  template: Template
  inputs: Record<string, unknown>
  /** The browser session it was handed in with. */
  sessionId?: string
  /** What an agent makes of its result is to fit this. */
  outputSchema?: object
  /** Handed in on another machine, or written by whoever can write to a shared store: nothing says whose it is. */
  elsewhere?: true
}

export interface NewRun extends RunBody {
  id: string
  key?: string
  origin: RunOrigin
  /** Whose turn it takes in the queue. */
  holder: string
  mode: 'sync' | 'async'
  timeoutMs: number
  totalSteps: number
  worker: Worker
  ttlMs: number
  /** Steps that were done by an earlier run, which this one has behind it. */
  behind?: readonly JournalledStep[]
}

export interface RunRecord {
  id: string
  template: string
  version: string
  status: RunStatus
  origin: RunOrigin
  sessionId?: string
  mode: 'sync' | 'async'
  timeoutMs: number
  owner: string
  /** How often its process died since its last finished step. */
  deaths: number
  progress: Progress
  /** How long it has run, but for what its present process has not written down yet. */
  activeMs: number
  waiting?: string
  error?: RunError
  artifacts: string[]
  createdAt: number
  updatedAt: number
}

export interface Progress {
  done: number
  total: number
  activeMs: number
}

export interface NewStep {
  step: string
  item?: number
  state: StepState
  call?: string
  output?: unknown
  error?: RunError
  /** What the call left beside its answer. */
  artifacts?: readonly KeptArtifact[]
}

export interface KeptArtifact {
  id: string
  mimeType: string
  bytes: number
}

export interface JournalledStep extends StepRecord {
  /** As in `RunBody`. */
  elsewhere?: true
  output?: unknown
  artifacts?: readonly KeptArtifact[]
}

export interface RunEnd {
  status: 'succeeded' | 'failed' | 'partial_success'
  /** What is shown of the result; all of it is in the artifact. */
  result?: unknown
  error?: RunError
  artifacts: readonly KeptArtifact[]
  activeMs: number
  artifactTtlMs: number
  /** Contents of artifacts that are kept with it, in one step; see `contentsWithEnd`. */
  contents?: readonly { id: string; bytes: Uint8Array }[]
}
