import { chmodSync, chownSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import type { Snapshot } from '../../src/contracts/snapshot.ts'
import { openInside, runInside } from '../support/inside.ts'
import { openWorld, type CliEnd, type Peer, type World } from '../support/world.ts'

interface Written {
  call: string
  snapshotId: string
}

/** Dry run and write over MCP; the call id and the id of the new state. */
async function put(peer: Peer, path: string, content: string, mode = 'overwrite'): Promise<Written> {
  const input = { path, content, mode }
  expect(await peer.call('write_to_file', { ...input, dryRun: true })).toMatchObject({ applied: false })
  const result = await peer.client.callTool({ name: 'write_to_file', arguments: { ...input, dryRun: false } })
  expect(result.isError, JSON.stringify(result.content)).toBeFalsy()
  const { snapshotId } = result.structuredContent as { snapshotId: string }
  return { call: String(result._meta?.['handrail/call']), snapshotId }
}

const undo = (world: World, ...args: string[]): Promise<CliEnd> => runInside(world.project, ['undo', ...args])

/** Undoes and gives the call id of the undo itself. */
async function undone(world: World, ...args: string[]): Promise<string> {
  const end = await undo(world, ...args, '--yes', '--json')
  expect(end, end.err).toMatchObject({ code: 0 })
  return (JSON.parse(end.out) as { call: string }).call
}

const snapshotsOf = (world: World, prefix = ''): Snapshot[] => world.runtime.snapshots(1_000, prefix)

/** The session that was there last. */
const sessionOf = (world: World): string => world.runtime.sessions()[0]?.id ?? ''

/** Every file of the project with its bytes, our own state left out. */
function picture(world: World): Record<string, string> {
  const files = readdirSync(world.project, { withFileTypes: true, recursive: true })
  return Object.fromEntries(
    files
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .sort()
      .map((name) => [name, readFileSync(name, 'latin1')]),
  )
}

/** The refusal leaves the files and the timeline exactly as they were. */
async function refuses(world: World, args: string[], code: number, ...words: string[]): Promise<void> {
  const files = picture(world)
  const kept = snapshotsOf(world)
  const end = await undo(world, ...args)
  expect(end.code, end.out + end.err).toBe(code)
  for (const word of words) expect(end.err + end.out).toContain(word)
  expect(picture(world)).toEqual(files)
  expect(snapshotsOf(world)).toEqual(kept)
}

const auditOf = (world: World): AuditLine[] => [...world.runtime.audit.lines()]

test('the original of a file is restorable byte for byte, with its mode and owner', async () => {
  const original = Buffer.from('\uFEFFfirst line\r\nsecond – 行\r\nno end', 'utf8')
  await using world = await openWorld({ files: { 'run.sh': original } })
  chmodSync(world.path('run.sh'), 0o755)
  if (process.getuid?.() === 0) chownSync(world.path('run.sh'), 1234, 2345)
  const before = statSync(world.path('run.sh'))
  {
    await using peer = await openInside(world.project)
    await put(peer, 'run.sh', 'short\nnew\n')
    expect(readFileSync(world.path('run.sh'))).toEqual(Buffer.from('\uFEFFshort\r\nnew\r\n'))
    expect(statSync(world.path('run.sh'))).toMatchObject({ mode: before.mode, uid: before.uid, gid: before.gid })
    const { snapshots } = (await peer.call('list_snapshots', { path: 'run.sh' })) as { snapshots: { id: string }[] }
    expect(snapshots).toHaveLength(2)
    expect(await peer.call('restore_snapshot', { snapshotId: snapshots[1]?.id })).toEqual({
      path: 'run.sh',
      content: original.toString('utf8'),
    })
  }
  await undone(world, '--last')
  expect(readFileSync(world.path('run.sh'))).toEqual(original)
  expect(statSync(world.path('run.sh'))).toMatchObject({ mode: before.mode, uid: before.uid, gid: before.gid })
})

test('a file that is not text was never written, so it is not harmed; an empty original comes back empty', async () => {
  await using world = await openWorld({ files: { 'empty.txt': '', 'bin.dat': Buffer.from([0, 255, 1, 254]) } })
  await using peer = await openInside(world.project)
  expect((await peer.call('write_to_file', { path: 'bin.dat', content: 'x', dryRun: true })).error?.code).toBe('E_ENCODING')
  await put(peer, 'empty.txt', 'something\n')
  await undone(world, '--last')
  expect(existsSync(world.path('empty.txt'))).toBe(true)
  expect(world.read('empty.txt')).toBe('')
})

test('undo of a create removes the file and the folders made for it, and no others', async () => {
  await using world = await openWorld({ files: { 'kept/here.txt': 'here\n' } })
  await using peer = await openInside(world.project)
  await put(peer, 'kept/a/b/c/new.txt', 'new\n')
  await put(peer, 'other/deep/new.txt', 'new\n')
  writeFileSync(world.path('other/mine.txt'), 'made by hand\n')
  const end = await undo(world, '--last', '--yes')
  expect(end).toMatchObject({ code: 0 })
  expect(end.out).toContain('removed')
  expect(existsSync(world.path('other/deep'))).toBe(false)
  expect(readdirSync(world.path('other'))).toEqual(['mine.txt'])
  await undone(world, '--last')
  expect(readdirSync(world.path('kept'))).toEqual(['here.txt'])
})

test('undo of a create that was written again and walked back still removes the folders', async () => {
  await using world = await openWorld()
  await using peer = await openInside(world.project)
  for (const word of ['one', 'two', 'three']) await put(peer, 'made/for/it.txt', `${word}\n`)
  for (const word of ['two', 'one']) {
    await undone(world, '--last')
    expect(world.read('made/for/it.txt')).toBe(`${word}\n`)
  }
  await undone(world, '--last')
  expect(existsSync(world.path('made'))).toBe(false)
})

test('undo refuses after a later change from outside, shows it, and touches nothing', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await using peer = await openInside(world.project)
  const { snapshotId } = await put(peer, 'a.txt', 'two\nsame\n')
  world.write('a.txt', 'two\nmine, by hand\n')
  await refuses(world, ['--last', '--yes'], 1, 'E_CONFLICT', 'a.txt', 'mine, by hand', 'same')
  await refuses(world, [snapshotId, '--yes'], 1, 'E_CONFLICT', 'mine, by hand')
  const json = await undo(world, '--last', '--yes', '--json')
  expect((JSON.parse(json.err) as { error: unknown }).error).toMatchObject({
    code: 'E_CONFLICT',
    details: { path: 'a.txt', changedSince: { hunks: [{ linesOld: ['same'], linesNew: ['mine, by hand'] }] } },
  })
  expect(world.read('a.txt')).toBe('two\nmine, by hand\n')
})

