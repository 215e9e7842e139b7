import { beforeAll, describe, expect, test, vi } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { errorTable, type ErrorCode, type ErrorBody } from '../../src/contracts/faults/contract-000.ts'
import { catalogue } from '../../src/toolsets/index.ts'
import { openBridgeWorld, openRawClient } from '../support/bridge.ts'
import { openMcp, openServe, someWays, ways, type McpConnection, type Way } from '../support/serve.ts'
import { until } from '../support/everywhere.ts'
import { openInside, runInside, serveInside } from '../support/inside.ts'
import { turn } from '../support/gateway.ts'
import { isSoak } from '../support/soak.ts'
import { openWorld, type World } from '../support/world.ts'
import { files, type Play, plays, type Stage } from '../support/plays.ts'

// One table of calls, made over every way in, each on its own copy of the same project: whichever door an agent comes through,
// it gets the same answers and leaves the same record.

/** What came back of one call, in the words of no particular surface. */
interface Seen {
  output?: unknown
  error?: ErrorBody['error']
  /** The answer as the client's model reads it. */
  text?: string
  isError: boolean
  /** Refused before it was a call at all. */
  refused?: { code: number; message: string }
  /** The id under which the record has it, where the surface tells. */
  call?: string | undefined
}

interface Door {
  call(tool: string, input: Record<string, unknown>): Promise<Seen>
  /** For what only MCP has: lists, resources, prompts. */
  mcp?: McpConnection
  [Symbol.asyncDispose](): Promise<void>
}

/** A way in. A new surface joins by adding one row to `rows`. */
interface Row {
  name: Way | 'terminal'
  surface: string
  /** Through the real program, or inside the test process. */
  open(project: string, real: boolean): Promise<Door>
}

const rows: Row[] = [
  mcpRow('stdio 2025', 'mcp-stdio'),
  mcpRow('stdio 2026', 'mcp-stdio'),
  mcpRow('http 2025', 'mcp-http'),
  mcpRow('http 2026', 'mcp-http'),
  mcpRow('sse', 'mcp-sse'),
]

function mcpRow(way: Way, surface: string): Row {
  return { name: way, surface, open: (project, real) => openMcpDoor(way, project, real) }
}

async function openMcpDoor(way: Way, project: string, real: boolean): Promise<Door> {
  const served = way.startsWith('stdio') ? undefined : await (real ? openServe : serveInside)(project)
  const mcp = await openMcp(way, project, served, real ? { real } : {})
  return {
    mcp,
    async call(tool, input) {
      try {
        const result = await mcp.client.callTool({ name: tool, arguments: input })
        const [first, ...more] = result.content as { type: string; text: string }[]
        expect(more).toEqual([])
        const text = first?.text ?? ''
        const call = result._meta?.['handrail/call'] as string | undefined
        if (result.isError)
          return {
            isError: true,
            text,
            ...(JSON.parse(text) as ErrorBody),
            ...('structuredContent' in result && { output: 'both' }),
          }
        return { isError: false, text, output: result.structuredContent, call }
      } catch (thrown) {
        const { code, message } = thrown as { code: number; message: string }
        return { isError: true, refused: { code, message } }
      }
    },
    async [Symbol.asyncDispose]() {
      await mcp[Symbol.asyncDispose]()
      await served?.[Symbol.asyncDispose]()
    },
  }
}

/** `handrail call`, each time by another process in the place of one connection: a session of the terminal's, which tells no ids of calls. */
const terminal: Row = {
  name: 'terminal',
  surface: 'cli',
  open: (project) =>
    Promise.resolve({
      async call(tool, input) {
        const { code, out, err } = await runInside(project, ['call', tool, JSON.stringify(input), '--json'])
        if (code === 0) return { isError: false, output: JSON.parse(out) as unknown }
        const { error } = JSON.parse(err.slice(err.indexOf('{"error"'))) as ErrorBody
        // What the protocol refuses over MCP.
        return {
          isError: true,
          ...(error.code === 'E_UNSUPPORTED' ? { refused: { code: 1, message: error.message } } : { error }),
        }
      },
      [Symbol.asyncDispose]: () => Promise.resolve(),
    }),
}

