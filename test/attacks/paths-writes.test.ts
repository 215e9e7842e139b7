import { execFileSync, spawn, spawnSync } from 'node:child_process'
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  watch,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect, test } from 'vitest'
import { errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import type { Fault } from '../../src/contracts/faults/fault.ts'
import { runInside } from '../support/inside.ts'
import { cleanEnv, openStdio, openWorld, program } from '../support/world.ts'
import {
  type Answer,
  attack,
  can,
  canMount,
  isRoot,
  type Mounted,
  mountedState,
  noDiff,
  noMounts,
  openMounted,
  openTrap,
  write,
} from '../support/trap.ts'
import { isSoak, sweep } from '../support/soak.ts'

attack('W01 write through a file symlink', async (trap) => {
  symlinkSync(join(trap.outside, 'secret.txt'), trap.at('link.txt'))
  expect(await trap.ask('write_to_file', write('link.txt'))).toBe('E_DENY_PATH')
  expect(await trap.ask('write_to_file', { ...write('link.txt'), mode: 'append' })).toBe('E_DENY_PATH')
  expect(readlinkSync(trap.at('link.txt'))).toBe(join(trap.outside, 'secret.txt'))
})

attack('W02 write through a dangling symlink creates nothing', async (trap) => {
  symlinkSync(join(trap.outside, 'created.txt'), trap.at('dangling.txt'))
  symlinkSync(join(trap.outside, 'folder'), trap.at('nowhere'))
  for (const path of ['dangling.txt', 'nowhere/a.txt', 'nowhere/b/c.txt'])
    expect(await trap.ask('write_to_file', write(path))).toBe('E_DENY_PATH')
})

attack('W03 new file under a directory symlink', async (trap) => {
  symlinkSync(trap.outside, trap.at('door'))
  expect(await trap.ask('write_to_file', write('door/new.txt'))).toBe('E_DENY_PATH')
})

attack('W04 new file by ..', async (trap) => {
  const around = readdirSync(trap.world.base).sort()
  for (const path of ['../outside/new.txt', '../new.txt', 'new/../../outside/new.txt'])
    expect(await trap.ask('write_to_file', write(path))).toBe('E_DENY_PATH')
  expect(existsSync(trap.at('new'))).toBe(false)
  expect(readdirSync(trap.world.base).sort()).toEqual(around)
})

attack('W05 new file in the prefix sibling', async (trap) => {
  for (const path of ['../project-evil/new.txt', join(trap.evil, 'new.txt')])
    expect(await trap.ask('write_to_file', write(path))).toBe('E_DENY_PATH')
})

attack('W06 write through a hard link changes no outside inode', async (trap) => {
  linkSync(join(trap.outside, 'secret.txt'), trap.at('hard.txt'))
  expect(await trap.ask('write_to_file', write('hard.txt'))).toBe('E_DENY_PATH')
  expect(await trap.ask('replace_in_file', { path: 'hard.txt', find: 'secret', replace: 'x' })).toBe('E_DENY_PATH')
  expect(statSync(trap.at('hard.txt')).nlink).toBe(2)
})

attack('W07 nested new folders under a directory symlink', async (trap) => {
  symlinkSync(trap.outside, trap.at('sub/door'))
  expect(await trap.ask('write_to_file', write('sub/door/a/b/c.txt'))).toBe('E_DENY_PATH')
  expect(await trap.ask('write_to_file', write('sub/fresh/../door/a.txt'))).toBe('E_DENY_PATH')
  expect(existsSync(trap.at('sub/fresh'))).toBe(false)
})

attack('W08 .git/hooks and the other forbidden folders cannot be written, whether they exist or not', async (trap) => {
  for (const path of ['.git/hooks/pre-commit', '.GIT/hooks/pre-commit', 'sub/.git/config', 'node_modules/x/index.js', '.env'])
    expect(await trap.ask('write_to_file', write(path))).toBe('E_DENY_PATH')
  expect(existsSync(trap.at('.git'))).toBe(false)
})

const triggers = [
  'package.json',
  'sub/package.json',
  '.mcp.json',
  '.vscode/tasks.json',
  '.claude/settings.json',
  '.cursor/mcp.json',
  '.github/workflows/ci.yml',
  '.husky/pre-commit',
  'Makefile',
  'AGENTS.md',
  'PACKAGE.JSON',
  '.VSCode/tasks.json',
  'sub/.Claude/x',
]
attack('W08 files that make other programs run something wait for a person', async (trap) => {
  for (const path of triggers) {
    expect([path, await trap.ask('write_to_file', write(path, '{}\n'))]).toEqual([path, 'E_POLICY_VIOLATION'])
    expect(existsSync(trap.at(path))).toBe(false)
  }
  expect(trap.world.runtime.approvals.list('pending')).toHaveLength(triggers.length)
})

attack('W08 other spellings of such a file, which some file systems take for the same name, wait as well', async (trap) => {
  for (const path of [
    'package.json.',
    'package.json ',
    'package.json::$DATA',
    '.vs\u200ccode/tasks.json',
    '.vscode./tasks.json',
    'ｐackage.json',
    'PACKAG~1.JSO',
  ])
    expect([path, await trap.ask('write_to_file', write(path, '{}\n'))]).toEqual([
      path,
      expect.stringMatching(/^(E_POLICY_VIOLATION|E_DENY_PATH)$/),
    ])
})

attack('W09 mode is kept by every way to write, also by undo', async (trap) => {
  writeFileSync(trap.at('run.sh'), '#!/bin/sh\necho one\n')
  const mode = (): number => statSync(trap.at('run.sh')).mode & 0o7777
  for (const [wanted, given = wanted] of [[0o755], [0o600], [0o444], [0o755, 0o4755]] as const) {
    chmodSync(trap.at('run.sh'), given)
    expect(await trap.ask('write_to_file', write('run.sh', `#!/bin/sh\necho ${wanted}\n`))).toBe('ok')
    expect(mode()).toBe(wanted)
    expect(await trap.ask('replace_in_file', { path: 'run.sh', find: 'echo', replace: 'printf' })).toBe('ok')
    expect(mode()).toBe(wanted)
    expect(await trap.ask('undo', { last: true, dryRun: false }, 'person')).toBe('ok')
    expect(mode()).toBe(wanted)
    expect(trap.world.read('run.sh')).toBe(`#!/bin/sh\necho ${wanted}\n`)
  }
})

test.skipIf(!isRoot)(
  'W09 owner and group are kept (SKIPPED where tests do not run as root: only root can give files away)',
  async () => {
    await using trap = await openTrap()
    chownSync(trap.at('inside.txt'), 4242, 4343)
    expect(await trap.ask('write_to_file', write('inside.txt', 'new\n'))).toBe('ok')
    expect(await trap.ask('replace_in_file', { path: 'inside.txt', find: 'new', replace: 'newer' })).toBe('ok')
    const { uid, gid } = statSync(trap.at('inside.txt'))
    expect([uid, gid]).toEqual([4242, 4343])
    trap.held()
  },
)

/** What a file is after one call, byte for byte. */
async function after(before: string, tool: string, input: Record<string, unknown>): Promise<string> {
  await using world = await openWorld({ files: { 'f.txt': before }, flags: { 'write-requires-diff': 'false' } })
  await world.call(tool, { path: 'f.txt', ...input })
  return world.read('f.txt')
}

test('W10 CRLF is kept by overwrite, append and replace', async () => {
  expect(await after('a\r\nb\r\n', 'write_to_file', { content: 'x\ny\n', dryRun: false })).toBe('x\r\ny\r\n')
  expect(await after('a\r\nb\r\n', 'write_to_file', { content: 'x\r\ny\r\n', dryRun: false })).toBe('x\r\ny\r\n')
  expect(await after('a\r\nb\r\n', 'write_to_file', { content: 'c\nd\n', mode: 'append', dryRun: false })).toBe(
    'a\r\nb\r\nc\r\nd\r\n',
  )
  expect(await after('a\r\nb\r\n', 'replace_in_file', { find: 'a\nb', replace: 'x\ny\nz' })).toBe('x\r\ny\r\nz\r\n')
  expect(await after('a\r\nb\r\n', 'replace_in_file', { find: 'a\r\nb', replace: 'x\r\ny' })).toBe('x\r\ny\r\n')
  expect(await after('a\r\nb\r\n', 'replace_in_file', { find: '^b$', replace: 'B', flags: 'm' })).toBe('a\r\nB\r\n')
})

test('W10 LF stays LF, and mixed line ends are not evened out by replace or append', async () => {
  expect(await after('a\nb\n', 'write_to_file', { content: 'x\ny\n', dryRun: false })).toBe('x\ny\n')
  expect(await after('a\r\nb\nc\n', 'replace_in_file', { find: 'c', replace: 'd' })).toBe('a\r\nb\nd\n')
  expect(await after('a\r\nb\n', 'write_to_file', { content: 'c\n', mode: 'append', dryRun: false })).toBe('a\r\nb\nc\n')
})

test('W10 a byte order mark is kept once by overwrite, append and replace', async () => {
  expect(await after('\uFEFFa\n', 'write_to_file', { content: 'b\n', dryRun: false })).toBe('\uFEFFb\n')
  expect(await after('\uFEFFa\n', 'write_to_file', { content: '\uFEFFb\n', dryRun: false })).toBe('\uFEFFb\n')
  expect(await after('\uFEFFa\n', 'write_to_file', { content: '\uFEFFb\n', mode: 'append', dryRun: false })).toBe('\uFEFFa\nb\n')
  expect(await after('\uFEFFa\r\n', 'replace_in_file', { find: 'a', replace: 'b' })).toBe('\uFEFFb\r\n')
  expect(await after('a\n', 'write_to_file', { content: 'b\n', dryRun: false })).toBe('b\n')
})

test('W10 a missing final newline stays missing', async () => {
  expect(await after('a\nb', 'write_to_file', { content: 'x\ny', dryRun: false })).toBe('x\ny')
  expect(await after('a\r\nb', 'write_to_file', { content: 'x\ny', dryRun: false })).toBe('x\r\ny')
  expect(await after('a\nb', 'write_to_file', { content: 'c', mode: 'append', dryRun: false })).toBe('a\nbc')
  expect(await after('a\nb', 'replace_in_file', { find: 'b', replace: 'c' })).toBe('a\nc')
  expect(await after('a\r\nb', 'replace_in_file', { find: 'b', replace: 'c' })).toBe('a\r\nc')
})

test('W11 dry run, then a change on disk: E_CONFLICT and the other change stays', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  for (const mode of ['overwrite', 'append']) {
    await world.call('write_to_file', { path: 'a.txt', content: `mine ${mode}\n`, mode, dryRun: true })
    world.write('a.txt', `theirs ${mode}\n`)
    expect((await world.fault('write_to_file', { path: 'a.txt', content: `mine ${mode}\n`, mode, dryRun: false })).code).toBe(
      'E_CONFLICT',
    )
    expect(world.read('a.txt')).toBe(`theirs ${mode}\n`)
  }
  await world.call('write_to_file', { path: 'new.txt', content: 'mine\n', dryRun: true })
  world.write('new.txt', 'theirs\n')
  expect((await world.fault('write_to_file', { path: 'new.txt', content: 'mine\n', dryRun: false })).code).toBe('E_CONFLICT')
  expect(world.read('new.txt')).toBe('theirs\n')
})

