import { mkdirSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import { leaves } from '../../src/config/load.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import type { Operator } from '../../src/contracts/operator.ts'
import { openRuntime } from '../../src/runtime/open.ts'
import { openInside, runInside } from '../support/inside.ts'
import { cleanEnv, openWorld } from '../support/world.ts'
import {
  agent,
  type Bench,
  defineTool,
  form,
  type Home,
  one,
  openBench,
  openHome,
  place,
  type Seat,
  seatOf,
  type Settings,
  type Source,
  sources,
  trustProject,
  userFile,
  writeUserFile,
} from '../support/seats.ts'
import { draws } from '../support/seed.ts'
import { isSoak } from '../support/soak.ts'

/** The whole runtime, as the program opens it, with settings from one source. */
function openSeat(source: Source, settings: Settings, files: Record<string, string> = {}): Seat {
  const home = openHome(files)
  const { env, flags } = place(home, source, settings)
  if (source === 'project') trustProject(home)
  const runtime = openRuntime({ project: home.project, environment: { ...cleanEnv(home.base), ...env }, flags })
  return seatOf(home, runtime.tools, runtime.call, () => runtime.close())
}

const runScript = defineTool({
  ...form,
  name: 'run_script',
  risk: 'R0',
  developer: true,
  input: Type.Object({ command: Type.String() }),
  touches: ({ command }) => [{ command }],
  execute: ({ command }) => ({ ran: command }),
}).bind({})

const openPage = defineTool({
  ...form,
  name: 'open_page',
  risk: 'R0',
  developer: true,
  input: Type.Object({ url: Type.String() }),
  touches: ({ url }) => [{ url }],
  execute: ({ url }) => ({ opened: url }),
}).bind({})

/** Passes where it is told to. */
const checkFile = defineTool({
  ...form,
  name: 'check_file',
  risk: 'R0',
  input: Type.Object({ path: Type.String(), passes: Type.Boolean() }),
  touches: ({ path }) => [{ path, access: 'read' }],
  execute: () => ({}),
  verdict: ({ path, passes }) => ({ path, passed: passes }),
}).bind({})

const setFiles = defineTool({
  ...form,
  name: 'set_files',
  risk: 'R1',
  input: Type.Object({ files: Type.Array(Type.Object({ path: Type.String(), content: Type.String() })) }),
  touches: ({ files }) => files.map(({ path }) => ({ path, access: 'write' as const })),
  async execute({ files }, _, call) {
    await call.change(files.map(({ path, content }) => ({ path, content: Buffer.from(content) })))
    return {}
  },
}).bind({})

const lines = (count: number, word = 'line'): string => Array.from({ length: count }, (_, index) => `${word} ${index}\n`).join('')

// ---- where settings come from ------------------------------------------------------------------------------------

interface Doctor {
  findings: { what: string; state: string; says: string }[]
  settings: { key: string; value: unknown; origin: string }[]
}

async function doctor(
  home: Home,
  env: Record<string, string> = {},
  args: string[] = [],
): Promise<Doctor & { code: number | null }> {
  const { out, code } = await runInside(home.project, ['doctor', '--json', ...args], { env })
  return { ...(JSON.parse(out) as Doctor), code }
}

const layers = ['user', 'project', 'environment', 'flag'] as const

/** A value per layer, none of them the default. */
const layered: Record<string, [user: unknown, project: unknown, environment: unknown, flag: unknown]> = {
  'policies.sandboxRoot': ['u', 'p', 'e', 'f'],
  'policies.forbiddenDirs': [['u'], ['p', 'p2'], ['e'], ['f', 'f2']],
  'policies.maxAutoFix': [2, 3, 4, 5],
  'policies.batchMaxLines': [11, 12, 13, 14],
  'policies.allowedCommands': [['u'], ['p'], ['e', 'e2'], ['f']],
  'policies.browserAllowedHosts': [['u.test'], ['p.test'], ['e.test'], ['f.test', 'g.test']],
  'policies.writeRequiresDiff': [false, false, false, false],
  'limits.snapshotRetention': [21, 22, 23, 24],
  mode: ['developer', 'cline', 'developer', 'cline'],
  readOnly: [true, true, true, true],
  disabledTools: [['read_file'], ['list_files'], ['search_files'], ['undo', 'read_file']],
}

describe('where a setting comes from', () => {
  test('defaults ← user ← project ← environment ← flags, each with its origin in doctor', async () => {
    for (let top: number = layers.length; top >= 0; top--) {
      await using home = openHome({ 'u/x': '', 'p/x': '', 'e/x': '', 'f/x': '' })
      const given = { env: {}, flags: {} as Record<string, string> }
      layers.slice(0, top).forEach((source, layer) => {
        const settings = Object.fromEntries(Object.entries(layered).map(([key, values]) => [key, values[layer]]))
        const { env, flags } = place(home, source, settings)
        Object.assign(given.env, env)
        Object.assign(given.flags, flags)
      })
      if (top >= 2) trustProject(home)
      const args = Object.entries(given.flags).map(([name, value]) => `--${name}=${value}`)
      const { settings, code } = await doctor(home, given.env, args)
      expect(code).toBe(0)
      for (const [key, values] of Object.entries(layered)) {
        const value = top === 0 ? leaves.find((leaf) => leaf.key === key)?.schema.default : values[top - 1]
        const origin = top === 0 ? 'default' : layers[top - 1]
        expect(settings.find((setting) => setting.key === key)).toEqual({ key, value, origin })
      }
    }
  })

  test('a layer decides only what it names', async () => {
    const file = '\uFEFF{ "$schema": "./x.json", "contractVersion": "1.0.0", "mode": "cline", "policies": { "maxAutoFix": 7 } }'
    await using home = openHome({ 'handrail.config.json': file })
    writeUserFile(home, JSON.stringify({ readOnly: true, policies: { maxAutoFix: 8, batchMaxLines: 9 } }))
    const { settings } = await doctor(home, { HANDRAIL_LANG: 'EN' }, ['--no-read-only'])
    const wanted: [key: string, value: unknown, origin: string][] = [
      ['policies.maxAutoFix', 7, 'project'],
      ['policies.batchMaxLines', 9, 'user'],
      ['mode', 'cline', 'project'],
      ['lang', 'EN', 'environment'],
      ['readOnly', false, 'flag'],
      ['policies.writeRequiresDiff', true, 'default'],
    ]
    for (const [key, value, origin] of wanted) expect(settings).toContainEqual({ key, value, origin })
  })

  test('the policy file of the contract is taken as it stands', async () => {
    const policies = {
      sandboxRoot: '${projectRoot}',
      forbiddenDirs: ['.git', 'node_modules', '.env'],
      writeRequiresDiff: true,
      maxAutoFix: 1,
      batchMaxLines: 2000,
      allowedCommands: ['dev', 'build', 'lint'],
      browserAllowedHosts: ['localhost', '127.0.0.1'],
    }
    await using home = openHome({ 'handrail.config.json': JSON.stringify({ contractVersion: '1.0.0', mode: 'cline', policies }) })
    const { settings, code } = await doctor(home)
    expect(code).toBe(0)
    for (const [name, value] of Object.entries(policies))
      expect(settings).toContainEqual({ key: `policies.${name}`, value, origin: 'project' })
  })
})

// ---- what they do ------------------------------------------------------------------------------------------------

/** Of the person's own sources one, another with every seed; in a soak all. That each of them is heard is above. */
const own = sources.filter((source) => source !== 'project')
const someSources: readonly Source[] = isSoak ? sources : ['project', own[draws('sources')(own.length)] as Source]

describe.for(someSources)('in force from the %s:', (source) => {
  test('policies.sandboxRoot', async () => {
    await using seat = openSeat(source, { 'policies.sandboxRoot': 'game' }, { 'game/a.txt': 'in\n', 'b.txt': 'out\n' })
    expect(await seat.call('list_files', { path: 'game' })).toEqual({ entries: ['a.txt'] })
    expect(await seat.call('read_file', { path: 'game/a.txt' })).toMatchObject({ content: 'in\n' })
    for (const path of ['b.txt', '.', 'game/../b.txt', 'games/x.txt', 'gam', 'GAME/a.txt'])
      for (const tool of ['read_file', 'list_files']) expect((await seat.fault(tool, { path })).code).toBe('E_DENY_PATH')
    expect((await seat.fault('search_files', { path: '.', regex: 'out' })).code).toBe('E_DENY_PATH')
    expect((await seat.fault('write_to_file', { path: 'b.txt', content: '', dryRun: true })).code).toBe('E_DENY_PATH')
  })

  test('policies.forbiddenDirs', async () => {
    const files = { 'secret/a.txt': 'x\n', 'deep/private/b.txt': 'x\n', 'open.txt': 'x\n' }
    await using seat = openSeat(source, { 'policies.forbiddenDirs': ['secret', 'private'] }, files)
    for (const path of ['secret/a.txt', 'SECRET/a.txt', 'deep/private/b.txt', 'secret', 'new/private/c.txt', '.handrail/x'])
      expect((await seat.fault('write_to_file', { path, content: 'y', dryRun: true })).code).toBe('E_DENY_PATH')
    expect(await seat.call('list_files', { path: '.', globs: ['**/*.txt'] })).toEqual({ entries: ['open.txt'] })
    const { matches } = (await seat.call('search_files', { path: '.', regex: 'x' })) as { matches: { path: string }[] }
    expect(matches.map((match) => match.path)).toEqual(['open.txt'])
  })

  test('policies.writeRequiresDiff', async () => {
    const write = { path: 'a.txt', content: 'new\n', dryRun: false }
    await using strict = openSeat(source, { 'policies.writeRequiresDiff': true })
    const fault = await strict.fault('write_to_file', write)
    expect(fault).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { policy: 'writeRequiresDiff' } })
    await using loose = openSeat(source, { 'policies.writeRequiresDiff': false })
    expect(await loose.call('write_to_file', write)).toMatchObject({ applied: true })
  })

  test('policies.batchMaxLines', async () => {
    const settings = { 'policies.batchMaxLines': 10, 'policies.writeRequiresDiff': false }
    await using seat = openSeat(source, settings, { 'a.txt': lines(8) })
    const write = (content: string, mode: string) => ({ path: 'a.txt', content, mode, dryRun: false })
    const fault = await seat.fault('write_to_file', write(lines(8, 'other'), 'overwrite'))
    expect(fault).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { batchMaxLines: 10 } })
    expect((await seat.fault('replace_in_file', { path: 'a.txt', find: 'line', replace: 'word' })).code).toBe(
      'E_POLICY_VIOLATION',
    )
    expect(seat.home.read('a.txt')).toBe(lines(8))
    expect(await seat.call('write_to_file', write(lines(9, 'more'), 'append'))).toMatchObject({ applied: true })
  })

  test('policies.maxAutoFix', async () => {
    const settings = { 'policies.maxAutoFix': 2, 'limits.approvalWaitMs': 0 }
    await using bench = openBench([checkFile, setFiles], { source, settings, files: { 'a.txt': 'bad\n' } })
    for (const n of [1, 2]) {
      await bench.call('check_file', { path: 'a.txt', passes: false })
      await bench.call('set_files', one('a.txt', `try ${n}\n`))
    }
    await bench.call('check_file', { path: 'a.txt', passes: false })
    const fault = await bench.fault('set_files', one('a.txt', 'try 3\n'))
    expect(fault).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { risk: 'R2' } })
    expect(bench.home.read('a.txt')).toBe('try 2\n')
    expect(bench.approvals.list('pending')).toHaveLength(1)
  })

  test('policies.allowedCommands', async () => {
    const settings = { mode: 'developer', 'policies.allowedCommands': ['test', 'docs:build'] }
    await using bench = openBench([runScript], { source, settings })
    for (const command of ['test', 'docs:build']) expect(await bench.call('run_script', { command })).toEqual({ ran: command })
    const others = [
      'dev',
      'build',
      'Test',
      'test ',
      ' test',
      'test;rm',
      'test && rm -rf .',
      '',
      'test\n',
      'constructor',
      '__proto__',
    ]
    for (const command of others) expect((await bench.fault('run_script', { command })).code).toBe('E_POLICY_VIOLATION')
  })

  test('policies.browserAllowedHosts', async () => {
    const settings = { mode: 'developer', 'policies.browserAllowedHosts': ['example.test'] }
    await using bench = openBench([openPage], { source, settings })
    expect(await bench.call('open_page', { url: 'https://example.test/x' })).toEqual({ opened: 'https://example.test/x' })
    for (const url of ['http://localhost/', 'http://127.0.0.1/', 'http://sub.example.test/', 'http://example.test.evil/'])
      expect((await bench.fault('open_page', { url })).code).toBe('E_POLICY_VIOLATION')
  })

  test('mode', async () => {
    for (const mode of ['user', 'cline']) {
      await using bench = openBench([runScript, checkFile], { source, settings: { mode } })
      expect(bench.tools).toEqual(['check_file'])
      expect((await bench.fault('run_script', { command: 'dev' })).code).toBe('E_TOOL_DISABLED')
    }
    await using bench = openBench([runScript, checkFile], { source, settings: { mode: 'developer' } })
    expect(bench.tools).toEqual(['run_script', 'check_file'])
    expect(await bench.call('run_script', { command: 'dev' })).toEqual({ ran: 'dev' })
  })

  test('readOnly', async () => {
    await using seat = openSeat(source, { readOnly: true, 'policies.writeRequiresDiff': false }, { 'a.txt': 'a\n' })
    expect(await seat.call('write_to_file', { path: 'a.txt', content: 'b\n', dryRun: true })).toMatchObject({ applied: false })
    const changes: [tool: string, input: object][] = [
      ['write_to_file', { path: 'a.txt', content: 'b\n', dryRun: false }],
      ['write_to_file', { path: 'new/b.txt', content: 'b\n', dryRun: false }],
      ['replace_in_file', { path: 'a.txt', find: 'a', replace: 'b' }],
    ]
    for (const [tool, input] of changes) {
      const fault = await seat.fault(tool, input)
      expect(fault).toMatchObject({ code: 'E_POLICY_VIOLATION', message: expect.stringContaining('read-only') as string })
    }
    expect(seat.home.read('a.txt')).toBe('a\n')
  })

  test('disabledTools', async () => {
    await using seat = openSeat(source, { disabledTools: ['write_to_file', 'search_files'] }, { 'a.txt': 'a\n' })
    expect(seat.tools).not.toContain('write_to_file')
    expect((await seat.fault('write_to_file', { path: 'a.txt', content: 'b\n', dryRun: true })).code).toBe('E_TOOL_DISABLED')
    expect((await seat.fault('search_files', { path: '.', regex: 'a' })).code).toBe('E_TOOL_DISABLED')
    expect(await seat.call('read_file', { path: 'a.txt' })).toMatchObject({ content: 'a\n' })
    expect((await seat.call('get_runtime_info', {}))['tools']).not.toContain('write_to_file')
  })
})