test('undo refuses where the file was removed from outside', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n', 'b.txt': 'one\n' } })
  await using peer = await openInside(world.project)
  await put(peer, 'a.txt', 'two\n')
  rmSync(world.path('a.txt'))
  await refuses(world, ['--last', '--yes'], 1, 'E_CONFLICT', 'a.txt')
})

test('undo --last again and again walks back to the beginning', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a0\n', 'b.txt': 'b0\n' } })
  const begin = picture(world)
  await using peer = await openInside(world.project)
  await put(peer, 'a.txt', 'a1\n')
  await put(peer, 'b.txt', 'b1\n')
  expect(await peer.call('replace_in_file', { path: 'a.txt', find: 'a1', replace: 'a2' })).toEqual({ count: 1 })
  await put(peer, 'c.txt', 'c1\n')
  await put(peer, 'b.txt', 'b2\n', 'append')
  const states = [
    { 'a.txt': 'a2\n', 'b.txt': 'b1\n', 'c.txt': 'c1\n' },
    { 'a.txt': 'a2\n', 'b.txt': 'b1\n', 'c.txt': undefined },
    { 'a.txt': 'a1\n', 'b.txt': 'b1\n', 'c.txt': undefined },
    { 'a.txt': 'a1\n', 'b.txt': 'b0\n', 'c.txt': undefined },
    { 'a.txt': 'a0\n', 'b.txt': 'b0\n', 'c.txt': undefined },
  ]
  for (const state of states) {
    await undone(world, '--last')
    for (const [name, content] of Object.entries(state))
      expect(existsSync(world.path(name)) ? world.read(name) : undefined).toBe(content)
  }
  expect(picture(world)).toEqual(begin)
  await refuses(world, ['--last', '--yes'], 1, 'E_NOT_FOUND', 'Nothing to undo')
})

