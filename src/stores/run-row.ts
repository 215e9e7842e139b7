import { runErrorOf } from '../contracts/faults/contract-002.ts'
import { Fault } from '../contracts/faults/fault.ts'
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

/**
 * What a column holds. Whoever can write to a database that machines share can put anything there, and whoever lists or takes runs reads all of
 * them: what is nothing of ours counts as not there, and keeps nobody from the others.
 */
export function columnOf<T>(text: string, fits: (value: unknown) => boolean, otherwise: T): T {
  try {
    const value: unknown = JSON.parse(text)
    return fits(value) ? (value as T) : otherwise
  } catch {
    return otherwise
  }
}

const isRecord = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null
const isTexts = (value: unknown): boolean => Array.isArray(value) && value.every((one) => typeof one === 'string')
const isOrigin = (value: unknown): boolean =>
  isRecord(value) && ['surface', 'client', 'session'].every((name) => typeof value[name] === 'string')
const nobody: RunRecord['origin'] = { surface: 'cluster', client: 'unknown', session: 'unknown' }

export function errorIn(text: string): RunError {
  const isError = (value: unknown): boolean =>
    isRecord(value) && ['errorCode', 'message'].every((name) => typeof value[name] === 'string')
  const unreadable = new Fault('io', 'What the store holds about this failure cannot be read')
  return columnOf(
    text,
    isError,
    runErrorOf(unreadable, (tool) => tool),
  )
}

export const isArtifacts = (value: unknown): boolean =>
  Array.isArray(value) && value.every((one) => isRecord(one) && typeof one['id'] === 'string')

export function fromRow(row: Row): RunRecord {
  return {
    id: row.id,
    template: row.template,
    version: row.version,
    status: row.status,
    origin: columnOf(row.origin, isOrigin, nobody),
    ...(row.session_id !== null && { sessionId: row.session_id }),
    mode: row.mode,
    timeoutMs: row.timeout_ms,
    owner: row.owner,
    deaths: row.deaths,
    progress: { done: row.done_steps, total: row.total_steps, activeMs: row.active_ms },
    activeMs: row.active_ms,
    ...(row.waiting !== null && { waiting: row.waiting }),
    ...(row.error !== null && { error: errorIn(row.error) }),
    artifacts: columnOf<string[]>(row.artifacts, isTexts, []),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}
