import { DatabaseSync } from '@photostructure/sqlite'
import { afterEach, expect, test, vi } from 'vitest'
import { openWorld } from '../support/world.ts'

afterEach(() => {
  vi.useRealTimers()
  vi.restoreAllMocks()
})

test('what is done by itself, with a store that refuses, does not end the process', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval', 'setTimeout', 'clearTimeout'] })
  const said = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const world = await openWorld({ files: { 'a.txt': 'a\n' } })
  try {
    // Whatever it is that breaks it: the store refuses from now on.
    const db = new DatabaseSync(world.state('handrail.db'))
    db.exec('DROP TABLE approvals')
    db.close()
    // A throw in a timer is thrown here.
    vi.advanceTimersByTime(61_000)
    expect(said.mock.calls.flat().join(' ')).toMatch(/store refused/)
  } finally {
    vi.useRealTimers()
    await world[Symbol.asyncDispose]().catch(() => undefined)
  }
})
