import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { errorCodeOf, errorBodyOf } from '../../src/contracts/faults/contract-000.ts'
import type { Fault } from '../../src/contracts/faults/fault.ts'
import { openInside, runInside } from '../support/inside.ts'
import { openWorld } from '../support/world.ts'
import {
  allDenied,
  type Answer,
  attack,
  canFifo,
  canMount,
  type Mounted,
  noDiff,
  noMounts,
  openMounted,
  openTrap,
} from '../support/trap.ts'

/** Every tool against something mounted in the project; the answers by tool. */
async function throughMount(peer: Mounted, folder: string, file: string): Promise<Record<string, string | undefined>> {
  const path = `${folder}/${file}`
  const code = async (tool: string, input: Record<string, unknown>): Promise<string | undefined> =>
    (await peer.call(tool, input)).error?.code
  return {
    read_file: await code('read_file', { path }),
    list_files: await code('list_files', { path: folder }),
    search_files: await code('search_files', { path: folder, regex: '.' }),
    write_to_file: await code('write_to_file', { path: `${folder}/new.txt`, content: 'escaped\n', dryRun: false }),
    replace_in_file: await code('replace_in_file', { path, find: 'secret', replace: 'escaped' }),
  }
}
const mountDenied = Object.fromEntries(
  ['read_file', 'list_files', 'search_files', 'write_to_file', 'replace_in_file'].map((tool) => [tool, 'E_DENY_PATH']),
)

test.skipIf(!canMount)(`P27 a tmpfs mounted inside the project (${canMount ? 'mounted' : noMounts})`, async () => {
  await using trap = await openTrap()
  await trap.world.runtime.close()
  mkdirSync(trap.at('mnt'))
  await using peer = await openMounted(
    trap.world.project,
    `mount -t tmpfs tmpfs "$P/mnt"\ncp "$B/outside/secret.txt" "$P/mnt/secret.txt"`,
    noDiff,
  )
  expect(await throughMount(peer, 'mnt', 'secret.txt')).toEqual(mountDenied)
  expect((await peer.call('list_files', { path: '.', globs: ['**'] })).entries).not.toContain('mnt/secret.txt')
  expect((await peer.call('search_files', { path: '.', regex: 'CANARY' })).matches).toEqual([])
  expect((await peer.call('search_files', { path: '.', regex: '(?=C)CANARY' })).matches).toEqual([])
  expect(peer.replies.join('\n')).not.toContain(trap.canary)
  expect(readdirSync(peer.seen('mnt'))).toEqual(['secret.txt'])
  await trap.world.reopen()
})

test.skipIf(!canMount)(
  `P27 a folder of the same file system, bind-mounted into the project (${canMount ? 'mounted' : noMounts})`,
  async () => {
    await using trap = await openTrap()
    await trap.world.runtime.close()
    mkdirSync(trap.at('mnt'))
    await using peer = await openMounted(trap.world.project, 'mount --bind "$B/outside" "$P/mnt"', noDiff)
    expect(await throughMount(peer, 'mnt', 'secret.txt')).toEqual(mountDenied)
    expect(peer.replies.join('\n')).not.toContain(trap.canary)
    await trap.world.reopen()
    await trap.ask('list_files', { path: '.' })
    trap.held()
  },
)

test.skipIf(!canMount)(
  `P27 a single file of another file system, bind-mounted onto a file of the project (${canMount ? 'mounted' : noMounts})`,
  async () => {
    await using trap = await openTrap()
    await trap.world.runtime.close()
    mkdirSync(join(trap.world.base, 'tmp'))
    const script =
      'mount -t tmpfs tmpfs "$B/tmp"\ncp "$B/outside/secret.txt" "$B/tmp/secret.txt"\nmount --bind "$B/tmp/secret.txt" "$P/inside.txt"'
    await using peer = await openMounted(trap.world.project, script, noDiff)
    expect((await peer.call('read_file', { path: 'inside.txt' })).error?.code).toBe('E_DENY_PATH')
    expect((await peer.call('search_files', { path: '.', regex: 'CANARY' })).matches).toEqual([])
    expect(peer.replies.join('\n')).not.toContain(trap.canary)
    await trap.world.reopen()
  },
)

