import type { RunError, RunStatus } from './run.ts'

/**
 * A run of another kind than those of templates: a program that keeps running, supervised by the process that started it, with which it
 * ends. Contract 002's limits and lists are not for it.
 */
export interface ServerRun {
  runId: string
  /** What was started, as words. */
  command: string
  /** The call that started it, and whose it was. */
  call: string
  session: string
  status: Exclude<RunStatus, 'queued' | 'partial_success'>
  /** Where it answers, while it runs. */
  urls: string[]
  /** What it printed, the end of it. */
  log: string
  error: RunError | null
  createdAt: number
  updatedAt: number
}

export type ServerRunHead = Omit<ServerRun, 'log'>

/** The person's view of servers, whichever process of the project supervises them. */
export interface ServerRuns {
  /** Newest first. One whose process is gone has failed: it is never shown running. */
  list(): ServerRunHead[]
  get(runId: string): ServerRun | undefined
  /** Ends it, wherever it runs. Undefined where there is no such server. */
  stop(runId: string, by: string): { success: boolean; reason?: string } | undefined
}
