import { MissingRequiredClientCapabilityError, ProtocolError, ProtocolErrorCode } from '@modelcontextprotocol/server'
import { asFault } from '../../contracts/faults/fault.ts'
import type { AgentCaller, AgentGate } from '../../contracts/gate.ts'
import { isTerminal, type RunHeadView, type RunStatus, type RunView, type RuntimeProfile } from '../../contracts/run.ts'
import { onAbort } from '../../text/aborts.ts'
import { holderOf } from '../../text/eviction.ts'
import { mcp } from './dialect.ts'
import type { Feed } from './feed.ts'

/** Since 2026 tasks are an extension; a client says with each request whether it has it. */
export const tasksExtension = 'io.modelcontextprotocol/tasks'
/** The one tool whose calls become tasks. */
export const taskTool = 'run_task_template'
/** Under it an answer names its task, in the version of 2025-11-25. */
const relatedTask = 'io.modelcontextprotocol/related-task'

const pollMs = 1_000
/** A process that ends a run may die before it says so. */
const lookEveryMs = 5_000
/** Results that one process waits for at once: each of them looks again now and then, and every look is written down. */
const mostWaited = 100
const listed = 50
/** The task of a call that was answered with a run that was there: its result says so too. */
const again = '.again'

type TaskStatus = 'working' | 'completed' | 'failed' | 'cancelled'

interface Task {
  taskId: string
  status: TaskStatus
  statusMessage: string
  createdAt: string
  lastUpdatedAt: string
  /** From its creation; null while the run has no end. */
  ttlMs: number | null
}

/** Who asks, for one request. */
export interface Asker {
  caller: AgentCaller
  signal: AbortSignal
}

/** Runs as tasks. A task is a view of a run, under its id, and never a record of its own; every look is a call like any other. */
export interface TaskViews {
  /** In the form of 2026: the task that a call became, how one stands with its result, and the end of one. */
  modern: {
    created(answer: unknown, asker: Asker): Promise<Record<string, unknown>>
    get(taskId: string, asker: Asker): Promise<Record<string, unknown>>
    cancel(taskId: string, asker: Asker): Promise<Record<string, unknown>>
    /** No question is put through a task, so nothing that comes here answers one. */
    update(taskId: string, asker: Asker): Promise<Record<string, unknown>>
  }
  /** In the form of 2025-11-25, where the client asks for a task, and for its result apart. */
  legacy: {
    created(answer: unknown, asker: Asker): Promise<Record<string, unknown>>
    get(taskId: string, asker: Asker): Promise<Record<string, unknown>>
    cancel(taskId: string, asker: Asker): Promise<Record<string, unknown>>
    list(cursor: string | undefined, asker: Asker): Promise<Record<string, unknown>>
    /** Resolves when the run has its end. */
    result(taskId: string, asker: Asker): Promise<Record<string, unknown>>
  }
}

