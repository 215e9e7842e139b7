import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { errorCodeOf } from '../../src/contracts/faults/contract-000.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { openFiles } from '../../src/host/files.ts'
import { pathRules } from '../../src/host/paths.ts'
import { openRegexEngine } from '../../src/host/regex.ts'
import { findRipgrep } from '../../src/host/ripgrep.ts'
import type { Match } from '../../src/host/search-request.ts'
import { openSearch, type Search } from '../../src/host/search.ts'
import { closeRoot, openRoot } from '../../src/host/walk.ts'
import { draws } from '../support/seed.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { patienceMs } from '../support/patience.ts'
import { openStdio, openWorld, type World } from '../support/world.ts'

const evil = `${'a'.repeat(40)}!`
const quick = { 'regex-timeout-ms': String(sweep(250, 80)), 'search-timeout-ms': String(sweep(600, 160)) }
/** Where something else is to be answered in the same time, however busy the machine is; it is called off then. */
const unhurried = { 'regex-timeout-ms': '30000', 'search-timeout-ms': '60000' }
const quickArgs = Object.entries(quick).flatMap(([name, value]) => [`--${name}`, value])

const codeOf = async (doing: Promise<unknown>): Promise<string> =>
  doing.then(
    () => 'ok',
    (thrown: unknown) => {
      if (thrown instanceof Fault) return errorCodeOf(thrown)
      throw thrown
    },
  )

