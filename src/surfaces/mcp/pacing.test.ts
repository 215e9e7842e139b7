import type { JSONRPCMessage } from '@modelcontextprotocol/server'
import { expect, test } from 'vitest'
import { openPacing } from './pacing.ts'

const ask = (id: number): JSONRPCMessage => ({ jsonrpc: '2.0', id, method: 'tools/call', params: {} })
const cancel = (requestId: number): JSONRPCMessage => ({
  jsonrpc: '2.0',
  method: 'notifications/cancelled',
  params: { requestId },
})
const said = (id: number): JSONRPCMessage => ({ jsonrpc: '2.0', id: `q${id}`, result: {} })

function rig() {
  const seen: unknown[] = []
  const dropped: unknown[] = []
  const state = { clogged: false, emptied: 0 }
  const pacing = openPacing({
    deliver: (message) => void seen.push('id' in message ? message.id : (message as { method: string }).method),
    clogged: () => state.clogged,
    dropped: (id) => void dropped.push(id),
    emptied: () => void state.emptied++,
  })
  return { pacing, seen, dropped, state }
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, index) => index)

test('thirty-two are taken up together, each answer lets the next one in, in order', () => {
  const { pacing, seen, state } = rig()
  for (const id of upTo(40)) pacing.take(ask(id))
  expect(seen).toEqual(upTo(32))
  expect(pacing.waits).toBe(true)
  pacing.answered(5)
  expect(seen).toEqual(upTo(33))
  for (const id of upTo(32)) pacing.answered(id)
  expect(seen).toEqual(upTo(40))
  expect([pacing.waits, state.emptied]).toEqual([false, 1])
})

test('of submissions a hundred and twenty-eight are taken up together, beside others as many as there is room for', () => {
  const { pacing, seen } = rig()
  const submit = (id: number): JSONRPCMessage => ({ ...ask(id), params: { name: 'run_task_template' } }) as JSONRPCMessage
  for (const id of upTo(140)) pacing.take(submit(id))
  expect(seen).toEqual(upTo(128))
  for (const id of upTo(140)) pacing.answered(id)
  expect([seen, pacing.waits]).toEqual([upTo(140), false])
  const mixed = rig()
  for (const id of upTo(31)) mixed.pacing.take(ask(id))
  for (const id of upTo(40).slice(31)) mixed.pacing.take(submit(id))
  expect(mixed.seen).toEqual(upTo(35))
  // Twice the same id, and an answer to nobody, leave the count as it was.
  mixed.pacing.answered(99)
  for (const id of upTo(40)) mixed.pacing.answered(id)
  for (const id of upTo(33)) mixed.pacing.take(ask(id === 0 ? 1 : id))
  expect(mixed.seen.slice(40)).toHaveLength(33)
})

test('none is taken up while too much is unread; answers to our questions and cancellations pass', () => {
  const { pacing, seen, dropped, state } = rig()
  state.clogged = true
  pacing.take(ask(1))
  pacing.take(ask(2))
  pacing.take(said(7))
  pacing.take(cancel(9))
  pacing.take(cancel(1))
  expect([seen, dropped]).toEqual([['q7', 'notifications/cancelled'], [1]])
  state.clogged = false
  pacing.moved()
  expect(seen.at(-1)).toBe(2)
})

test('those that wait for somebody hold up nobody for long', async () => {
  const { pacing, seen } = rig()
  for (const id of upTo(40)) pacing.take(ask(id))
  const until = performance.now() + 30_000
  while (seen.length < 40 && performance.now() < until) await new Promise((resolve) => setTimeout(resolve, 10))
  expect(seen).toEqual(upTo(40))
})
