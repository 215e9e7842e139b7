import { symlinkSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import { proves } from '../support/proof.ts'
import { openWorld } from '../support/world.ts'

const game = {
  'game/scene/start.txt': 'intro;\nend;\n',
  'game/scene/deep/two.txt': 'two;\n',
  'game/bg/a.png': Buffer.from([0x89, 0, 1]),
}

proves('paths.relative', 'the same path means the same file whatever the process stands in', async () => {
  await using world = await openWorld({ files: { 'a/b.txt': 'here' } })
  expect(process.cwd()).not.toBe(world.project)
  expect(await world.call('read_file', { path: './a//b.txt' })).toMatchObject({ path: 'a/b.txt', content: 'here' })
})

proves('paths.no-absolute', 'an absolute path is refused even when it points inside', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  expect((await world.fault('read_file', { path: world.path('a.txt') })).code).toBe('E_DENY_PATH')
})

proves('paths.no-climbing', 'climbing is refused, also where it would come back', async () => {
  await using world = await openWorld({ files: { 'a/b.txt': 'x', 'c.txt': 'y' } })
  for (const path of ['../c.txt', 'a/../c.txt', 'a/../../x', '..'])
    expect((await world.fault('read_file', { path })).code).toBe('E_DENY_PATH')
})

proves('paths.forbidden-dirs', 'the default folders are out of reach of every tool, reading and writing', async () => {
  await using world = await openWorld({
    files: { '.git/config': 's', 'node_modules/x/i.js': 's', '.env': 's', 'sub/.git/x': 's' },
  })
  for (const path of ['.git/config', 'node_modules/x/i.js', '.env', 'sub/.git/x']) {
    expect((await world.fault('read_file', { path })).code).toBe('E_DENY_PATH')
    expect((await world.fault('write_to_file', { path, content: 'x', dryRun: true })).code).toBe('E_DENY_PATH')
    expect((await world.fault('replace_in_file', { path, find: 's', replace: 'x' })).code).toBe('E_DENY_PATH')
  }
  expect(await world.call('list_files', { path: '.' })).toEqual({ entries: ['sub'] })
  expect(await world.call('list_files', { path: '.', globs: ['**'] })).toEqual({ entries: ['sub'] })
  expect(await world.call('search_files', { path: '.', regex: 's' })).toEqual({ matches: [] })
})

proves('list.children', 'files and folders, sorted, by their names', async () => {
  await using world = await openWorld({ files: game })
  expect(await world.call('list_files', { path: 'game' })).toEqual({ entries: ['bg', 'scene'] })
  expect(await world.call('list_files', { path: 'game/scene/' })).toEqual({ entries: ['deep', 'start.txt'] })
})

proves('list.globs', 'patterns reach down, entries are relative to the listed folder', async () => {
  await using world = await openWorld({ files: game })
  expect(await world.call('list_files', { path: 'game/scene', globs: ['**/*.txt'] })).toEqual({
    entries: ['deep/two.txt', 'start.txt'],
  })
  expect(await world.call('list_files', { path: 'game', globs: ['*/*.png', 'scene/start.*'] })).toEqual({
    entries: ['bg/a.png', 'scene/start.txt'],
  })
})

proves('list.dirs-only', 'folders only, with and without globs', async () => {
  await using world = await openWorld({ files: game })
  expect(await world.call('list_files', { path: 'game/scene', dirsOnly: true })).toEqual({ entries: ['deep'] })
  expect(await world.call('list_files', { path: '.', globs: ['**'], dirsOnly: true })).toEqual({
    entries: ['game', 'game/bg', 'game/scene', 'game/scene/deep'],
  })
})

proves('list.errors', 'outside, missing, and not a folder', async () => {
  await using world = await openWorld({ files: game })
  expect((await world.fault('list_files', { path: '/etc' })).code).toBe('E_DENY_PATH')
  expect((await world.fault('list_files', { path: 'nowhere' })).code).toBe('E_NOT_FOUND')
  expect((await world.fault('list_files', { path: 'game/scene/start.txt' })).code).toBe('E_IO')
})

proves('read.text', 'content to the byte, with its size', async () => {
  await using world = await openWorld({ files: { 'a.txt': '\uFEFF雪乃\r\nno newline' } })
  expect(await world.call('read_file', { path: 'a.txt' })).toEqual({
    path: 'a.txt',
    content: '\uFEFF雪乃\r\nno newline',
    encoding: 'utf-8',
    bytes: 21,
  })
})

proves('read.max-bytes', 'a file beyond maxBytes is refused, at it is read', async () => {
  await using world = await openWorld({ files: { 'a.txt': '12345' } })
  expect((await world.fault('read_file', { path: 'a.txt', maxBytes: 4 })).code).toBe('E_TOO_LARGE')
  expect(await world.call('read_file', { path: 'a.txt', maxBytes: 5 })).toMatchObject({ content: '12345' })
})