/** How many other calls are answered while this one is under way, which is then called off. */
async function answersMeanwhile(world: World, tool: string, input: object): Promise<number> {
  const over = new AbortController()
  let open = true
  const doing = world.call(tool, input, { signal: over.signal }).finally(() => (open = false))
  const ended = expect(doing).rejects.toMatchObject({ reason: 'cancelled' })
  let answered = 0
  while (open && answered < 20) {
    await world.call('read_file', { path: 'calm.txt' })
    if (open) answered++
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
  over.abort()
  await ended
  return answered
}

// Where a pattern explodes in JavaScript: plain, hidden in look-ahead, with a reference (which ripgrep does not know).
const bombs = [
  '^(a+)+$',
  '^(a|aa)+$',
  '^(a|a?)+$',
  '(?=^(a+)+$)',
  '^(?=(a+)+$)',
  '^(\\w+\\s?)*$',
  '(.*)*\\1x',
  '^(([a-z])+.)+[A-Z]([a-z])+$',
  '(?<=x(a+)+)!?$(?!x)y',
]

/** One that is sure to run into its deadline, in search_files. */
const held = '(?=^(a+)+$)'

/** One that is sure to run into its deadline, in replace_in_file. */
const exploding = '^(a+)+$'

/** Each takes until its deadline: those that are sure to, and of the others a third, which of them by the seed; in a soak all. */
const third = draws('patterns that explode')(3)
const someBombs = bombs.filter((one, at) => isSoak || [held, exploding].includes(one) || at % 3 === third)

test('S02 patterns that explode, in search_files: a result or E_TIMEOUT, and other calls are answered meanwhile', async () => {
  await using world = await openWorld({ files: { 'evil.txt': `${evil}\n`, 'calm.txt': 'calm\n' }, flags: quick })
  for (const regex of someBombs) {
    const code = await codeOf(world.call('search_files', { path: '.', regex }))
    expect([regex, code]).toEqual([regex, expect.stringMatching(regex === held ? /^E_TIMEOUT$/ : /^(ok|E_TIMEOUT)$/)])
  }
  await world.reopen(unhurried)
  expect(await answersMeanwhile(world, 'search_files', { path: '.', regex: held })).toBe(20)
  expect((await world.call<{ matches: Match[] }>('search_files', { path: '.', regex: 'calm' })).matches).toHaveLength(1)
})

test('S04 patterns that explode, in replace_in_file: E_TIMEOUT or a result, nothing half written, other calls answered meanwhile', async () => {
  await using world = await openWorld({ files: { 'evil.txt': `${evil}\n`, 'calm.txt': 'calm\n' }, flags: quick })
  for (const find of someBombs) {
    const doing = codeOf(world.call('replace_in_file', { path: 'evil.txt', find, replace: 'x', flags: 'gm' }))
    expect([find, await doing]).toEqual([find, expect.stringMatching(find === exploding ? /^E_TIMEOUT$/ : /^(ok|E_TIMEOUT)$/)])
  }
  await world.reopen(unhurried)
  const input = { path: 'evil.txt', find: exploding, replace: 'x', flags: 'g' }
  expect(await answersMeanwhile(world, 'replace_in_file', input)).toBe(20)
  expect(world.read('evil.txt')).toBe(`${evil}\n`)
  expect(await world.call('replace_in_file', { path: 'calm.txt', find: 'c(.)lm', replace: 'k$1lm', flags: '' })).toEqual({
    count: 1,
  })
})

test('S04 more exploding replacements at once than there are threads (soak: eight): every one ends, and a write goes through after them', async () => {
  const files = Object.fromEntries(Array.from({ length: sweep(8, 5) }, (_, index) => [`${index}.txt`, `${evil}\n`]))
  await using world = await openWorld({ files, flags: quick })
  const codes = await Promise.all(
    Object.keys(files).map((path) => codeOf(world.call('replace_in_file', { path, find: '^(a+)+$', replace: 'x', flags: 'm' }))),
  )
  expect(codes).toEqual(codes.map(() => 'E_TIMEOUT'))
  await world.put('0.txt', 'fine\n')
  expect(world.read('0.txt')).toBe('fine\n')
})

/** Here the process itself would hang, so it is another one, which can be killed. */
async function codesOf(calls: [tool: string, input: Record<string, unknown>][]): Promise<string[]> {
  await using world = await openWorld({ files: { [`${'a'.repeat(120)}!`]: 'x\n', 'calm.txt': 'calm\n' } })
  await using peer = await openStdio(world.project, { args: quickArgs })
  const codes: string[] = []
  for (const [tool, input] of calls) {
    let late: NodeJS.Timeout | undefined
    const hung = new Promise<string>((resolve) => (late = setTimeout(resolve, patienceMs, 'hangs')))
    codes.push(await Promise.race([peer.call(tool, input).then((reply) => reply.error?.code ?? 'ok'), hung]))
    clearTimeout(late)
    if (codes.at(-1) !== 'hangs') continue
    process.kill(peer.pid, 'SIGKILL')
    break
  }
  return codes
}

const globBombs = [
  '+(*)b',
  '+(a*)b',
  '((a+)+)b',
  '(a|aa)+b',
  '+(a|[a-z])b',
  `${'*a'.repeat(16)}*b`,
  `${'{a,aa}'.repeat(40)}b`,
  `${'{a,?}'.repeat(60)}b`,
]
test('S02 globs that explode, in list_files and search_files, do not hang the process', async () => {
  const calls = [
    ...globBombs.map((glob): [string, Record<string, unknown>] => ['list_files', { path: '.', globs: [glob] }]),
    ['search_files', { path: '.', regex: 'x', filePattern: '+(*)b' }] satisfies [string, Record<string, unknown>],
  ]
  const codes = await codesOf(calls)
  expect(codes.map((code, index) => [calls[index], code])).toEqual(
    calls.map((call) => [call, expect.stringMatching(/^(ok|E_BAD_ARGS|E_TIMEOUT)$/)]),
  )
})

const keyStarts = [
  'eyJ',
  'sk-',
  'ghp_',
  'github_pat_',
  'glpat-',
  'xoxb-',
  'AKIA',
  'AIza',
  'npm_',
  '-----BEGIN ',
  'Bearer ',
  'password ',
  'token: "',
]
test('S02 what is written down of a call, which is looked through for keys, cannot hang the process', async () => {
  const calls = keyStarts.flatMap((start): [string, Record<string, unknown>][] => {
    const long = start.repeat(100_000 / start.length)
    return [
      ['list_files', { path: '.', globs: Array.from({ length: sweep(20, 2) }, () => long) }],
      ['search_files', { path: '.', regex: long, filePattern: long }],
    ]
  })
  expect(await codesOf(calls)).toEqual(calls.map(() => 'E_BAD_ARGS'))
})

test('S03 an invalid regex is E_BAD_ARGS, in both tools, and nothing is changed', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a(b\n' } })
  for (const regex of ['(', '[', 'a{2,1}', '*a', '(?<n>a)(?<n>b)', '\\', '(?<=a', '(?<1a>b)', '[z-a]', '']) {
    expect([regex, await codeOf(world.call('search_files', { path: '.', regex }))]).toEqual([regex, 'E_BAD_ARGS'])
    expect([
      regex,
      await codeOf(world.call('replace_in_file', { path: 'a.txt', find: regex, replace: 'x', flags: 'g' })),
    ]).toEqual([regex, 'E_BAD_ARGS'])
  }
  for (const find of ['\\p{Nope}', '\\u{110000}', 'a{', '\\q'])
    expect([find, await codeOf(world.call('replace_in_file', { path: 'a.txt', find, replace: 'x', flags: 'u' }))]).toEqual([
      find,
      'E_BAD_ARGS',
    ])
  expect(world.read('a.txt')).toBe('a(b\n')
})

test('S05 a pattern of 1 MB is E_BAD_ARGS or works, in both tools, never a fault of Handrail', async () => {
  await using world = await openWorld({ files: { 'a.txt': `${'a'.repeat(100)}\n` } })
  for (const regex of ['a'.repeat(1 << 20), 'a|'.repeat(1 << 19), '[ab]'.repeat(1 << 18), '\\x61'.repeat(1 << 18)]) {
    const short = regex.slice(0, 8)
    expect([short, await codeOf(world.call('search_files', { path: '.', regex }))]).toEqual([short, 'E_BAD_ARGS'])
    const code = await codeOf(world.call('replace_in_file', { path: 'a.txt', find: regex, replace: 'x', flags: 'g' }))
    expect([short, code]).toEqual([short, expect.stringMatching(/^(ok|E_BAD_ARGS|E_TIMEOUT)$/)])
  }
})

/** Deep nesting can end the whole process, so it is asked of another one. */
const nestings = [
  ['look-ahead', '(?=', ')', 60_000],
  ['negative look-behind', '(?<!', ')', 100_000],
  ['repeated groups', '(?:', ')*', 100_000],
  ['optional groups', '(?:', ')?', 300_000],
  ['capturing groups', '(', ')', 100_000],
] as const

test('S05 up to 300,000 nested groups and look-arounds in replace_in_file do not kill the process', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'aaaa\n' } })
  await using peer = await openStdio(world.project)
  for (const [what, open, close, depth] of nestings) {
    const input = { path: 'a.txt', find: `${open.repeat(depth)}a${close.repeat(depth)}`, replace: 'b', flags: 'g' }
    const code = await peer.call('replace_in_file', input).then(
      (reply) => reply.error?.code ?? 'ok',
      (fault: Error) => `dead: ${fault.message.slice(0, 60)}`,
    )
    expect([what, code]).toEqual([what, expect.stringMatching(/^(ok|E_BAD_ARGS|E_TIMEOUT|E_TOO_LARGE)$/)])
    expect((await peer.call('list_files', { path: '.' }))['entries']).toEqual(['a.txt'])
  }
})