test('undo by call id and by snapshot id takes back exactly that write', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a0\n', 'b.txt': 'b0\n' } })
  await using peer = await openInside(world.project)
  const a = await put(peer, 'a.txt', 'a1\n')
  const b = await put(peer, 'b.txt', 'b1\n')
  await undone(world, a.call)
  expect([world.read('a.txt'), world.read('b.txt')]).toEqual(['a0\n', 'b1\n'])
  await undone(world, b.snapshotId)
  expect([world.read('a.txt'), world.read('b.txt')]).toEqual(['a0\n', 'b0\n'])
  await refuses(world, ['call_000000000000000000000000', '--yes'], 1, 'E_NOT_FOUND')
  await refuses(world, ['snap_20200101T000000_00000000', '--yes'], 1, 'E_NOT_FOUND')
})

test('an original is no write: undoing it says so', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a0\n' } })
  await using peer = await openInside(world.project)
  await put(peer, 'a.txt', 'a1\n')
  const baseline = snapshotsOf(world).find((one) => one.kind === 'baseline')
  await refuses(world, [baseline?.id ?? '', '--yes'], 1, 'E_NOT_FOUND', 'before Handrail wrote')
})

/** Three files, several writes each, one of them new in a new folder; all in one session. */
async function busySession(world: World): Promise<string> {
  await using peer = await openInside(world.project)
  for (let round = 1; round <= 3; round++) {
    await put(peer, 'a.txt', `a${round}\n`)
    await put(peer, 'sub/b.txt', `b${round}\n`, 'append')
    await put(peer, 'new/folder/c.txt', `c${round}\n`)
  }
  return sessionOf(world)
}

test('undo --session takes back every write of a session on every file', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a0\n', 'sub/b.txt': 'b0\n' } })
  const begin = picture(world)
  const session = await busySession(world)
  expect(world.read('sub/b.txt')).toBe('b0\nb1\nb2\nb3\n')
  await undone(world, '--session', session)
  expect(picture(world)).toEqual(begin)
  expect(existsSync(world.path('new'))).toBe(false)
  await refuses(world, ['--session', session, '--yes'], 1, 'E_NOT_FOUND')
  await refuses(world, ['--session', 'sess_nobody', '--yes'], 1, 'E_NOT_FOUND')
})

test('undo --session is all or nothing', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a0\n', 'sub/b.txt': 'b0\n' } })
  const session = await busySession(world)
  world.write('sub/b.txt', 'by hand\n')
  await refuses(world, ['--session', session, '--yes'], 1, 'E_CONFLICT', 'sub/b.txt', 'by hand')
})

test('undo --session leaves out what was undone before', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a0\n', 'sub/b.txt': 'b0\n' } })
  const begin = picture(world)
  const session = await busySession(world)
  await undone(world, '--last')
  await undone(world, '--last')
  await undone(world, '--session', session)
  expect(picture(world)).toEqual(begin)
})

test('an undo is undone by its call id, and can be done again', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a0\n' } })
  await using peer = await openInside(world.project)
  await put(peer, 'a.txt', 'a1\n')
  await put(peer, 'new/b.txt', 'b1\n')
  const first = await undone(world, '--last')
  expect(existsSync(world.path('new'))).toBe(false)
  const second = await undone(world, first)
  expect(world.read('new/b.txt')).toBe('b1\n')
  await undone(world, second)
  expect(existsSync(world.path('new/b.txt'))).toBe(false)
  expect(world.read('a.txt')).toBe('a1\n')
})

test('after an undo was undone, the write stands again: --last and --session take it back again', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a0\n' } })
  await using peer = await openInside(world.project)
  await put(peer, 'a.txt', 'a1\n')
  await put(peer, 'a.txt', 'a2\n')
  await undone(world, await undone(world, '--last'))
  expect(world.read('a.txt')).toBe('a2\n')
  await undone(world, '--last')
  expect(world.read('a.txt')).toBe('a1\n')
  await undone(world, '--session', sessionOf(world))
  expect(world.read('a.txt')).toBe('a0\n')
})

