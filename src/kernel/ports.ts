import type { Approval, ApprovalHead, ApprovalState } from '../contracts/approval.ts'
import type { AuditEntry, AuditStream } from '../contracts/audit.ts'
import type { SuspendedCall } from '../contracts/call.ts'
import type { Change, Changed } from '../contracts/change.ts'
import type { Fault } from '../contracts/faults/fault.ts'
import type { KnownLinks, MadeLink } from '../contracts/links.ts'
import type { SessionWork } from '../contracts/session.ts'
import type { Confinement, Extent, Program } from '../contracts/stage.ts'
import type { Staged } from '../contracts/staged.ts'
import type { Tool, Written } from '../contracts/tool.ts'

/** What the kernel needs from the rooms it does not know. `runtime/` plugs them in. */
export interface Ports {
  world: WorldPort
  audit: AuditPort
  approvals: ApprovalPort
  suspended: SuspendedPort
  sessions: SessionWork
  grants: GrantPort
  idempotency: IdempotencyPort
  stages: StagePort
  unasked: UnaskedPort
  evidence: EvidencePort
  diffs: DiffPort
}

/** Comparing texts beside the event loop. */
export interface DiffPort {
  /** Lines added and taken away, together. */
  count(before: string, after: string, call: { client: string; signal: AbortSignal }): Promise<number>
}

/** The project as the kernel sees it: states of files, and the one way to change them. */
export interface WorldPort {
  /** The path in its written-down form; throws `path-denied` where it may not be used. */
  normal(path: string): string
  /** The same without asking whether it may be used; only what is written absolute, or names a root, becomes another. */
  asWritten(path: string): string
  /** Looks where links that are called like secrets lead by now; nothing to wait for where none has changed. */
  hideLinkedSecrets(): Promise<void> | undefined
  read(path: string): Buffer | undefined
  /** One holder among all processes on the project and on the further roots of these paths; what a killed one left is put right first. */
  exclusive<T>(act: () => T | Promise<T>, signal?: AbortSignal, paths?: readonly string[]): Promise<T>
  /** Says which folders of the machine the further roots of these paths are, a sentence for each. */
  whichRoots(paths: readonly string[]): string[]
  /** Whether anything stands at a path, without reading it. */
  exists(path: string): boolean
  /** What stands at each path, as a fingerprint; null is nothing. The object has no prototype. A promise only where it takes long. */
  states(paths: readonly string[]): Record<string, string | null> | Promise<Record<string, string | null>>
  /** Whether the file there may be executed, by its permissions, where those mean anything. */
  mayExecute(path: string): boolean
  /** What the links of the project make of its paths, as they are now and with those that are about to be made. */
  links(made: readonly MadeLink[]): Promise<KnownLinks>
  /** Names the newest change that Handrail made to any file, in whichever process. */
  newest(): number
  /** Whether it has changed one of these since, be it away and back again. */
  changedSince(paths: readonly string[], newest: number): boolean
  /** A fingerprint of all of the project that a program sees below a folder: another one as soon as anything there changed. */
  fingerprint(scope: string, signal?: AbortSignal): Promise<string>
  /**
   * While a program runs that a person agreed to beforehand, no agent changes what it sees: their commits are refused at once. Waits
   * for one that is under way; returns how to end it.
   */
  pin(pin: { call: string; tool: string; scope: string }, forMs: number, signal?: AbortSignal): Promise<() => void>
  /** Why an agent cannot change these paths now: a program runs on them as a person saw them. */
  pinConflict(paths: readonly string[], call: string): Fault | undefined
  commit(
    changes: readonly Change[],
    origin: WorldOrigin,
    /** Called with what is being written, inside the same transaction. */
    together?: (written: Written[]) => void,
    /** Called once all of it is in its place, before that is settled: whoever is killed later has said so. */
    landed?: () => void,
  ): Promise<Written[]>
  /** Keeps both states of changes that were made already, so that they can be undone. */
  record(changes: readonly Changed[], origin: WorldOrigin): Promise<Written[]>
}

export interface WorldOrigin {
  call: string
  session: string
  /** The person's own change goes under whatever runs. */
  person: boolean
  idempotencyKey: string | null
}