test('W12 no dry run of exactly this, in this session: E_POLICY_VIOLATION', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await world.call('write_to_file', { path: 'a.txt', content: 'two\n', dryRun: true })
  for (const other of [{ content: 'three\n' }, { path: 'b.txt' }, { mode: 'append' }])
    expect((await world.fault('write_to_file', { path: 'a.txt', content: 'two\n', dryRun: false, ...other })).code).toBe(
      'E_POLICY_VIOLATION',
    )
  const same = { path: 'a.txt', content: 'two\n', dryRun: false }
  expect((await world.fault('write_to_file', same, { session: 'sess_other' })).code).toBe('E_POLICY_VIOLATION')
  expect(world.read('a.txt')).toBe('one\n')
  expect(existsSync(world.path('b.txt'))).toBe(false)
})

test('W13 kill -9 between the temporary file and the rename: no half file, no stray temporary file, whole log', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'start\n' } })
  await world.runtime.close()
  const temporaries = (): string[] => readdirSync(world.project).filter((name) => name.startsWith('.handrail-'))
  let between = 0
  for (let round = 0; round < 12 && between < sweep(2, 1); round++) {
    const old = world.read('a.txt')
    const content = `${round} ${'x'.repeat(4_000_000)}\n`
    const child = spawn(process.execPath, [program, 'mcp', '--project', world.project, ...noDiff], {
      env: cleanEnv(world.base),
      stdio: ['pipe', 'pipe', 'ignore'],
    })
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
    const watcher = watch(world.project, (_, name) => {
      if (name?.startsWith('.handrail-')) child.kill('SIGKILL')
    })
    child.stdin.on('error', () => undefined)
    child.stdin.write(
      `${JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'write_to_file', arguments: { path: 'a.txt', content, dryRun: false } } })}\n`,
    )
    createInterface({ input: child.stdout }).once('line', () => child.kill('SIGKILL'))
    await ended
    watcher.close()
    if (temporaries().length) between++
    expect([old, content]).toContain(world.read('a.txt'))
  }
  expect(between).toBeGreaterThan(0)
  await world.reopen({ 'write-requires-diff': 'false' })
  await world.call('write_to_file', { path: 'b.txt', content: 'next\n', dryRun: false })
  expect(temporaries()).toEqual([])
  expect(world.runtime.audit.verify().whole).toBe(true)
})