describe('policies.sandboxRoot', () => {
  const open = (home: Home, sandboxRoot: string): Operator =>
    openRuntime({ project: home.project, environment: cleanEnv(home.base), flags: { 'sandbox-root': sandboxRoot } })

  const outside = ['..', '/', '/etc', '../outside', '${projectRoot}/..', '${projectRoot}/../outside', 'link', 'link/deeper']
  test.for(outside)('%s is refused: it lies outside the project', async (wanted) => {
    await using home = openHome({ 'a.txt': '' })
    mkdirSync(join(home.base, 'outside', 'deeper'), { recursive: true })
    symlinkSync(join(home.base, 'outside'), join(home.project, 'link'))
    const refusal = { reason: 'bad-input', message: expect.stringContaining('policies.sandboxRoot') as string }
    expect(() => open(home, wanted)).toThrow(expect.objectContaining(refusal) as Error)
    const end = await runInside(home.project, ['call', 'list_files', '{"path":"."}', '--sandbox-root', wanted])
    expect(end).toMatchObject({ code: 2, err: expect.stringContaining('policies.sandboxRoot') as string })
  })

  test.for(['missing', 'a.txt'])('%s is refused: it is no folder', async (wanted) => {
    await using home = openHome({ 'a.txt': '' })
    expect(() => open(home, wanted)).toThrow(Fault)
  })

  test.for(['project', 'pay$$me', 'a $& b', "it's $1", 'ünï'])(
    'the default is the project itself, also where it is called %s',
    async (name) => {
      await using home = openHome({ 'a.txt': 'a\n' }, name)
      const runtime = openRuntime({ project: home.project, environment: cleanEnv(home.base) })
      try {
        expect((await runtime.call('list_files', { path: '.' }, agent)).output).toEqual({ entries: ['a.txt'] })
      } finally {
        await runtime.close()
      }
    },
  )
})

