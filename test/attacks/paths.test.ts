import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  existsSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  closeSync,
  ftruncateSync,
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
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { expect, test } from 'vitest'
import { ToolError } from '../../src/contracts/errors.ts'
import { cleanEnv, openStdio, openWorld, program, runCli, type World } from '../support/world.ts'

const isRoot = process.getuid?.() === 0
const can = (file: string, ...args: string[]): boolean => spawnSync(file, args, { stdio: 'ignore' }).status === 0
const canMount = can('unshare', '-rm', 'sh', '-c', 'mount -t tmpfs tmpfs /mnt')
const noMounts = 'SKIPPED: this system lets nobody mount (unshare -rm)'
const canFifo = process.platform !== 'win32' && can('sh', '-c', 'command -v mkfifo')

/** A project with secrets all around it. `held` says whether every wall stood: no canary in a reply, nothing outside changed. */
interface Trap {
  readonly world: World
  readonly canary: string
  /** A folder beside the project with `secret.txt` and `sub/deep.txt` in it. */
  readonly outside: string
  /** `<project>-evil`. */
  readonly evil: string
  at(name: string): string
  /** 'ok', or the code of the error. */
  ask(tool: string, input: Record<string, unknown>, role?: 'person'): Promise<string>
  /** Points every tool that takes a path at it; the answers by tool. */
  everyWay(path: string): Promise<Record<string, string>>
  answer(): string
  held(): void
  [Symbol.asyncDispose](): Promise<void>
}

interface Setting {
  files?: Record<string, string | Buffer>
  flags?: Record<string, string>
}

async function openTrap(setting: Setting = {}): Promise<Trap> {
  const canary = `CANARY${randomBytes(12).toString('hex')}`
  const world = await openWorld({
    files: { 'inside.txt': 'inside\n', 'sub/inner.txt': 'inner\n', ...setting.files },
    flags: { 'write-requires-diff': 'false', 'approval-wait-ms': '0', ...setting.flags },
  })
  const outside = join(world.base, 'outside')
  const evil = `${world.project}-evil`
  for (const folder of [outside, evil, join(outside, 'sub')]) mkdirSync(folder)
  for (const file of [join(outside, 'secret.txt'), join(outside, 'sub', 'deep.txt'), join(evil, 'secret.txt')])
    writeFileSync(file, `${canary} a secret\n`)
  const before = fingerprint([outside, evil])
  const replies: string[] = []
  const ask: Trap['ask'] = async (tool, input, role) => {
    try {
      replies.push(JSON.stringify(await world.call(tool, input, { ...(role && { role }) })))
      return 'ok'
    } catch (thrown) {
      if (!(thrown instanceof ToolError)) throw thrown
      replies.push(JSON.stringify(thrown.toBody()))
      return thrown.code
    }
  }
  return {
    world,
    canary,
    outside,
    evil,
    at: world.path,
    ask,
    async everyWay(path) {
      const write = { path, content: 'escaped\n', dryRun: false }
      return {
        read_file: await ask('read_file', { path }),
        list_files: await ask('list_files', { path }),
        'list_files globs': await ask('list_files', { path, globs: ['**'] }),
        search_files: await ask('search_files', { path, regex: '.' }),
        'write_to_file dry': await ask('write_to_file', { ...write, dryRun: true }),
        write_to_file: await ask('write_to_file', write),
        'write_to_file append': await ask('write_to_file', { ...write, mode: 'append' }),
        replace_in_file: await ask('replace_in_file', { path, find: 'a', replace: 'escaped' }),
      }
    },
    answer: () => replies.at(-1) ?? '',
    held() {
      expect(replies.length).toBeGreaterThan(0)
      expect(replies.join('\n')).not.toContain(canary)
      expect(fingerprint([outside, evil])).toEqual(before)
    },
    [Symbol.asyncDispose]: () => world[Symbol.asyncDispose](),
  }
}

/** Name, kind, mode and content of everything below. */
function fingerprint(folders: string[]): string[] {
  return folders.flatMap((folder) => [
    `${folder} ${statSync(folder).mode}`,
    ...readdirSync(folder)
      .sort()
      .flatMap((name) => {
        const path = join(folder, name)
        const stat = lstatSync(path)
        if (stat.isDirectory()) return fingerprint([path])
        const content = stat.isFile() ? createHash('sha256').update(readFileSync(path)).digest('hex') : 'other'
        return [`${path} ${stat.mode} ${content}`]
      }),
  ])
}

