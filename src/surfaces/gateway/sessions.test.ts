import { expect, test } from 'vitest'
import { openGatewaySessions } from './sessions.ts'

const speaker = (session_id: string) => ({ session_id, user_id: 'u', channel: 'c' })
const most = { all: 20, one: 10 }
const refused = expect.objectContaining({ error: expect.objectContaining({ status: 503, code: 'unavailable' }) })

/** Sessions among processes of which some are over. */
function open() {
  const over = new Set<string>()
  const sessions = openGatewaySessions((peer) => over.has(peer), most)
  return { over, of: (name: string, peer: string) => sessions.of(speaker(name), peer) }
}

test('whoever makes up names loses its own, and takes over nobody’s', () => {
  const { of } = open()
  const mine = of('mine', 'process 1 1')
  for (let n = 0; n < 10 * most.all; n++) of(`made up ${n}`, 'process 2 1')
  expect(of('mine', 'process 2 1')).not.toBe(mine)
  expect(of('mine', 'process 1 1')).toBe(mine)
})

test('where every name is held by others who are there, that is said; one that is over makes room', () => {
  const { of, over } = open()
  for (const peer of ['process 1 1', 'process 2 1']) for (let n = 0; n < most.one; n++) of(`${peer} ${n}`, peer)
  expect(() => of('new', 'process 3 1')).toThrow(refused)
  const first = of('process 1 1 0', 'process 1 1')
  expect(() => of('new', 'process 3 1')).toThrow(refused)
  over.add('process 2 1')
  const third = of('new', 'process 3 1')
  expect(of('new', 'process 1 1')).not.toBe(third)
  expect(of('process 1 1 0', 'process 3 1')).not.toBe(first)
})

test('those whom nobody sees share one part, and give way before anybody is refused', () => {
  const { of } = open()
  for (let n = 0; n < most.one; n++) of(`hidden ${n}`, `connection ${n}`)
  for (let n = 0; n < most.one - 1; n++) of(`seen ${n}`, 'process 1 1')
  const seen = of('seen 0', 'process 1 1')
  of('one more', 'process 2 1')
  const mine = of('another', 'process 2 1')
  expect(of('another', 'process 2 1')).toBe(mine)
  for (let n = 0; n < 10 * most.all; n++) of(`more ${n}`, `connection 1${n}`)
  expect(of('seen 0', 'process 1 1')).toBe(seen)
})

test('a session of one whom nobody sees goes on with others of the kind, and with no process that is seen', () => {
  const { of, over } = open()
  const hidden = of('s', 'connection 1')
  expect(of('s', 'connection 2')).toBe(hidden)
  const other = of('s', 'process 1 1')
  expect(other).not.toBe(hidden)
  expect(of('s', 'process 1 1')).toBe(other)
  expect(of('s', 'connection 3')).toBe(hidden)
  const seen = of('t', 'process 1 1')
  expect(of('t', 'connection 4')).not.toBe(seen)
  over.add('process 1 1')
  expect(of('t', 'process 2 1')).toBe(seen)
})
