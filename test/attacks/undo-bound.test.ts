import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { atTerminal } from '../support/terminal.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'

/** While the person reads what `undo` shows, agents go on. The yes is to what was shown. */
const columns = 100
const files = { 'a.txt': 'original a\n', 'b.txt': 'original b\n' }

const yesTo = (world: World, args: string[], meanwhile: () => Promise<unknown>) =>
  atTerminal(world.project, ['undo', ...args], { columns, answer: 'y', meanwhile })

test('--last: an agent that writes another file meanwhile does not get that undone, nor keeps its own', async () => {
  await using world = await openWorld({ files })
  await world.put('a.txt', 'evil\n')
  const end = await yesTo(world, ['--last'], () => world.put('b.txt', 'wanted\n'))
  expect(end.out).toContain('a.txt')
  expect(end.out).not.toContain('b.txt')
  expect([world.read('a.txt'), world.read('b.txt')]).toEqual(['original a\n', 'wanted\n'])
})

test('--session: what the session wrote after it was shown stays', async () => {
  await using world = await openWorld({ files })
  await world.put('a.txt', 'evil\n')
  const end = await yesTo(world, ['--session', 'sess_test'], () => world.put('b.txt', 'wanted\n'))
  expect(end.out).toContain('Undo 1 file?')
  expect(end.code, end.out).toBe(0)
  expect([world.read('a.txt'), world.read('b.txt')]).toEqual(['original a\n', 'wanted\n'])
})

test.for([['--last'], ['--session', 'sess_test']])('%j: the file itself written again: nothing is done', async (args) => {
  await using world = await openWorld({ files })
  await world.put('b.txt', 'before\n')
  await world.put('a.txt', 'evil\n')
  const end = await yesTo(world, args, () => world.put('a.txt', 'evil again\n'))
  expect(end.code).toBe(1)
  expect(end.out).toContain('E_CONFLICT')
  expect([world.read('a.txt'), world.read('b.txt')]).toEqual(['evil again\n', 'before\n'])
})

test('--to: the same', async () => {
  await using world = await openWorld({ files })
  await world.put('a.txt', 'evil\n')
  const to = world.runtime.snapshots(10, 'a.txt').at(-1)?.id ?? ''
  const end = await yesTo(world, ['--to', to], () => world.put('a.txt', 'evil again\n'))
  expect(end.out).toContain('E_CONFLICT')
  expect(world.read('a.txt')).toBe('evil again\n')
  expect(await atTerminal(world.project, ['undo', '--to', to], { columns, answer: 'y' })).toMatchObject({ code: 0 })
  expect(world.read('a.txt')).toBe('original a\n')
})

test('what another undo took back meanwhile is not taken back again', async () => {
  await using world = await openWorld({ files })
  await world.put('a.txt', 'one\n')
  await world.put('b.txt', 'two\n')
  const person = { role: 'person', session: 'cli-person' } as const
  const end = await yesTo(world, ['--last'], () => world.call('undo', { last: true, dryRun: false }, person))
  expect(end.code).toBe(1)
  expect([world.read('a.txt'), world.read('b.txt')]).toEqual(['one\n', 'original b\n'])
})

test.for([
  [['undo', '--last'], true],
  [['init', 'cursor', '--json'], false],
  [['state', 'reset'], true],
  // Each command in one of the two ways; in a soak in both.
  ...(isSoak
    ? [
        [['undo', '--last', '--json'], false],
        [['init', 'gemini'], true],
        [['state', 'reset', '--json'], false],
      ]
    : []),
] as [string[], boolean][])('%j, stdout in a file %s: nobody is asked about what was not shown', async ([args, redirected]) => {
  await using world = await openWorld({ files })
  await world.put('a.txt', 'evil\n')
  const into = redirected ? join(world.base, 'out.log') : undefined
  const end = await atTerminal(world.project, args, { columns, answer: 'y', ...(into !== undefined && { into }) })
  expect(end.out).not.toContain('[y/N]')
  expect(end.code).not.toBe(0)
  expect(`${end.out}${into === undefined ? '' : readFileSync(into, 'utf8')}`).toMatch(/--yes/)
  expect(world.read('a.txt')).toBe('evil\n')
})