const attempts = [
  'read_file',
  'list_files',
  'list_files globs',
  'search_files',
  'write_to_file dry',
  'write_to_file',
  'write_to_file append',
  'replace_in_file',
]
const allDenied = Object.fromEntries(attempts.map((tool) => [tool, 'E_DENY_PATH']))

/** One attack: the walls are looked at after it in any case. */
function attack(name: string, run: (trap: Trap) => Promise<void>, setting: Setting = {}): void {
  test(name, async () => {
    await using trap = await openTrap(setting)
    await run(trap)
    trap.held()
  })
}

/** Attacks by a path alone, where the answer must be E_DENY_PATH from every tool. */
function deniedPaths(name: string, paths: (trap: Trap) => string[], setting: Setting = {}): void {
  attack(
    name,
    async (trap) => {
      for (const path of paths(trap)) expect([path, await trap.everyWay(path)]).toEqual([path, allDenied])
    },
    setting,
  )
}

/** No answer may hold what a forbidden folder holds; the folder itself stays as it was. */
async function sealed(trap: Trap, folder: string, file: string): Promise<void> {
  mkdirSync(trap.at(folder), { recursive: true })
  const path = join(trap.at(folder), file)
  writeFileSync(path, `${trap.canary}\n`)
  for (const target of [folder, `${folder}/${file}`, `./${folder}//${file}`])
    expect([target, await trap.everyWay(target)]).toEqual([target, allDenied])
  expect(await trap.ask('list_files', { path: '.' })).toBe('ok')
  if (!folder.includes('/')) expect(JSON.parse(trap.answer()).entries).not.toContain(folder)
  expect(await trap.ask('list_files', { path: '.', globs: ['**', `${folder}/**`, `**/${file}`] })).toBe('ok')
  expect(trap.answer()).not.toContain(file)
  expect(await trap.ask('search_files', { path: '.', regex: 'CANARY', filePattern: `**/${file}` })).toBe('ok')
  expect(JSON.parse(trap.answer()).matches).toEqual([])
  expect(readFileSync(path, 'utf8')).toBe(`${trap.canary}\n`)
  expect(readdirSync(trap.at(folder))).toEqual([file])
}

// P: paths

deniedPaths('P01 ../ out of the root', () => [
  '../outside/secret.txt',
  './../outside/secret.txt',
  'sub/../../outside/secret.txt',
  '..',
])
deniedPaths('P02 an absolute path outside, and one inside', ({ outside, at }) => [
  join(outside, 'secret.txt'),
  at('inside.txt'),
  '/',
  '//etc',
])
deniedPaths('P03 prefix sibling <root>-evil', ({ evil }) => ['../project-evil/secret.txt', join(evil, 'secret.txt')])

attack('P04 file symlink, absolute and relative', async (trap) => {
  symlinkSync(join(trap.outside, 'secret.txt'), trap.at('absolute.txt'))
  symlinkSync('../outside/secret.txt', trap.at('relative.txt'))
  for (const path of ['absolute.txt', 'relative.txt']) expect(await trap.everyWay(path)).toEqual(allDenied)
})

attack('P05 directory symlink', async (trap) => {
  symlinkSync(trap.outside, trap.at('door'))
  for (const path of ['door', 'door/', 'door/secret.txt', 'door/sub/deep.txt', 'door/.'])
    expect(await trap.everyWay(path)).toEqual(allDenied)
})

attack('P06 symlink chain', async (trap) => {
  symlinkSync(trap.outside, trap.at('third'))
  symlinkSync('third', trap.at('second'))
  symlinkSync('second/secret.txt', trap.at('first'))
  for (const path of ['first', 'second/secret.txt', 'second/sub/deep.txt']) expect(await trap.everyWay(path)).toEqual(allDenied)
})

attack('P07 link to the parent', async (trap) => {
  symlinkSync('..', trap.at('up'))
  symlinkSync('../..', trap.at('sub/higher'))
  for (const path of ['up/outside/secret.txt', 'up/project-evil/secret.txt', 'sub/higher/outside/secret.txt'])
    expect(await trap.everyWay(path)).toEqual(allDenied)
})

attack('P07 a link that stays inside is refused as well, by name and by folder', async (trap) => {
  symlinkSync('inside.txt', trap.at('alias.txt'))
  symlinkSync('sub', trap.at('twin'))
  for (const path of ['alias.txt', 'twin/inner.txt']) expect(await trap.everyWay(path)).toEqual(allDenied)
  expect(trap.world.read('inside.txt')).toBe('inside\n')
})

