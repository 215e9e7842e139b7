import { setTimeout as pause } from 'node:timers/promises'
import { getEventListeners, setMaxListeners } from 'node:events'
import { expect, test } from 'vitest'
import { openPathScheduler, type Lane, type PathScheduler } from './path-scheduler.ts'

const read = (path: string) => [{ path, access: 'read' as const }]
const write = (path: string) => [{ path, access: 'write' as const }]
const limits = { maxConcurrent: 8, maxPrograms: 8, maxQueued: 100 }

interface Asked {
  session?: string
  peer?: string
  lane?: Lane
  touches?: ReturnType<typeof read> | ReturnType<typeof write>
  signal?: AbortSignal
}

/** Calls that stay inside until they are let out, and who came in so far. */
function stays(scheduler: PathScheduler) {
  const inside: string[] = []
  const doors = new Map<string, () => void>()
  return {
    inside,
    enter(name: string, { session = 's', peer, lane = 'reads', touches = [], signal }: Asked = {}): Promise<string> {
      const caller = { session, ...(peer !== undefined && { peer }) }
      return scheduler.run({ caller, lane, touches, signal }, async () => {
        inside.push(name)
        await new Promise<void>((resolve) => doors.set(name, resolve))
        return name
      })
    },
    async letOut(...names: string[]): Promise<void> {
      for (const name of names) {
        doors.get(name)?.()
        await turns()
      }
    },
  }
}

/** Whatever can happen without waiting for anybody has happened after these. */
async function turns(): Promise<void> {
  for (let count = 0; count < 5; count++) await new Promise((resolve) => setImmediate(resolve))
}

test('writers of one file go one by one in the order they came, readers wait for them', async () => {
  const { enter, inside, letOut } = stays(openPathScheduler(limits))
  const all = [
    enter('w1', { touches: write('a') }),
    enter('w2', { touches: write('a') }),
    enter('r1', { touches: read('a') }),
    enter('r2', { touches: read('a') }),
    enter('w3', { touches: write('a') }),
    enter('other', { touches: write('b') }),
  ]
  await turns()
  expect(inside).toEqual(['w1', 'other'])
  await letOut('w1')
  expect(inside).toEqual(['w1', 'other', 'w2'])
  await letOut('w2')
  expect(inside).toEqual(['w1', 'other', 'w2', 'r1', 'r2'])
  await letOut('r1')
  expect(inside).not.toContain('w3')
  await letOut('r2', 'w3', 'other')
  await Promise.all(all)
})

test('between sessions nobody waits for a file', async () => {
  const { enter, inside, letOut } = stays(openPathScheduler(limits))
  const all = [enter('a', { session: 'one', touches: write('f') }), enter('b', { session: 'two', touches: write('f') })]
  await turns()
  expect(inside).toEqual(['a', 'b'])
  await letOut('a', 'b')
  await Promise.all(all)
})

test('a file that is read and written is written', async () => {
  const { enter, inside, letOut } = stays(openPathScheduler(limits))
  const all = [enter('both', { touches: [...read('f'), ...write('f')] as never }), enter('r', { touches: read('f') })]
  await turns()
  expect(inside).toEqual(['both'])
  await letOut('both', 'r')
  await Promise.all(all)
})

test('a bounded number runs, a bounded number waits, the next is refused in words', async () => {
  const { enter, inside, letOut } = stays(openPathScheduler({ ...limits, maxConcurrent: 2, maxQueued: 3 }))
  const all = ['1', '2', '3', '4', '5'].map((name) => enter(name))
  await expect(enter('6')).rejects.toMatchObject({ reason: 'busy', details: { busy: true, waiting: 3 } })
  await turns()
  expect(inside).toEqual(['1', '2'])
  await letOut('1', '2', '3', '4', '5')
  await Promise.all(all)
  expect(inside).toEqual(['1', '2', '3', '4', '5'])
})

test('those that wait for a file are bounded too', async () => {
  const { enter, letOut } = stays(openPathScheduler({ ...limits, maxQueued: 3 }))
  const all = ['1', '2', '3', '4'].map((name) => enter(name, { touches: write('a') }))
  await expect(enter('5', { touches: write('a') })).rejects.toMatchObject({ details: { busy: true, waiting: 3 } })
  await letOut('1', '2', '3', '4')
  await Promise.all(all)
})

