import { chmodSync, existsSync, mkdirSync, renameSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Approval } from '../../src/contracts/approval.ts'
import { openPins } from '../../src/stores/pins.ts'
import { fingerprint } from '../../src/host/fingerprint.ts'
import { openDatabase } from '../../src/host/database.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { approve, ask, noNamespaces, processesWith, soon, withShell } from '../support/stage.ts'
import { runInside } from '../support/inside.ts'
import { openWorld, type World } from '../support/world.ts'

const noDiff = { 'write-requires-diff': 'false' }
const run = { command: 'sh ./fetch.sh', network: true }
const harmless = 'echo harmless\n'
const evil = 'echo evil!!!\n'

let world: World
beforeAll(async () => {
  world = await openWorld({ files: { 'fetch.sh': harmless, 'other.txt': 'o\n' }, flags: { ...withShell, ...noDiff } })
})
afterAll(() => world[Symbol.asyncDispose]())

/** Asks, has the person agree, lets something happen, and makes the same call again. */
async function agreedThen(
  happens: () => unknown,
  input: Record<string, unknown> = run,
): Promise<{ code: string; asked: Approval }> {
  const asked = await ask(world, input)
  approve(world, asked)
  await happens()
  const { code } = await world.fault('shell', input, { approvalWaitMs: 0 })
  return { code, asked }
}

describe('a yes to the network is a yes to those bytes', () => {
  test('a script swapped after the yes is not run, however it is swapped; a new card is shown', async () => {
    const swaps: Record<string, () => unknown> = {
      'written over': () => world.write('fetch.sh', evil),
      'written by the agent itself': () => world.put('fetch.sh', evil),
      'same size and time': () => {
        const { atime, mtime } = statSync(world.path('fetch.sh'))
        world.write('fetch.sh', evil.slice(0, harmless.length))
        utimesSync(world.path('fetch.sh'), atime, mtime)
      },
      'another file moved over it': () => {
        world.write('other.sh', evil)
        renameSync(world.path('other.sh'), world.path('fetch.sh'))
      },
      'swapped and swapped back': () => {
        world.write('fetch.sh', evil)
        world.write('fetch.sh', harmless)
      },
      'a file it could source': () => world.write('sub/lib.sh', evil),
      permissions: () => chmodSync(world.path('fetch.sh'), 0o755),
    }
    for (const [how, swap] of Object.entries(swaps)) {
      world.write('fetch.sh', harmless)
      const { code, asked } = await agreedThen(swap)
      expect([how, code]).toEqual([how, 'E_CONFLICT'])
      expect(world.runtime.approvals.get(asked.id)?.state, how).toBe('void')
      expect((await ask(world, run)).id, how).not.toBe(asked.id)
    }
  })

  test('a script swapped while the card is open, with the call waiting, is not run', async () => {
    world.write('fetch.sh', `touch "$HOME/ran"; ${harmless}`)
    let asked = ''
    const waiting = world.fault('shell', run, { session: 'sess_waits', onApproval: (id) => void (asked = id) })
    expect(await soon(() => asked !== '')).toBe(true)
    world.write('fetch.sh', evil)
    world.runtime.approvals.decide(asked, { approve: true, by: 'test' })
    const fault = await waiting
    expect(fault.code).toBe('E_CONFLICT')
    expect(fault.message).toMatch(/was not run/)
  })

  test('what nothing changed runs, and what lies outside the project does not matter', async () => {
    world.write('fetch.sh', harmless)
    approve(world, await ask(world, run))
    writeFileSync(join(world.base, 'outside'), 'x')
    expect(await world.call('shell', run)).toMatchObject({ ok: true, stdout: harmless.slice(5) })
  })

  test('while it runs, no agent changes the project under it; a person does; afterwards everybody may again', async () => {
    const { snapshotId } = await world.put('other.txt', 'changed\n')
    world.write('fetch.sh', 'echo up; until [ -s go ]; do sleep 0.02; done; sh ./late.sh\n')
    world.write('late.sh', harmless)
    world.write('go', '')
    const input = { command: 'sh ./fetch.sh pinned-run', network: true }
    const options = { approvalWaitMs: 0, session: 'sess_runs' }
    approve(world, await ask(world, input, 'shell', options))
    const running = world.call('shell', input, options)
    expect(await soon(() => processesWith('pinned-run').length > 0)).toBe(true)
    const fault = await world.fault('write_to_file', { path: 'late.sh', content: evil, dryRun: false })
    expect(fault).toMatchObject({ code: 'E_CONFLICT', details: { tool: 'shell', paths: ['late.sh'] } })
    expect(fault.message).toMatch(/shell is running/)
    const plain = await world.fault('shell', { command: 'echo evil > late.sh' }, { approvalWaitMs: 0 })
    expect(plain, 'nor unasked').toMatchObject({ code: 'E_CONFLICT', details: { ran: { applied: false } } })
    const staging = { command: 'echo evil > late.sh; chmod 600 late.sh' }
    approve(world, await ask(world, staging))
    expect((await world.fault('shell', staging, { approvalWaitMs: 0 })).code).toBe('E_CONFLICT')
    expect(world.read('late.sh')).toBe(harmless)
    await world.call('undo', { snapshot: snapshotId, dryRun: false }, { role: 'person' })
    expect(world.read('other.txt')).toBe('o\n')
    writeFileSync(world.path('go'), 'on')
    expect(await running).toMatchObject({ stdout: `up\n${harmless.slice(5)}` })
    expect(await world.call('shell', staging, { approvalWaitMs: 0 }), 'the yes was not used up').toMatchObject({ ok: true })
    expect(world.read('late.sh')).toBe('evil\n')
    await world.call('write_to_file', { path: 'late.sh', content: 'free again\n', dryRun: false })
  })

  test('it lives minutes, while a yes to a change lives a day', async () => {
    const soonest = await ask(world, { ...run, command: 'true' })
    const longest = await ask(world, { path: 'package.json', content: '{}', dryRun: false }, 'write_to_file')
    expect(soonest.expiresAt - soonest.createdAt).toBe(600_000)
    expect(longest.expiresAt - longest.createdAt).toBe(86_400_000)
  })

  test('the same for a program that nothing confines, and for one that a plan calls R3', async () => {
    await using bare = await openWorld({
      files: { 'run.sh': harmless },
      flags: withShell,
      environment: (base) => ({ HANDRAIL_BUBBLEWRAP: noNamespaces(base) }),
    })
    const input = { command: 'sh ./run.sh' }
    approve(bare, await ask(bare, input))
    bare.write('run.sh', evil)
    expect((await bare.fault('shell', input, { approvalWaitMs: 0 })).code).toBe('E_CONFLICT')
    const raised = { approvalWaitMs: 0, raisedRisk: 'R3' } as const
    const called = { command: 'sh ./fetch.sh' }
    approve(world, await ask(world, called, 'shell', raised))
    world.write('fetch.sh', evil)
    expect((await world.fault('shell', called, raised)).code).toBe('E_CONFLICT')
  })
})