attack('P08 hard link to an outside file', async (trap) => {
  linkSync(join(trap.outside, 'secret.txt'), trap.at('sub/hard.txt'))
  const ways = await trap.everyWay('sub/hard.txt')
  for (const tool of ['read_file', 'write_to_file dry', 'write_to_file', 'write_to_file append', 'replace_in_file'])
    expect([tool, ways[tool]]).toEqual([tool, 'E_DENY_PATH'])
  expect(await trap.ask('search_files', { path: 'sub', regex: 'CANARY' })).toBe('ok')
  expect(JSON.parse(trap.answer()).matches).toEqual([])
})

attack('P09 /proc/self/root, written out and through a link', async (trap) => {
  symlinkSync('/proc/self/root', trap.at('machine'))
  for (const path of [`/proc/self/root${trap.outside}/secret.txt`, `machine${trap.outside}/secret.txt`, 'machine'])
    expect(await trap.everyWay(path)).toEqual(allDenied)
})

attack('P10 /proc/self/cwd and /proc/self/fd, written out and through a link', async (trap) => {
  symlinkSync('/proc/self/cwd', trap.at('here'))
  symlinkSync('/proc/self/fd', trap.at('open'))
  for (const path of ['/proc/self/cwd/package.json', 'here/package.json', 'open/3', 'open/0'])
    expect(await trap.everyWay(path)).toEqual(allDenied)
})

deniedPaths('P11 NUL and other control characters', () => [
  'inside.txt\0.png',
  '\0',
  'sub\0/../../outside/secret.txt',
  'a\nb',
  'a\rb',
  '\u001b[2J',
  'a\u007f',
])
deniedPaths('P12 percent-encoded dots and slashes', () => [
  '%2e%2e/outside/secret.txt',
  '%2E%2E/outside/secret.txt',
  '..%2foutside%2fsecret.txt',
  '%2e./outside/secret.txt',
  'sub%2f..%2f..%2foutside',
  '..%5coutside',
])
deniedPaths('P13 file:// and other addresses', ({ outside }) => [
  `file://${outside}/secret.txt`,
  `FILE://localhost${outside}/secret.txt`,
  'http://127.0.0.1/secret.txt',
])

attack('P13 file: with one slash is an ordinary name that does not exist', async (trap) => {
  expect(['E_DENY_PATH', 'E_NOT_FOUND']).toContain(await trap.ask('read_file', { path: `file:${trap.outside}/secret.txt` }))
})

attack('P14 ~ and variables are not expanded', async (trap) => {
  for (const path of ['~', '~/secret.txt']) expect(await trap.everyWay(path)).toEqual(allDenied)
  for (const path of ['~root/.bashrc', '$HOME/secret.txt', '${HOME}/secret.txt', '%HOME%/secret.txt', '`pwd`/x'])
    expect(['E_DENY_PATH', 'E_NOT_FOUND']).toContain(await trap.ask('read_file', { path }))
})

deniedPaths('P15 backslash as a separator', () => [
  '..\\outside\\secret.txt',
  'sub\\..\\..\\outside',
  'sub\\inner.txt',
  '\\\\server\\share',
])
deniedPaths('P16 40,000 characters, a name of 300 bytes, and a name of 100 three-byte characters', () => [
  'a'.repeat(40_000),
  'a/'.repeat(20_000),
  `${'../'.repeat(13_000)}etc/passwd`,
  'b'.repeat(300),
  '海'.repeat(100),
])
attack('P17 .env as a file', (trap) => sealedFile(trap, '.env'))
attack('P17 .env as a folder', (trap) => sealed(trap, '.env', 'production'))
attack('P17 .env at depth', (trap) => sealed(trap, 'sub/a/.env', 'production'))
attack('P18 .git/config', (trap) => sealed(trap, '.git', 'config'))
attack('P18 .git at depth', (trap) => sealed(trap, 'sub/module/.git', 'config'))
attack('P18 .git as the file of a submodule', (trap) => sealedFile(trap, '.git'))
attack('P18 node_modules', (trap) => sealed(trap, 'node_modules', 'x.js'))