/** Fills what is left of the small file system, but for some bytes. */
function fill(peer: Mounted, leave: number): void {
  const { bavail, bsize } = statfs(peer.seen('.'))
  writeFileSync(peer.seen('filler'), Buffer.alloc(Math.max(0, bavail * bsize - leave)))
}

function statfs(path: string): { bavail: number; bsize: number } {
  const [bavail, bsize] = execFileSync('stat', ['-f', '-c', '%a %S', path], { encoding: 'utf8' }).split(' ').map(Number)
  return { bavail: bavail as number, bsize: bsize as number }
}

/** One small disk for the project and for its state. */
const tiny =
  'mkdir "$B/mounted"\nmount -t tmpfs -o size=8m tmpfs "$B/mounted"\nmkdir "$B/mounted/p"\nmount --bind "$B/mounted/p" "$P"\nprintf "old\\n" > "$P/a.txt"'
const strays = (peer: Mounted): string[] => readdirSync(peer.seen('.')).filter((name) => name.startsWith('.handrail-'))

test.skipIf(!canMount)(
  `W14 disk full: E_IO, the file as it was, no stray file, and all is well when there is room again (${canMount ? 'mounted' : noMounts})`,
  async () => {
    await using world = await openWorld()
    await world.runtime.close()
    await using peer = await openMounted(world.project, tiny, noDiff)
    const big = { path: 'a.txt', content: 'y'.repeat(1_000_000), dryRun: false }
    expect((await peer.call('write_to_file', { path: 'a.txt', content: 'first\n', dryRun: false })).applied).toBe(true)
    for (const leave of [0, 16_384, 600_000, 1_500_000]) {
      fill(peer, leave)
      const { error } = await peer.call('write_to_file', big)
      expect([leave, error?.code]).toEqual([leave, 'E_IO'])
      rmSync(peer.seen('filler'))
      expect([leave, readFileSync(peer.seen('a.txt'), 'utf8'), strays(peer)]).toEqual([leave, 'first\n', []])
    }
    expect((await peer.call('list_snapshots', {})).snapshots).toHaveLength(2)
    expect((await peer.call('write_to_file', { path: 'a.txt', content: 'second\n', dryRun: false })).applied).toBe(true)
    expect(readFileSync(peer.seen('a.txt'), 'utf8')).toBe('second\n')
    const verify = spawnSync(
      'nsenter',
      [
        '-t',
        String(peer.pid),
        '-U',
        '-m',
        '--preserve-credentials',
        process.execPath,
        program,
        'audit',
        'verify',
        '--project',
        world.project,
      ],
      { encoding: 'utf8', env: cleanEnv(world.base, { HANDRAIL_STATE: mountedState(world.project) }) },
    )
    expect([verify.status, verify.stdout.slice(0, 10)]).toEqual([0, 'Log intact'])
    await world.reopen()
  },
)