test.skipIf(!canMount)(`P27 control: with crossMounts the tmpfs can be used (${canMount ? 'mounted' : noMounts})`, async () => {
  await using world = await openWorld({ files: { 'mnt/keep': '' } })
  await world.runtime.close()
  await using peer = await openMounted(world.project, `mount -t tmpfs tmpfs "$P/mnt"\necho hello > "$P/mnt/a.txt"`, [
    '--cross-mounts',
    'true',
  ])
  expect((await peer.call('read_file', { path: 'mnt/a.txt' })).content).toBe('hello\n')
  await world.reopen()
})

test('P28 the root itself is a symlink: it works, and its walls are those of the real folder', async () => {
  await using trap = await openTrap()
  await trap.world.runtime.close()
  const alias = join(trap.world.base, 'alias')
  symlinkSync(trap.world.project, alias)
  {
    await using peer = await openInside(alias)
    expect((await peer.call('read_file', { path: 'inside.txt' }))['content']).toBe('inside\n')
    const replies = [
      await peer.call('read_file', { path: '../outside/secret.txt' }),
      await peer.call('read_file', { path: `${alias}/inside.txt` }),
      await peer.call('write_to_file', { path: '../outside/new.txt', content: 'x', dryRun: false }),
    ]
    for (const reply of replies) expect(reply.error?.code).toBe('E_DENY_PATH')
    expect(JSON.stringify(replies)).not.toContain(trap.canary)
  }
  await trap.world.reopen()
  await trap.ask('list_files', { path: '.' })
  trap.held()
})

attack('P28 the root is renamed during the run, and a link to outside takes its name', async (trap) => {
  const moved = join(trap.world.base, 'moved')
  renameSync(trap.world.project, moved)
  symlinkSync(trap.outside, trap.world.project)
  try {
    // Either the held folder goes on to be used, or Handrail says that it cannot go on; it never follows the name.
    const fine = /^(ok|E_IO)$/
    for (const path of ['secret.txt', 'sub/deep.txt'])
      expect(await trap.ask('read_file', { path })).toMatch(/^(E_NOT_FOUND|E_IO)$/)
    expect(await trap.ask('list_files', { path: '.' })).toMatch(fine)
    expect(trap.answer()).not.toContain('secret.txt')
    expect(await trap.ask('search_files', { path: '.', regex: 'CANARY|inside' })).toMatch(fine)
    for (const path of ['inside.txt', 'secret.txt']) {
      const code = await trap.ask('write_to_file', { path, content: 'written\n', dryRun: false })
      expect(code).toMatch(fine)
      if (code === 'ok') expect(readFileSync(join(moved, path), 'utf8')).toBe('written\n')
    }
  } finally {
    rmSync(trap.world.project)
    renameSync(moved, trap.world.project)
  }
})

attack('P28 a folder is moved away during the run: an error, and nothing comes into being', async (trap) => {
  const moved = join(trap.world.base, 'gone')
  renameSync(trap.at('sub'), moved)
  mkdirSync(trap.at('sub'))
  rmSync(trap.at('sub'), { recursive: true })
  expect(await trap.ask('read_file', { path: 'sub/inner.txt' })).toBe('E_NOT_FOUND')
  expect(await trap.ask('list_files', { path: 'sub' })).toBe('E_NOT_FOUND')
  expect(await trap.ask('search_files', { path: 'sub', regex: 'inner' })).toBe('E_NOT_FOUND')
  expect(existsSync(trap.at('sub'))).toBe(false)
})

test('P28 a sandbox root that lies outside, or leads there by a link, is refused at the start', async () => {
  await using trap = await openTrap()
  symlinkSync(trap.outside, trap.at('door'))
  symlinkSync('..', trap.at('up'))
  await trap.world.runtime.close()
  for (const root of [
    'door',
    'up',
    '..',
    '../outside',
    trap.outside,
    '/',
    trap.evil,
    '${projectRoot}/../outside',
    '${projectRoot}-evil',
  ]) {
    const { code, out, err } = await runInside(trap.world.project, [
      'call',
      'list_files',
      '{"path":"."}',
      '--sandbox-root',
      root,
      '--json',
    ])
    expect([root, code, (JSON.parse(err) as Answer).error?.code]).toEqual([root, expect.any(Number), 'E_BAD_ARGS'])
    expect([root, code === 0, out]).toEqual([root, false, ''])
  }
  await trap.world.reopen()
  expect(await trap.ask('list_files', { path: '.' })).toBe('ok')
  trap.held()
})