async function sealedFile(trap: Trap, name: string): Promise<void> {
  writeFileSync(trap.at(name), `${trap.canary}\n`)
  for (const path of [name, `./${name}`, `${name}/`]) expect([path, await trap.everyWay(path)]).toEqual([path, allDenied])
  expect(await trap.ask('list_files', { path: '.', globs: ['**', '.*', name] })).toBe('ok')
  expect(JSON.parse(trap.answer()).entries).not.toContain(name)
  expect(await trap.ask('search_files', { path: '.', regex: 'CANARY' })).toBe('ok')
  expect(JSON.parse(trap.answer()).matches).toEqual([])
  expect(trap.world.read(name)).toBe(`${trap.canary}\n`)
}

deniedPaths('P19 .. after a real folder, even where it would stay inside', () => [
  'sub/../inside.txt',
  'sub/..',
  'sub/./../inside.txt',
  'sub/inner.txt/..',
  '...',
  'sub/..../x',
])

test.skipIf(!canFifo)('P20 FIFO without a writer answers at once (SKIPPED only where there is no mkfifo)', async () => {
  await using trap = await openTrap()
  execFileSync('mkfifo', [trap.at('sub/pipe')])
  const ways = await trap.everyWay('sub/pipe')
  for (const tool of ['read_file', 'write_to_file dry', 'write_to_file', 'write_to_file append', 'replace_in_file'])
    expect([tool, ways[tool]]).toEqual([tool, 'E_DENY_PATH'])
  expect(await trap.ask('search_files', { path: 'sub', regex: 'inner' })).toBe('ok')
  expect(JSON.parse(trap.answer()).matches).toHaveLength(1)
  expect(await trap.ask('search_files', { path: 'sub', regex: '(?<=in)ner' })).toBe('ok')
  expect(lstatSync(trap.at('sub/pipe')).isFIFO()).toBe(true)
  trap.held()
})

attack('P20 a socket in the project', async (trap) => {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(trap.at('s'), resolve))
  try {
    const ways = await trap.everyWay('s')
    for (const tool of ['read_file', 'write_to_file dry', 'write_to_file', 'replace_in_file'])
      expect([tool, ways[tool]]).toEqual([tool, 'E_DENY_PATH'])
    expect(lstatSync(trap.at('s')).isSocket()).toBe(true)
  } finally {
    server.close()
  }
})

const canMknod = isRoot && can('sh', '-c', 'd=$(mktemp -d) && mknod $d/n c 1 5 && rm -r $d')
test.skipIf(!canMknod)('P21 character device /dev/zero (SKIPPED only where mknod is refused)', async () => {
  await using trap = await openTrap()
  execFileSync('mknod', [trap.at('sub/zero'), 'c', '1', '5'])
  const ways = await trap.everyWay('sub/zero')
  for (const tool of ['read_file', 'write_to_file dry', 'write_to_file', 'write_to_file append', 'replace_in_file'])
    expect([tool, ways[tool]]).toEqual([tool, 'E_DENY_PATH'])
  expect(await trap.ask('search_files', { path: 'sub', regex: 'inner' })).toBe('ok')
  expect(lstatSync(trap.at('sub/zero')).isCharacterDevice()).toBe(true)
  trap.held()
})

attack('P22 3 GB sparse file', async (trap) => {
  const fd = openSync(trap.at('sub/huge.txt'), 'w')
  ftruncateSync(fd, 3 * 1024 ** 3)
  closeSync(fd)
  const path = 'sub/huge.txt'
  expect(await trap.ask('read_file', { path })).toBe('E_TOO_LARGE')
  expect(await trap.ask('read_file', { path, maxBytes: Number.MAX_SAFE_INTEGER })).toBe('E_TOO_LARGE')
  expect(await trap.ask('write_to_file', { path, content: 'x', mode: 'append', dryRun: false })).toBe('E_TOO_LARGE')
  expect(await trap.ask('replace_in_file', { path, find: 'a', replace: 'b' })).toBe('E_TOO_LARGE')
  expect(await trap.ask('search_files', { path: 'sub', regex: 'inner' })).toBe('ok')
  expect(JSON.parse(trap.answer()).matches).toHaveLength(1)
  expect(statSync(trap.at(path)).size).toBe(3 * 1024 ** 3)
})