test.skipIf(!canMount)(
  `W14 disk full: a failed write leaves no new folders behind (${canMount ? 'mounted' : noMounts})`,
  async () => {
    await using world = await openWorld()
    await world.runtime.close()
    await using peer = await openMounted(world.project, tiny, noDiff)
    expect((await peer.call('write_to_file', { path: 'a.txt', content: 'first\n', dryRun: false })).applied).toBe(true)
    // Room for the kept state, not for the file itself.
    fill(peer, 1_500_000)
    expect(
      (await peer.call('write_to_file', { path: 'new/deep/x.txt', content: 'y'.repeat(1_000_000), dryRun: false })).error?.code,
    ).toBe('E_IO')
    expect(readdirSync(peer.seen('.')).sort()).toEqual(['a.txt', 'filler'])
    await world.reopen()
  },
)

// Root may write anywhere; without this one power it is like any other user.
const unprivileged = isRoot
  ? ['setpriv', '--bounding-set=-dac_override,-dac_read_search', '--inh-caps=-dac_override,-dac_read_search']
  : []
const canDrop = !isRoot || can('setpriv', ...unprivileged.slice(1), 'true')

test.skipIf(!canDrop)(
  'W14 read-only folder and unreadable file: E_IO with a hint, nothing changed (SKIPPED where root cannot drop its power)',
  async () => {
    await using world = await openWorld({ files: { 'ro/a.txt': 'old\n', 'no.txt': 'hidden\n' } })
    await world.runtime.close()
    chmodSync(world.path('ro'), 0o555)
    chmodSync(world.path('no.txt'), 0)
    const call = (tool: string, input: Record<string, unknown>): Answer => {
      const [command, ...args] = [
        ...unprivileged,
        process.execPath,
        program,
        'call',
        tool,
        JSON.stringify(input),
        '--project',
        world.project,
        '--json',
        ...noDiff,
      ]
      const { stdout, stderr } = spawnSync(command as string, args, { encoding: 'utf8', env: cleanEnv(world.base) })
      return JSON.parse(stdout || stderr) as Answer
    }
    for (const answer of [
      call('write_to_file', { path: 'ro/a.txt', content: 'new\n', dryRun: false }),
      call('write_to_file', { path: 'ro/deep/er/new.txt', content: 'new\n', dryRun: false }),
      call('read_file', { path: 'no.txt' }),
      // Each of these is a process, too.
      ...(isSoak
        ? [
            call('write_to_file', { path: 'ro/new.txt', content: 'new\n', dryRun: false }),
            call('replace_in_file', { path: 'ro/a.txt', find: 'old', replace: 'new' }),
          ]
        : []),
    ]) {
      expect(answer.error?.code).toBe('E_IO')
      expect(answer.error?.hint).toMatch(/permission/)
      expect(answer.error?.details?.['errno']).toBe('EACCES')
    }
    expect(readdirSync(world.path('ro'))).toEqual(['a.txt'])
    expect(world.read('ro/a.txt')).toBe('old\n')
    chmodSync(world.path('ro'), 0o755)
    await world.reopen()
  },
)