attack(
  'P28 with a sandbox root, the rest of the project is outside',
  async (trap) => {
    writeFileSync(trap.at('inside.txt'), `${trap.canary}\n`)
    mkdirSync(trap.at('sub-evil'))
    writeFileSync(trap.at('sub-evil/x.txt'), `${trap.canary}\n`)
    for (const path of ['inside.txt', '.', './', 'sub-evil/x.txt', 'SUB/inner.txt', 'sub/../inside.txt', 'new.txt'])
      expect([path, await trap.everyWay(path)]).toEqual([path, allDenied])
    expect(await trap.ask('read_file', { path: 'sub/inner.txt' })).toBe('ok')
    expect(await trap.ask('list_files', { path: 'sub', globs: ['**', '../**'] })).toBe('ok')
    expect(JSON.parse(trap.answer()).entries).toEqual(['inner.txt'])
    expect(await trap.ask('search_files', { path: 'sub', regex: 'CANARY|inner', filePattern: '**' })).toBe('ok')
    expect(await trap.ask('write_to_file', { path: 'sub/new.txt', content: 'x\n', dryRun: false })).toBe('ok')
    expect(readdirSync(trap.world.project).sort()).toEqual(['inside.txt', 'sub', 'sub-evil'])
  },
  { flags: { 'sandbox-root': 'sub' }, ofProject: true },
)

test('settings that are a link, a folder or a pipe are refused at the start, and do not hang it', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await world.runtime.close()
  const settings = world.path('handrail.config.json')
  writeFileSync(join(world.base, 'outside.json'), '{"policies":{"forbiddenDirs":[]}}')
  const planted: Record<string, () => void> = {
    'a link': () => symlinkSync(join(world.base, 'outside.json'), settings),
    'a folder': () => mkdirSync(settings),
    ...(canFifo && { 'a pipe': () => execFileSync('mkfifo', [settings]) }),
  }
  for (const [what, plant] of Object.entries(planted)) {
    plant()
    const { code, err } = await runInside(world.project, ['call', 'list_files', '{"path":"."}', '--json'])
    expect([what, code, (JSON.parse(err) as Answer).error?.code]).toEqual([
      what,
      expect.any(Number),
      expect.stringMatching(/^(E_IO|E_BAD_ARGS)$/),
    ])
    rmSync(settings, { recursive: true })
  }
  await world.reopen()
})

