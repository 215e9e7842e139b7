import { setTimeout as pause } from 'node:timers/promises'
import type { Runtime } from '../../contracts/runtime.ts'
import type { Answerer, ToolCall } from './answer.ts'
import type { Answered, Question } from './asking.ts'

/** Puts a question to the client on a live connection; rejects when the signal says to stop waiting. */
export type Put = (params: Question['params'], signal: AbortSignal) => Promise<Pick<Answered, 'action' | 'content'>>

const lookMs = 200

/**
 * A call on a connection where we can ask back (before 2026): the question is put while the call waits. It waits no longer than
 * clients do, and no longer than until somebody answers elsewhere.
 */
export async function converse(runtime: Runtime, answer: Answerer, call: ToolCall, put: Put): Promise<Record<string, unknown>> {
  const reply = await answer(call)
  if ('result' in reply) return reply.result
  call.signal.throwIfAborted()
  const { params, state } = reply.question
  const settled = new AbortController()
  const limit = AbortSignal.timeout(Math.max(1, runtime.config.limits.approvalWaitMs))
  const stop = AbortSignal.any([call.signal, limit, settled.signal])
  if (state.approval !== undefined) void watch(runtime, state.approval, settled, stop)
  const said = await put(params, stop).catch(() => ({ action: 'none' }) as const)
  settled.abort()
  call.signal.throwIfAborted()
  const last = await answer({ ...call, answered: { state, ...said } })
  return 'result' in last ? last.result : {}
}

/** Ends the waiting when the approval is answered from elsewhere. */
async function watch(runtime: Runtime, id: string, settled: AbortController, stop: AbortSignal): Promise<void> {
  while (!stop.aborted) {
    if (runtime.approvals.get(id)?.state !== 'pending') return settled.abort()
    await pause(lookMs, undefined, { signal: stop }).catch(() => undefined)
  }
}
