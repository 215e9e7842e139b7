import { mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import Type from 'typebox'
import { describe, expect, test } from 'vitest'
import { leaves, loadConfig } from '../../src/config/load.ts'
import type { AuditLine } from '../../src/contracts/audit.ts'
import type { CallOptions, Caller } from '../../src/contracts/call.ts'
import { ToolError } from '../../src/contracts/errors.ts'
import type { Runtime } from '../../src/contracts/runtime.ts'
import { inTurns } from '../../src/contracts/steps.ts'
import { toolsUsing, type Tool } from '../../src/contracts/tool.ts'
import { changedLines, lineDiff } from '../../src/contracts/diff.ts'
import { openDatabase } from '../../src/host/database.ts'
import { judgedFiles } from '../../src/host/files.ts'
import { openLock } from '../../src/host/lock.ts'
import { pathRules } from '../../src/host/paths.ts'
import { standingAt, statesAt } from '../../src/host/standing.ts'
import { openStateFolder } from '../../src/host/state-folder.ts'
import { closeRoot, openRoot } from '../../src/host/walk.ts'
import { openKernel, type Kernel } from '../../src/kernel/kernel.ts'
import { openRuntime } from '../../src/main.ts'
import { openApprovals, type ApprovalStore } from '../../src/stores/approvals.ts'
import { openAudit } from '../../src/stores/audit.ts'
import { openIdempotency } from '../../src/stores/idempotency.ts'
import { openJournal } from '../../src/stores/journal.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { openSessions } from '../../src/stores/sessions.ts'
import { openSnapshots } from '../../src/stores/snapshots.ts'
import { cleanEnv, openStdio, openWorld, runCli } from '../support/world.ts'

// ---- settings from everywhere ------------------------------------------------------------------------------------

/** Settings by their place in the file, e.g. `policies.maxAutoFix`. */
type Settings = Record<string, unknown>

const sources = ['project', 'user', 'environment', 'flag'] as const
type Source = (typeof sources)[number]

function nested(settings: Settings): Record<string, unknown> {
  const file: Record<string, unknown> = {}
  for (const [key, value] of Object.entries(settings)) {
    const [group, name] = key.split('.') as [string, string?]
    if (name === undefined) file[group] = value
    else file[group] = { ...(file[group] as object | undefined), [name]: value }
  }
  return file
}

/** Settings as flags or variables have them. */
function texts(settings: Settings, by: 'flag' | 'env'): Record<string, string> {
  return Object.fromEntries(
    Object.entries(settings).map(([key, value]) => {
      const leaf = leaves.find((one) => one.key === key)
      if (!leaf) throw new Error(`no such setting: ${key}`)
      return [leaf[by], Array.isArray(value) ? value.join(',') : String(value)]
    }),
  )
}

interface Home extends AsyncDisposable {
  base: string
  project: string
  write(name: string, content: string): void
  read(name: string): string
}

/** A project of its own, without a runtime. */
function openHome(files: Record<string, string> = {}, name = 'project'): Home {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
  const project = join(base, name)
  const write = (path: string, content: string): void => {
    mkdirSync(dirname(join(project, path)), { recursive: true })
    writeFileSync(join(project, path), content)
  }
  mkdirSync(project)
  for (const [path, content] of Object.entries(files)) write(path, content)
  return {
    base,
    project,
    write,
    read: (path) => readFileSync(join(project, path), 'utf8'),
    async [Symbol.asyncDispose]() {
      rmSync(base, { recursive: true, force: true })
    },
  }
}

const userFile = (home: Home): string => join(home.base, 'config', 'handrail', 'config.json')

function writeUserFile(home: Home, text: string): void {
  mkdirSync(dirname(userFile(home)), { recursive: true })
  writeFileSync(userFile(home), text)
}

/** Puts settings where a person would put them, and gives what has to be handed to a process for the rest. */
function place(home: Home, source: Source, settings: Settings): { env: Record<string, string>; flags: Record<string, string> } {
  if (source === 'project') home.write('handrail.config.json', JSON.stringify(nested(settings)))
  if (source === 'user') writeUserFile(home, JSON.stringify(nested(settings)))
  return {
    env: source === 'environment' ? texts(settings, 'env') : {},
    flags: source === 'flag' ? texts(settings, 'flag') : {},
  }
}

const agent: Caller = { surface: 'mcp-stdio', client: 'test/1', session: 'sess_test', role: 'agent' }
type Given = CallOptions & Partial<Caller>

interface Seat extends AsyncDisposable {
  home: Home
  tools: readonly string[]
  call(tool: string, input: unknown, given?: Given): Promise<Record<string, unknown>>
  /** The error a call ends with; fails where it does not. */
  fault(tool: string, input: unknown, given?: Given): Promise<ToolError>
}

function seatOf(home: Home, tools: readonly Tool[], call: Kernel['call'], close: () => Promise<void>): Seat {
  const doing = async (tool: string, input: unknown, given: Given = {}): Promise<Record<string, unknown>> => {
    const { surface, client, session, role, ...options } = { ...agent, ...given }
    return (await call(tool, input, { surface, client, session, role }, options)).output as Record<string, unknown>
  }
  return {
    home,
    tools: tools.map((tool) => tool.name),
    call: doing,
    async fault(tool, input, given) {
      const outcome = await doing(tool, input, given).catch((thrown: unknown) => thrown)
      if (outcome instanceof ToolError) return outcome
      throw new Error(`${tool} did not fail as it should: ${JSON.stringify(outcome)}`, { cause: outcome })
    },
    async [Symbol.asyncDispose]() {
      await close()
      await home[Symbol.asyncDispose]()
    },
  }
}

/** What a person does with `handrail trust`; without it a project's file only tightens. */
function trustProject(home: Home): void {
  const runtime = openRuntime({ project: home.project, environment: cleanEnv(home.base) })
  runtime.trust.grant(runtime.projectSettings?.digest ?? '', 'test')
  void runtime.close()
}

/** The whole runtime, as the program opens it, with settings from one source. */
function openSeat(source: Source, settings: Settings, files: Record<string, string> = {}): Seat {
  const home = openHome(files)
  const { env, flags } = place(home, source, settings)
  if (source === 'project') trustProject(home)
  const runtime: Runtime = openRuntime({ project: home.project, environment: { ...cleanEnv(home.base), ...env }, flags })
  return seatOf(home, runtime.tools, runtime.call, () => runtime.close())
}

// ---- a kernel on real stores with tools of our own ---------------------------------------------------------------

interface Bench extends Seat {
  approvals: ApprovalStore
  audit(): AuditLine[]
}

interface BenchOptions {
  source?: Source
  settings?: Settings
  files?: Record<string, string>
}

function textOf(path: string): { name: string; text: string } | undefined {
  try {
    return { name: path, text: readFileSync(path, 'utf8') }
  } catch {
    return undefined
  }
}

/** The kernel on real files, locks and stores, wired as `main.ts` does it, with the tools given. */
function openBench(tools: Tool[], options: BenchOptions = {}): Bench {
  const home = openHome(options.files)
  const { env, flags } = place(home, options.source ?? 'flag', options.settings ?? {})
  const user = textOf(userFile(home))
  const project = textOf(join(home.project, 'handrail.config.json'))
  const given = { user, project, environment: env, flags }
  const { config } = loadConfig({ ...given, trusted: loadConfig(given).loosenings })
  const root = openRoot(home.project)
  const files = judgedFiles(root, pathRules(config.policies.forbiddenDirs), config.limits.maxReadBytes)
  const state = openStateFolder(join(home.base, 'own-state'))
  const locks = state.sub('locks')
  const projectLock = openLock(locks.at('project.db'))
  const auditLock = openLock(locks.at('audit.db'))
  const db = openDatabase(state.at('handrail.db'), schema, schemaVersion)
  const audit = openAudit(
    state,
    auditLock,
    { folder: state.sub('heads'), name: 'test.head' },
    { fileBytes: 1 << 26, keptDays: 0 },
  )
  const approvals = openApprovals(db, { lapsed: () => undefined, halfAnswered: () => undefined })
  const idempotency = openIdempotency(db, config.limits.idempotencyTtlMs)
  const snapshots = openSnapshots(state.sub('snapshots'), db)
  const journal = openJournal({
    root,
    files,
    snapshots,
    db,
    retention: config.limits.snapshotRetention,
    onDropped: (call) => idempotency.forget(call),
  })
  const kernel = openKernel(tools, config, {
    audit,
    approvals,
    sessions: openSessions(db),
    grants: { mayChange: () => false, letChange: () => undefined, reading: (_path, _call, act) => act(), letsRead: () => false },
    idempotency,
    world: {
      normal: (path) => files.normal(path),
      read: (path) => files.peek(path),
      stands: (path) => standingAt(root, path.split('/')) !== undefined,
      mayExecute: () => false,
      states: (paths) => inTurns(statesAt(root, paths, (path) => path.split('/'))),
      links: async () => ({
        all: true,
        mayStand: () => true,
        namesOf: () => ({ names: [], all: true }),
        leadsTo: (path) => path,
      }),
      exclusive: (act, signal) => projectLock.hold(act, signal),
      newest: () => snapshots.newest(),
      changedSince: (paths, newest) => paths.some((path) => snapshots.newest(path) > newest),
      fingerprint: noStage,
      pin: noStage,
      held: () => undefined,
      commit: async (...given) => (await journal.commit(...given)).written,
      record: async (...given) => (await journal.record(...given)).written,
    },
    stages: { confinement: noStage, run: noStage, waiting: async () => undefined },
    evidence: { keep: noStage },
    diffs: { count: async (before, after) => changedLines(lineDiff(before, after)) },
  })
  const seat = seatOf(home, kernel.tools, kernel.call, async () => {
    audit.close()
    db.close()
    projectLock.close()
    auditLock.close()
    closeRoot(root)
  })
  return { ...seat, approvals, audit: () => [...audit.lines()] }
}

const noStage = (): never => {
  throw new Error('no tool here runs a program')
}

const defineTool = toolsUsing<object>('test')
const Anything = Type.Object({}, { additionalProperties: true })
const form = { title: 'A test tool', description: 'For tests.', output: Anything, errors: [], examples: [] } as const

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

const one = (path: string, content: string): { files: { path: string; content: string }[] } => ({ files: [{ path, content }] })
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
  const { out, code } = await runCli(home.project, ['doctor', '--json', ...args], { env })
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

describe.for(sources)('in force from the %s:', (source) => {
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
  const open = (home: Home, sandboxRoot: string): Runtime =>
    openRuntime({ project: home.project, environment: cleanEnv(home.base), flags: { 'sandbox-root': sandboxRoot } })

  const outside = ['..', '/', '/etc', '../outside', '${projectRoot}/..', '${projectRoot}/../outside', 'link', 'link/deeper']
  test.for(outside)('%s is refused: it lies outside the project', async (wanted) => {
    await using home = openHome({ 'a.txt': '' })
    mkdirSync(join(home.base, 'outside', 'deeper'), { recursive: true })
    symlinkSync(join(home.base, 'outside'), join(home.project, 'link'))
    const refusal = { code: 'E_BAD_ARGS', message: expect.stringContaining('policies.sandboxRoot') as string }
    expect(() => open(home, wanted)).toThrow(expect.objectContaining(refusal) as Error)
    const end = await runCli(home.project, ['call', 'list_files', '{"path":"."}', '--sandbox-root', wanted])
    expect(end).toMatchObject({ code: 2, err: expect.stringContaining('policies.sandboxRoot') as string })
  })

  test.for(['missing', 'a.txt'])('%s is refused: it is no folder', async (wanted) => {
    await using home = openHome({ 'a.txt': '' })
    expect(() => open(home, wanted)).toThrow(ToolError)
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
    expect(await runCli(world.project, ['undo', '--last', '--yes', '--batch-max-lines', '10'])).toMatchObject({ code: 0 })
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
    await using peer = await openStdio(world.project, { args: ['--disabled-tools', 'read_file'] })
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
    const open = (): Runtime => openRuntime({ project: home.project, environment: cleanEnv(home.base) })
    for (const word of ['handrail.config.json', ...words]) {
      const refusal = { code: 'E_BAD_ARGS', message: expect.stringContaining(word) as string }
      expect(open).toThrow(expect.objectContaining(refusal) as Error)
    }
  })

  const call = ['call', 'list_files', '{"path":"."}']

  test('the command line says it, with exit code 2, and doctor finds it', async () => {
    await using home = openHome({ 'handrail.config.json': '{ "policies": { "maxAutoFix": -1 } }' })
    const end = await runCli(home.project, call)
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
      const end = await runCli(home.project, call)
      expect(end.code).not.toBe(0)
      expect(end.err).toMatch(code)
      expect(end.err).toContain('handrail.config.json')
    }
  })

  test('the user file is named so that it can be found', async () => {
    await using home = openHome()
    writeUserFile(home, '{ "policies": { "maxAutoFix": -1 } }')
    const end = await runCli(home.project, call)
    expect(end.code).toBe(2)
    for (const word of ['policies.maxAutoFix', userFile(home)]) expect(end.err).toContain(word)
  })

  test('a bad variable and a bad flag are named', async () => {
    await using home = openHome()
    const refusal = (word: string) => ({ code: 2, err: expect.stringContaining(word) as string })
    const variable = await runCli(home.project, call, { env: { HANDRAIL_MAX_AUTO_FIX: 'many' } })
    expect(variable).toMatchObject(refusal('HANDRAIL_MAX_AUTO_FIX'))
    expect(await runCli(home.project, [...call, '--read-only=maybe'])).toMatchObject(refusal('--read-only'))
    expect(await runCli(home.project, [...call, '--read-onyl'])).toMatchObject(refusal('--read-onyl'))
  })
})