test('undo refuses where another session wrote in between', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a0\n', 'b.txt': 'b0\n' } })
  await using one = await openInside(world.project)
  const first = await put(one, 'a.txt', 'one\n')
  await put(one, 'b.txt', 'one\n')
  const session = sessionOf(world)
  await using two = await openInside(world.project)
  await put(two, 'a.txt', 'two\n')
  await refuses(world, ['--session', session, '--yes'], 1, 'E_CONFLICT', 'a.txt')
  await refuses(world, [first.snapshotId, '--yes'], 1, 'E_CONFLICT', 'a.txt')
  await put(one, 'a.txt', 'one again\n')
  await refuses(world, ['--session', session, '--yes'], 1, 'E_CONFLICT', 'a.txt')
})

test('undoing the same thing twice is refused', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a0\n' } })
  await using peer = await openInside(world.project)
  const { snapshotId, call } = await put(peer, 'a.txt', 'a1\n')
  await undone(world, snapshotId)
  await refuses(world, [snapshotId, '--yes'], 1, 'E_NOT_FOUND')
  await refuses(world, [call, '--yes'], 1, 'E_NOT_FOUND')
  await refuses(world, ['--last', '--yes'], 1, 'E_NOT_FOUND')
})

test.for([[[]], [['--json']]] as [string[]][])(
  'undo without --yes and without a terminal refuses with exit code 2 %j',
  async ([args]) => {
    await using world = await openWorld({ files: { 'a.txt': 'a0\n' } })
    await using peer = await openInside(world.project)
    await put(peer, 'a.txt', 'a1\n')
    await refuses(world, ['--last', ...args], 2, 'E_BAD_ARGS', '--yes')
  },
)

test('undo wants exactly one thing', async () => {
  await using world = await openWorld()
  await refuses(world, ['--yes'], 2, 'E_BAD_ARGS')
  await refuses(world, ['--last', '--session', 'sess_x', '--yes'], 2, 'E_BAD_ARGS')
  await refuses(world, ['snap_20200101T000000_00000000', '--last', '--yes'], 2, 'E_BAD_ARGS')
})

test('an undo is a write like any other: shown first, in the audit by a person, with both states kept', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a0\n' } })
  await using peer = await openInside(world.project)
  await put(peer, 'a.txt', 'a1\n')
  const shown = await undo(world, '--last', '--yes')
  expect(shown.out).toContain('- a1')
  expect(shown.out).toContain('+ a0')
  const lines = auditOf(world).filter((line) => line.tool === 'undo' && line.event !== 'call.read')
  expect(lines.map((line) => [line.event, line.role, line.surface])).toEqual([
    ['call.start', 'person', 'cli'],
    ['call.end', 'person', 'cli'],
  ])
  expect(lines[0]?.call).toBe(lines[1]?.call)
  expect(shown.out).toContain(lines[0]?.call)
  expect(snapshotsOf(world, 'a.txt').map((one) => [one.kind, one.undoneBy !== null])).toEqual([
    ['write', false],
    ['write', true],
    ['baseline', false],
  ])
  expect(await runInside(world.project, ['audit', 'verify'])).toMatchObject({ code: 0 })
})

test('an agent is not offered undo and cannot call it', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a0\n' } })
  await using peer = await openInside(world.project)
  await put(peer, 'a.txt', 'a1\n')
  const { tools } = await peer.client.listTools()
  expect(tools.map((tool) => tool.name)).not.toContain('undo')
  await expect(peer.call('undo', { last: true, dryRun: false })).rejects.toThrow(/unknown tool/i)
  const end = await runInside(world.project, ['call', 'undo', '{"last":true,"dryRun":false}'])
  expect(end).toMatchObject({ code: 1, err: expect.stringContaining('E_UNSUPPORTED') as string })
  expect(world.read('a.txt')).toBe('a1\n')
})

const contentFile = (world: World, id: string): string => world.state(`snapshots/${id}.txt`)