/** Everything one way in answered and left behind. */
interface Run {
  seen: Map<string, Seen & { left?: string; wanted?: Record<string, unknown> }>
  audit: AuditLine[]
  surfaces: Set<string>
  offered?: Record<string, unknown> | undefined
  resources?: Record<string, unknown> | undefined
}

async function play(row: Row, { config, calls }: Play, real = false): Promise<Run> {
  await using world = await openWorld({ files, config })
  await using door = await row.open(world.project, real)
  const stage: Stage = { world, kept: new Map() }
  const seen: Run['seen'] = new Map()
  const recorded: (string | undefined)[] = []
  for (const { name, tool, input, before, leaves, details, keep } of calls) {
    if (before) await settled(world, recorded)
    before?.(stage)
    const found = await door.call(tool, filled(input, stage.kept))
    if (!found.refused) recorded.push(found.isError ? undefined : found.call)
    if (keep) stage.kept.set(keep.as, String(fieldsOf(found)?.[keep.field]))
    seen.set(name, {
      ...found,
      ...(leaves && { left: world.read(leaves[0]) }),
      ...(details && { wanted: filled(details, stage.kept) }),
    })
  }
  await settled(world, recorded)
  const audit = [...world.runtime.audit.lines()]
  const plain = plainer(world.project)
  return {
    seen: plain(seen),
    audit: plain(audit),
    surfaces: new Set(audit.flatMap(({ surface }) => surface ?? [])),
    offered: door.mcp && plain(await offeredBy(door.mcp)),
    resources: door.mcp && plain(await resourcesOf(door.mcp)),
  }
}

const fieldsOf = ({ output, error }: Seen): Record<string, unknown> | undefined =>
  (output ?? error?.details) as Record<string, unknown> | undefined

/** Reads are written down in groups: what this process adds to the log must come after them. */
async function settled(world: World, calls: readonly (string | undefined)[]): Promise<void> {
  await until(() => {
    const ends = world.runtime.audit.last(10_000, ({ event }) => ['call.end', 'call.read', 'call.suspended'].includes(event))
    const written = new Set(ends.map(({ call }) => call))
    // One that was suspended and ended has two of them: counted alone, they would be enough before the last is there.
    return ends.length >= calls.length && calls.every((call) => call === undefined || written.has(call))
  }, 'all lines')
}

/** Fills in what earlier calls kept. */
function filled(input: Record<string, unknown>, kept: Map<string, string>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(input).map(([name, value]) => [
      name,
      typeof value === 'string' && value.startsWith('$') ? kept.get(value.slice(1)) : value,
    ]),
  )
}

const ids = /(?:snap_\d{8}T\d{6}_[0-9a-f]{8}|appr_[0-9a-f]{32}|call_[0-9a-f]{24}|sess_[0-9a-f]{16}|ask_[0-9a-f]{16})/g
const times = /\d{4}-\d\d-\d\d(?:T\d\d:\d\d:\d\d(?:\.\d{3})?Z| at \d\d:\d\d UTC)/g
/** Fields that tell where and when, and the chain that holds on to them. */
const passing = ['surface', 'client', 'hash', 'prev', 'timestamp', 'ms', 'ranMs', 'duration_ms', 'durationMs']

/**
 * Puts names in place of what must differ from run to run: ids (by the order they turn up in), times, the project's folder, and the
 * fields above. Nothing else: digests of inputs and contents, texts and numbers of lines must be the same everywhere.
 */