attack('P29 globs of list_files that climb out or are absolute', async (trap) => {
  const globs = [
    '../**',
    '../outside/*',
    '{..,sub}/**',
    '{../outside,sub}/**',
    `${trap.outside}/**`,
    '**/../../outside/**',
    './../**',
    '[.][.]/**',
    '@(..)/**',
    '?(.)./**',
    '..%2f**',
    '**/..',
    '/**',
  ]
  for (const glob of globs) {
    expect([glob, await trap.ask('list_files', { path: 'sub', globs: [glob] })]).toEqual([
      glob,
      expect.stringMatching(/^(ok|E_BAD_ARGS|E_DENY_PATH)$/),
    ])
    expect(trap.answer()).not.toMatch(/outside|secret|deep|\.\.\//)
  }
})

attack('P29 filePattern of search_files that climbs out or is absolute', async (trap) => {
  symlinkSync(trap.outside, trap.at('sub/door'))
  const patterns = [
    '../**',
    '../outside/*',
    '{..,sub}/**',
    `${trap.outside}/**`,
    '**/../**',
    '/**',
    '!**',
    'door/**',
    '**/door/**',
    '**/secret.txt',
    '**/.git/**',
    '../outside/secret.txt',
  ]
  for (const filePattern of patterns) {
    const asked = await trap.ask('search_files', { path: 'sub', regex: 'CANARY|secret', filePattern })
    expect([filePattern, asked]).toEqual([filePattern, expect.stringMatching(/^(ok|E_BAD_ARGS|E_DENY_PATH)$/)])
    if (asked === 'ok') expect(JSON.parse(trap.answer()).matches).toEqual([])
  }
})

attack('P29 an empty or endless glob is the fault of the caller, not of Handrail', async (trap) => {
  for (const glob of ['', 'x'.repeat(70_000)]) {
    expect(await trap.ask('list_files', { path: '.', globs: [glob] })).toMatch(/^(ok|E_BAD_ARGS)$/)
    expect(await trap.ask('search_files', { path: '.', regex: 'inside', filePattern: glob })).toMatch(/^(ok|E_BAD_ARGS)$/)
  }
})

attack(
  'P30 list_snapshots: a filter is no path, and shows nothing but what is kept',
  async (trap) => {
    await trap.ask('write_to_file', { path: 'inside.txt', content: 'new\n', dryRun: false })
    for (const path of ['../outside', trap.outside, '..', '/', '%', '_', "' OR 1=1 --", '\0']) {
      expect(await trap.ask('list_snapshots', { path })).toBe('ok')
      expect([path, JSON.parse(trap.answer()).snapshots]).toEqual([path, []])
    }
  },
  { ofProject: true },
)

test('P30 a state kept under looser rules is not shown under stricter ones', async () => {
  await using world = await openWorld({ files: { 'vault/key.txt': 'CANARY-KEY\n' }, flags: { 'write-requires-diff': 'false' } })
  const { snapshotId } = await world.call<{ snapshotId: string }>('write_to_file', {
    path: 'vault/key.txt',
    content: 'CANARY-NEW\n',
    dryRun: false,
  })
  await world.reopen({ 'forbidden-dirs': 'vault' })
  const fault = await world.fault('restore_snapshot', { snapshotId })
  expect(fault.code).toBe('E_DENY_PATH')
  expect(JSON.stringify(errorBodyOf(fault))).not.toContain('CANARY')
})

attack('L01 list through a directory symlink', async (trap) => {
  symlinkSync(trap.outside, trap.at('door'))
  symlinkSync('../../outside', trap.at('sub/door'))
  for (const path of ['door', 'door/sub', 'sub/door', 'sub/door/sub']) {
    expect(await trap.ask('list_files', { path })).toBe('E_DENY_PATH')
    expect(await trap.ask('list_files', { path, globs: ['**'], dirsOnly: true })).toBe('E_DENY_PATH')
  }
  expect(await trap.ask('list_files', { path: '.', globs: ['**'] })).toBe('ok')
  expect(trap.answer()).not.toMatch(/secret\.txt|deep\.txt/)
})

attack('L02 a tree with a loop, an outside link and a dangling link ends, and stays inside', async (trap) => {
  symlinkSync('.', trap.at('loop'))
  symlinkSync('..', trap.at('sub/back'))
  symlinkSync(trap.outside, trap.at('sub/door'))
  symlinkSync('/nowhere/at/all', trap.at('dangling'))
  symlinkSync('self', trap.at('self'))
  expect(await trap.ask('list_files', { path: '.', globs: ['**'] })).toBe('ok')
  const entries = JSON.parse(trap.answer()).entries as string[]
  expect(entries.filter((entry) => /inner\.txt|secret|deep/.test(entry))).toEqual(['sub/inner.txt'])
  expect(await trap.ask('read_file', { path: 'self' })).toBe('E_DENY_PATH')
  expect(await trap.ask('read_file', { path: 'loop/loop/loop/inside.txt' })).toBe('ok')
  expect(JSON.parse(trap.answer()).content).toBe('inside\n')
  expect(await trap.ask('read_file', { path: 'loop/sub/door/secret.txt' })).toBe('E_DENY_PATH')
})

attack('S01 content search through links, with either engine', async (trap) => {
  symlinkSync(trap.outside, trap.at('sub/door'))
  symlinkSync(join(trap.outside, 'secret.txt'), trap.at('sub/file-link.txt'))
  linkSync(join(trap.outside, 'sub/deep.txt'), trap.at('sub/hard.txt'))
  for (const regex of ['CANARY', '(?=C)CANARY'])
    for (const path of ['.', 'sub', '']) {
      expect(await trap.ask('search_files', { path, regex })).toBe('ok')
      expect([regex, path, JSON.parse(trap.answer()).matches]).toEqual([regex, path, []])
    }
  for (const path of ['sub/door', 'sub/file-link.txt', 'sub/door/secret.txt'])
    expect(await trap.ask('search_files', { path, regex: 'CANARY' })).toBe('E_DENY_PATH')
})

// Handrail's own files

attack('settings and state are out of reach while they do not exist, at the top and at depth', async (trap) => {
  for (const path of [
    'handrail.config.json',
    'sub/handrail.config.json',
    '.handrail/new.txt',
    '.handrail/audit.jsonl',
    '.handrail/handrail.db',
    'sub/.handrail/x',
    '.handrail',
  ]) {
    expect([path, await trap.everyWay(path)]).toEqual([path, allDenied])
  }
  expect(existsSync(trap.at('handrail.config.json'))).toBe(false)
  expect(existsSync(trap.at('sub/.handrail'))).toBe(false)
})

test('settings and state are out of reach while they do exist', async () => {
  const config = { policies: { writeRequiresDiff: false } }
  await using world = await openWorld({ files: { 'a.txt': 'a\n' }, config, projectConfig: { limits: { callTimeoutMs: 30_000 } } })
  const kept = world.read('handrail.config.json')
  for (const path of [
    'handrail.config.json',
    '.handrail/audit.jsonl',
    '.handrail/handrail.db',
    '.handrail/.gitignore',
    '.handrail',
  ])
    for (const [tool, input] of [
      ['read_file', { path }],
      ['write_to_file', { path, content: '{}', dryRun: false }],
      ['replace_in_file', { path, find: 'false', replace: 'true' }],
      ['search_files', { path, regex: '.' }],
      ['list_files', { path }],
    ] as const)
      expect([tool, path, (await world.fault(tool, input)).code]).toEqual([tool, path, 'E_DENY_PATH'])
  const { entries } = await world.call<{ entries: string[] }>('list_files', { path: '.', globs: ['**'] })
  expect(entries).toEqual(['a.txt'])
  expect(
    (await world.call<{ matches: unknown[] }>('search_files', { path: '.', regex: 'writeRequiresDiff|call' })).matches,
  ).toEqual([])
  expect(world.read('handrail.config.json')).toBe(kept)
})

test('a forbidden folder named by a path is either obeyed or refused at the start, never ignored', async () => {
  for (const wanted of ['game/private', './private', 'private/inner']) {
    let code = 'refused at the start'
    try {
      await using world = await openWorld({
        files: { 'game/private/inner/a.txt': 'CANARY\n', 'private/inner/a.txt': 'CANARY\n' },
        flags: { 'forbidden-dirs': wanted },
      })
      const path = wanted.startsWith('game') ? 'game/private/inner/a.txt' : 'private/inner/a.txt'
      code = 'read'
      code = (await world.fault('read_file', { path })).code
    } catch (thrown) {
      if (code === 'refused at the start') expect(errorCodeOf(thrown as Fault)).toBe('E_BAD_ARGS')
    }
    expect([wanted, code]).toEqual([wanted, expect.stringMatching(/^(E_DENY_PATH|refused at the start)$/)])
  }
})

attack('links planted under the names of temporary files are out of reach and never followed', async (trap) => {
  const planted = Array.from({ length: 50 }, () => `.handrail-${randomBytes(8).toString('hex')}.tmp`)
  for (const name of planted) symlinkSync(join(trap.outside, 'secret.txt'), trap.at(name))
  expect(await trap.everyWay(planted[0] as string)).toEqual(allDenied)
  expect(await trap.everyWay('.Handrail-1.tmp')).toEqual(allDenied)
  for (let round = 0; round < 20; round++)
    expect(await trap.ask('write_to_file', { path: 'inside.txt', content: `${round}\n`, dryRun: false })).toBe('ok')
  expect(await trap.ask('list_files', { path: '.', globs: ['**'] })).toBe('ok')
  expect(trap.answer()).not.toContain('.tmp')
  for (const name of planted) expect(readlinkSync(trap.at(name))).toBe(join(trap.outside, 'secret.txt'))
})