test('W15 two appenders in two processes: every line once, none lost, none torn', async () => {
  await using world = await openWorld({ files: { 'log.txt': '' } })
  await using other = await openStdio(world.project)
  const each = sweep(40, 6)
  const codes = new Set<string>()
  const append = async (call: (input: Record<string, unknown>) => Promise<string>, line: string): Promise<void> => {
    for (;;) {
      const input = { path: 'log.txt', content: `${line}\n`, mode: 'append' }
      expect(await call({ ...input, dryRun: true })).toBe('ok')
      const code = await call({ ...input, dryRun: false })
      codes.add(code)
      if (code === 'ok') return
    }
  }
  const here = async (input: Record<string, unknown>): Promise<string> =>
    world.call('write_to_file', input).then(
      () => 'ok',
      (fault: Fault) => errorCodeOf(fault),
    )
  const there = async (input: Record<string, unknown>): Promise<string> =>
    (await other.call('write_to_file', input)).error?.code ?? 'ok'
  const run = async (call: typeof here, name: string): Promise<void> => {
    for (let index = 0; index < each; index++) await append(call, `${name}-${index}`)
  }
  await Promise.all([run(here, 'here'), run(there, 'there')])
  const lines = world.read('log.txt').split('\n').filter(Boolean)
  expect(lines).toHaveLength(2 * each)
  for (const name of ['here', 'there'])
    expect(lines.filter((line) => line.startsWith(`${name}-`))).toEqual(
      Array.from({ length: each }, (_, index) => `${name}-${index}`),
    )
  expect([...codes].filter((code) => code !== 'ok' && code !== 'E_CONFLICT')).toEqual([])
})