function plainer(project: string): <T>(value: T) => T {
  const known = new Map<string, string>()
  const nameOf = (found: string): string => {
    const kind = found.slice(0, found.indexOf('_'))
    const count = [...known.values()].filter((name) => name.startsWith(`<${kind} `)).length
    if (!known.has(found)) known.set(found, `<${kind} ${count + 1}>`)
    return known.get(found) as string
  }
  const walk = (value: unknown, key = ''): unknown => {
    if (passing.includes(key)) return `<${key}>`
    if (typeof value === 'string')
      return value
        .replaceAll(project, '<project>')
        .replace(ids, nameOf)
        .replace(times, '<time>')
        .replace(/"(timestamp|duration_ms|durationMs|ms)":\d+/g, '"$1":"<$1>"')
    if (value instanceof Map) return new Map([...value].map(([name, one]) => [name, walk(one)]))
    if (Array.isArray(value)) return value.map((one) => walk(one))
    if (typeof value !== 'object' || value === null || 'asymmetricMatch' in value) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, walk(one, name)]))
  }
  return (value) => walk(value) as typeof value
}

/** Tasks are offered in the form of each revision: `flows/mcp-tasks` has them. */
function withoutTasks(capabilities: object = {}): object {
  const { tasks: _, extensions: __, ...others } = capabilities as { tasks?: unknown; extensions?: unknown }
  return others
}

/** All that a client is told before it makes a call. */
async function offeredBy({ client }: McpConnection): Promise<Record<string, unknown>> {
  return {
    server: client.getServerVersion(),
    capabilities: withoutTasks(client.getServerCapabilities()),
    instructions: client.getInstructions(),
    tools: (await client.listTools()).tools.map((tool) => ({ ...tool, execution: undefined })),
    resources: (await client.listResources()).resources,
    templates: (await client.listResourceTemplates()).resourceTemplates,
    prompts: (await client.listPrompts()).prompts,
  }
}

/** What is read by address, and what is not there. */
async function resourcesOf({ client }: McpConnection): Promise<Record<string, unknown>> {
  const read = async (uri: string): Promise<unknown> => {
    try {
      const [found, ...more] = (await client.readResource({ uri })).contents as { text: string }[]
      expect(more).toEqual([])
      return { ...found, text: JSON.parse(found?.text ?? '') as unknown }
    } catch (thrown) {
      const { code, message } = thrown as { code: number; message: string }
      return { code, message }
    }
  }
  return {
    snapshots: await read('handrail://snapshots'),
    line: await read('handrail://audit/2'),
    none: await read('handrail://audit/999999'),
    unknown: await read('handrail://nothing'),
    file: await read('file:///etc/hostname'),
  }
}

if (!process.env['HANDRAIL_TEST_CONFINES']) delete plays['programs on a stage']

const reachable = Object.keys(errorTable).filter(
  // The first two need a folder that cannot be read, and a browser; the third is the protocol's own refusal over MCP.
  (code) => !['E_LINT_FAIL', 'E_PREVIEW_FAIL', 'E_UNSUPPORTED'].includes(code),
)

test('the table has every tool that is listed, a good answer of each, and every code that can be reached', () => {
  expect(rows.map(({ name }) => name)).toEqual(expect.arrayContaining([...ways]))
  const calls = Object.values(plays).flatMap((one) => one.calls)
  expect(calls.length).toBeGreaterThan(60)
  // Their answers hold an address of their own, or need a browser, another agent or a larger game; they have flows of their own.
  const programs = process.env['HANDRAIL_TEST_CONFINES']
    ? []
    : ['shell', 'execute_command', 'python_run', 'script_run', 'run_check', 'trial_run']
  const ofRuns = ['run_task_template', 'get_task_run', 'cancel_task_run', 'get_artifact', 'subscribe_task_run_events']
  const pages = ['allow_sites', 'visit_page', 'search_page', 'next_page', 'compare_pages', 'submit_form', 'log_in', 'use_login']
  const ofGames = ['preview_scene', 'play_routes', 'save_filmstrip', 'rename_in_game']
  const apart = [...ofGames, 'browser_action', ...pages, 'agent_run', 'pursue_goal', ...ofRuns, ...programs]
  const isApart = (name: string): boolean => apart.includes(name) || name.startsWith('page_')
  const listed = catalogue().filter((tool) => tool.audience === 'agent' && !isApart(tool.name))
  const good = new Set(calls.filter(({ gives }) => typeof gives === 'object').map(({ tool }) => tool))
  expect(listed.map(({ name }) => name).filter((name) => !good.has(name))).toEqual([])
  const codes = new Set(calls.map(({ gives }) => gives))
  expect(reachable.filter((code) => !codes.has(code as ErrorCode))).toEqual([])
})