test('retention drops the oldest states, never the original, and says so in the audit', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'original\n' }, config: { limits: { snapshotRetention: 4 } } })
  await using peer = await openInside(world.project)
  const writes: Written[] = []
  for (let n = 1; n <= 12; n++) writes.push(await put(peer, 'a.txt', `state ${n}\n`))
  const kept = snapshotsOf(world, 'a.txt')
  expect(kept).toHaveLength(4)
  const original = kept.at(-1)
  expect(original).toMatchObject({ kind: 'baseline' })
  expect(await peer.call('restore_snapshot', { snapshotId: original?.id })).toEqual({ path: 'a.txt', content: 'original\n' })
  expect(kept.slice(0, 3).map((one) => one.id)).toEqual(
    writes
      .slice(-3)
      .map((one) => one.snapshotId)
      .reverse(),
  )
  const dropped = writes.slice(0, -3).map((one) => one.snapshotId)
  const told = auditOf(world)
    .filter((line) => line.event === 'snapshot.pruned')
    .flatMap((line) => line.snapshots ?? [])
  expect(told.sort()).toEqual(dropped.sort())
  for (const id of dropped) {
    expect(existsSync(contentFile(world, id))).toBe(false)
    expect((await peer.call('restore_snapshot', { snapshotId: id })).error?.code).toBe('E_NOT_FOUND')
  }
  await undone(world, '--last')
  expect(world.read('a.txt')).toBe('state 11\n')
})

test('the last write can be undone at the smallest retention that may be set', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'original\n' }, config: { limits: { snapshotRetention: 3 } } })
  await using peer = await openInside(world.project)
  for (const n of [1, 2, 3]) await put(peer, 'a.txt', `state ${n}\n`)
  await undone(world, '--last')
  expect(world.read('a.txt')).toBe('state 2\n')
})

test('a session that wrote a file more often than states are kept can be undone to the original', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'original\n' }, config: { limits: { snapshotRetention: 4 } } })
  await using peer = await openInside(world.project)
  for (let n = 1; n <= 8; n++) await put(peer, 'a.txt', `state ${n}\n`)
  await undone(world, '--session', sessionOf(world))
  expect(world.read('a.txt')).toBe('original\n')
})

test('equal contents are stored once, and dropping one name keeps the other', async () => {
  await using world = await openWorld({
    files: { 'a.txt': 'same\n', 'b.txt': 'other\n' },
    config: { limits: { snapshotRetention: 3 } },
  })
  await using peer = await openInside(world.project)
  await put(peer, 'b.txt', 'same\n')
  await put(peer, 'a.txt', 'changed\n')
  const [kept, original] = [snapshotsOf(world, 'b.txt')[0], snapshotsOf(world, 'a.txt')[1]]
  const inode = (id: string | undefined) => statSync(contentFile(world, id ?? ''))
  expect(original).toMatchObject({ kind: 'baseline', sha256: kept?.sha256 })
  expect(inode(kept?.id).ino).toBe(inode(original?.id).ino)
  expect(inode(kept?.id).nlink).toBe(2)
  expect(statSync(world.path('b.txt')).ino).not.toBe(inode(kept?.id).ino)
  for (const n of [1, 2, 3]) await put(peer, 'b.txt', `b ${n}\n`)
  expect(existsSync(contentFile(world, kept?.id ?? ''))).toBe(false)
  expect(inode(original?.id).nlink).toBe(1)
  expect(await peer.call('restore_snapshot', { snapshotId: original?.id })).toEqual({ path: 'a.txt', content: 'same\n' })
})

test('a write made in a narrower sandbox is undone where it was made, never on another file of the same name', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'two\n', 'game/a.txt': 'one\n' } })
  {
    await using peer = await openInside(world.project, { args: ['--sandbox-root', 'game'] })
    await put(peer, 'game/a.txt', 'two\n')
  }
  await undone(world, '--last')
  expect(world.read('a.txt'), 'a file no agent ever wrote').toBe('two\n')
  expect(world.read('game/a.txt')).toBe('one\n')
})

test('undo leaves a folder in place that was there before the file', async () => {
  await using world = await openWorld()
  mkdirSync(world.path('empty'))
  await using peer = await openInside(world.project)
  await put(peer, 'empty/new.txt', 'new\n')
  await undone(world, '--last')
  expect(readdirSync(world.path('empty'))).toEqual([])
})