describe('policies.maxAutoFix', () => {
  const open = (maxAutoFix: number): Bench =>
    openBench([checkFile, setFiles], {
      settings: { 'policies.maxAutoFix': maxAutoFix, 'limits.approvalWaitMs': 0 },
      files: { 'a.txt': 'bad\n', 'b.txt': 'bad\n' },
    })
  const fails = (bench: Bench, path = 'a.txt'): Promise<unknown> => bench.call('check_file', { path, passes: false })
  const asks = async (bench: Bench): Promise<void> => {
    const fault = await bench.fault('set_files', one('a.txt', 'once more\n'))
    expect(fault).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { risk: 'R2', approvalId: expect.any(String) as string } })
  }

  test('one try to mend, then a person is asked', async () => {
    await using bench = open(1)
    await fails(bench)
    await bench.call('set_files', one('a.txt', 'try 1\n'))
    await fails(bench)
    await asks(bench)
  })

  test('0 asks before the first try', async () => {
    await using bench = open(0)
    await bench.call('set_files', one('a.txt', 'not checked yet\n'))
    await fails(bench)
    await asks(bench)
  })

  test('checking again without a write counts once', async () => {
    await using bench = open(1)
    for (let times = 0; times < 5; times++) await fails(bench)
    expect(await bench.call('set_files', one('a.txt', 'try 1\n'))).toEqual({})
  })

  test('a check that passes clears the count; other files and sessions have their own', async () => {
    await using bench = open(1)
    await fails(bench)
    await bench.call('set_files', one('a.txt', 'try 1\n'))
    await fails(bench)
    await bench.call('set_files', one('b.txt', 'another file\n'))
    await bench.call('set_files', one('a.txt', 'another session\n'), { session: 'sess_other' })
    await bench.call('check_file', { path: 'a.txt', passes: true })
    await bench.call('set_files', one('a.txt', 'fine\n'))
    expect(bench.approvals.list()).toEqual([])
  })

  test('other spellings of a path are the same file', async () => {
    await using bench = open(0)
    await fails(bench, './a.txt')
    await asks(bench)
  })
})