// M: what an undo could be led to

attack('M01 undo through a folder that became a link restores and removes nothing outside', async (trap) => {
  mkdirSync(trap.at('d'))
  writeFileSync(trap.at('d/secret.txt'), 'mine\n')
  expect(await trap.ask('write_to_file', write('d/secret.txt', 'changed\n'))).toBe('ok')
  expect(await trap.ask('write_to_file', write('d/sub/deep.txt', 'made\n'))).toBe('ok')
  renameSync(trap.at('d'), trap.at('d-real'))
  symlinkSync(trap.outside, trap.at('d'))
  for (let round = 0; round < 2; round++) {
    expect(await trap.ask('undo', { last: true, dryRun: true }, 'person')).toBe('E_DENY_PATH')
    expect(await trap.ask('undo', { last: true, dryRun: false }, 'person')).toBe('E_DENY_PATH')
  }
  expect(await trap.ask('undo', { session: 'sess_test', dryRun: false }, 'person')).toBe('E_DENY_PATH')
  expect(trap.world.read('d-real/secret.txt')).toBe('changed\n')
})

attack('M02 undo of a file that became a hard link or a link leaves the outside file alone', async (trap) => {
  expect(await trap.ask('write_to_file', write('made.txt', 'made\n'))).toBe('ok')
  rmSync(trap.at('made.txt'))
  linkSync(join(trap.outside, 'secret.txt'), trap.at('made.txt'))
  expect(await trap.ask('undo', { last: true, dryRun: false }, 'person')).toBe('E_DENY_PATH')
  rmSync(trap.at('made.txt'))
  symlinkSync(join(trap.outside, 'secret.txt'), trap.at('made.txt'))
  expect(await trap.ask('undo', { last: true, dryRun: false }, 'person')).toBe('E_DENY_PATH')
  expect(readlinkSync(trap.at('made.txt'))).toBe(join(trap.outside, 'secret.txt'))
})

test('the command line is no way around: the same walls, exit code 1', async () => {
  await using trap = await openTrap()
  for (const path of ['../outside/secret.txt', join(trap.outside, 'secret.txt'), '.git/config', '.handrail/audit.jsonl']) {
    const { code, out, err } = await runInside(trap.world.project, ['call', 'read_file', JSON.stringify({ path }), '--json'])
    expect([path, code, (JSON.parse(err) as Answer).error?.code]).toEqual([path, 1, 'E_DENY_PATH'])
    expect(out + err).not.toContain(trap.canary)
  }
})
