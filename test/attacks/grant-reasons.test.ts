// @stage
import { chmodSync, mkdirSync, rmSync, symlinkSync } from 'node:fs'
import { expect, test } from 'vitest'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { approve, ask, withShell } from '../support/stage.ts'
import { runInside } from '../support/inside.ts'
import { openWorld, type World } from '../support/world.ts'

// A yes "for the session", and a grant for good, are for the reasons that the person saw, and for no other that the file gets later.

const flags = { ...withShell, 'approval-wait-ms': '0', 'write-requires-diff': 'false' }
let count = 0

/** What comes of a write: it is done, or a person is asked; with `agree` they say yes and it is done. */
async function write(world: World, path: string, { agree = false, session = 'sess_test' } = {}): Promise<'done' | 'asked'> {
  const input = { path, content: `// ${count++}\n`, dryRun: false }
  try {
    await world.call('write_to_file', input, { session })
    return 'done'
  } catch (fault) {
    const id = fault instanceof Fault ? fault.details?.['approvalId'] : undefined
    if (typeof id !== 'string') throw fault
    world.runtime.approvals.decide(id, { approve: agree, by: 'test' })
    // The next write is judged for itself, and not for this no.
    if (!agree) world.runtime.approvals.lift(id, 'test')
    if (agree) await world.call('write_to_file', input, { session })
    return 'asked'
  }
}

/** What a program is asked about, or nothing. */
async function asksFor(world: World, command: string): Promise<string | undefined> {
  try {
    await world.call('shell', { command }, { approvalWaitMs: 0 })
    return undefined
  } catch (fault) {
    const id = fault instanceof Fault ? fault.details?.['approvalId'] : undefined
    if (typeof id !== 'string') throw fault
    const notes = world.runtime.approvals.get(id)?.card.notes?.join('\n')
    world.runtime.approvals.decide(id, { approve: false, by: 'test' })
    // The next write is judged for itself, and not for this no.
    world.runtime.approvals.lift(id, 'test')
    return notes
  }
}

test('a file that another starts from now on is asked about again, and one yes adds to the other', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n' }, flags })
  expect(await write(world, 'vite.config.ts', { agree: true })).toBe('asked')
  expect(await write(world, 'vite.config.ts')).toBe('done')
  world.write('package.json', JSON.stringify({ scripts: { prepare: 'node vite.config.ts' } }))
  expect(await write(world, 'vite.config.ts')).toBe('asked')
  expect(await write(world, 'vite.config.ts', { agree: true })).toBe('asked')
  expect(await write(world, 'vite.config.ts')).toBe('done')
  world.write('package.json', '{}\n')
  expect(await write(world, 'vite.config.ts')).toBe('done')
  expect(world.runtime.grants.list()).toMatchObject([
    {
      subject: 'vite.config.ts',
      reasons: ['runs when you build, test or lint', expect.stringContaining('is started by package.json') as string],
    },
  ])
})

test('a file that a link gives another name is asked about again', async () => {
  const files = { 'package.json': JSON.stringify({ scripts: { prepare: 'node tools/x.js' } }) }
  await using world = await openWorld({ files, flags })
  expect(await write(world, 'tools/x.js', { agree: true })).toBe('asked')
  expect(await write(world, 'tools/x.js')).toBe('done')
  symlinkSync('tools/x.js', world.path('vite.config.js'))
  expect(await write(world, 'tools/x.js')).toBe('asked')
})

test('a file in the place of which there is a link by now is not the one that was granted', async () => {
  await using world = await openWorld({ files: { Makefile: 'all:\n', 'docs/a.txt': 'a\n' }, flags })
  expect(await write(world, 'Makefile', { agree: true })).toBe('asked')
  rmSync(world.path('Makefile'))
  symlinkSync('docs/a.txt', world.path('Makefile'))
  expect(await write(world, 'docs/a.txt')).toBe('asked')
  expect(world.read('docs/a.txt')).toBe('a\n')
  expect((await world.fault('write_to_file', { path: 'Makefile', content: 'x\n', dryRun: false })).code).toMatch(
    /^E_(DENY_PATH|POLICY_VIOLATION)$/,
  )
})

