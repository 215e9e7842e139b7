import { getEventListeners } from 'node:events'
import { expect, test } from 'vitest'
import type { AgentCaller, AgentGate } from '../../contracts/gate.ts'
import type { Feed } from './feed.ts'
import { openTasks, type Asker } from './tasks.ts'

const runId = `run_${'1'.repeat(32)}`

/** A run that waits for a person, for ever; every look at it is counted. */
function rig() {
  const state = { looks: 0, followers: 0 }
  const run = { runId, status: 'running', createdAt: 0, updatedAt: 0, progress: { doneSteps: 0, totalSteps: 1 } }
  const gate = { call: async () => (state.looks++, { output: run, callId: 'call_1' }) } as unknown as AgentGate
  const feed = { follow: () => (state.followers++, () => state.followers--), tell: () => undefined } as unknown as Feed
  return { tasks: openTasks(gate, feed), state }
}

test('one process waits for so many results at once, whatever sessions it opens, and takes none from another', async () => {
  const { tasks, state } = rig()
  /** Each request has a signal of its own. */
  const requests: AbortController[] = []
  const outcomes = { refused: 0, over: 0 }
  const ask = (peer: string, session: string): Promise<unknown> => {
    const request = new AbortController()
    requests.push(request)
    const caller = { surface: 'mcp-sse', client: 'x', role: 'agent', peer, session } as AgentCaller
    const asker: Asker = { caller, signal: request.signal }
    return tasks.legacy.result(runId, asker).catch(() => (request.signal.aborted ? outcomes.over++ : outcomes.refused++))
  }
  const listeners = (): number => requests.reduce((sum, { signal }) => sum + getEventListeners(signal, 'abort').length, 0)
  const asked = Array.from({ length: 1_000 }, (_, n) => ask('process 1', `sess_${n % 10}`))
  await expect.poll(() => outcomes.refused).toBe(900)
  expect(state).toEqual({ looks: 100, followers: 100 })
  asked.push(ask('process 2', 'sess_0'))
  await expect.poll(() => state.followers).toBe(101)
  expect(listeners()).toBe(101)
  for (const request of requests) request.abort()
  await Promise.all(asked)
  expect(outcomes).toEqual({ refused: 900, over: 101 })
  expect(state.followers).toBe(0)
  expect(listeners()).toBe(0)
})
