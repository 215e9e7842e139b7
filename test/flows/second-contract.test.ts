import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import type { Caller } from '../../src/contracts/call.ts'
import type { AgentCaller } from '../../src/contracts/gate.ts'
import type { Dialect } from '../../src/contracts/dialect.ts'
import { hintFor, type Reason } from '../../src/contracts/faults/fault.ts'
import type { Profile } from '../../src/contracts/profile.ts'
import { callInDialect } from '../../src/surfaces/dialect-call.ts'
import { auditText } from '../support/records.ts'
import { openWorld } from '../support/world.ts'

// A second contract, made up: two tools under other names, other fields, other codes, other path rules and no dry run. It is these rows and a
// profile, and nothing else; no line of the kernel, of the host or of a toolset knows of it. It has a second root, which the person named.

type Reply = { did: string; with: unknown } | { refused: string; because: string; instead?: string; ask?: unknown }

const codes: Partial<Record<Reason, string>> = {
  'bad-input': 'WRONG_WORDS',
  'unknown-tool': 'NO_SUCH_ACT',
  'path-denied': 'NOT_YOURS',
  'not-found': 'NO_SUCH_NOTE',
  'needs-approval': 'WAITS',
  declined: 'NO',
}

const notes: Dialect<Reply> = {
  rows: {
    'note.open': {
      tool: 'read_file',
      input: ({ note }) => ({ path: note }),
      result: ({ content }, { note }) => ({ note, text: content }),
    },
    'note.keep': {
      tool: 'write_to_file',
      input: ({ note, text }) => ({ path: note, content: text, dryRun: false }),
      result: ({ snapshotId }, { note }) => ({ note, version: snapshotId }),
    },
  },
  answer: (result, { callId }) => ({ did: callId, with: result }),
  failure(fault, names) {
    const instead = hintFor(fault, names)
    const ask = fault.details?.['approvalId']
    return {
      refused: codes[fault.reason] ?? 'FAILED',
      because: fault.message,
      ...(instead !== undefined && { instead }),
      ...(ask !== undefined && { ask }),
    }
  },
}

const profile: Profile = { paths: 'absolute', roots: ['shelf'], dryRun: false, forbids: ['sub'] }

const caller: AgentCaller = { surface: 'mcp-http', client: 'notes/1', session: 'sess_notes', role: 'agent' }
const person: Caller = { surface: 'cli', client: 'person', session: 'sess_person', role: 'person' }

async function open() {
  const world = await openWorld({
    files: { 'a.txt': 'one\n', 'package.json': '{}\n', 'sub/b.txt': '' },
    flags: { 'approval-wait-ms': '0' },
    config: (base: string) => ({ roots: [`shelf=${base}/shelf`] }),
    beside: { 'shelf/old.txt': 'old\n', 'shelf/package.json': '{}\n', 'shelf/sub/b.txt': '', 'shelf/.env': 'KEY=1\n' },
  })
  return {
    world,
    shelf: (name: string) => join(world.base, 'shelf', name),
    say: (name: string, input: unknown) => callInDialect(notes, world.runtime.gateFor(profile), { name, input }, caller),
  }
}

test('its own names, fields and results, over the same files', async () => {
  const { world, say } = await open()
  await using _ = world
  expect(await say('note.open', { note: 'a.txt' })).toMatchObject({ with: { note: 'a.txt', text: 'one\n' } })
  const note = world.path('a.txt')
  expect(await say('note.keep', { note, text: 'two\n' })).toMatchObject({
    with: { note, version: expect.stringMatching(/^snap_/) as string },
  })
  expect(world.read('a.txt')).toBe('two\n')
})

test('its own codes, and hints in its own words', async () => {
  const { world, say } = await open()
  await using _ = world
  expect(await say('note.open', { note: 'b.txt' })).toMatchObject({ refused: 'NO_SUCH_NOTE' })
  expect(await say('note.open', { note: 'b.txt' }), 'it has no tool that lists').not.toHaveProperty('instead')
  for (const note of ['../b.txt', 'sub/b.txt', world.path('sub/b.txt'), '/etc/passwd'])
    expect(await say('note.open', { note }), note).toMatchObject({ refused: 'NOT_YOURS' })
  expect(await say('note.open', { note: 7 })).toMatchObject({ refused: 'WRONG_WORDS' })
  expect(await say('note.open', ['a.txt'])).toMatchObject({ refused: 'WRONG_WORDS' })
  for (const name of ['read_file', 'note.burn', 'constructor', '__proto__'])
    expect(await say(name, { note: 'a.txt', path: 'a.txt' }), name).toMatchObject({ refused: 'NO_SUCH_ACT' })
  const kept = await say('note.keep', { note: 'package.json', text: '{"a":1}\n' })
  expect(kept).toMatchObject({ refused: 'WAITS', ask: expect.stringMatching(/^appr_/) as string })
  world.runtime.approvals.decide((kept as { ask: string }).ask, { approve: false, by: 'the person', note: 'leave it' })
  expect(await say('note.keep', { note: 'package.json', text: '{"a":1}\n' })).toMatchObject({ refused: 'NO' })
  expect(world.read('package.json')).toBe('{}\n')
})