export function openTasks(gate: AgentGate, feed: Feed): TaskViews {
  const call = async <T>(tool: string, input: object, { caller, signal }: Asker): Promise<{ output: T; callId: string }> => {
    try {
      return (await gate.call(tool, input, caller, { signal, asResource: true })) as { output: T; callId: string }
    } catch (thrown) {
      signal.throwIfAborted()
      const fault = asFault(thrown)
      if (['run-not-found', 'bad-input'].includes(fault.reason)) throw noTask()
      throw new ProtocolError(ProtocolErrorCode.InternalError, fault.message)
    }
  }
  const runOf = (taskId: string, asker: Asker) => call<RunView>('get_task_run', { runId: runIn(taskId) }, asker)
  /** How long what has ended is kept, where one of these has. */
  const keptMs = async (runs: readonly RunHeadView[], asker: Asker): Promise<number> =>
    runs.some(({ status }) => isTerminal(status))
      ? (await call<RuntimeProfile>('get_runtime_profile', {}, asker)).output.runTtlMs
      : 0
  const taskOf = async (taskId: string, run: RunHeadView, failed: TaskStatus, asker: Asker): Promise<Task> =>
    viewOf(taskId, run, failed, await keptMs([run], asker))
  const createdAs = async (answer: unknown, failed: TaskStatus, asker: Asker): Promise<Task> => {
    const { runId, deduplicated } = answer as { runId: string; deduplicated: boolean }
    const taskId = deduplicated ? `${runId}${again}` : runId
    return taskOf(taskId, (await runOf(taskId, asker)).output, failed, asker)
  }
  const cancel = (taskId: string, asker: Asker) => call<{ success: boolean }>('cancel_task_run', { runId: runIn(taskId) }, asker)

  const waiting = new Map<string, number>()
  const waited = async <T>({ peer, session }: AgentCaller, wait: () => Promise<T>): Promise<T> => {
    const holder = holderOf(peer ?? session)
    const count = waiting.get(holder) ?? 0
    if (count >= mostWaited)
      throw new ProtocolError(ProtocolErrorCode.InternalError, `${count} results are waited for already; ask with tasks/get`)
    waiting.set(holder, count + 1)
    try {
      return await wait()
    } finally {
      const left = (waiting.get(holder) ?? 1) - 1
      if (left > 0) waiting.set(holder, left)
      else waiting.delete(holder)
    }
  }

  const modern = (task: Task): Record<string, unknown> => ({ ...task, pollIntervalMs: pollMs })
  const legacy = ({ ttlMs: ttl, ...task }: Task): Record<string, unknown> => ({ ...task, ttl, pollInterval: pollMs })

  return {
    modern: {
      created: async (answer, asker) => ({ resultType: 'task', ...modern(await createdAs(answer, 'completed', asker)) }),
      async get(taskId, asker) {
        const { output: run, callId } = await runOf(taskId, asker)
        const task = await taskOf(taskId, run, 'completed', asker)
        return { ...modern(task), ...(task.status === 'completed' && { result: resultOf(taskId, run, callId) }) }
      },
      async cancel(taskId, asker) {
        await cancel(taskId, asker)
        return {}
      },
      async update(taskId, asker) {
        await runOf(taskId, asker)
        return {}
      },
    },
    legacy: {
      created: async (answer, asker) => ({ task: legacy(await createdAs(answer, 'failed', asker)) }),
      get: async (taskId, asker) => legacy(await taskOf(taskId, (await runOf(taskId, asker)).output, 'failed', asker)),
      async cancel(taskId, asker) {
        const { output } = await cancel(taskId, asker)
        if (!output.success) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'The task has its end already')
        return legacy(await taskOf(taskId, (await runOf(taskId, asker)).output, 'failed', asker))
      },
      async list(cursor = '0', asker) {
        if (!/^\d{1,9}$/.test(cursor)) throw new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such cursor')
        const offset = Number(cursor)
        const { output } = await call<{ runs: RunHeadView[]; hasMore: boolean }>(
          'list_task_runs',
          { limit: listed, offset },
          asker,
        )
        const ms = await keptMs(output.runs, asker)
        const tasks = output.runs.map((run) => legacy(viewOf(run.runId, run, 'failed', ms)))
        return { tasks, ...(output.hasMore && { nextCursor: String(offset + listed) }) }
      },
      async result(taskId, asker) {
        const { run, callId } = await waited(asker.caller, () =>
          atEnd(feed, runIn(taskId), asker.signal, async () => {
            const { output, callId: id } = await runOf(taskId, asker)
            return isTerminal(output.status) ? { run: output, callId: id } : undefined
          }),
        )
        const { _meta: meta, ...result } = resultOf(taskId, run, callId)
        return { ...result, _meta: { ...(meta as object), [relatedTask]: { taskId } } }
      },
    },
  }
}