test('who lets a file be changed has not said that it may go, be emptied, be executed or be a link', async () => {
  await using world = await openWorld({ files: { Makefile: 'all:\n\techo 1234567890\n', 'a.txt': 'a\n' }, flags })
  const change = { command: 'echo "# more" >> Makefile' }
  approve(world, await ask(world, change))
  await world.call('shell', change, { approvalWaitMs: 0 })
  expect(await asksFor(world, 'echo "# and more" >> Makefile')).toBeUndefined()
  for (const command of ['rm Makefile', ': > Makefile', 'mv Makefile old.txt', 'rm Makefile; mkdir Makefile'])
    expect([command, await asksFor(world, command)]).toEqual([command, expect.stringContaining('Makefile')])
  expect(await asksFor(world, 'chmod +x Makefile')).toContain('can be executed from now on')
  expect(await asksFor(world, 'ln -sf a.txt Makefile')).toContain('link')
  const remove = { command: 'rm Makefile; echo gone' }
  approve(world, await ask(world, remove))
  await world.call('shell', remove, { approvalWaitMs: 0 })
  // And the other way round: a yes to its going was none to what another one holds.
  for (const { id } of world.runtime.grants.list()) world.runtime.grants.revoke(id, 'test')
  world.write('Makefile', 'all:\n')
  approve(world, await ask(world, { command: 'rm Makefile; echo gone again' }))
  await world.call('shell', { command: 'rm Makefile; echo gone again' }, { approvalWaitMs: 0 })
  expect(await asksFor(world, 'echo all: > Makefile')).toContain('Makefile')
})

test('a yes to what is asked about each time leaves nothing behind for the same file', async () => {
  await using world = await openWorld({ files: { 'vite.config.ts': '//\n' }, flags })
  chmodSync(world.path('vite.config.ts'), 0o644)
  const input = { command: 'echo // 2 > vite.config.ts; chmod +x vite.config.ts' }
  const asked = await ask(world, input)
  expect(asked.card.notes?.join('\n')).not.toContain('not be asked again')
  approve(world, asked)
  await world.call('shell', input, { approvalWaitMs: 0 })
  expect(world.runtime.grants.list()).toEqual([])
  expect(await asksFor(world, 'echo // 3 > vite.config.ts')).toContain('vite.config.ts')
})

test('a grant for good is for the reasons of its day, in every session; what nobody or always asks about cannot be granted', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n' }, flags })
  const allow = (path: string) => runInside(world.project, ['grants', 'allow', 'runs', path, '--always'])
  expect(await allow('vite.config.ts')).toMatchObject({ code: 0 })
  expect(await write(world, 'vite.config.ts', { session: 'sess_other' })).toBe('done')
  world.write('package.json', JSON.stringify({ scripts: { prepare: 'node vite.config.ts' } }))
  expect(await write(world, 'vite.config.ts', { session: 'sess_other' })).toBe('asked')
  expect(await write(world, 'vite.config.ts')).toBe('asked')
  expect(await asksFor(world, 'rm vite.config.ts')).toContain('vite.config.ts')
  const listed = await runInside(world.project, ['grants', 'list'])
  expect(listed.out).toContain('runs when you build, test or lint')
  expect(await allow('notes.txt')).toMatchObject({ code: 2, err: expect.stringContaining('Nobody is asked about') as string })
  expect(await allow('package.json')).toMatchObject({ code: 2, err: expect.stringContaining('asked about each time') as string })
})

test('a secret that was granted is that file: behind a link in its place there is nothing to read', async () => {
  await using world = await openWorld({ files: { '.env': 'A=1\n', 'keys/id_rsa': 'canary\n' }, flags })
  world.runtime.openSession({ id: 'sess_test', surface: 'mcp-stdio', client: 'test/1' })
  await world.runtime.grants.give({ kind: 'secret', subject: '.env', session: 'sess_test', by: 'test' })
  expect(await world.call('read_file', { path: '.env' })).toMatchObject({ content: 'A=1\n' })
  rmSync(world.path('.env'))
  symlinkSync('keys/id_rsa', world.path('.env'))
  expect((await world.fault('read_file', { path: '.env' })).code).toBe('E_DENY_PATH')
  rmSync(world.path('.env'))
  mkdirSync(world.path('.env'))
  world.write('.env/id_rsa', 'canary\n')
  expect((await world.fault('read_file', { path: '.env/id_rsa' })).code).toBe('E_DENY_PATH')
})
