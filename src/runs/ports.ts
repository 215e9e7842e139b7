import type { ApprovalState } from '../contracts/approval.ts'
import type { AuditEntry, AuditLine, AuditStream } from '../contracts/audit.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { AgentGate } from '../contracts/gate.ts'
import type { ArtifactStore, RunStore, Worker } from '../contracts/run-ports.ts'

/** What the engine is given. Steps are made through a gate, as any agent makes its calls: nothing here can answer a question. */
export interface RunPorts {
  store: RunStore
  artifacts: ArtifactStore
  gate: Pick<AgentGate, 'call' | 'tools' | 'offers'>
  worker: Worker
  /** A random id that cannot be guessed. */
  newId(prefix: 'run' | 'art' | 'call'): string
  questions: {
    /** Resolves when it can no longer be answered, whoever answered it in whichever process. */
    settled(id: string, signal: AbortSignal): Promise<void>
    look(id: string): { state: ApprovalState; note?: string } | undefined
  }
  log: AuditStream & {
    write(entry: AuditEntry): void
    /** The newest line about a call. */
    newestOf(call: string): AuditLine | undefined
    lastLine(): number
  }
  /** Looked at each time: they change with the settings. */
  limits(): { maxConcurrentRuns: number; runTtlMs: number; artifactTtlMs: number }
}

/** What happens to runs is told in the log; where that cannot be written, their steps are refused for it anyway. */
export function tellLog(log: RunPorts['log'], entry: AuditEntry): void {
  try {
    log.write(entry)
  } catch (fault) {
    complain(fault)
  }
}

export function complain(fault: unknown): void {
  console.error('handrail: runs:', fault instanceof Fault ? fault.message : fault)
}
