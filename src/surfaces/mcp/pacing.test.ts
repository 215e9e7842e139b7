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