test('S05 4,000 nested look-aheads in search_files are answered', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'aaaa\n' }, flags: quick })
  expect(await codeOf(world.call('search_files', { path: '.', regex: `${'(?='.repeat(4_000)}a${')'.repeat(4_000)}` }))).toMatch(
    /^(ok|E_BAD_ARGS|E_TIMEOUT)$/,
  )
})

test('S05 very many matches (soak: a million): search_files stops where it was told to, replace_in_file counts them all', async () => {
  const many = sweep(1_000_000, 60_000)
  await using world = await openWorld({
    files: { 'lines.txt': 'x\n'.repeat(many), 'line.txt': 'x'.repeat(many) },
    flags: { 'regex-timeout-ms': '30000', 'search-timeout-ms': '60000' },
  })
  const search = async (maxMatches?: number): Promise<Match[]> =>
    (await world.call<{ matches: Match[] }>('search_files', { path: '.', regex: 'x', ...(maxMatches && { maxMatches }) })).matches
  expect(await search()).toHaveLength(2_000)
  expect(await search(3)).toHaveLength(3)
  expect((await search(5))[0]).toMatchObject({ path: 'line.txt', line: 1 })
  expect(await world.call('replace_in_file', { path: 'line.txt', find: 'x', replace: 'y', flags: 'g' })).toEqual({
    count: many,
  })
  expect(await world.call('replace_in_file', { path: 'line.txt', find: 'y', replace: 'z' })).toEqual({ count: many })
  expect(world.read('line.txt')).toBe('z'.repeat(many))
  expect(await codeOf(world.call('replace_in_file', { path: 'lines.txt', find: 'x', replace: 'y', flags: 'g' }))).toBe(
    'E_POLICY_VIOLATION',
  )
})