/** Looks now, and each time something may have happened to a run, until there is something to see. */
async function atEnd<T>(feed: Feed, runId: string, signal: AbortSignal, look: () => Promise<T | undefined>): Promise<T> {
  let isNew = false
  let wake: (() => void) | undefined
  const tell = (): void => {
    isNew = true
    wake?.()
  }
  const stop = feed.follow((news) => {
    if (news.kind === 'resource' && news.uri === `handrail://runs/${runId}`) tell()
  })
  const stopListening = onAbort(signal, tell)
  const looking = setInterval(tell, lookEveryMs).unref()
  try {
    for (;;) {
      isNew = false
      const found = await look()
      if (found) return found
      if (!isNew) await new Promise<void>((resolve) => (wake = resolve))
      signal.throwIfAborted()
    }
  } finally {
    clearInterval(looking)
    stopListening()
    stop()
  }
}

/** The run that a call was answered with, where it was accepted and nobody waited for its end. */
export function acceptedIn({ structuredContent, isError }: Record<string, unknown>): unknown {
  return !isError && (structuredContent as { mode?: unknown } | undefined)?.mode === 'async' ? structuredContent : undefined
}

/** In 2025 a call that was to become a task and could not is refused as a request. */
export function refusalIn({ content }: Record<string, unknown>): ProtocolError {
  const { text = '{}' } = (content as { text?: string }[])[0] ?? {}
  const told = JSON.parse(text) as { error?: unknown }
  return new ProtocolError(ProtocolErrorCode.InvalidParams, typeof told.error === 'string' ? told.error : 'Refused', told)
}

/** A call that is to become a task is not waited for, whatever its mode. */
export function asTask(input: Record<string, unknown>): Record<string, unknown> {
  const { options = {} } = input
  return typeof options === 'object' ? { ...input, options: { ...options, mode: 'async' } } : input
}

/** What the call would have answered, had it waited. */
function resultOf(taskId: string, run: RunView, callId: string): Record<string, unknown> {
  const output = { ...run, mode: 'async', deduplicated: taskId.endsWith(again) }
  const isError = run.status === 'failed' || run.status === 'canceled'
  return { ...mcp.answer(output, { callId, attachments: [] }), ...(isError && { isError }) }
}

const runIn = (taskId: string): string => (taskId.endsWith(again) ? taskId.slice(0, -again.length) : taskId)

function viewOf(taskId: string, run: RunHeadView, failed: TaskStatus, keptMs: number): Task {
  const { status, createdAt, updatedAt } = run
  return {
    taskId,
    status: statusIn(status, failed),
    statusMessage: messageOf(run),
    createdAt: new Date(createdAt).toISOString(),
    lastUpdatedAt: new Date(updatedAt).toISOString(),
    ttlMs: isTerminal(status) ? updatedAt - createdAt + keptMs : null,
  }
}

function statusIn(status: RunStatus, failed: TaskStatus): TaskStatus {
  if (!isTerminal(status)) return 'working'
  return status === 'canceled' ? 'cancelled' : status === 'failed' ? failed : 'completed'
}

function messageOf({ status, progress, waiting, error }: RunHeadView): string {
  if (waiting) return `A person is being asked: ${waiting.approvalId} (handrail approvals)`
  if (error) return `${error.errorCode}: ${error.message}`.slice(0, 500)
  return `${status}: ${progress.doneSteps} of ${progress.totalSteps} steps`
}

/** Whether a client has the extension, by what it says of itself. */
export function hasTasks(capabilities: unknown): boolean {
  const { extensions } = (capabilities ?? {}) as { extensions?: unknown }
  return typeof extensions === 'object' && extensions !== null && Object.hasOwn(extensions, tasksExtension)
}

export function mustHaveTasks(capabilities: unknown): void {
  if (hasTasks(capabilities)) return
  throw new MissingRequiredClientCapabilityError({ requiredCapabilities: { extensions: { [tasksExtension]: {} } } })
}

function noTask(): ProtocolError {
  return new ProtocolError(ProtocolErrorCode.InvalidParams, 'There is no such task, or no longer')
}