describe('policies.batchMaxLines', () => {
  test('counts what one call changes, in all its files together', async () => {
    await using bench = openBench([setFiles], { settings: { 'policies.batchMaxLines': 10 } })
    const [a, ...rest] = ['a.txt', 'b.txt', 'c.txt'].map((path) => ({ path, content: lines(7) }))
    expect(await bench.call('set_files', { files: [a] })).toEqual({})
    expect((await bench.fault('set_files', { files: rest })).code).toBe('E_POLICY_VIOLATION')
    expect(() => bench.home.read('b.txt')).toThrow('ENOENT')
  })

  test('a person who undoes is not bound by it', async () => {
    await using world = await openWorld({ files: { 'a.txt': lines(50) } })
    await world.put('a.txt', 'short\n')
    expect(await runInside(world.project, ['undo', '--last', '--yes', '--batch-max-lines', '10'])).toMatchObject({ code: 0 })
    expect(world.read('a.txt')).toBe(lines(50))
  })
})

describe('policies.browserAllowedHosts', () => {
  const open = (hosts = ['localhost', '127.0.0.1']): Bench =>
    openBench([openPage], { settings: { mode: 'developer', 'policies.browserAllowedHosts': hosts } })

  const good = [
    'http://localhost/',
    'http://localhost:3000/a?b#c',
    'https://127.0.0.1:8443/',
    'HTTP://LOCALHOST/',
    'http://LocalHost:80',
  ]
  test.for(good)('%s is let through', async (url) => {
    await using bench = open()
    expect(await bench.call('open_page', { url })).toEqual({ opened: url })
  })

  const elsewhere = [
    'http://localhost.evil.com/',
    'http://evil.com/localhost',
    'http://evil.com#localhost',
    'http://evil.com?localhost',
    'http://localhost@evil.com/',
    'http://localhost:80@evil.com/',
    'http:\\\\evil.com\\@localhost',
    'http://xlocalhost/',
    'http://127.0.0.1.nip.io/',
    'http://127.0.0.2/',
    'http://0.0.0.0/',
    'http://[::1]/',
    'http://[::ffff:127.0.0.1]/',
    'http://localhost./',
    'http://local\u200bhost.com/',
    'http://169.254.169.254/',
  ]
  const withUser = ['http://user@localhost/', 'http://user:pass@127.0.0.1/', 'http://:pass@localhost/']
  const otherKinds = [
    'file:///etc/passwd',
    'file://localhost/etc/passwd',
    'javascript:alert(1)',
    'data:text/html,x',
    'blob:http://localhost/x',
    'view-source:http://localhost/',
    'ws://localhost/',
    'ftp://localhost/',
    'chrome://settings',
    'about:blank',
  ]
  const noAddress = ['//localhost/', 'localhost', 'localhost:3000', '', ' ', 'http://', 'http://localhost:99999/']
  test.for([...elsewhere, ...withUser, ...otherKinds, ...noAddress])('%s is refused', async (url) => {
    await using bench = open()
    expect((await bench.fault('open_page', { url })).code).toBe('E_POLICY_VIOLATION')
  })

  /** Spellings that a browser takes for 127.0.0.1: judged as what they are, never by their letters. */
  const spellings = ['http://2130706433/', 'http://0x7f.1/', 'http://127.1/', 'http://017700000001/', 'http://127.0.0.1./']
  test.for(spellings)('%s is 127.0.0.1 and nothing else', async (url) => {
    expect(new URL(url).hostname).toBe('127.0.0.1')
    await using bench = open()
    expect(await bench.call('open_page', { url })).toEqual({ opened: url })
    await using without = open(['localhost'])
    expect((await without.fault('open_page', { url })).code).toBe('E_POLICY_VIOLATION')
  })
})

