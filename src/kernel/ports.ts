import type { Approval, ApprovalState } from '../contracts/approval.ts'
import type { AuditEntry } from '../contracts/audit.ts'
import type { Written } from '../contracts/tool.ts'

/** What the kernel needs from the rooms it does not know. `main.ts` plugs them in. */
export interface Ports {
  world: WorldPort
  audit: AuditPort
  approvals: ApprovalPort
  sessions: SessionPort
  idempotency: IdempotencyPort
}

/** The project as the kernel sees it: states of files, and the one way to change them. */
export interface WorldPort {
  /** The path in its written-down form; throws E_DENY_PATH where it may not be used. */
  normal(path: string): string
  read(path: string): Buffer | undefined
  /** One holder among all processes on the project; what a killed one left is put right first. */
  exclusive<T>(act: () => T | Promise<T>, signal?: AbortSignal): Promise<T>
  commit(
    changes: readonly { path: string; expect: string | null; after: Buffer | null; undoes?: readonly string[] }[],
    origin: { call: string; session: string; idempotencyKey: string | null },
    /** Called with what is being written, inside the same transaction. */
    together?: (written: Written[]) => void,
  ): Written[]
}

export interface AuditPort {
  note(entry: AuditEntry): void
  write(entry: AuditEntry, durable?: boolean): void
}

export interface ApprovalPort {
  ask(
    asked: Pick<Approval, 'tool' | 'risk' | 'inputDigest' | 'stateDigest' | 'card' | 'input' | 'session' | 'surface' | 'client'>,
    ttlMs: number,
  ): Approval
  get(id: string): Approval | undefined
  about(inputDigest: string, session: string): Approval | undefined
  move(id: string, from: ApprovalState, to: ApprovalState): boolean
}

export interface SessionPort {
  rehearse(session: string, tool: string, same: string, state: string): void
  rehearsed(session: string, tool: string, same: string): string | undefined
  checked(session: string, path: string, passed: boolean): void
  repaired(session: string, path: string): void
  failures(session: string, path: string): number
}

export interface IdempotencyPort {
  recall(tool: string, key: string): { inputDigest: string; output: unknown } | undefined
  remember(tool: string, key: string, inputDigest: string, output: unknown, call: string): void
}