/** The first play over every way in; the others over one of each kind, and over all of them in `npm run soak`. */
const rowsOf = (play: string): Row[] =>
  play === Object.keys(plays)[0] ? rows : rows.filter(({ name }) => someWays.some((way) => way === name))

describe.each(Object.entries(plays))('%s', (title, script) => {
  const rows = rowsOf(title)
  const runs = new Map<string, Run>()
  // The first through the real program over one of each kind; all of them over all ways in `npm run soak`.
  const isReal = ({ name }: Row): boolean => isSoak || (title === Object.keys(plays)[0] && someWays.some((way) => way === name))
  beforeAll(async () => {
    // What a program would say of a fault on its own.
    const said = vi.spyOn(console, 'error').mockImplementation(() => undefined)
    await Promise.all(rows.map(async (row) => runs.set(row.name, await play(row, script, isReal(row)))))
    said.mockRestore()
  })

  const seenBy = (row: Row, name: string) => runs.get(row.name)?.seen.get(name)

  test.for(script.calls)('$name', ({ name, gives, leaves }) => {
    for (const row of rows) {
      const found = seenBy(row, name)
      const where = `${row.name}: ${JSON.stringify(found).slice(0, 400)}`
      if (typeof gives === 'number') expect(found?.refused?.code, where).toBe(gives)
      else if (typeof gives === 'string') expect(found?.error?.code, where).toBe(gives)
      else expect(found?.output, where).toMatchObject(gives)
      if (found?.wanted) expect(found.error?.details, where).toMatchObject(found.wanted)
      if (leaves) expect(found?.left, where).toBe(leaves[1])
      expect(found, `${row.name} is like ${rows[0]?.name}`).toEqual(seenBy(rows[0] as Row, name))
    }
  })

  test('the text of an answer is its JSON, and an error stands in the text alone', () => {
    for (const row of rows)
      for (const [name, { text, output, error, isError, refused }] of runs.get(row.name)?.seen ?? []) {
        if (refused) continue
        expect([row.name, name, isError]).toEqual([row.name, name, error !== undefined])
        expect([row.name, name, JSON.parse(text ?? 'null')]).toEqual([row.name, name, error ? { error } : output])
        if (error) expect([row.name, name, output]).toEqual([row.name, name, undefined])
      }
  })

  test('the record is the same, line by line', () => {
    const first = runs.get(rows[0]?.name ?? '')
    expect(first?.audit.length).toBeGreaterThan(5)
    for (const row of rows) {
      expect(runs.get(row.name)?.audit, row.name).toEqual(first?.audit)
      expect([...(runs.get(row.name)?.surfaces ?? [])], row.name).toEqual([row.surface])
    }
  })

  test('an answer names the call under which the record has it', () => {
    for (const row of rows) {
      const lines = new Set(runs.get(row.name)?.audit.map(({ call }) => call))
      for (const [name, { isError, call }] of runs.get(row.name)?.seen ?? [])
        if (!isError)
          expect([row.name, name, call, lines.has(call)]).toEqual([row.name, name, expect.stringMatching(/^<call \d+>$/), true])
    }
  })

  // The terminal runs no program in a way of its own.
  test.runIf(isSoak || title !== 'programs on a stage')(
    'at the terminal: the same answers, the same faults, the same effects and the same acts on record',
    async () => {
      const first = runs.get(rows[0]?.name ?? '') as Run
      const here = await play(terminal, script)
      const said = ({ seen }: Run): string[] =>
        [...seen].map(([name, { output, error, left, refused }]) =>
          JSON.stringify([name, refused ? 'refused' : { output, error, left }]).replaceAll('cli-default', '<sess 1>'),
        )
      const done = ({ audit }: Run) =>
        audit
          .filter(({ tool }) => tool !== undefined)
          .map(({ event, tool, risk, outcome, error, reason, inputDigest }) => ({
            event,
            tool,
            risk,
            outcome,
            error,
            reason,
            inputDigest,
          }))
      expect(said(here)).toEqual(said(first))
      expect(done(here)).toEqual(done(first))
    },
  )

  const asked = ['server', 'capabilities', 'instructions', 'tools', 'resources', 'templates', 'prompts']
  test.for(asked)('over MCP, what is said of the %s is the same', (what) => {
    const spoken = rows.filter((row) => runs.get(row.name)?.offered)
    const first = runs.get(spoken[0]?.name ?? '')?.offered?.[what]
    expect(first).toBeTruthy()
    for (const row of spoken) expect(runs.get(row.name)?.offered?.[what], row.name).toEqual(first)
  })

  test.for(['snapshots', 'line', 'none', 'unknown', 'file'])('over MCP, the resource is the same: %s', (what) => {
    const spoken = rows.filter((row) => runs.get(row.name)?.resources)
    const first = runs.get(spoken[0]?.name ?? '')?.resources?.[what]
    expect(first).toBeTruthy()
    for (const row of spoken) expect(runs.get(row.name)?.resources?.[what], row.name).toEqual(first)
  })
})

