import { appendFileSync, readdirSync } from 'node:fs'
import { expect, test } from 'vitest'
import { openWorld, type World } from '../support/world.ts'

/** A person says yes to the plan they were shown, perhaps an hour later: what came since is not in it. */

const closedOf = (world: World): string[] =>
  readdirSync(world.state('.'))
    .filter((name) => /^audit\.\d+\.jsonl$/.test(name))
    .sort()

function grow(world: World, files: number): void {
  const { audit } = world.runtime
  while (closedOf(world).length < files) {
    for (let n = 0; n < 100; n++) audit.note({ event: 'session.note', message: 'x'.repeat(n) })
    audit.head()
  }
}

const config = { limits: { auditFileBytes: 65_536 } }

test('what was written and closed after the plan was shown stays', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'by hand\n' }, config })
  grow(world, 1)
  const [shown] = closedOf(world)
  const plan = await world.runtime.pruning.plan(0)
  expect(plan.going).toEqual([expect.objectContaining({ what: 'closed files of the audit log', count: 1 })])
  for (let n = 0; n < 5; n++) await world.put('a.txt', `written ${n}\n`)
  const states = world.runtime.snapshots(100, '').map(({ id }) => id)
  grow(world, 3)
  const since = closedOf(world).filter((name) => name !== shown)
  const { gone } = await world.runtime.pruning.apply(plan, 'test')
  expect(closedOf(world)).toEqual(since)
  expect(gone).toEqual(plan.going)
  expect(world.runtime.snapshots(100, '').map(({ id }) => id)).toEqual(states)
  expect(await world.runtime.audit.check()).toMatchObject({ whole: true })
})

test('a log that was broken after the plan was shown keeps all its files', async () => {
  await using world = await openWorld({ config })
  grow(world, 1)
  const plan = await world.runtime.pruning.plan(0)
  appendFileSync(world.state('audit.jsonl'), '{"seq":1}\n')
  await world.runtime.pruning.apply(plan, 'test').catch(() => undefined)
  expect(closedOf(world)).toHaveLength(1)
})