proves('read.errors', 'each error the contract lists', async () => {
  await using world = await openWorld({
    files: { ...game, 'gbk.txt': Buffer.from([0xd1, 0xa9, 0xc4, 0xcb]) },
    flags: { 'max-read-bytes': '100' },
  })
  world.write('large.txt', 'x'.repeat(101))
  symlinkSync('/etc/passwd', world.path('link.txt'))
  expect((await world.fault('read_file', { path: 'link.txt' })).code).toBe('E_DENY_PATH')
  expect((await world.fault('read_file', { path: 'none.txt' })).code).toBe('E_NOT_FOUND')
  expect((await world.fault('read_file', { path: 'game/bg/a.png' })).code).toBe('E_ENCODING')
  expect((await world.fault('read_file', { path: 'gbk.txt' })).details).toMatchObject({ looksLike: 'GBK/GB18030' })
  expect((await world.fault('read_file', { path: 'large.txt', maxBytes: 1_000 })).code).toBe('E_TOO_LARGE')
  expect((await world.fault('read_file', { path: 'game' })).code).toBe('E_IO')
})

proves('write.modes', 'overwrite replaces, append adds, both create', async () => {
  await using world = await openWorld({ flags: { 'write-requires-diff': 'false' } })
  await world.call('write_to_file', { path: 'new/a.txt', content: 'one\n', dryRun: false })
  await world.call('write_to_file', { path: 'new/a.txt', content: 'two\n', mode: 'append', dryRun: false })
  expect(world.read('new/a.txt')).toBe('one\ntwo\n')
  await world.call('write_to_file', { path: 'new/a.txt', content: 'three\n', mode: 'overwrite', dryRun: false })
  expect(world.read('new/a.txt')).toBe('three\n')
  await world.call('write_to_file', { path: 'b.txt', content: 'x', mode: 'append', dryRun: false })
  expect(world.read('b.txt')).toBe('x')
})

proves('write.dry-run-diff', 'a dry run shows the change and makes none', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\ntwo\n' } })
  const answer = await world.call('write_to_file', { path: 'a.txt', content: 'one\n2\n', dryRun: true })
  expect(answer).toEqual({
    applied: false,
    diff: { type: 'line', hunks: [{ startOld: 2, lenOld: 1, startNew: 2, lenNew: 1, linesOld: ['two'], linesNew: ['2'] }] },
  })
  expect(world.read('a.txt')).toBe('one\ntwo\n')
  expect(await world.call('list_snapshots', {})).toEqual({ snapshots: [] })
})

proves('diff.shape', 'hunks carry old and new lines with their places', async () => {
  await using world = await openWorld({ files: { 'a.txt': Array.from({ length: 5_000 }, (_, n) => `line ${n}`).join('\n') } })
  const { diff } = await world.call<{ diff: { hunks: unknown[] } }>('write_to_file', {
    path: 'a.txt',
    content: `top\n${world.read('a.txt')}`,
    dryRun: true,
  })
  expect(diff.hunks).toEqual([{ startOld: 1, lenOld: 0, startNew: 1, lenNew: 1, linesOld: [], linesNew: ['top'] }])
})

proves('write.diff-first', 'without a dry run of the same path, content and mode nothing lands', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  const write = { path: 'a.txt', content: 'two\n' }
  expect((await world.fault('write_to_file', { ...write, dryRun: false })).code).toBe('E_POLICY_VIOLATION')
  await world.call('write_to_file', { ...write, dryRun: true })
  expect((await world.fault('write_to_file', { ...write, content: 'other\n', dryRun: false })).code).toBe('E_POLICY_VIOLATION')
  expect((await world.fault('write_to_file', { ...write, mode: 'append', dryRun: false })).code).toBe('E_POLICY_VIOLATION')
  expect((await world.fault('write_to_file', { ...write, dryRun: false }, { session: 'sess_other' })).code).toBe(
    'E_POLICY_VIOLATION',
  )
  expect(world.read('a.txt')).toBe('one\n')
  expect(await world.call('write_to_file', { ...write, dryRun: false })).toMatchObject({ applied: true })
})

proves('write.applied-snapshot', 'a write answers with the id of the state it made, and its size', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await world.call('write_to_file', { path: 'a.txt', content: '雪\n', dryRun: true })
  const answer = await world.call<{ snapshotId: string }>('write_to_file', { path: 'a.txt', content: '雪\n', dryRun: false })
  expect(answer).toEqual({ applied: true, snapshotId: answer.snapshotId, bytesWritten: 4 })
  expect(await world.call('restore_snapshot', { snapshotId: answer.snapshotId })).toEqual({ path: 'a.txt', content: '雪\n' })
})