test('what it did is in the log and can be taken back', async () => {
  const { world, say } = await open()
  await using _ = world
  const { did } = (await say('note.keep', { note: 'a.txt', text: 'two\n' })) as { did: string }
  const lines = auditText(world)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditLine)
  expect(lines.find((line) => line.call === did && line.event === 'call.end')).toMatchObject({
    tool: 'write_to_file',
    client: 'notes/1',
    outcome: 'ok',
  })
  await world.runtime.call('undo', { call: did, dryRun: false }, person)
  expect(world.read('a.txt')).toBe('one\n')
})

const linesOf = (world: Awaited<ReturnType<typeof open>>['world']): AuditLine[] =>
  auditText(world)
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as AuditLine)

test('its second root: read, written, refused, written down under its name and taken back', async () => {
  const { world, shelf, say } = await open()
  await using _ = world
  expect(await say('note.open', { note: shelf('old.txt') })).toMatchObject({ with: { text: 'old\n' } })
  for (const note of [
    shelf('sub/b.txt'),
    shelf('.env'),
    `${shelf('')}/../project/a.txt`,
    `${shelf('')}//etc/passwd`,
    '//other/a.txt',
  ])
    expect(await say('note.open', { note }), note).toMatchObject({ refused: 'NOT_YOURS' })
  expect(
    await say('note.keep', { note: shelf('package.json'), text: '{"a":1}\n' }),
    'what runs is asked about there too',
  ).toMatchObject({
    refused: 'WAITS',
  })
  const kept = (await say('note.keep', { note: shelf('old.txt'), text: 'new\n' })) as { did: string }
  const made = (await say('note.keep', { note: shelf('deep/er/new.txt'), text: 'made\n' })) as { did: string }
  await say('note.keep', { note: 'old.txt', text: 'a file of that name in the project\n' })
  expect(readFileSync(shelf('old.txt'), 'utf8')).toBe('new\n')

  const end = linesOf(world).find((line) => line.call === kept.did && line.event === 'call.start')
  expect(end).toMatchObject({ tool: 'write_to_file', touches: [{ path: '//shelf/old.txt', access: 'write' }] })
  expect(linesOf(world).find((line) => line.event === 'root.named')?.details).toEqual({ name: 'shelf', path: shelf('') })
  expect(world.runtime.snapshots(10, '//shelf/').map(({ path, kind }) => [path, kind])).toEqual([
    ['//shelf/deep/er/new.txt', 'write'],
    ['//shelf/old.txt', 'write'],
    ['//shelf/old.txt', 'baseline'],
  ])
  await world.runtime.call('undo', { call: kept.did, dryRun: false }, person)
  expect(readFileSync(shelf('old.txt'), 'utf8')).toBe('old\n')
  await world.runtime.call('undo', { call: made.did, dryRun: false }, person)
  expect(existsSync(shelf('deep')), 'folders that came with it go with it').toBe(false)
  expect(world.read('old.txt')).toBe('a file of that name in the project\n')
})

test('callers of a profile without that root cannot reach it, and do not learn that it is there', async () => {
  const { world, shelf, say } = await open()
  await using _ = world
  await say('note.keep', { note: 'own.txt', text: 'new\n' })
  const { with: kept } = (await say('note.keep', { note: shelf('old.txt'), text: 'new\n' })) as { with: { version: string } }
  const others = [world.runtime.gate, world.runtime.gateFor({ paths: 'absolute', dryRun: false })]
  for (const gate of others) {
    const ask = (tool: string, input: object): Promise<unknown> =>
      gate.call(tool, input, caller, { asResource: true }).then(
        ({ output }) => output,
        (fault: unknown) => fault,
      )
    for (const path of ['//shelf/old.txt', '//shelf', shelf('old.txt'), shelf('')]) {
      expect(await ask('read_file', { path }), path).toMatchObject({ reason: 'path-denied' })
      expect(await ask('list_files', { path }), path).toMatchObject({ reason: 'path-denied' })
      expect(await ask('search_files', { path, regex: '.' }), path).toMatchObject({ reason: 'path-denied' })
      expect(await ask('write_to_file', { path, content: 'x', dryRun: false }), path).toMatchObject({ reason: 'path-denied' })
    }
    const own = { snapshots: [expect.objectContaining({ path: 'own.txt' })] }
    expect(await ask('list_snapshots', {})).toEqual(own)
    expect(await ask('list_snapshots', { limit: 1 }), 'what is not shown takes no place either').toEqual(own)
    expect(await ask('list_snapshots', { path: '//shelf' })).toEqual({ snapshots: [] })
    expect(gate.snapshotIds()).toHaveLength(1)
    const unknown = await ask('restore_snapshot', { snapshotId: kept.version })
    expect(unknown).toMatchObject({ reason: 'not-found' })
    expect(JSON.stringify([unknown, await ask('read_audit', { last: 1_000 })])).not.toContain('shelf/old')
    expect(await ask('undo', { snapshot: kept.version, dryRun: false })).toMatchObject({ reason: 'unknown-tool' })
  }
  expect(readFileSync(shelf('old.txt'), 'utf8')).toBe('new\n')
})