attack('P23 binary, invalid UTF-8, UTF-16 and GBK are refused whole, and never rewritten', async (trap) => {
  const files = {
    'bin/nul.bin': Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1, 2, 3]),
    'bin/latin1.txt': Buffer.from([0x63, 0x61, 0x66, 0xe9]),
    'bin/utf16.txt': Buffer.from('\uFEFFhello', 'utf16le'),
    'bin/gbk.txt': Buffer.from([0xc4, 0xe3, 0xba, 0xc3]),
    'bin/overlong.txt': Buffer.from([0xc0, 0xae, 0xc0, 0xae, 0x2f]),
    'bin/surrogate.txt': Buffer.from([0xed, 0xa0, 0x80]),
  }
  for (const [path, bytes] of Object.entries(files)) {
    trap.world.write(path, bytes)
    expect([path, await trap.ask('read_file', { path })]).toEqual([path, 'E_ENCODING'])
    expect([path, await trap.ask('replace_in_file', { path, find: 'l', replace: 'L' })]).toEqual([path, 'E_ENCODING'])
    expect([path, await trap.ask('write_to_file', { path, content: 'x', mode: 'append', dryRun: false })]).toEqual([
      path,
      'E_ENCODING',
    ])
    expect(readFileSync(trap.at(path)).equals(bytes)).toBe(true)
  }
})

const lettercases = ['.GIT', '.Git', '.gIt', '.ENV', '.Env', 'Node_Modules', 'NODE_MODULES', '.Handrail', '.HANDRAIL']
for (const name of lettercases) attack(`P24 forbidden in another letter case: ${name}`, (trap) => sealed(trap, name, 'kept'))
attack('P24 the settings file in another letter case', (trap) => sealedFile(trap, 'Handrail.Config.JSON'))

deniedPaths('P25 full-width dots and slashes', () => [
  '．．/outside/secret.txt',
  '．．／outside／secret.txt',
  '\u2024\u2024/outside/secret.txt',
  '\u2025/outside/secret.txt',
  '.\u200b./outside/secret.txt',
  '\u2060..\u2060/outside/secret.txt',
])
const disguises: [string, string][] = [
  ['full-width', '．ｇｉｔ'],
  ['mathematical letters', '.\u{1d420}\u{1d422}\u{1d42d}'],
  ['zero-width space', '.g\u200bit'],
  ['zero-width joiner at the end', '.git\u200d'],
  ['byte order mark in front', '\ufeff.git'],
  ['soft hyphen', 'node\u00ad_modules'],
  ['variation selector', '.env\ufe0f'],
  ['long s', 'node_module\u017f'],
  ['Kelvin-free ligature', '.handra\u0131l'.replace('\u0131', 'i\u034f')],
  ['no-break space at the end', '.git\u00a0'],
  ['ideographic space at the end', '.git\u3000'],
  ['tag characters', '.git\u{e0067}'],
]
for (const [how, name] of disguises) attack(`P25 forbidden name in disguise: ${how}`, (trap) => sealed(trap, name, 'kept'))
deniedPaths('P25 right-to-left override and isolates', () => ['sub/\u202etxt.exe', 'a\u2066b', '\u202a..', 'x\u2069'])

attack(
  'P25 a forbidden name with accents is found in NFC and NFD',
  async (trap) => {
    for (const form of ['NFC', 'NFD'] as const) await sealed(trap, 'Café'.normalize(form), 'kept')
  },
  { flags: { 'forbidden-dirs': 'café' } },
)

deniedPaths('P26 Windows: drives, UNC, devices', () => [
  'C:\\Windows',
  'C:/Windows/win.ini',
  'c:',
  'C:inside.txt',
  '\\\\?\\C:\\x',
  '\\\\.\\pipe\\x',
])
for (const name of [
  '.git.',
  '.git ',
  '.git. .',
  '.git...',
  '.git::$INDEX_ALLOCATION',
  '.env::$DATA',
  '.git:stream',
  'node_modules .',
  '.handrail.',
])
  attack(`P26 Windows: other spelling of a forbidden name: ${JSON.stringify(name)}`, (trap) => sealed(trap, name, 'kept'))
for (const name of ['GIT~1', 'git~2', 'ENV~1', 'HANDRA~1', 'NODE_M~1', 'node_m~3'])
  attack(`P26 Windows: 8.3 short name ${name}`, (trap) => sealed(trap, name, 'kept'))
for (const name of [
  'HANDRA~1.JSO',
  'handra~2.jso',
  'handrail.config.json::$DATA',
  'handrail.config.json.',
  'handrail.config.json ',
])
  attack(`P26 Windows: other spelling of the settings file: ${JSON.stringify(name)}`, (trap) => sealedFile(trap, name))

attack('P26 Windows: the stream of an ordinary file and reserved names do not lead out', async (trap) => {
  for (const path of ['inside.txt::$DATA', 'CON', 'NUL', 'aux.txt', 'COM1'])
    expect(['E_DENY_PATH', 'E_NOT_FOUND']).toContain(await trap.ask('read_file', { path }))
})