describe('switched off', () => {
  test('a developer tool in user mode is E_TOOL_DISABLED and says how to get it', async () => {
    await using bench = openBench([runScript])
    const fault = await bench.fault('run_script', { command: 'dev' })
    expect(fault).toMatchObject({ code: 'E_TOOL_DISABLED', hint: expect.stringContaining('developer') as string })
    expect(bench.audit().at(-1)).toMatchObject({
      event: 'call.end',
      tool: 'run_script',
      outcome: 'error',
      error: 'E_TOOL_DISABLED',
    })
  })

  test('a switched-off tool is not listed over MCP, and calling it is E_TOOL_DISABLED', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'a\n' } })
    await using peer = await openInside(world.project, { args: ['--disabled-tools', 'read_file'] })
    const { tools } = await peer.client.listTools()
    expect(tools.map((tool) => tool.name)).not.toContain('read_file')
    const reply: unknown = await peer.call('read_file', { path: 'a.txt' }).catch((cause: unknown) => cause)
    expect(reply).toMatchObject({ error: { code: 'E_TOOL_DISABLED' } })
  })
})

describe('a bad settings file', () => {
  const bad: [name: string, text: string, ...words: string[]][] = [
    ['not JSON', '{ "mode": ', 'not valid JSON'],
    ['empty', '', 'not valid JSON'],
    ['a list', '[]', 'JSON object'],
    ['null', 'null', 'JSON object'],
    ['an unknown setting', '{ "modus": "user" }', 'unknown setting "modus"'],
    ['an unknown policy', '{ "policies": { "forbidenDirs": [] } }', 'unknown setting "policies.forbidenDirs"'],
    ['a name every object has', '{ "constructor": {} }', 'unknown setting "constructor"'],
    ['a prototype', '{ "__proto__": { "readOnly": true } }', '__proto__'],
    ['a wrong type', '{ "readOnly": "yes" }', 'readOnly', 'true or false'],
    ['a wrong type in a group', '{ "policies": { "maxAutoFix": "1" } }', 'policies.maxAutoFix', 'whole number'],
    ['too small a number', '{ "limits": { "snapshotRetention": 1 } }', 'limits.snapshotRetention', 'at least'],
    ['half a number', '{ "policies": { "batchMaxLines": 1.5 } }', 'policies.batchMaxLines'],
    ['a list of other things', '{ "policies": { "forbiddenDirs": [1] } }', 'policies.forbiddenDirs', 'list of texts'],
    ['an empty name in a list', '{ "policies": { "forbiddenDirs": [""] } }', 'policies.forbiddenDirs'],
    ['a text for a list', '{ "policies": { "allowedCommands": "dev" } }', 'policies.allowedCommands'],
    ['a group that is none', '{ "policies": true }', '"policies" must be an object'],
    ['an unknown mode', '{ "mode": "root" }', 'mode', 'user, developer, cline'],
    ['asking from R3 only', '{ "policies": { "askFrom": "R3" } }', 'policies.askFrom'],
    ['another contract', '{ "contractVersion": "2.0.0" }', 'contractVersion', '1.0.0'],
  ]

  test.for(bad)('%s is refused, naming file and field', async ([, text, ...words]) => {
    await using home = openHome({ 'handrail.config.json': text })
    const open = (): Operator => openRuntime({ project: home.project, environment: cleanEnv(home.base) })
    for (const word of ['handrail.config.json', ...words]) {
      const refusal = { reason: 'bad-input', message: expect.stringContaining(word) as string }
      expect(open).toThrow(expect.objectContaining(refusal) as Error)
    }
  })

  const call = ['call', 'list_files', '{"path":"."}']

  test('the command line says it, with exit code 2, and doctor finds it', async () => {
    await using home = openHome({ 'handrail.config.json': '{ "policies": { "maxAutoFix": -1 } }' })
    const end = await runInside(home.project, call)
    expect(end.code).toBe(2)
    for (const word of ['E_BAD_ARGS', 'handrail.config.json', 'policies.maxAutoFix', '-1']) expect(end.err).toContain(word)
    expect(end.err).not.toContain('    at ')
    const { findings, code } = await doctor(home)
    expect(code).toBe(1)
    const says = expect.stringContaining('policies.maxAutoFix') as string
    expect(findings).toContainEqual({ what: 'project', state: 'bad', says })
  })

  test('a link, a folder and 2 MB are refused', async () => {
    const cases: [make: (home: Home) => void, code: RegExp][] = [
      [(home) => symlinkSync('/etc/hostname', join(home.project, 'handrail.config.json')), /^E_IO/],
      [(home) => mkdirSync(join(home.project, 'handrail.config.json')), /^E_(IO|BAD_ARGS)/],
      [(home) => home.write('handrail.config.json', `{ "lang": "EN" }${' '.repeat(2 << 20)}`), /^E_BAD_ARGS/],
    ]
    for (const [make, code] of cases) {
      await using home = openHome()
      make(home)
      const end = await runInside(home.project, call)
      expect(end.code).not.toBe(0)
      expect(end.err).toMatch(code)
      expect(end.err).toContain('handrail.config.json')
    }
  })

  test('the user file is named so that it can be found', async () => {
    await using home = openHome()
    writeUserFile(home, '{ "policies": { "maxAutoFix": -1 } }')
    const end = await runInside(home.project, call)
    expect(end.code).toBe(2)
    for (const word of ['policies.maxAutoFix', userFile(home)]) expect(end.err).toContain(word)
  })

  test('a bad variable and a bad flag are named', async () => {
    await using home = openHome()
    const refusal = (word: string) => ({ code: 2, err: expect.stringContaining(word) as string })
    const variable = await runInside(home.project, call, { env: { HANDRAIL_MAX_AUTO_FIX: 'many' } })
    expect(variable).toMatchObject(refusal('HANDRAIL_MAX_AUTO_FIX'))
    expect(await runInside(home.project, [...call, '--read-only=maybe'])).toMatchObject(refusal('--read-only'))
    expect(await runInside(home.project, [...call, '--read-onyl'])).toMatchObject(refusal('--read-onyl'))
  })
})
