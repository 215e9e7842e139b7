import { expect, test } from 'vitest'
import { oneInATurn, openPace, runInSlices, wait, type Steps } from './steps.ts'

const workers = 16
const rounds = 24
const stepMs = 0.5

function busy(): void {
  for (const until = performance.now() + stepMs; performance.now() < until;);
}

/** How many of these steps fall into one turn of the event loop, at most. */
async function mostInOneTurn(work: (step: () => void) => Promise<unknown>): Promise<number> {
  let [inTurn, most, open] = [0, 0, true]
  const turn = (): void => {
    inTurn = 0
    if (open) setImmediate(turn)
  }
  turn()
  const step = (): void => {
    busy()
    most = Math.max(most, ++inTurn)
  }
  await Promise.all(Array.from({ length: workers }, () => work(step)))
  open = false
  return most
}

test('many long works at once take no more of a turn of the event loop than one', async () => {
  /** What one long work does in a turn, and what each may do before it counts as long. */
  const most = 5 / stepMs + 2 + workers * (1 / stepMs + 1)
  function* long(step: () => void): Steps<void> {
    for (let round = 0; round < rounds; round++) {
      step()
      yield
    }
  }
  expect(await mostInOneTurn((step) => runInSlices(long(step)))).toBeLessThan(most)
  /** Those that wait for the disk now and then are woken together. */
  const together = new Map<number, Promise<void>>()
  const disk = (round: number): Promise<void> => {
    const found = together.get(round) ?? new Promise<void>((resolve) => setTimeout(resolve, 5))
    together.set(round, found)
    return found
  }
  function* waiting(step: () => void): Steps<void> {
    for (let round = 0; round < 4; round++) {
      yield* wait(
        () => undefined,
        () => disk(round),
      )
      for (let some = 0; some < 8; some++) {
        step()
        yield
      }
    }
  }
  expect(await mostInOneTurn((step) => runInSlices(waiting(step)))).toBeLessThan(most)
  const paced = async (step: () => void): Promise<void> => {
    const pace = openPace()
    for (let round = 0; round < rounds; round++) {
      step()
      if (pace.due()) await pace.turn()
    }
  }
  expect(await mostInOneTurn(paced)).toBeLessThan(most)
})

test('of those who come together one begins in each turn, and one alone at once', async () => {
  const turn = oneInATurn()
  expect(
    await mostInOneTurn(async (step) => {
      await turn()
      step()
    }),
  ).toBe(1)
  let begun = false
  setImmediate(() => (begun = true))
  await turn()
  expect(begun).toBe(false)
})

test('short work does not wait behind long ones, and none of the long ones is left behind', async () => {
  const done = Array.from({ length: 4 }, () => 0)
  let over = false
  function* long(at: number): Steps<void> {
    while (!over) {
      busy()
      done[at] = (done[at] as number) + 1
      yield
    }
  }
  const all = done.map((_, at) => runInSlices(long(at)))
  function* short(): Steps<string> {
    for (let step = 0; step < 1_000; step++) yield
    return 'read'
  }
  let turns = 0
  const count = (): void => {
    turns++
    if (!over) setImmediate(count)
  }
  count()
  for (let reads = 0; reads < 20; reads++) {
    await new Promise((resolve) => setImmediate(resolve))
    const before = turns
    expect(await runInSlices(short())).toBe('read')
    // A thousand steps of nothing may, on a slow machine, be a turn or two.
    expect(turns - before).toBeLessThan(20)
  }
  while (turns < 200) await new Promise((resolve) => setImmediate(resolve))
  over = true
  await Promise.all(all)
  expect(Math.max(...done)).toBeLessThan(Math.min(...done) * 4)
})
