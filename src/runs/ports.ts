import type { ApprovalState } from '../contracts/approval.ts'
import type { AuditEntry, AuditLine, AuditStream } from '../contracts/audit.ts'
import type { Dispatcher, Lease } from '../contracts/cluster.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { AgentGate } from '../contracts/gate.ts'
import type { ArtifactStore, KeptSessions, RunStore, SchemaProblem, Worker } from '../contracts/run-ports.ts'
import type { RunEvent, TrustLevel } from '../contracts/run.ts'
import type { TaskAgent } from '../contracts/task-agent.ts'

/** What the engine is given. Steps are made through a gate, as any agent makes its calls: nothing here can answer a question. */
export interface RunPorts {
  store: RunStore
  artifacts: ArtifactStore
  sessions: KeptSessions
  gate: Pick<AgentGate, 'call' | 'tools' | 'offers'>
  worker: Worker
  /** What in a value does not fit a schema that somebody else wrote; has an end, whatever they wrote. */
  problems(schema: object, value: unknown, client: string): Promise<SchemaProblem[]>
  /** The agent that makes of a result what `outputSchema` asks for; undefined where no model is configured. */
  taskAgent?(): TaskAgent | undefined
  /** Hides a value from everybody but the tool it is for. */
  seal(value: unknown): string
  /** What callers count as whose address does not say it. */
  trustLevel(): TrustLevel
  /** A random id that cannot be guessed. */
  newId(prefix: 'run' | 'art' | 'call'): string
  questions: {
    /** Resolves when it can no longer be answered, whoever answered it in whichever process. */
    settled(id: string, signal: AbortSignal): Promise<void>
    find(id: string): { state: ApprovalState; note?: string } | undefined
  }
  log: AuditStream & {
    /** In the log when it resolves, in the order in which it was called. */
    write(entry: AuditEntry): Promise<void>
    /** The newest line about a call. */
    newestOf(call: string): AuditLine | undefined
    lastLine(): number
  }
  /** Only where several machines share the runs. */
  cluster?: {
    /** Says whose turn it is to carry out what any worker may. */
    dispatch: Dispatcher
    lease: Lease
    /** Told when a run waits that only this place or process may carry out. */
    onBound(listener: () => void): void
    /** What happened to a run after an event, on whichever machine. */
    since(run: string, after: number): Promise<{ cursor: number; events: RunEvent[] }>
  }
  /** Looked at each time: they change with the settings. */
  limits(): { maxConcurrentRuns: number; runTtlMs: number; artifactTtlMs: number }
}

/** What happens to runs is told in the log; where that cannot be written, their steps are refused for it anyway. */
export function tellLog(log: RunPorts['log'], entry: AuditEntry): Promise<void> {
  return log.write(entry).catch(complain)
}

export function complain(fault: unknown): void {
  console.error('handrail: runs:', fault instanceof Fault ? fault.message : fault)
}