test('a yes to another agent is one to the folder it works in, as it was; the rest of the project may change', async () => {
  await using made = await openWorld({
    onDisk: true,
    files: { 'sandbox/workspaces/w/AGENTS.md': 'be kind\n', 'other.txt': 'o\n' },
  })
  const bin = join(made.base, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'opencode'), '#!/bin/sh\ncat AGENTS.md\n', { mode: 0o755 })
  await made.reopen({}, { PATH: `${bin}:/usr/bin:/bin` })
  const task = { agent: 'opencode', workspace_path: 'sandbox/workspaces/w', task_prompt: 'work' }
  approve(made, await ask(made, task, 'agent_run'))
  made.write('sandbox/workspaces/w/AGENTS.md', 'be evil\n')
  expect((await made.fault('agent_run', task, { approvalWaitMs: 0 })).code).toBe('E_CONFLICT')
  approve(made, await ask(made, task, 'agent_run'))
  made.write('other.txt', 'changed\n')
  expect(await made.call('agent_run', task)).toMatchObject({ success: true, stdout_excerpt: 'be evil\n' })
})

describe('the word for a project', () => {
  test('it changes with whatever is done below, not with looking, and never blocks the loop', async () => {
    const folder = join(world.base, 'many')
    for (let at = 0; at < 40; at++) {
      mkdirSync(join(folder, String(at)), { recursive: true })
      for (let file = 0; file < 100; file++) writeFileSync(join(folder, String(at), String(file)), 'x')
    }
    let turns = 0
    const counter = setInterval(() => turns++, 0)
    const first = await fingerprint(folder, [])
    clearInterval(counter)
    expect(turns).toBeGreaterThan(2)
    expect(await fingerprint(folder, [])).toBe(first)
    writeFileSync(join(folder, '30', '50'), 'y')
    expect(await fingerprint(folder, [])).not.toBe(first)
    await expect(fingerprint(folder, [], undefined, 100)).rejects.toMatchObject({ reason: 'too-large' })
    await expect(fingerprint(folder, [], AbortSignal.abort(new Error('gone')))).rejects.toThrow('gone')
  })

  test('a pin whose process is gone holds nobody', async () => {
    const db = openDatabase(join(world.base, 'pins.db'), schema, schemaVersion)
    const pins = openPins(db, { hold: async (act) => act() })
    const release = await pins.put({ call: 'one', tool: 't', scope: 'sub' }, 60_000)
    expect(pins.conflict(['a', 'sub2/x'], 'two')).toBeUndefined()
    expect(pins.conflict(['sub/x'], 'one')).toBeUndefined()
    expect(pins.conflict(['a', 'sub/x'], 'two')).toMatchObject({ reason: 'conflict', details: { running: 'one' } })
    release()
    db.run(`INSERT INTO pins VALUES ('dead', 't', '', '1-1', ?)`, Date.now() + 60_000)
    await pins.put({ call: 'late', tool: 't', scope: '' }, -1)
    expect(pins.conflict(['a', 'sub/x'], 'two')).toBeUndefined()
    expect(db.all('SELECT * FROM pins')).toEqual([])
    db.close()
  })
})

