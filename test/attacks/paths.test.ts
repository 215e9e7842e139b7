import { execFileSync } from 'node:child_process'
import {
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  closeSync,
  ftruncateSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { draws } from '../support/seed.ts'
import { isSoak } from '../support/soak.ts'
import { allDenied, attack, can, canFifo, isRoot, openTrap, type Setting, type Trap } from '../support/trap.ts'

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
deniedPaths('P02 an absolute path outside', ({ outside, evil }) => [
  join(outside, 'secret.txt'),
  join(evil, 'secret.txt'),
  '/',
  '/etc/passwd',
  '//etc',
  '//etc/passwd',
  '///etc/passwd',
  '//',
  '//second-evil/secret.txt',
  '//second//etc/passwd',
  '//second/../outside/secret.txt',
  '//../outside/secret.txt',
  `/${outside}/secret.txt`,
])
deniedPaths(
  'P02 an absolute path inside, and the name of a root that is not theirs',
  ({ at }) => [at('inside.txt'), '//second'],
  {
    ofProject: true,
  },
)
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

attack('P07 a link that stays inside is read, and refused in every other way, by name and by folder', async (trap) => {
  symlinkSync('inside.txt', trap.at('alias.txt'))
  symlinkSync('sub', trap.at('twin'))
  for (const path of ['alias.txt', 'twin/inner.txt']) expect(await trap.everyWay(path)).toEqual({ ...allDenied, read_file: 'ok' })
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

/** Other ways to write the same names: all of them in a soak, else every third, others with every seed. */
const first = draws('names written otherwise')(3)
const someNames = <T>(all: readonly T[]): readonly T[] => (isSoak ? all : all.filter((_, at) => at % 3 === first))

const lettercases = ['.GIT', '.Git', '.gIt', '.ENV', '.Env', 'Node_Modules', 'NODE_MODULES', '.Handrail', '.HANDRAIL']
for (const name of someNames(lettercases))
  attack(`P24 forbidden in another letter case: ${name}`, (trap) => sealed(trap, name, 'kept'))
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
for (const [how, name] of someNames(disguises))
  attack(`P25 forbidden name in disguise: ${how}`, (trap) => sealed(trap, name, 'kept'))
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
for (const name of someNames([
  '.git.',
  '.git ',
  '.git. .',
  '.git...',
  '.git::$INDEX_ALLOCATION',
  '.env::$DATA',
  '.git:stream',
  'node_modules .',
  '.handrail.',
]))
  attack(`P26 Windows: other spelling of a forbidden name: ${JSON.stringify(name)}`, (trap) => sealed(trap, name, 'kept'))
for (const name of someNames(['GIT~1', 'git~2', 'ENV~1', 'HANDRA~1', 'NODE_M~1', 'node_m~3']))
  attack(`P26 Windows: 8.3 short name ${name}`, (trap) => sealed(trap, name, 'kept'))
for (const name of someNames([
  'HANDRA~1.JSO',
  'handra~2.jso',
  'handrail.config.json::$DATA',
  'handrail.config.json.',
  'handrail.config.json ',
]))
  attack(`P26 Windows: other spelling of the settings file: ${JSON.stringify(name)}`, (trap) => sealedFile(trap, name))

attack('P26 Windows: the stream of an ordinary file and reserved names do not lead out', async (trap) => {
  for (const path of ['inside.txt::$DATA', 'CON', 'NUL', 'aux.txt', 'COM1'])
    expect(['E_DENY_PATH', 'E_NOT_FOUND']).toContain(await trap.ask('read_file', { path }))
})