// ---- the road: order, number, cancelling, time, progress ---------------------------------------------------------

/** Two tools whose calls stay inside until they are let go, and what happened in which order. */
function gates() {
  const inside = new Map<string, () => void>()
  const signals = new Map<string, AbortSignal>()
  const events: string[] = []
  const now = { active: 0, most: 0 }
  const stay = async (name: string, signal: AbortSignal): Promise<void> => {
    events.push(`in ${name}`)
    signals.set(name, signal)
    now.most = Math.max(now.most, ++now.active)
    await new Promise<void>((resolve) => inside.set(name, resolve))
    now.active--
    events.push(`out ${name}`)
  }
  const gate = (access: 'read' | 'write'): Tool =>
    defineTool({
      ...form,
      name: `${access}_gate`,
      risk: access === 'read' ? 'R0' : 'R1',
      input: Type.Object({ path: Type.String(), name: Type.String() }),
      touches: ({ path }) => [{ path, access }],
      async execute({ path, name }, _, call) {
        await stay(name, call.signal)
        if (access === 'write') await call.change([{ path, content: Buffer.from(`${name}\n`) }])
        return { name }
      },
    }).bind({})
  return {
    tools: [gate('read'), gate('write')],
    events,
    signals,
    most: () => now.most,
    isIn: (name: string) => inside.has(name),
    /** Waits until a call is inside. */
    async reached(name: string): Promise<void> {
      for (let tries = 0; tries < 2_000; tries++) {
        if (inside.has(name)) return
        await pause(5)
      }
      throw new Error(`${name} never got in; so far: ${events.join(', ')}`)
    },
    open: (name: string) => inside.get(name)?.(),
  }
}