// The gateway has four acts of these, under names and in shapes of its own. Made over it and over MCP they do the same, and leave the same record.

interface SharedAct {
  name: string
  gateway: [tool: string, input: Record<string, unknown>]
  mcp: [tool: string, input: Record<string, unknown>]
  before?: (world: World, asked: string) => void
}

const read = (path: string): Pick<SharedAct, 'gateway' | 'mcp'> => ({
  gateway: ['read_file', { path }],
  mcp: ['read_file', { path, maxBytes: 65_536, cut: true }],
})
const create = (path: string, content: string): Pick<SharedAct, 'gateway' | 'mcp'> => ({
  gateway: ['create_file', { path, content }],
  mcp: ['write_to_file', { path, content, dryRun: false, mustExist: false }],
})
const update = (path: string, content: string, mode = 'overwrite'): Pick<SharedAct, 'gateway' | 'mcp'> => ({
  gateway: ['update_file', { path, content, mode }],
  mcp: ['write_to_file', { path, content, mode, dryRun: false, mustExist: true }],
})
const decided =
  (approve: boolean) =>
  ({ runtime }: World, asked: string): void =>
    void runtime.approvals.decide(asked, { approve, by: 'somebody@test', note: 'so be it' })

const acts: SharedAct[] = [
  { name: 'a read', ...read('a.txt') },
  { name: 'a read of nothing', ...read('none.txt') },
  { name: 'a read of what is out of reach', ...read('.env') },
  { name: 'a read of what is no text', ...read('bin.dat') },
  { name: 'a new file', ...create('new/deep.txt', 'new\n') },
  { name: 'a new file where one is', ...create('a.txt', 'new\n') },
  { name: 'a change', ...update('a.txt', 'four\n') },
  { name: 'an addition', ...update('a.txt', 'five\n', 'append') },
  { name: 'a change of a file with its own line ends', ...update('crlf.txt', 'one\n2\n') },
  { name: 'a change of nothing', ...update('none.txt', 'x') },
  { name: 'a change that asks', ...update('package.json', '{ "name": "other" }\n') },
  { name: 'the same after a yes', before: decided(true), ...update('package.json', '{ "name": "other" }\n') },
  { name: 'another that asks', ...create('.vscode/tasks.json', '{}\n') },
  { name: 'the same after a no', before: decided(false), ...create('.vscode/tasks.json', '{}\n') },
  ...(process.env['HANDRAIL_TEST_CONFINES']
    ? (isSoak
        ? ['echo out; echo err >&2', 'exit 3', 'echo made > made.txt', 'pwd']
        : ['echo out; echo err >&2; echo made > made.txt', 'pwd; exit 3']
      ).map((command): SharedAct => {
        const input = { command, ...(command.startsWith('pwd') && { cwd: 'deep' }) }
        return { name: command, gateway: ['shell', input], mcp: ['shell', input] }
      })
    : []),
  { name: 'the last', ...read('deep/er/b.md') },
]

