import type { RunRecord } from '../contracts/run-ports.ts'
import type { RunError, RunStatus } from '../contracts/run.ts'

/** A run as the table has it. */
export interface Row {
  id: string
  template: string
  version: string
  status: RunStatus
  origin: string
  session_id: string | null
  mode: 'sync' | 'async'
  timeout_ms: number
  submitter: string
  authority: string
  owner: string
  deaths: number
  done_steps: number
  total_steps: number
  active_ms: number
  waiting: string | null
  error: string | null
  artifacts: string
  created_at: number
  updated_at: number
  holder: string | null
  bytes: number | null
}

export function fromRow(row: Row): RunRecord {
  return {
    id: row.id,
    template: row.template,
    version: row.version,
    status: row.status,
    origin: JSON.parse(row.origin) as RunRecord['origin'],
    ...(row.session_id !== null && { sessionId: row.session_id }),
    mode: row.mode,
    timeoutMs: row.timeout_ms,
    owner: row.owner,
    deaths: row.deaths,
    progress: { done: row.done_steps, total: row.total_steps, activeMs: row.active_ms },
    activeMs: row.active_ms,
    ...(row.waiting !== null && { waiting: row.waiting }),
    ...(row.error !== null && { error: JSON.parse(row.error) as RunError }),
    artifacts: JSON.parse(row.artifacts) as string[],
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