/** Long enough for what is going to happen at once to happen, so that what must not happen can show. */
const settle = (): Promise<void> => pause(60)
const files = { 'a.txt': '0\n', 'b.txt': '0\n' }

describe('turns', () => {
  test('writers of one file go one by one in the order they came', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { files })
    const names = ['w1', 'w2', 'w3', 'w4']
    const calls = names.map((name) => bench.call('write_gate', { path: 'a.txt', name }))
    for (const name of names) {
      await gate.reached(name)
      await settle()
      expect(names.filter(gate.isIn)).toEqual(names.slice(0, names.indexOf(name) + 1))
      gate.open(name)
    }
    await Promise.all(calls)
    expect(gate.events).toEqual(names.flatMap((name) => [`in ${name}`, `out ${name}`]))
    expect(bench.home.read('a.txt')).toBe('w4\n')
  })

  test('readers of a file go together, a writer alone, and nobody overtakes a waiting writer', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { files })
    const call = (kind: string, name: string) => bench.call(`${kind}_gate`, { path: 'a.txt', name })
    const calls = [call('read', 'r1'), call('read', 'r2'), call('write', 'w'), call('read', 'r3')]
    await gate.reached('r1')
    await gate.reached('r2')
    await settle()
    expect(gate.isIn('w') || gate.isIn('r3')).toBe(false)
    gate.open('r1')
    gate.open('r2')
    await gate.reached('w')
    await settle()
    expect(gate.isIn('r3')).toBe(false)
    gate.open('w')
    await gate.reached('r3')
    gate.open('r3')
    await Promise.all(calls)
  })

  test('other spellings of a path are the same file', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { files })
    const calls = [
      bench.call('read_gate', { path: 'a.txt', name: 'r' }),
      bench.call('write_gate', { path: './/a.txt', name: 'w' }),
    ]
    await gate.reached('r')
    await settle()
    expect(gate.isIn('w')).toBe(false)
    gate.open('r')
    await gate.reached('w')
    gate.open('w')
    await Promise.all(calls)
  })

  test('a call on another file does not wait behind those that queue for a busy one', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { files })
    const calls = [
      bench.call('read_gate', { path: 'a.txt', name: 'holds' }),
      bench.call('write_gate', { path: 'a.txt', name: 'waits' }),
    ]
    await gate.reached('holds')
    const other = bench.call('read_gate', { path: 'b.txt', name: 'free' })
    await gate.reached('free')
    gate.open('free')
    await other
    gate.open('holds')
    await gate.reached('waits')
    gate.open('waits')
    await Promise.all(calls)
  })

  test('limits.maxConcurrent bounds how many are carried out at once, and all come through', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { settings: { 'limits.maxConcurrent': 3 }, files })
    const names = Array.from({ length: 10 }, (_, index) => `r${index}`)
    const calls = names.map((name) => bench.call('read_gate', { path: 'a.txt', name }))
    for (const name of names) {
      await gate.reached(name)
      await pause(5)
      gate.open(name)
    }
    expect(await Promise.all(calls)).toHaveLength(10)
    expect(gate.most()).toBe(3)
  })

  test('limits.maxQueued bounds how many wait; one more is told so', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { settings: { 'limits.maxConcurrent': 1, 'limits.maxQueued': 2 }, files })
    const names = ['r1', 'r2', 'r3']
    const calls = names.map((name) => bench.call('read_gate', { path: 'a.txt', name }))
    await gate.reached('r1')
    await settle()
    const fault = await bench.fault('read_gate', { path: 'a.txt', name: 'r4' })
    expect(fault).toMatchObject({ code: 'E_POLICY_VIOLATION', hint: expect.stringContaining('maxQueued') as string })
    for (const name of names) {
      await gate.reached(name)
      gate.open(name)
    }
    expect(await Promise.all(calls)).toHaveLength(3)
    expect(gate.isIn('r4')).toBe(false)
  })
})