test('S05 a replacement that would grow without end is E_TOO_LARGE, literal and by pattern, and nothing is written', async () => {
  // Time enough, so that it is the size and not a busy machine that ends it.
  await using world = await openWorld({ files: { 'a.txt': 'a'.repeat(1_000_000) }, flags: { 'regex-timeout-ms': '30000' } })
  for (const replace of ['b'.repeat(100), 'b'.repeat(1_000), 'b'.repeat(100_000)])
    for (const flags of [{}, { flags: 'g' }]) {
      const code = await codeOf(world.call('replace_in_file', { path: 'a.txt', find: 'a', replace, ...flags }))
      expect([replace.length, flags, code]).toEqual([replace.length, flags, 'E_TOO_LARGE'])
    }
  expect(
    await codeOf(
      world.call('replace_in_file', { path: 'a.txt', find: '(?:a{1000})', replace: '$&$&$&$&$&$&$&$&$&$&', flags: 'g' }),
    ),
  ).toBe('E_TOO_LARGE')
  await world.reopen({ 'regex-timeout-ms': '2000' })
  expect(await codeOf(world.call('replace_in_file', { path: 'a.txt', find: 'a', replace: '$`', flags: 'g' }))).toMatch(
    /^(E_TOO_LARGE|E_TIMEOUT)$/,
  )
  expect(world.read('a.txt')).toBe('a'.repeat(1_000_000))
})

test('S06 flags: known ones work, sticky, d and nonsense are E_BAD_ARGS', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'Aa\nAa\n' } })
  for (const flags of ['y', 'd', 'gy', 'x', 'G', ' ', 'g,i', 'uv', '/', '\n', 'g'.repeat(100_000) + 'y'])
    expect([
      flags.slice(0, 5),
      await codeOf(world.call('replace_in_file', { path: 'a.txt', find: 'A', replace: 'b', flags })),
    ]).toEqual([flags.slice(0, 5), 'E_BAD_ARGS'])
  expect(world.read('a.txt')).toBe('Aa\nAa\n')
  const run = async (find: string, flags: string): Promise<unknown> => {
    world.write('a.txt', 'Aa\nAa\n')
    return (await world.call('replace_in_file', { path: 'a.txt', find, replace: '-', flags }))['count']
  }
  expect([
    await run('a', ''),
    await run('a', 'g'),
    await run('a', 'gi'),
    await run('^a', 'gim'),
    await run('A.+A', 's'),
    await run('A.A', 'g'),
  ]).toEqual([1, 2, 4, 2, 1, 0])
  expect([await run('\\p{Lu}', 'gu'), await run('[\\p{L}--[a]]', 'gv')]).toEqual([2, 2])
})