proves('snapshot.id', 'the id has the contract’s form, and the state before is kept too', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'original' } })
  const { snapshotId } = await world.put('a.txt', 'changed')
  expect(snapshotId).toMatch(/^snap_\d{8}T\d{6}_[0-9a-f]{8}$/)
  const { snapshots } = await world.call<{ snapshots: { id: string; contentHash: string }[] }>('list_snapshots', {
    path: 'a.txt',
  })
  expect(snapshots.map((one) => one.id)).toContain(snapshotId)
  const contents = await Promise.all(
    snapshots.map(async (one) => (await world.call<{ content: string }>('restore_snapshot', { snapshotId: one.id })).content),
  )
  expect(contents).toEqual(['changed', 'original'])
})

proves('write.dry-run-required', 'a missing dryRun is an error, never a write', async () => {
  await using world = await openWorld({ flags: { 'write-requires-diff': 'false' } })
  const fault = await world.fault('write_to_file', { path: 'a.txt', content: 'x' })
  expect(fault.code).toBe('E_BAD_ARGS')
  expect(fault.details).toEqual({ fields: [{ field: 'dryRun', problem: 'is required' }] })
  expect((await world.fault('write_to_file', {})).details).toMatchObject({
    fields: [{ field: 'path' }, { field: 'content' }, { field: 'dryRun' }],
  })
  expect((await world.fault('read_file', { path: 'a.txt' })).code).toBe('E_NOT_FOUND')
})

proves('write.errors', 'each error the contract lists', async () => {
  await using world = await openWorld({ files: { 'bin.dat': Buffer.from([0, 1, 2]), 'folder/x.txt': 'x', 'a.txt': 'a' } })
  expect((await world.fault('write_to_file', { path: '../x', content: '', dryRun: true })).code).toBe('E_DENY_PATH')
  expect((await world.fault('write_to_file', { path: 'bin.dat', content: 'x', dryRun: true })).code).toBe('E_ENCODING')
  expect((await world.fault('write_to_file', { path: 'new.txt', content: '\ud800', dryRun: true })).code).toBe('E_ENCODING')
  expect((await world.fault('write_to_file', { path: 'folder', content: 'x', dryRun: true })).code).toBe('E_IO')
  expect((await world.fault('write_to_file', { path: 'a.txt', content: 'b', dryRun: false })).code).toBe('E_POLICY_VIOLATION')
  await world.call('write_to_file', { path: 'a.txt', content: 'b', dryRun: true })
  writeFileSync(world.path('a.txt'), 'outside')
  expect((await world.fault('write_to_file', { path: 'a.txt', content: 'b', dryRun: false })).code).toBe('E_CONFLICT')
  expect(world.read('a.txt')).toBe('outside')
})

proves('idempotency', 'the same key and input write once; the same key for something else is E_CONFLICT', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  const write = { path: 'a.txt', content: 'two\n', dryRun: false, idempotencyKey: 'k1' }
  await world.call('write_to_file', { ...write, dryRun: true })
  const first = await world.call('write_to_file', write)
  writeFileSync(world.path('a.txt'), 'later\n')
  expect(await world.call('write_to_file', write)).toEqual(first)
  expect(world.read('a.txt')).toBe('later\n')
  for (const other of [{ content: 'three\n' }, { path: 'b.txt' }, { mode: 'append' }])
    expect((await world.fault('write_to_file', { ...write, ...other })).code).toBe('E_CONFLICT')
  await world.reopen()
  expect(await world.call('write_to_file', write)).toEqual(first)
})

proves('replace.string-or-regex', 'text is literal, a regex is one when written as one or with flags', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a.b a.b axb\nhello\nHello\n' } })
  expect(await world.call('replace_in_file', { path: 'a.txt', find: 'a.b', replace: '$1' })).toEqual({ count: 2 })
  expect(world.read('a.txt')).toBe('$1 $1 axb\nhello\nHello\n')
  expect(await world.call('replace_in_file', { path: 'a.txt', find: '(?m)^hello$', replace: 'hi' })).toEqual({ count: 1 })
  expect(await world.call('replace_in_file', { path: 'a.txt', find: '/(h)(ello)/gi', replace: '$2$1' })).toEqual({ count: 1 })
  expect(await world.call('replace_in_file', { path: 'a.txt', find: 'a(x)b', replace: '<$1>', flags: 'g' })).toEqual({ count: 1 })
  expect(world.read('a.txt')).toBe('$1 $1 <x>\nhi\nelloH\n')
  expect(await world.call('replace_in_file', { path: 'a.txt', find: 'absent', replace: 'x' })).toEqual({ count: 0 })
  const { snapshots } = await world.call<{ snapshots: unknown[] }>('list_snapshots', {})
  expect(snapshots).toHaveLength(5)
})

