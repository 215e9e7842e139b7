import { readdirSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { afterEach, expect, test, vi } from 'vitest'
import { openWorld, type World } from '../support/world.ts'

afterEach(() => vi.useRealTimers())

const closedOf = (world: World): string[] => readdirSync(world.state('.')).filter((name) => /^audit\.\d+\.jsonl$/.test(name))
const day = 86_400_000

function grow(world: World, files: number): void {
  const { audit } = world.runtime
  while (closedOf(world).length < files) {
    for (let n = 0; n < 100; n++) audit.note({ event: 'session.note', message: 'x'.repeat(n) })
    audit.head()
  }
}

test('entries that a clock set back made old do not take younger ones before them along', async () => {
  await using world = await openWorld({ config: { limits: { auditFileBytes: 65_536, auditKeptDays: 30 } } })
  const now = Date.now()
  grow(world, 1)
  const [first] = closedOf(world)
  vi.useFakeTimers({ toFake: ['Date'], now: now - 400 * day })
  grow(world, 3)
  vi.setSystemTime(now)
  grow(world, 4)
  await turn()
  expect(closedOf(world)).toContain(first)
  expect((await world.runtime.pruning.plan(30)).going.map(({ what }) => what)).not.toContain('closed files of the audit log')
  // Once the youngest of them is old, they go.
  vi.setSystemTime(now + 31 * day)
  grow(world, 5)
  await turn()
  expect(closedOf(world)).not.toContain(first)
  expect(await world.runtime.audit.check()).toMatchObject({ whole: true })
})

test('more days than any calendar has: nothing is that old, and nothing breaks', async () => {
  await using world = await openWorld({ config: { limits: { auditFileBytes: 65_536, auditKeptDays: Number.MAX_SAFE_INTEGER } } })
  grow(world, 2)
  await turn()
  await turn()
  expect(closedOf(world)).toHaveLength(2)
  const plan = await world.runtime.pruning.plan(Number.MAX_SAFE_INTEGER)
  expect(plan.going).toEqual([])
  expect((await world.runtime.pruning.apply(plan, 'test')).gone).toEqual([])
})