test('S07 $& and $1: themselves in literal mode, JavaScript’s meaning in regex mode', async () => {
  await using world = await openWorld({ files: { 'a.txt': '' } })
  const run = async (text: string, input: Record<string, unknown>): Promise<string> => {
    world.write('a.txt', text)
    await world.call('replace_in_file', { path: 'a.txt', ...input })
    return world.read('a.txt')
  }
  for (const replace of ['$&', '$1', '$$', '$`', "$'", '$<name>', '\\1', '\\n']) {
    expect([replace, await run('<x>', { find: 'x', replace })]).toEqual([replace, `<${replace}>`])
  }
  expect(await run('<ab>', { find: '(a)(b)', replace: '$2$1', flags: '' })).toBe('<ba>')
  expect(await run('<ab>', { find: '/(a)(b)/', replace: '[$&]' })).toBe('<[ab]>')
  expect(await run('<ab>', { find: '(?i)(A)', replace: '$1$1' })).toBe('<aab>')
  expect(await run('<ab>', { find: '(?<one>a)', replace: '$<one>$$', flags: '' })).toBe('<a$b>')
  expect(await run('<ab>', { find: 'a', replace: '$9$0\\1', flags: '' })).toBe('<$9$0\\1b>')
  expect(await run('a.b|c', { find: '.b|', replace: '!' })).toBe('a!c')
  expect(await run('x $1 y', { find: '$1', replace: '$&' })).toBe('x $& y')
})

test('patterns ripgrep does not know are answered all the same', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'foobar\nbarfoo\nabab\nabba\n😀\n', 'b/c.txt': 'foobar\r\n' } })
  const lines = async (regex: string): Promise<string[]> =>
    (await world.call<{ matches: Match[] }>('search_files', { path: '.', regex })).matches.map(
      (match) => `${match.path}:${match.line}`,
    )
  expect(await lines('(?<=foo)bar')).toEqual(['a.txt:1', 'b/c.txt:1'])
  expect(await lines('foo(?!bar)')).toEqual(['a.txt:2'])
  expect(await lines('^(ab)\\1$')).toEqual(['a.txt:3'])
  expect(await lines('(?<x>b)\\k<x>')).toEqual(['a.txt:4'])
  expect(await lines('^(?=.*r$)f')).toEqual(['a.txt:1', 'b/c.txt:1'])
})

// Both engines on the same tree

interface Engines {
  readonly fast: Search
  readonly plain: Search
  [Symbol.dispose](): void
}

function openEngines(files: Record<string, string | Buffer>): Engines {
  const project = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
  for (const [name, content] of Object.entries(files)) {
    mkdirSync(dirname(join(project, name)), { recursive: true })
    writeFileSync(join(project, name), content)
  }
  const root = openRoot(project)
  const rules = pathRules(['.git', 'node_modules'])
  const regex = openRegexEngine()
  const parts = {
    root,
    rules,
    files: openFiles(root, rules, 5 << 20),
    forbidden: ['.handrail', '.git', 'node_modules'],
    regex,
    timeoutMs: 20_000,
  }
  return {
    fast: openSearch({ ...parts, ripgrep: findRipgrep }),
    plain: openSearch({ ...parts, ripgrep: () => undefined }),
    [Symbol.dispose]() {
      regex.close()
      closeRoot(root)
      rmSync(project, { recursive: true, force: true })
    },
  }
}

const find = async (
  search: Search,
  asked: { path?: string; regex: string; filePattern?: string; most?: number },
): Promise<Match[]> => {
  const { matches } = await search.find({
    path: asked.path ?? '.',
    regex: asked.regex,
    filePattern: asked.filePattern,
    most: asked.most ?? 2_000,
    client: 'c',
    signal: new AbortController().signal,
  })
  return matches
}

interface Asked {
  path?: string
  regex: string
  filePattern?: string
  most?: number
}

const byPlace = (a: Match, b: Match): number => (a.path === b.path ? a.line - b.line : a.path < b.path ? -1 : 1)