const mountedState = (project: string): string => join(dirname(project), 'mounted', 'state')

/** The program in mount namespace of its own, after a script that mounts something; the rest of the system sees none of it. */
async function openMounted(project: string, script: string, args: string[] = []): Promise<Mounted> {
  const transport = new StdioClientTransport({
    command: 'unshare',
    args: ['-rm', 'sh', '-ec', `${script}\nexec "$@"`, 'sh', process.execPath, program, 'mcp', '--project', project, ...args],
    // What is mounted in the project's place is another folder, which the state of the first is not for.
    env: { ...cleanEnv(dirname(project)), HANDRAIL_STATE: mountedState(project), P: project, B: dirname(project) },
    stderr: 'pipe',
  })
  const client = new Client({ name: 'handrail-test', version: '1.0.0' })
  await client.connect(transport)
  const pid = transport.pid as number
  const replies: string[] = []
  return {
    pid,
    replies,
    seen: (name) => join(`/proc/${pid}/root`, project, name),
    async call(tool, input) {
      const result = await client.callTool({ name: tool, arguments: input })
      const text = (result.content as { text: string }[])[0]?.text ?? '{}'
      replies.push(text)
      return JSON.parse(text) as Answer
    },
    [Symbol.asyncDispose]: () => client.close(),
  }
}

interface Answer {
  error?: { code: string; hint?: string; details?: Record<string, unknown> }
  content?: string
  entries?: string[]
  matches?: unknown[]
  applied?: boolean
  snapshots?: unknown[]
}

interface Mounted {
  readonly pid: number
  readonly replies: string[]
  /** The project as the program sees it. */
  seen(name: string): string
  call(tool: string, input: Record<string, unknown>): Promise<Answer>
  [Symbol.asyncDispose](): Promise<void>
}

const noDiff = ['--write-requires-diff', 'false', '--approval-wait-ms', '0']

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
    await using peer = await openStdio(alias)
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
    const { code, out, err } = await runCli(trap.world.project, [
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
  { flags: { 'sandbox-root': 'sub' } },
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
    const { code, err } = await runCli(world.project, ['call', 'list_files', '{"path":"."}', '--json'])
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

attack('P30 list_snapshots: a filter is no path, and shows nothing but what is kept', async (trap) => {
  await trap.ask('write_to_file', { path: 'inside.txt', content: 'new\n', dryRun: false })
  for (const path of ['../outside', trap.outside, '..', '/', '%', '_', "' OR 1=1 --", '\0']) {
    expect(await trap.ask('list_snapshots', { path })).toBe('ok')
    expect([path, JSON.parse(trap.answer()).snapshots]).toEqual([path, []])
  }
})

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
  expect(JSON.stringify(fault.toBody())).not.toContain('CANARY')
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
  expect(await trap.ask('read_file', { path: 'loop/loop/loop/inside.txt' })).toBe('E_DENY_PATH')
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
      if (code === 'refused at the start') expect((thrown as ToolError).code).toBe('E_BAD_ARGS')
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

// W: writes

const write = (path: string, content = 'escaped\n'): Record<string, unknown> => ({ path, content, dryRun: false })

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
  for (const path of ['../outside/new.txt', '../new.txt', 'new/../../outside/new.txt'])
    expect(await trap.ask('write_to_file', write(path))).toBe('E_DENY_PATH')
  expect(existsSync(trap.at('new'))).toBe(false)
  expect(readdirSync(trap.world.base).sort()).toEqual(['outside', 'project', 'project-evil', 'state'])
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
  for (let round = 0; round < 12 && between < 2; round++) {
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
      call('write_to_file', { path: 'ro/new.txt', content: 'new\n', dryRun: false }),
      call('write_to_file', { path: 'ro/deep/er/new.txt', content: 'new\n', dryRun: false }),
      call('replace_in_file', { path: 'ro/a.txt', find: 'old', replace: 'new' }),
      call('read_file', { path: 'no.txt' }),
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
  const each = 40
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
      (fault: ToolError) => fault.code,
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
    const { code, out, err } = await runCli(trap.world.project, ['call', 'read_file', JSON.stringify({ path }), '--json'])
    expect([path, code, (JSON.parse(err) as Answer).error?.code]).toEqual([path, 1, 'E_DENY_PATH'])
    expect(out + err).not.toContain(trap.canary)
  }
})