test('the acts of the gateway have the same effect and the same record over it as over MCP', async () => {
  const config = { enableShell: true, policies: { writeRequiresDiff: false }, limits: { approvalWaitMs: 0 } }
  const playActs = async (surface: 'gateway' | 'mcp') => {
    await using world = await openWorld({ files, config, onDisk: true })
    await using served = await (isSoak ? openServe : serveInside)(world.project)
    await using mcp = await openMcp('http 2026', world.project, served)
    const went: unknown[] = []
    let asked = ''
    for (const act of acts) {
      act.before?.(world, asked)
      const [tool, input] = act[surface]
      let said: string
      let ok: boolean
      if (surface === 'gateway') {
        const response = await fetch(`${served.url}/agent/process`, {
          method: 'POST',
          headers: { Authorization: `Bearer ${served.token}`, 'Content-Type': 'application/json' },
          body: JSON.stringify(turn({ name: tool, input })),
        })
        said = await response.text()
        const { tool_result } = JSON.parse(said) as { tool_result?: { ok: boolean; exit_code?: number } }
        ok = tool_result?.exit_code !== undefined || tool_result?.ok === true
      } else {
        const result = await mcp.client.callTool({ name: tool, arguments: input })
        said = JSON.stringify(result)
        ok = !result.isError
      }
      asked = /appr_[0-9a-f]{32}/.exec(said)?.[0] ?? asked
      went.push([act.name, ok, ...['a.txt', 'crlf.txt', 'package.json'].map((path) => world.read(path))])
    }
    // Lines are written in order: once the last is there, all are.
    await until(
      () =>
        world.runtime.audit.last(10, (line) => line.event === 'call.read' && JSON.stringify(line).includes('b.md')).length > 0,
      'the last line',
    )
    return plainer(world.project)({ went, audit: [...world.runtime.audit.lines()] })
  }
  const [gateway, mcp] = [await playActs('gateway'), await playActs('mcp')]
  expect(gateway.went).toEqual(mcp.went)
  expect(gateway.audit.length).toBeGreaterThan(acts.length)
  expect(gateway.audit).toEqual(mcp.audit)
})

// The bridge has one act of the kernel's under its own name; the commands it runs are those of the terminal (`flows/bridge-checks`).

test('checks over the bridge and over MCP: the same results, the same faults, the same record', async () => {
  const timeoutMs = 60_000
  const lists = isSoak ? [['lint'], [], ['typecheck', 'test']] : [['lint', 'test'], []]
  const asked: Record<string, unknown>[] = lists.map((checks) => ({ checks, timeoutMs }))
  const playChecks = async (surface: 'bridge' | 'mcp') => {
    await using world = await openWorld({
      files: { ...files, 'package.json': '{"name":"plain"}' },
      config: { mode: 'developer' },
    })
    await using served = await (isSoak ? openServe : serveInside)(world.project)
    await using mcp = await openMcp('http 2026', world.project, served)
    const raw = await openRawClient(`${served.url.replace('http', 'ws')}/dev`, { own: served.token })
    const went: unknown[] = []
    for (const [index, input] of asked.entries()) {
      if (surface === 'mcp') {
        went.push((await mcp.call('run_checks', input))['results'])
        continue
      }
      raw.ask(`${index}`, 'dev.runChecks', input)
      went.push((await raw.response(`${index}`)).result?.['results'])
    }
    raw.socket.terminate()
    const ended = (): unknown[] =>
      world.runtime.audit.last(50, ({ tool, event }) => tool === 'run_checks' && event !== 'call.start')
    await until(() => ended().length >= asked.length, 'all lines')
    return plainer(world.project)({ went, audit: [...world.runtime.audit.lines()] })
  }
  const [bridge, mcp] = [await playChecks('bridge'), await playChecks('mcp')]
  expect(bridge.went).toMatchObject(
    lists.map((checks) => checks.map((check) => (check === 'lint' ? { check, exitCode: 127 } : { check }))),
  )
  expect(bridge.went).toEqual(mcp.went)
  expect(bridge.audit).toEqual(mcp.audit)
})