/** The same question to both engines, and the same answer; the order is looked at on its own. */
async function agree(engines: Engines, asked: Asked, inOrder = false): Promise<void> {
  const [fast, plain] = [await find(engines.fast, asked), await find(engines.plain, asked)]
  if (inOrder) expect([asked, fast]).toEqual([asked, plain])
  else expect([asked, fast.sort(byPlace)]).toEqual([asked, plain.sort(byPlace)])
}

/** A tree from a seed: folders and files whose names sort differently as paths and as names, and lines of all kinds. */
function tree(seed: number): Record<string, string | Buffer> {
  let state = seed
  const next = (most: number): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return Math.floor((state / 2 ** 32) * most)
  }
  const pick = <T>(list: readonly T[]): T => list[next(list.length)] as T
  const names = ['a', 'b', 'a.b', 'a-b', 'A', 'z', '海', '.dot', 'with space', 'é', '[x]', '{y}']
  const words = [
    'alpha',
    'beta',
    'changeBg: beach.jpg;',
    '',
    'foo(bar)',
    'x = 1',
    '雪乃: 海风',
    '\tindented',
    'trailing ',
    'éclair',
    '100%',
    'a+b',
    'ALPHA beta',
    '-- dashes',
    '\u2028',
  ]
  const files: Record<string, string | Buffer> = {}
  for (let index = 0; index < 60; index++) {
    const path = [
      ...Array.from({ length: next(4) }, () => pick(names)),
      `${pick(names)}${index}${pick(['.txt', '.js', ''])}`,
    ].join('/')
    const end = pick(['\n', '\n', '\r\n'])
    files[path] = Array.from({ length: next(20) }, () => pick(words)).join(end) + pick([end, ''])
  }
  files['.git/config'] = 'alpha\n'
  files['a/node_modules/x.js'] = 'alpha\n'
  files['bin.txt'] = Buffer.from([0x61, 0x6c, 0x70, 0x68, 0x61, 0, 0xff, 0x0a])
  files['latin.txt'] = Buffer.from([0x61, 0x6c, 0x70, 0x68, 0x61, 0xe9, 0x0a])
  return files
}

test('ripgrep and the fallback give equal results on generated trees', async () => {
  const one = draws('questions to both engines')(4)
  const sampled = (_: string, at: number): boolean => isSoak || at % 4 === one
  for (const seed of [1, 2, 3].slice(0, sweep(3, 1))) {
    using engines = openEngines(tree(seed))
    const regexes = [
      'alpha',
      'ALPHA',
      '[ab]e',
      'b.*g',
      '^a',
      '\\(bar\\)',
      '(foo|beta)',
      '海',
      'x = \\d',
      '\\bbeta\\b',
      '^\\s+\\S',
      '[^a-z ]',
      'e{2,}|l+',
      '\\.jpg;',
      '--',
      'a\\+b',
      '100%',
    ]
    // Each starts ripgrep: every fourth one, which of them by the seed, and in a soak all.
    for (const regex of regexes.filter(sampled)) await agree(engines, { regex })
    for (const path of ['a', 'b', '海', 'with space'])
      await agree(engines, { path, regex: 'a' }).catch((thrown: unknown) =>
        expect(errorCodeOf(thrown as Fault)).toBe('E_NOT_FOUND'),
      )
    for (const filePattern of [
      '*.txt',
      '**/*.js',
      'a/**',
      '*.{txt,js}',
      'a*',
      '**/a*/**',
      '[ab]*',
      '!*.txt',
      '.dot/**',
      '*',
      '**',
      'with space/*',
    ].filter(sampled))
      await agree(engines, { regex: 'a', filePattern })
  }
})

test('both engines: the end of a line is its end, also where lines end in CR LF', async () => {
  using engines = openEngines({ 'crlf.txt': 'one;\r\ntwo;\r\n\r\nend', 'lf.txt': 'one;\ntwo;\n\nend\n' })
  for (const regex of [';$', '^one;$', 'two;\\s*$', '^$', 'end$', '\\W$']) await agree(engines, { regex })
  expect((await find(engines.fast, { regex: '^two;$' })).map((match) => match.path)).toEqual(['crlf.txt', 'lf.txt'])
})