describe('whose yes, whose no', () => {
  const write = { path: 'package.json', content: '{ "name": "x" }\n', dryRun: false }
  const as = (session: string, client = 'one/1') => ({ session, client, approvalWaitMs: 0 })

  test('one agent cannot use the yes of another, nor another session of its own client', async () => {
    const asked = await ask(world, write, 'write_to_file', as('sess_a'))
    approve(world, asked)
    for (const other of [as('sess_b'), as('sess_c', 'two/1')]) {
      const theirs = await ask(world, write, 'write_to_file', other)
      expect(theirs.id).not.toBe(asked.id)
      expect(theirs.state).toBe('pending')
    }
    expect(existsSync(world.path('package.json'))).toBe(false)
    expect(await world.call('write_to_file', write, as('sess_a'))).toMatchObject({ applied: true })
  })

  test('a no holds for the next session of the same client, with the words; not for another; until it is lifted', async () => {
    const input = { ...write, content: '{ "name": "no" }\n' }
    const asked = await ask(world, input, 'write_to_file', as('sess_1', 'cli/1.0'))
    world.runtime.approvals.decide(asked.id, { approve: false, by: 'test', note: 'never on a Friday' })
    for (const again of [as('sess_1', 'cli/1.0'), as('sess_2', 'cli/1.0'), as('sess_3', 'cli/2.0')]) {
      const fault = await world.fault('write_to_file', input, again)
      expect(fault).toMatchObject({ details: { declined: true, approvalId: asked.id, note: 'never on a Friday' } })
    }
    expect((await ask(world, input, 'write_to_file', as('sess_4', 'other/1'))).state).toBe('pending')
    const lifted = await runInside(world.project, ['approvals', 'lift', asked.id])
    expect(lifted).toMatchObject({ code: 0, out: expect.stringContaining('taken back') as string })
    expect((await ask(world, input, 'write_to_file', as('sess_2', 'cli/1.0'))).state).toBe('pending')
    expect((await runInside(world.project, ['approvals', 'lift', asked.id])).err).toContain('E_CONFLICT')
    expect(world.runtime.audit.last(50).map(({ event }) => event)).toContain('approval.lifted')
  })

  test('a no to a run is not dodged by touching a file', async () => {
    const input = { command: 'curl example.org', network: true }
    const asked = await ask(world, input)
    world.runtime.approvals.decide(asked.id, { approve: false, by: 'test', note: 'stay here' })
    world.write('touched', String(Math.random()))
    expect(await world.fault('shell', input, { approvalWaitMs: 0 })).toMatchObject({ details: { note: 'stay here' } })
  })
})