// A command does the same calls over the bridge and at the terminal, where it is a person's; an agent makes them itself over MCP.

test('commands over the bridge, at the terminal and as calls over MCP: the same artifacts, the same files, the same record', async () => {
  const store = `import { createSlice } from '@reduxjs/toolkit'\nexport const todo = createSlice({ name: 'todo' })\n`
  const commands = [
    ['anchor', 'index'],
    ['anchor', 'autofill'],
    ['anchor', 'autofill', '--mode', 'write'],
    ['anchor', 'index', '--repoRoot', '../..'],
  ]
  const playCommands = async (surface: 'bridge' | 'cli' | 'mcp-stdio') => {
    await using at = await openBridgeWorld({ files: { 'src/todo.ts': store }, real: true, allowWrite: true })
    const { world } = at
    await using peer = await openInside(world.project)
    const raw = await openRawClient(at.url)
    const call = async (name: string, input: Record<string, unknown>): Promise<Record<string, unknown>> =>
      ((await peer.client.callTool({ name, arguments: input })).structuredContent ?? {}) as Record<string, unknown>
    const over: Record<typeof surface, (words: string[]) => Promise<unknown>> = {
      async bridge(words) {
        raw.ask('same', 'dev.run', { argv: words })
        const { outcome } = (await raw.response('same')).result as { outcome: { result: object; exitCode: number } }
        return [outcome.exitCode, outcome.result]
      },
      async cli(words) {
        const { code, out } = await runInside(world.project, [...words, '--json', '--runId', 'same'])
        return [code, JSON.parse(out)]
      },
      async 'mcp-stdio'(words) {
        if (words.includes('index')) return void (await call('anchor_index', words.includes('../..') ? { path: '../..' } : {}))
        const { plan } = await call('plan_autofill', {})
        if (words.includes('write')) await call('apply_patch_plan', { plan: { ...(plan as object), mode: 'write' } })
      },
    }
    const went: unknown[] = []
    for (const words of commands) went.push(await over[surface](words))
    raw.socket.terminate()
    const lines = (): AuditLine[] => world.runtime.audit.last(100, (line) => line.tool !== undefined && line.surface === surface)
    const ends = (): unknown[] => lines().filter(({ event }) => event === 'call.end' || event === 'call.read')
    await until(() => ends().length >= 5, 'all lines')
    const audit = lines().map(({ event, tool, risk, outcome, error, reason, inputDigest }) => ({
      event,
      tool,
      risk,
      outcome,
      error,
      reason,
      inputDigest,
    }))
    // The index names the folder, so its digest differs, too.
    const plain = JSON.parse(JSON.stringify(went).replace(/"digest":"sha256:\w+"/g, '"digest":""')) as unknown
    return plainer(world.project)({ went: plain, audit, left: world.read('src/todo.ts') })
  }
  const [bridge, cli, mcp] = [await playCommands('bridge'), await playCommands('cli'), await playCommands('mcp-stdio')]
  expect(bridge.left).toBe(store.replace("'todo' }", "'todo', reducers: {} }"))
  expect(bridge.went).toMatchObject([
    [0, { ok: true }],
    [0, { ok: true }],
    [0, { ok: true }],
    [2, { ok: false }],
  ])
  expect(cli).toEqual(bridge)
  expect([mcp.left, mcp.audit]).toEqual([bridge.left, bridge.audit])
})
