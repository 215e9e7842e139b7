import { expect, test } from 'vitest'
import { dyingWhen, killedAt } from '../support/killed-at.ts'
import { runInside } from '../support/inside.ts'
import { draws } from '../support/seed.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, runCli } from '../support/world.ts'

const names = Array.from({ length: 6 }, (_, index) => `f${index}.txt`)
const mostMoments = 300

test('a file that a person changed after a kill in mid-commit: log, timeline and undo say what stands', async () => {
  await using world = await openWorld({ files: Object.fromEntries(names.map((name) => [name, `old ${name}\n`])) })
  const session = 'sess_many'
  for (const path of names)
    for (const dryRun of [true, false]) await world.call('write_to_file', { path, content: `new ${path}\n`, dryRun }, { session })
  const isBack = (name: string): boolean => world.read(name) === `old ${name}\n`
  // A change of several files in one call is an undo here: it needs no stage. In a soak it is killed at each write, the first of them before its
  // first move; else between two moves.
  const undone = ['undo', '--session', session, '--yes']
  if (!isSoak) await runCli(world.project, undone, { env: dyingWhen(world.base, `after ${names[2 + draws('moved')(2)]}`) })
  for (let moment = 12; isSoak; moment++) {
    expect(moment).toBeLessThan(mostMoments)
    await killedAt(world.base, world.project, undone, moment, 'INSERT INTO snapshots')
    if (names.some(isBack)) break
    // What was left before the first move is put right, and the next kill comes later.
    await world.put('between.txt', `${moment}\n`)
  }
  const waiting = names.filter((name) => !isBack(name))
  expect(waiting.length, 'the kill came between two moves').toBeGreaterThan(1)
  const theirs = waiting[0] as string
  world.write(theirs, 'mine\n')

  await world.put('after.txt', 'somebody takes the lock\n')
  expect(world.read(theirs)).toBe('mine\n')
  const landed = names.filter((name) => name !== theirs)
  expect(landed.filter(isBack)).toEqual(landed)
  const told = world.runtime.audit.last(1, ({ event }) => event === 'recovered')[0]
  expect(told).toMatchObject({ details: { leftAsFound: [theirs] } })
  expect(told?.message).toContain('left as found')
  expect(((told?.touches ?? []) as { path: string }[]).map(({ path }) => path).toSorted()).toEqual(landed)
  expect(world.runtime.snapshots(1, theirs)[0]?.call, 'the timeline does not say that it landed there').not.toBe(told?.call)

  expect(await runInside(world.project, ['undo', told?.call ?? '', '--yes'])).toMatchObject({ code: 0 })
  for (const name of landed) expect(world.read(name)).toBe(`new ${name}\n`)
  expect(world.read(theirs)).toBe('mine\n')
})