describe('cancelling', () => {
  const cancelled = { code: 'E_TIMEOUT', details: { cancelled: true } }

  test('a running call ends, its tool is told, and the project is free again', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { files })
    const controller = new AbortController()
    const fault = bench.fault('write_gate', { path: 'a.txt', name: 'w' }, { signal: controller.signal })
    await gate.reached('w')
    controller.abort()
    expect(await fault).toMatchObject(cancelled)
    expect(gate.signals.get('w')?.aborted).toBe(true)
    gate.open('w')
    await settle()
    expect(bench.home.read('a.txt'), 'a tool that goes on anyway can change nothing').toBe('0\n')
    expect(bench.audit().at(-1)).toMatchObject({ event: 'call.end', tool: 'write_gate', outcome: 'cancelled' })
    const next = bench.call('write_gate', { path: 'a.txt', name: 'next' })
    await gate.reached('next')
    gate.open('next')
    await next
    expect(bench.home.read('a.txt')).toBe('next\n')
  })

  test('a call that waits for its turn leaves the queue and is never carried out', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { files })
    const first = bench.call('read_gate', { path: 'a.txt', name: 'first' })
    await gate.reached('first')
    const controller = new AbortController()
    const second = bench.fault('write_gate', { path: 'a.txt', name: 'second' }, { signal: controller.signal })
    const third = bench.call('read_gate', { path: 'a.txt', name: 'third' })
    await settle()
    controller.abort()
    expect(await second).toMatchObject(cancelled)
    await gate.reached('third')
    gate.open('third')
    gate.open('first')
    await Promise.all([first, third])
    expect(gate.isIn('second')).toBe(false)
  })

  test.for(['read', 'write'])('a %s that was cancelled before it came is not carried out', async (kind) => {
    const gate = gates()
    await using bench = openBench(gate.tools, { files })
    const fault = await bench.fault(`${kind}_gate`, { path: 'a.txt', name: 'late' }, { signal: AbortSignal.abort() })
    expect(fault).toMatchObject(cancelled)
    expect(gate.events).toEqual([])
  })

  test('a call cancelled before it came does not wait in the queue either', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { settings: { 'limits.maxConcurrent': 1 }, files })
    const first = bench.call('read_gate', { path: 'a.txt', name: 'first' })
    await gate.reached('first')
    const second = bench.fault('read_gate', { path: 'a.txt', name: 'second' }, { signal: AbortSignal.abort() })
    const outcome = await Promise.race([second, pause(5_000, 'still waits')])
    gate.open('first')
    await first
    expect(outcome).toMatchObject(cancelled)
  })
})