test('both engines: a pattern that matches nothing-at-all, and a last line that is none', async () => {
  using engines = openEngines({ 'a.txt': 'x\n\ny\n', 'b.txt': 'x', 'empty.txt': '' })
  for (const regex of ['^', '$', 'z*', '^$', '(?:)', 'x|', '\\s*']) await agree(engines, { regex })
})

test('both engines: the same order, so that the first hits are the same ones', async () => {
  using engines = openEngines({
    'a/z.txt': 'x\n',
    'a.txt': 'x\n',
    'a-b.txt': 'x\n',
    'a/b/c.txt': 'x\n',
    'B.txt': 'x\n',
    'ab/c.txt': 'x\n',
    'é.txt': 'x\n',
    '\u{1f600}.txt': 'x\n',
    '\uff5e.txt': 'x\n',
  })
  await agree(engines, { regex: 'x' }, true)
  for (const most of [1, 2, 3, 5]) await agree(engines, { regex: 'x', most }, true)
})

test('both engines: names with a line break, a NUL-like ending or a leading dash are found under their own name', async () => {
  using engines = openEngines({
    'odd\nname.txt': 'needle\n',
    'x\n./plain.txt': 'needle\n',
    'plain.txt': 'other\n',
    '-e': 'needle\n',
    ' lead.txt': 'needle\n',
    'a:1:b.txt': 'needle\n',
  })
  await agree(engines, { regex: 'needle' })
  expect((await find(engines.fast, { regex: 'needle' })).filter((match) => match.preview !== 'needle')).toEqual([])
})

test('both engines: a line with very many matches does not hide other files', async () => {
  const files: Record<string, string> = { 'zz/last.txt': 'needle\n' }
  for (let index = 0; index < 6; index++) files[`m${index}.min.js`] = `${'needle '.repeat(60_000)}\n`
  using engines = openEngines(files)
  await agree(engines, { regex: 'needle' })
  await agree(engines, { regex: 'e' })
})

test('both engines: more matching lines than are collected at once, all of them wanted', async () => {
  using engines = openEngines({ 'a.txt': 'x\n'.repeat(sweep(150_000, 101_000)) })
  const counts = [
    (await find(engines.fast, { regex: 'x', most: 1_000_000 })).length,
    (await find(engines.plain, { regex: 'x', most: 1_000_000 })).length,
  ]
  expect(counts).toEqual([sweep(150_000, 101_000), sweep(150_000, 101_000)])
})

test('both engines: one dialect, whichever engine is installed', async () => {
  using engines = openEngines({
    'a.txt': [
      '<div>',
      'div',
      '١٢٣',
      '123',
      'été',
      'naïve x',
      'a&&b',
      'b',
      '[:alpha:]',
      'aaa',
      'a{,2}',
      'Z',
      'z',
      '\ufeff',
      '\u00a0',
      'K',
      '\u212a',
      'tab\there',
    ].join('\n'),
  })
  const disagreeing: string[] = []
  const regexes = [
    '\\<div\\>',
    '^\\d+$',
    '\\bt',
    '^\\w+$',
    '[a&&b]',
    '[[:alpha:]]',
    '^a{,2}$',
    '\\Z',
    '\\z',
    '\\A',
    '^\\s$',
    '\\D\\D',
    '(?i)k',
    '^.$',
    '[\\w--a]',
    '\\h',
    '\\x{61}',
    '(?P<n>a)',
    '\\pL',
    '^[^\\W]+$',
  ]
  for (const regex of regexes) {
    const [fast, plain] = await Promise.all(
      [engines.fast, engines.plain].map((engine) =>
        find(engine, { regex }).then(
          (matches) => matches.map((match) => match.line).join(),
          (fault: Fault) => errorCodeOf(fault),
        ),
      ),
    )
    if (fast !== plain) disagreeing.push(`${regex}: ripgrep ${fast || 'none'}, fallback ${plain || 'none'}`)
  }
  expect(disagreeing).toEqual([])
})