test('slots go round: one call of each client after one of the next, however many the first has', async () => {
  const { enter, inside, letOut } = stays(openPathScheduler({ ...limits, maxConcurrent: 1 }))
  const names = ['a1', 'a2', 'a3', 'a4', 'b1', 'b2', 'c1']
  const all = names.map((name) => enter(name, { session: name[0] as string }))
  await turns()
  for (let count = 0; count < names.length; count++) await letOut(inside.at(-1) as string)
  await Promise.all(all)
  expect(inside).toEqual(['a1', 'b1', 'c1', 'a2', 'b2', 'a3', 'a4'])
})

test('a process with many sessions is one client', async () => {
  const { enter, inside, letOut } = stays(openPathScheduler({ ...limits, maxConcurrent: 1, maxQueued: 3 }))
  const all = [1, 2, 3, 4].map((each) => enter(`a${each}`, { session: `s${each}`, peer: 'process 1' }))
  await expect(enter('a5', { session: 's5', peer: 'process 1' })).rejects.toMatchObject({ details: { busy: true } })
  all.push(enter('b', { session: 'other' }))
  await letOut('a1')
  expect(inside).toEqual(['a1', 'b'])
  await letOut('b', 'a2', 'a3', 'a4')
  await Promise.all(all)
})

test('programs, changes, and what waits for others, take no slot of what is over in a moment; nobody has all of theirs', async () => {
  const { enter, inside, letOut } = stays(openPathScheduler({ ...limits, maxConcurrent: 4, maxPrograms: 4 }))
  const lanes: Lane[] = ['programs', 'changes', 'waits']
  const all = lanes.flatMap((lane) => [1, 2, 3, 4].map((each) => enter(`${lane}${each}`, { lane })))
  await turns()
  expect(inside).toEqual(lanes.flatMap((lane) => [1, 2, 3].map((each) => `${lane}${each}`)))
  all.push(enter('read'), ...lanes.map((lane) => enter(`${lane} of another`, { lane, session: 'another' })))
  await turns()
  expect(inside.slice(9)).toEqual(['read', ...lanes.map((lane) => `${lane} of another`)])
  await letOut(...inside)
  await letOut(...lanes.map((lane) => `${lane}4`))
  await Promise.all(all)
})

test('a newcomer is let in to wait, however many others wait already', async () => {
  const { enter, letOut } = stays(openPathScheduler({ ...limits, maxConcurrent: 1, maxQueued: 2 }))
  const all = [enter('first')]
  for (let each = 0; each < 40; each++) all.push(enter(`s${each}`, { session: `s${each}` }))
  await letOut('first', ...Array.from({ length: 40 }, (_, each) => `s${each}`))
  expect(await Promise.all(all)).toHaveLength(41)
})

test('a call that is cancelled while it waits leaves the queue and lets the next one go', async () => {
  for (const touches of [write('a'), []] as ReturnType<typeof write>[]) {
    const { enter, inside, letOut } = stays(openPathScheduler({ ...limits, maxConcurrent: 1 }))
    const stop = new AbortController()
    const first = enter('first', { touches })
    const second = enter('second', { touches, signal: stop.signal })
    const third = enter('third', { touches })
    await turns()
    stop.abort(new Error('enough'))
    await expect(second).rejects.toThrow('enough')
    await letOut('first', 'third')
    expect(await Promise.all([first, third])).toEqual(['first', 'third'])
    expect(inside).toEqual(['first', 'third'])
  }
})

test('nothing stays on a signal that many calls share', async () => {
  const { enter, letOut } = stays(openPathScheduler({ ...limits, maxConcurrent: 1 }))
  const { signal } = new AbortController()
  // Twenty calls that wait on one signal are what this is about.
  setMaxListeners(0, signal)
  const names = Array.from({ length: 20 }, (_, index) => `c${index}`)
  const all = names.map((name, index) => enter(name, { signal, touches: index % 2 ? write('a') : read('b') }))
  await turns()
  expect(getEventListeners(signal, 'abort').length).toBeGreaterThan(5)
  for (let count = 0; count < 3; count++) await letOut(...names)
  await Promise.all(all)
  expect(getEventListeners(signal, 'abort')).toEqual([])
})

test('ten thousand calls that came together are not one turn of the event loop', async () => {
  const scheduler = openPathScheduler({ ...limits, maxQueued: 20_000 })
  let done = 0
  const busy = async (): Promise<void> => {
    const until = performance.now() + 1
    while (performance.now() < until);
    done++
  }
  const all = Array.from({ length: 200 }, () => scheduler.run({ caller: { session: 's' }, lane: 'reads', touches: [] }, busy))
  await new Promise((resolve) => setImmediate(resolve))
  expect(done).toBeLessThan(200)
  await Promise.all(all)
  await pause(0)
  expect(done).toBe(200)
})