describe('the deadline', () => {
  test('limits.callTimeoutMs ends a call with E_TIMEOUT, and what its tool does later changes nothing', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { settings: { 'limits.callTimeoutMs': 150 }, files })
    for (const kind of ['read', 'write']) {
      const fault = await bench.fault(`${kind}_gate`, { path: 'a.txt', name: kind })
      expect(fault).toMatchObject({ code: 'E_TIMEOUT', hint: expect.stringContaining('callTimeoutMs') as string })
      expect(fault.details?.['cancelled']).toBeUndefined()
      expect(gate.signals.get(kind)?.aborted).toBe(true)
      gate.open(kind)
    }
    await settle()
    expect(bench.home.read('a.txt')).toBe('0\n')
    expect(bench.audit().filter((line) => line.error === 'E_TIMEOUT')).toHaveLength(2)
  })

  test('a call within the deadline is not cut', async () => {
    const gate = gates()
    await using bench = openBench(gate.tools, { settings: { 'limits.callTimeoutMs': 60_000 }, files })
    const call = bench.call('write_gate', { path: 'a.txt', name: 'w' })
    await gate.reached('w')
    gate.open('w')
    await call
    expect(bench.home.read('a.txt')).toBe('w\n')
  })
})

describe('progress', () => {
  const counting = defineTool({
    ...form,
    name: 'count',
    risk: 'R0',
    input: Type.Object({ to: Type.Integer() }),
    async execute({ to }, _, call) {
      for (let done = 1; done <= to; done++) {
        call.progress(done, to, `step ${done}`)
        await pause(1)
      }
      return { to }
    },
  }).bind({})

  test('is handed to the caller as it comes', async () => {
    await using bench = openBench([counting])
    const seen: unknown[] = []
    await bench.call('count', { to: 3 }, { onProgress: (...step) => void seen.push(step) })
    expect(seen).toEqual([
      [1, 3, 'step 1'],
      [2, 3, 'step 2'],
      [3, 3, 'step 3'],
    ])
    expect(await bench.call('count', { to: 2 }), 'nobody has to listen').toEqual({ to: 2 })
  })

  test('reaches an MCP client that asks for it, and only goes up', async () => {
    const many = Object.fromEntries(Array.from({ length: 11_000 }, (_, index) => [`many/${index % 10}/f${index}`, '']))
    await using world = await openWorld({ files: many })
    await using peer = await openStdio(world.project)
    const seen: number[] = []
    const request = { name: 'list_files', arguments: { path: '.', globs: ['**/nothing'] } }
    const result = await peer.client.callTool(request, { onprogress: ({ progress }) => void seen.push(progress) })
    expect(result.structuredContent).toEqual({ entries: [] })
    // A client that gets the answer first no longer listens, so the last step may be missed.
    expect([[5_000], [5_000, 10_000]]).toContainEqual(seen)
  })
})