/** Where programs run before anything of theirs is real. */
export interface StagePort {
  confinement(): Promise<Confinement>
  run(
    program: Program,
    origin: { call: string; session: string; tool: string; inputDigest: string; asker: string },
    signal?: AbortSignal,
    onPrinted?: (chunk: Buffer) => void,
  ): Promise<Staged>
  /** The stage that waits for an answer to exactly this call. */
  waiting(inputDigest: string, session: string): Promise<Staged | undefined>
}

export interface EvidencePort {
  /** Returns the name under which a person finds it. */
  keep(call: string, kind: string, content: string | Uint8Array): string
}

export interface AuditPort extends AuditStream {
  note(entry: AuditEntry): void
  write(entry: AuditEntry, durable?: boolean): void
  writeTogether(entry: AuditEntry): Promise<void>
}

export interface ApprovalPort {
  ask(
    asked: Pick<
      Approval,
      'tool' | 'risk' | 'inputDigest' | 'stateDigest' | 'card' | 'input' | 'session' | 'surface' | 'client' | 'whole' | 'call'
    >,
    asking: {
      ttlMs: number
      noMs: number
      texts?: ReadonlyMap<string, string>
      /** Files that a no to it keeps. */
      keeps?: readonly string[]
      /** Called with the question's id, inside the same transaction. */
      together?: (id: string) => void
    },
  ): ApprovalHead
  head(id: string): ApprovalHead | undefined
  /** Silence turns into no: what has lapsed by now is told of, and its stage goes. */
  lapse(): void
  /** The open question or unused yes of this very session about exactly this call. */
  about(inputDigest: string, session: string): ApprovalHead | undefined
  /** A no that still holds for this client. */
  refusal(inputDigest: string, asker: { session: string; surface: string; client: string }): ApprovalHead | undefined
  /** This question lapses, so that others have room; false where it does not wait any more. */
  makeWay(id: string): boolean
  /** The newest no that keeps this file, whoever asked; one that keeps whole folders keeps what stands in them. */
  declined(path: string, stands: boolean): { approval: string; at: number; by: string; note?: string } | undefined
  move(id: string, from: ApprovalState, to: ApprovalState): boolean
}

/** Calls that wait for a person. Each is in the hands of one request at most, in whichever process; that one alone ends it. */
export interface SuspendedPort {
  put(suspended: SuspendedCall & { inputDigest: string; session: string }, request: string): void
  take(inputDigest: string, session: string, request: string): SuspendedCall | undefined
  takeBy(approval: string, request: string): SuspendedCall | 'held' | undefined
  release(call: string, ending: readonly AuditEntry[], request: string): void
  over(call: string, request: string): void
}

/** A file, and why a person is asked about changing it; the end of a sentence that begins with the path. */
export interface AskedFor {
  path: string
  says: string
}

/** What a person let a session do. */
export interface GrantPort {
  /** Whether it may change this file without being asked about it again for this reason. */
  mayChange(session: string, mark: AskedFor): boolean
  /** A yes to changing these counts for the rest of the session, for the reasons that the card named. */
  letChange(session: string, marks: readonly AskedFor[], approval: string): void
  /** Whether it may send pages to this site; `by` is the run or call that wants to. */
  mayVisit(session: string, host: string, by: string): boolean
  /** A yes to these sites counts for the rest of the session. */
  letVisit(session: string, hosts: readonly string[], approval: string): void
  /** Whether it may call this tool of a mounted server, as it is defined now, without being asked. */
  mayCall(session: string, tool: Pick<Tool, 'name' | 'definition' | 'grantable'>): boolean
  /** Does it with the one secret at hand that the call names, where a person lets this session read that. */
  reading<T>(path: string, call: { id: string; session: string }, act: () => T): T
  /** Whether this is that secret, in the call that is being made. */
  letsRead(path: string): boolean
}

/** What programs did lately that nobody was asked about, whichever process let it through. */
export interface UnaskedPort {
  sum(): Extent
  add(extent: Extent): void
  /** A person has looked at the sum. */
  clear(): void
}

export interface IdempotencyPort {
  recall(tool: string, key: string): { inputDigest: string; output: unknown; undone: boolean } | undefined
  remember(tool: string, key: string, inputDigest: string, output: unknown, call: string): void
}