proves('replace.bad-regex', 'an invalid regex and unknown flags', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'x' } })
  for (const bad of [{ find: '(', flags: 'g' }, { find: 'x', flags: 'q' }, { find: 'x', flags: 'y' }, { find: '' }])
    expect((await world.fault('replace_in_file', { path: 'a.txt', replace: '', ...bad })).code).toBe('E_BAD_ARGS')
})

proves('replace.errors', 'the errors of write_to_file', async () => {
  await using world = await openWorld({
    files: { 'bin.dat': Buffer.from([0xff, 0xfe, 0]), 'folder/x.txt': 'x', 'package.json': '{"a":1}' },
    flags: { 'approval-wait-ms': '0' },
  })
  expect((await world.fault('replace_in_file', { path: '/etc/hosts', find: 'a', replace: 'b' })).code).toBe('E_DENY_PATH')
  expect((await world.fault('replace_in_file', { path: 'none.txt', find: 'a', replace: 'b' })).code).toBe('E_NOT_FOUND')
  expect((await world.fault('replace_in_file', { path: 'bin.dat', find: 'a', replace: 'b' })).code).toBe('E_ENCODING')
  expect((await world.fault('replace_in_file', { path: 'folder', find: 'a', replace: 'b' })).code).toBe('E_IO')
  expect((await world.fault('replace_in_file', { path: 'package.json', find: '1', replace: '2' })).code).toBe(
    'E_POLICY_VIOLATION',
  )
})

proves('search.regex', 'lines that match, with their place', async () => {
  await using world = await openWorld({
    files: { 'a/one.txt': 'x\nfoo1\n', 'a/two.txt': 'foo22\r\n', 'b.txt': 'foo3', 'bin.dat': Buffer.from('foo4\0') },
  })
  expect(await world.call('search_files', { path: 'a', regex: 'foo\\d+' })).toEqual({
    matches: [
      { path: 'a/one.txt', line: 2, preview: 'foo1' },
      { path: 'a/two.txt', line: 1, preview: 'foo22' },
    ],
  })
  expect(await world.call('search_files', { path: '.', regex: '^(?=foo3)' })).toEqual({
    matches: [{ path: 'b.txt', line: 1, preview: 'foo3' }],
  })
})

proves('search.file-pattern', 'a glob on the path below the searched folder', async () => {
  await using world = await openWorld({ files: { 'a/x.txt': 'hit', 'a/x.md': 'hit', 'y.txt': 'hit' } })
  const paths = async (filePattern: string): Promise<string[]> =>
    (await world.call<{ matches: { path: string }[] }>('search_files', { path: '.', regex: 'hit', filePattern })).matches.map(
      (one) => one.path,
    )
  expect(await paths('**/*.txt')).toEqual(['a/x.txt', 'y.txt'])
  expect(await paths('*.md')).toEqual(['a/x.md'])
  expect(await paths('a/*.{txt,md}')).toEqual(['a/x.md', 'a/x.txt'])
  expect(await paths('../**')).toEqual([])
})

proves('search.max-matches', 'stops at maxMatches, and at 2000 without it', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'hit\n'.repeat(3_000) } })
  const count = async (input: object): Promise<number> =>
    (await world.call<{ matches: unknown[] }>('search_files', { path: '.', regex: 'hit', ...input })).matches.length
  expect(await count({})).toBe(2_000)
  expect(await count({ maxMatches: 7 })).toBe(7)
})

proves('vector.dry-run', 'dryRun=true returns diff', async () => {
  await using world = await openWorld()
  expect(
    await world.call('write_to_file', {
      path: 'game/scene/beach_date.txt',
      content: 'changeBg: beach.jpg -next;\n',
      dryRun: true,
    }),
  ).toMatchObject({ applied: false, diff: { type: 'line' } })
})

proves('vector.write', 'dryRun=false returns snapshotId', async () => {
  await using world = await openWorld()
  expect((await world.put('game/scene/beach_date.txt', 'changeBg: beach.jpg -next;\n')).snapshotId).toMatch(/^snap_/)
})

proves('vector.conflict', 'a change by somebody else between dry run and write is E_CONFLICT and stays', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one' } })
  await world.call('write_to_file', { path: 'a.txt', content: 'mine', dryRun: true })
  await world.put('a.txt', 'theirs')
  expect((await world.fault('write_to_file', { path: 'a.txt', content: 'mine', dryRun: false })).code).toBe('E_CONFLICT')
  expect(world.read('a.txt')).toBe('theirs')
})
