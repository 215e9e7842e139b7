import { expect, test } from 'vitest'
import type { Touch } from '../contracts/tool.ts'
import { marksInOrder, nothingUnderWay } from './marks-in-order.ts'

/** Calls that are judged when they are told to be; what happened, in order. */
function rig() {
  const underWay = nothingUnderWay()
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const marks = marksInOrder<{ session: string; touches: readonly Touch[]; name: string }, string>(({ name }) => {
    begun.push(name)
    return new Promise((resolve) => ends.set(name, () => resolve([name])))
  }, underWay)
  const call = (name: string, session: string, touches: readonly Touch[]) => marks({ name, session, touches })
  return { call, begun, end: (name: string) => ends.get(name)?.(), underWay }
}

const write = (...paths: string[]): Touch[] => paths.map((path) => ({ path, access: 'write' }))
const read = (path: string): Touch[] => [{ path, access: 'read' }]
const many = write(...Array.from({ length: 100_000 }, (_, n) => `many/f${n}`))

test.for([
  ['one file', write('many/f1'), write('many/f1', 'other')],
  ['very many', many, write('many/f1')],
  ['very many, after one', write('many/f1'), many],
  ['very many twice', many, many],
] as const)('what comes later of the same session for the same file does not overtake: %s', async ([, first, second]) => {
  const { call, begun, end, underWay } = rig()
  const firstOne = call('first', 'a', first)
  const secondOne = call('second', 'a', second)
  const reading = call('', 'a', read('many/f1'))
  expect(reading).toBeInstanceOf(Promise)
  expect(begun).toEqual(['first'])
  // Nobody waits for another file, nor for what another session has judged.
  expect(call('', 'a', read('else'))).toEqual([])
  expect(call('', 'b', read('many/f1'))).toEqual([])
  void call('third', 'b', first)
  expect(begun).toEqual(['first', 'third'])
  end('first')
  await firstOne
  await expect.poll(() => begun).toEqual(['first', 'third', 'second'])
  end('second')
  end('third')
  expect(await secondOne).toEqual(['second'])
  expect(await reading).toEqual([])
  await expect.poll(() => [underWay.byPath.size, underWay.wide.size]).toEqual([0, 0])
})

test('a call that writes very many makes no entry for each of them', () => {
  const { call, underWay } = rig()
  void call('first', 'a', many)
  expect([underWay.byPath.size, underWay.wide.size]).toEqual([0, 1])
})
