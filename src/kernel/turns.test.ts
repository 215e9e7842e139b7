import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openTurns } from './turns.ts'

const read = (path: string) => [{ path, access: 'read' as const }]
const write = (path: string) => [{ path, access: 'write' as const }]

test('writers of one file go one by one in the order they came, readers wait for them', async () => {
  const turns = openTurns(8, 100)
  const seen: string[] = []
  const step = (name: string, ms: number) => async (): Promise<void> => {
    seen.push(`${name} in`)
    await pause(ms)
    seen.push(`${name} out`)
  }
  await Promise.all([
    turns.take(write('a'), undefined, step('w1', 20)),
    turns.take(write('a'), undefined, step('w2', 1)),
    turns.take(read('a'), undefined, step('r', 1)),
    turns.take(write('b'), undefined, step('other', 1)),
  ])
  expect(seen.filter((one) => !one.startsWith('other'))).toEqual(['w1 in', 'w1 out', 'w2 in', 'w2 out', 'r in', 'r out'])
  expect(seen.indexOf('other out')).toBeLessThan(seen.indexOf('w1 out'))
})

test('readers share', async () => {
  const turns = openTurns(8, 100)
  let together = 0
  let most = 0
  await Promise.all(
    [1, 2, 3].map(() =>
      turns.take(read('a'), undefined, async () => {
        most = Math.max(most, ++together)
        await pause(5)
        together--
      }),
    ),
  )
  expect(most).toBe(3)
})

test('a bounded number runs, a bounded number waits, the next is refused', async () => {
  const turns = openTurns(2, 3)
  let running = 0
  let most = 0
  const work = async (): Promise<void> => {
    most = Math.max(most, ++running)
    await pause(10)
    running--
  }
  const taken = Array.from({ length: 5 }, () => turns.take([], undefined, work))
  await expect(turns.take([], undefined, work)).rejects.toMatchObject({ code: 'E_POLICY_VIOLATION' })
  await Promise.all(taken)
  expect(most).toBe(2)
})

test('a call that is cancelled while it waits leaves the queue and lets the next one go', async () => {
  const turns = openTurns(8, 100)
  const stop = new AbortController()
  const first = turns.take(write('a'), undefined, () => pause(20))
  const second = turns.take(write('a'), stop.signal, async () => 'ran')
  const third = turns.take(write('a'), undefined, async () => 'third')
  stop.abort(new Error('enough'))
  await expect(second).rejects.toThrow('enough')
  await first
  expect(await third).toBe('third')
})
