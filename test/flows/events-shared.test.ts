import { expect, test } from 'vitest'
import { openWorld } from '../support/world.ts'

// Many who follow the log at once: all hear everything, and whoever else has something to do has a turn in between.

const longerThanASlice = (): void => {
  const until = performance.now() + 8
  while (performance.now() < until);
}

test('followers are served over several turns of the event loop, and what is written meanwhile reaches them all', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  const { audit } = world.runtime
  await world.call('read_file', { path: 'a.txt' })
  audit.head()
  const count = 12
  const heard = Array.from({ length: count }, () => new Set<number>())
  let served = 0
  let between: number | undefined
  let last = Number.POSITIVE_INFINITY
  await new Promise<void>((resolve) => {
    for (const mine of heard)
      audit.subscribe({ from: 1 }, (lines) => {
        longerThanASlice()
        for (const { seq } of lines) mine.add(seq)
        if (++served === 1) setTimeout(() => (between ??= served), 0)
        // In the middle of a round: those who had their turn must hear of it as well.
        if (served === count / 2) {
          audit.note({ event: 'session.note', message: 'meanwhile' })
          last = audit.head().seq
        }
        if (heard.every((one) => one.has(last))) resolve()
      })
  })
  expect(between).toBeLessThan(count)
  for (const mine of heard) expect([...mine]).toEqual(Array.from({ length: last }, (_, at) => at + 1))
})

test('whoever follows one session hears its lines and no others, also where others name it', async () => {
  await using world = await openWorld()
  const { audit, gate } = world.runtime
  const from = audit.head().seq + 1
  audit.note({ event: 'session.note', session: 'sess_a"b', message: 'mine' })
  audit.note({ event: 'session.note', session: 'sess_other', message: '"session":"sess_a\\"b"' })
  audit.note({ event: 'session.note', session: 'sess_other', message: 'not mine' })
  audit.note({ event: 'session.note', session: 'sess_a"b', message: 'the last' })
  const until = audit.head().seq
  const messages: unknown[] = []
  await new Promise<void>((resolve) => {
    gate.events('sess_a"b', { from }, (lines, upTo) => {
      messages.push(...lines.map(({ message }) => message))
      if (upTo >= until) resolve()
    })
  })
  expect(messages).toEqual(['mine', 'the last'])
})
