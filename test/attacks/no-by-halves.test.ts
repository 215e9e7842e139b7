// @stage
import { existsSync } from 'node:fs'
import { expect, test } from 'vitest'
import type { Approval } from '../../src/contracts/approval.ts'
import { agreed, approve, ask, withShell } from '../support/stage.ts'
import { openWorld, type World } from '../support/world.ts'

const files = { 'a.txt': 'precious a\n', 'b.txt': 'precious b\n', 'c.txt': 'precious c\n', 'd.txt': 'precious d\n' }
const all = { command: 'rm a.txt b.txt c.txt d.txt' }

const deny = (world: World, { id }: Approval, note?: string): void =>
  void world.runtime.approvals.decide(id, { approve: false, by: 'test', ...(note !== undefined && { note }) })
const notes = ({ card }: Approval): string => card.notes?.join('\n') ?? ''
const by = (client: string) => ({ client, session: `sess_${client}` })

test('a no to removing four files is not undone by halves, whoever asks, until it is taken back', async () => {
  await using world = await openWorld({ files: { ...files, 'e.txt': 'plain\n' }, flags: withShell })
  const no = await ask(world, all)
  deny(world, no, 'keep these files')
  // The very same is declined at once, as before.
  expect(await world.fault('shell', all, { approvalWaitMs: 0 })).toMatchObject({ message: expect.stringContaining('keep these') })
  const half = await ask(world, { command: 'rm a.txt b.txt' })
  expect(notes(half)).toMatch(/a\.txt, b\.txt: you declined a change of it on .* UTC: "keep these files"/)
  expect(notes(half)).toContain(`handrail approvals lift ${no.id}`)
  // Under another name, after a restart, in whichever way, with whichever tool.
  await world.reopen()
  expect(notes(await ask(world, { command: 'rm c.txt d.txt' }, 'shell', by('other')))).toContain('you declined')
  expect(notes(await ask(world, { command: 'mv c.txt away.txt' }, 'shell', by('other')))).toContain('you declined')
  expect(notes(await ask(world, { command: ': > c.txt' }, 'shell', by('other')))).toContain('you declined')
  const draft = { path: 'd.txt', content: 'gone\n', mode: 'overwrite' }
  await world.call('write_to_file', { ...draft, dryRun: true }, by('third'))
  expect(notes(await ask(world, { ...draft, dryRun: false }, 'write_to_file', by('third')))).toContain('you declined')
  // What the no was not about is as plain as ever.
  await world.call('shell', { command: 'rm e.txt; echo new > f.txt' }, { approvalWaitMs: 0 })
  world.runtime.approvals.lift(no.id, 'test')
  await world.call('shell', { command: 'rm c.txt d.txt' }, { approvalWaitMs: 0, ...by('other') })
  expect(existsSync(world.path('c.txt'))).toBe(false)
})

test('a yes after the no counts for its session; a removal is more than the change that was agreed to', async () => {
  await using world = await openWorld({ files, flags: withShell })
  deny(world, await ask(world, all))
  await agreed(world, { command: 'echo more >> a.txt' })
  await world.call('shell', { command: 'echo more >> a.txt' }, { approvalWaitMs: 0 })
  const gone = await ask(world, { command: 'rm a.txt' })
  expect(notes(gone)).toContain('and is removed or emptied')
  approve(world, gone)
  await world.call('shell', { command: 'rm a.txt' }, { approvalWaitMs: 0 })
  expect(existsSync(world.path('a.txt'))).toBe(false)
})

test('a no to a change of a file that runs holds where the session may change it otherwise', async () => {
  await using world = await openWorld({ files: { 'vite.config.ts': 'export {}\n' }, flags: withShell })
  await agreed(world, { command: 'echo 1 >> vite.config.ts' })
  await world.call('shell', { command: 'echo 2 >> vite.config.ts' }, { approvalWaitMs: 0 })
  deny(world, await ask(world, { command: 'echo evil >> vite.config.ts; ln -s a b' }))
  expect(notes(await ask(world, { command: 'echo evil >> vite.config.ts' }))).toContain('you declined a change of it')
})
