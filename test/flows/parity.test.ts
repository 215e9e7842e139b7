import { mkdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { beforeAll, describe, expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { errorTable, type ErrorBody, type ErrorCode } from '../../src/contracts/errors.ts'
import { catalogue } from '../../src/toolsets/index.ts'
import { openMcp, openServe, ways, type McpConnection, type Way } from '../support/serve.ts'
import { openWorld, type World } from '../support/world.ts'

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
  name: string
  surface: string
  open(project: string): Promise<Door>
}

const rows: Row[] = [
  mcpRow('stdio 2025', 'mcp-stdio'),
  mcpRow('stdio 2026', 'mcp-stdio'),
  mcpRow('http 2025', 'mcp-http'),
  mcpRow('http 2026', 'mcp-http'),
  mcpRow('sse', 'mcp-sse'),
]

function mcpRow(way: Way, surface: string): Row {
  return { name: way, surface, open: (project) => openMcpDoor(way, project) }
}

async function openMcpDoor(way: Way, project: string): Promise<Door> {
  const served = way.startsWith('stdio') ? undefined : await openServe(project)
  const mcp = await openMcp(way, project, served)
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

/** Where a call happens: the project, and what earlier calls left to remember. */
interface Stage {
  world: World
  kept: Map<string, string>
}

interface Call {
  name: string
  tool: string
  /** `$name` stands for what an earlier call kept under that name. */
  input: Record<string, unknown>
  before?: (stage: Stage) => void
  /** What a file must hold after it. */
  leaves?: [path: string, content: string]
  /** Fields the answer must contain, the code of its error, or the number of the protocol's refusal. */
  gives: Record<string, unknown> | ErrorCode | number
  /** Fields the error's details must contain. */
  details?: Record<string, unknown>
  /** Remembers a field of the answer (`snapshotId`) or of the error's details (`approvalId`). */
  keep?: { field: string; as: string }
}

const any = expect.anything() as unknown
const id = (kind: string): unknown => expect.stringMatching(new RegExp(`^<${kind} \\d+>$`)) as unknown
const noteOn = (name: string, approve: boolean, note?: string) => (stage: Stage) =>
  void stage.world.runtime.approvals.decide(stage.kept.get(name) ?? '', { approve, by: 'somebody@test', ...(note && { note }) })
const write = (path: string, content: string, dryRun: boolean, more: object = {}): Record<string, unknown> => ({
  path,
  content,
  dryRun,
  ...more,
})

const files = {
  'a.txt': 'one\ntwo\nthree\n',
  'crlf.txt': 'one\r\ntwo\r\n',
  'deep/er/b.md': '# 海\n\nneedle here\n',
  'bin.dat': Buffer.from([0, 255, 254]),
  'redos.txt': `${'a'.repeat(40)}!\n`,
  'package.json': '{ "name": "game" }\n',
  '.env': 'SECRET=1\n',
  'game/scene/start.txt': 'Mara:The lamp is out.;\nend;\n',
  'game/figure/mara.png': Buffer.from([137, 80, 78, 71]),
}

interface Play {
  config: object
  calls: Call[]
}

const plays: Record<string, Play> = {
  'a WebGAL game': {
    config: {},
    calls: [
      {
        name: 'the resources of the game',
        tool: 'list_project_resources',
        input: {},
        gives: { scenes: ['start.txt'], figures: ['mara.png'] },
      },
      {
        name: 'a scene that is fine',
        tool: 'validate_script',
        input: { path: 'game/scene/start.txt' },
        gives: { valid: true, diagnostics: [] },
      },
      {
        name: 'a scene with a slip',
        tool: 'validate_script',
        input: { content: 'changeBG:sea.png;' },
        gives: { valid: false },
      },
      { name: 'neither path nor content', tool: 'validate_script', input: {}, gives: 'E_BAD_ARGS' },
      {
        name: 'a character',
        tool: 'generate_character_profile',
        input: { name: 'Mara', imageFile: 'mara.png' },
        gives: { success: true },
      },
      {
        name: 'a character without a picture',
        tool: 'generate_character_profile',
        input: { name: 'Ines', imageFile: 'ines.png' },
        gives: 'E_NOT_FOUND',
      },
      { name: 'the route map', tool: 'scene_graph', input: { format: 'mermaid' }, gives: { start: 'start.txt', drawing: any } },
      { name: 'the report', tool: 'project_report', input: {}, gives: { valid: true, scenes: 1 } },
    ],
  },
  'programs on a stage': {
    config: { mode: 'developer', enableShell: true, limits: { approvalWaitMs: 0 } },
    calls: [
      {
        name: 'a command that only reads',
        tool: 'shell',
        input: { command: 'cat a.txt; echo oops >&2; exit 3' },
        before: ({ world }) => {
          world.write('package.json', '{ "scripts": { "lint": "echo linted" } }')
          world.write('skills/a/scripts/say.py', 'print("said")\n')
          world.write('skills/a/scripts/say.sh', 'echo said\n')
        },
        gives: { ok: false, exit_code: 3, stdout: 'one\ntwo\nthree\n', stderr: 'oops\n', changes: [] },
      },
      {
        name: 'a command that changes something waits',
        tool: 'shell',
        input: { command: 'echo four >> a.txt; rm crlf.txt' },
        gives: 'E_POLICY_VIOLATION',
        keep: { field: 'approvalId', as: 'effect' },
        leaves: ['a.txt', 'one\ntwo\nthree\n'],
      },
      {
        name: 'and is committed by a yes',
        tool: 'shell',
        input: { command: 'echo four >> a.txt; rm crlf.txt' },
        before: noteOn('effect', true),
        gives: {
          ok: true,
          changes: [
            { path: 'a.txt', kind: 'modified' },
            { path: 'crlf.txt', kind: 'deleted' },
          ],
        },
        leaves: ['a.txt', 'one\ntwo\nthree\nfour\n'],
      },
      {
        name: 'a command that takes too long',
        tool: 'shell',
        input: { command: 'sleep 9', timeout_seconds: 1 },
        gives: 'E_TIMEOUT',
      },
      { name: 'a script of the project', tool: 'execute_command', input: { scriptName: 'lint' }, gives: { ok: true } },
      {
        name: 'a script that is not there',
        tool: 'execute_command',
        input: { scriptName: 'build' },
        gives: 'E_POLICY_VIOLATION',
      },
      {
        name: 'a Python script of a skill',
        tool: 'python_run',
        input: { script_path: 'skills/a/scripts/say.py' },
        gives: { ok: true, stdout_excerpt: 'said\n' },
      },
      {
        name: 'another script of a skill',
        tool: 'script_run',
        input: { script_path: 'skills/a/scripts/say.sh' },
        gives: { ok: true, stdout_excerpt: 'said\n' },
      },
      {
        name: 'an agent in a folder that is none of its own',
        tool: 'agent_run',
        input: { agent: 'codex', workspace_path: 'game', task_prompt: 'x' },
        gives: 'E_DENY_PATH',
      },
    ],
  },
  'the project as it is, nobody to ask': {
    config: { limits: { approvalWaitMs: 0, regexTimeoutMs: 200, maxReadBytes: 4_000 }, policies: { batchMaxLines: 40 } },
    calls: [
      { name: 'runtime information', tool: 'get_runtime_info', input: {}, gives: { snapshotRetention: 200, server: any } },
      {
        name: 'a list',
        tool: 'list_files',
        input: { path: '.' },
        gives: { entries: ['a.txt', 'bin.dat', 'crlf.txt', 'deep', 'game', 'package.json', 'redos.txt'] },
      },
      {
        name: 'a list by globs',
        tool: 'list_files',
        input: { path: '.', globs: ['**/*.md'] },
        gives: { entries: ['deep/er/b.md'] },
      },
      { name: 'folders only', tool: 'list_files', input: { path: '.', dirsOnly: true }, gives: { entries: ['deep', 'game'] } },
      { name: 'a list of a file that is not there', tool: 'list_files', input: { path: 'none' }, gives: 'E_NOT_FOUND' },
      { name: 'a file', tool: 'read_file', input: { path: 'a.txt' }, gives: { content: 'one\ntwo\nthree\n', bytes: 14 } },
      {
        name: 'a file not in ASCII',
        tool: 'read_file',
        input: { path: 'deep/er/b.md' },
        gives: { content: '# 海\n\nneedle here\n' },
      },
      {
        name: 'a file by a path that is not tidy',
        tool: 'read_file',
        input: { path: './deep/er/b.md' },
        gives: { path: 'deep/er/b.md' },
      },
      {
        name: 'a file that is not there',
        tool: 'read_file',
        input: { path: 'none.txt' },
        gives: 'E_NOT_FOUND',
        details: { path: 'none.txt' },
      },
      { name: 'a file outside', tool: 'read_file', input: { path: '../x' }, gives: 'E_DENY_PATH' },
      { name: 'an absolute path', tool: 'read_file', input: { path: '/etc/hostname' }, gives: 'E_DENY_PATH' },
      { name: 'a forbidden name', tool: 'read_file', input: { path: '.env' }, gives: 'E_DENY_PATH' },
      { name: 'our own store', tool: 'read_file', input: { path: '.handrail/token' }, gives: 'E_DENY_PATH' },
      { name: 'a folder as a file', tool: 'read_file', input: { path: 'deep' }, gives: 'E_IO' },
      { name: 'bytes that are no text', tool: 'read_file', input: { path: 'bin.dat' }, gives: 'E_ENCODING' },
      { name: 'more than was asked for', tool: 'read_file', input: { path: 'a.txt', maxBytes: 3 }, gives: 'E_TOO_LARGE' },
      { name: 'a path of the wrong type', tool: 'read_file', input: { path: 42 }, gives: 'E_BAD_ARGS' },
      { name: 'no arguments', tool: 'read_file', input: {}, gives: 'E_BAD_ARGS' },
      { name: 'a property nobody knows', tool: 'read_file', input: { path: 'a.txt', encoding: 'latin1' }, gives: 'E_BAD_ARGS' },
      {
        name: 'a search',
        tool: 'search_files',
        input: { path: '.', regex: 'needle' },
        gives: { matches: [{ path: 'deep/er/b.md', line: 3, preview: 'needle here' }] },
      },
      {
        name: 'a search only the slower engine knows',
        tool: 'search_files',
        input: { path: '.', regex: '(?<=need)le', filePattern: '*.md' },
        gives: { matches: [{ path: 'deep/er/b.md', line: 3, preview: 'needle here' }] },
      },
      { name: 'a search for what is no pattern', tool: 'search_files', input: { path: '.', regex: '(' }, gives: 'E_BAD_ARGS' },
      {
        name: 'a dry run of a replacement',
        tool: 'replace_in_file',
        input: { path: 'a.txt', find: 'two', replace: '2', dryRun: true },
        gives: { count: 1, diff: any },
      },
      {
        name: 'a replacement',
        tool: 'replace_in_file',
        input: { path: 'a.txt', find: 'two', replace: '2' },
        gives: { count: 1 },
      },
      {
        name: 'a replacement of nothing',
        tool: 'replace_in_file',
        input: { path: 'a.txt', find: 'zzz', replace: '2' },
        gives: { count: 0 },
      },
      {
        name: 'a replacement that keeps its line ends',
        tool: 'replace_in_file',
        input: { path: 'crlf.txt', find: 'one\ntwo', replace: 'x\ny' },
        gives: { count: 1 },
        leaves: ['crlf.txt', 'x\r\ny\r\n'],
      },
      {
        name: 'a pattern that would never end',
        tool: 'replace_in_file',
        input: { path: 'redos.txt', find: '^(a+)+$', replace: 'x', flags: 'm' },
        gives: 'E_TIMEOUT',
      },
      {
        name: 'a write without a dry run',
        tool: 'write_to_file',
        input: write('n.txt', 'n\n', false),
        gives: 'E_POLICY_VIOLATION',
        details: { policy: 'writeRequiresDiff' },
      },
      { name: 'a dry run', tool: 'write_to_file', input: write('n.txt', 'n\n', true), gives: { applied: false, diff: any } },
      {
        name: 'a write with a key',
        tool: 'write_to_file',
        input: write('n.txt', 'n\n', false, { idempotencyKey: 'k1' }),
        gives: { applied: true, snapshotId: id('snap'), bytesWritten: 2 },
        keep: { field: 'snapshotId', as: 'first' },
      },
      {
        name: 'the same write with the same key',
        tool: 'write_to_file',
        before: ({ world }) => world.write('n.txt', 'changed by a person\n'),
        input: write('n.txt', 'n\n', false, { idempotencyKey: 'k1' }),
        gives: { applied: true, bytesWritten: 2 },
        leaves: ['n.txt', 'changed by a person\n'],
      },
      {
        name: 'another write with the same key',
        tool: 'write_to_file',
        input: write('n.txt', 'm\n', false, { idempotencyKey: 'k1' }),
        gives: 'E_CONFLICT',
      },
      {
        name: 'a dry run before the file changes',
        tool: 'write_to_file',
        input: write('n.txt', 'mine\n', true),
        gives: { applied: false },
      },
      {
        name: 'a write after the file changed',
        tool: 'write_to_file',
        before: ({ world }) => world.write('n.txt', 'theirs\n'),
        input: write('n.txt', 'mine\n', false),
        gives: 'E_CONFLICT',
        details: { paths: ['n.txt'] },
        leaves: ['n.txt', 'theirs\n'],
      },
      {
        name: 'a dry run of appending',
        tool: 'write_to_file',
        input: write('n.txt', 'more\n', true, { mode: 'append' }),
        gives: { applied: false },
      },
      {
        name: 'appending',
        tool: 'write_to_file',
        input: write('n.txt', 'more\n', false, { mode: 'append' }),
        gives: { applied: true },
        leaves: ['n.txt', 'theirs\nmore\n'],
      },
      {
        name: 'a file larger than the limit',
        tool: 'write_to_file',
        input: write('big.txt', 'x'.repeat(5_000), true),
        gives: 'E_TOO_LARGE',
      },
      { name: 'content that is no text', tool: 'write_to_file', input: write('n.txt', '\ud800', true), gives: 'E_ENCODING' },
      {
        name: 'a dry run of more lines than one call may change',
        tool: 'write_to_file',
        input: write('long.txt', 'x\n'.repeat(60), true),
        gives: { applied: false },
      },
      {
        name: 'more lines than one call may change',
        tool: 'write_to_file',
        input: write('long.txt', 'x\n'.repeat(60), false),
        gives: 'E_POLICY_VIOLATION',
        details: { batchMaxLines: 40 },
      },
      {
        name: 'a write into the settings',
        tool: 'write_to_file',
        input: write('handrail.config.json', '{}', true),
        gives: 'E_DENY_PATH',
      },
      { name: 'the snapshots', tool: 'list_snapshots', input: { limit: 10 }, gives: { snapshots: any } },
      {
        name: 'the snapshots of one file, by a limit that is forgiven',
        tool: 'list_snapshots',
        input: { limit: -1, path: 'n.txt' },
        gives: { snapshots: any },
      },
      { name: 'a limit that is not', tool: 'list_snapshots', input: { limit: 5_000 }, gives: 'E_BAD_ARGS' },
      { name: 'a snapshot', tool: 'restore_snapshot', input: { snapshotId: '$first' }, gives: { path: 'n.txt', content: 'n\n' } },
      {
        name: 'a snapshot nobody made',
        tool: 'restore_snapshot',
        input: { snapshotId: 'snap_20260101T000000_00000000' },
        gives: 'E_NOT_FOUND',
      },
      { name: 'what is no snapshot id', tool: 'restore_snapshot', input: { snapshotId: '../x' }, gives: 'E_BAD_ARGS' },
      {
        name: 'a damaged snapshot',
        tool: 'restore_snapshot',
        before: ({ world, kept }) => writeFileSync(world.state(`snapshots/${kept.get('first')}.meta.json`), '{'),
        input: { snapshotId: '$first' },
        gives: 'E_PARSE_FAIL',
      },
      {
        name: 'a snapshot that cannot be read',
        tool: 'restore_snapshot',
        before({ world, kept }) {
          const path = world.state(`snapshots/${kept.get('first')}.txt`)
          unlinkSync(path)
          mkdirSync(path)
        },
        input: { snapshotId: '$first' },
        gives: 'E_INTERNAL',
      },
      {
        name: 'a change that asks, first its dry run',
        tool: 'write_to_file',
        input: write('package.json', '{ "name": "x" }\n', true),
        gives: { applied: false },
      },
      {
        name: 'a change that asks, and nobody answers',
        tool: 'write_to_file',
        input: write('package.json', '{ "name": "x" }\n', false),
        gives: 'E_POLICY_VIOLATION',
        details: { approvalId: id('appr'), risk: 'R2' },
        keep: { field: 'approvalId', as: 'asked' },
      },
      {
        name: 'the same again is the same question',
        tool: 'write_to_file',
        input: write('package.json', '{ "name": "x" }\n', false),
        gives: 'E_POLICY_VIOLATION',
        details: { approvalId: '$asked' },
      },
      {
        name: 'the change after a yes',
        tool: 'write_to_file',
        before: noteOn('asked', true),
        input: write('package.json', '{ "name": "x" }\n', false),
        gives: { applied: true },
        leaves: ['package.json', '{ "name": "x" }\n'],
      },
      {
        name: 'another change that asks',
        tool: 'replace_in_file',
        input: { path: 'package.json', find: 'x', replace: 'y' },
        gives: 'E_POLICY_VIOLATION',
        keep: { field: 'approvalId', as: 'other' },
      },
      {
        name: 'the change after a no',
        tool: 'replace_in_file',
        before: noteOn('other', false, 'leave it'),
        input: { path: 'package.json', find: 'x', replace: 'y' },
        gives: 'E_POLICY_VIOLATION',
        details: { approvalId: '$other', declined: true, note: 'leave it' },
      },
      {
        name: 'a third change that asks',
        tool: 'replace_in_file',
        input: { path: 'package.json', find: 'x', replace: 'z' },
        gives: 'E_POLICY_VIOLATION',
        keep: { field: 'approvalId', as: 'third' },
      },
      {
        name: 'the change after a yes to another state of the file',
        tool: 'replace_in_file',
        before(stage) {
          noteOn('third', true)(stage)
          stage.world.write('package.json', '{ "name": "x x" }\n')
        },
        input: { path: 'package.json', find: 'x', replace: 'z' },
        gives: 'E_CONFLICT',
        details: { approvalId: '$third' },
        leaves: ['package.json', '{ "name": "x x" }\n'],
      },
      { name: 'a question', tool: 'ask_followup_question', input: { question: 'Which ending?' }, gives: { ack: true } },
      { name: 'an empty question', tool: 'ask_followup_question', input: { question: '' }, gives: 'E_BAD_ARGS' },
      { name: 'the end', tool: 'attempt_completion', input: { result: 'Done.' }, gives: { ack: true } },
      { name: 'a tool nobody knows', tool: 'no_such_tool', input: {}, gives: -32602 },
      { name: 'the tool only a person may use', tool: 'undo', input: { last: true }, gives: -32602 },
      { name: 'the tool that is only read as a resource', tool: 'read_audit', input: { last: 1 }, gives: -32602 },
    ],
  },
  'a project that is read-only, with tools switched off': {
    config: { readOnly: true, disabledTools: ['search_files'], tools: ['files', 'get_runtime_info'] },
    calls: [
      { name: 'runtime information', tool: 'get_runtime_info', input: {}, gives: { tools: any } },
      { name: 'a tool switched off by name', tool: 'search_files', input: { path: '.', regex: 'x' }, gives: 'E_TOOL_DISABLED' },
      { name: 'a tool that was not picked', tool: 'attempt_completion', input: { result: 'x' }, gives: 'E_TOOL_DISABLED' },
      {
        name: 'a question that was not picked',
        tool: 'ask_followup_question',
        input: { question: 'x' },
        gives: 'E_TOOL_DISABLED',
      },
      { name: 'a dry run', tool: 'write_to_file', input: write('a.txt', 'x\n', true), gives: { applied: false } },
      {
        name: 'a write',
        tool: 'write_to_file',
        input: write('a.txt', 'x\n', false),
        gives: 'E_POLICY_VIOLATION',
        leaves: ['a.txt', files['a.txt']],
      },
      { name: 'the tool that is only read as a resource', tool: 'read_audit', input: { last: 1 }, gives: -32602 },
    ],
  },
}

/** Everything one way in answered and left behind. */
interface Run {
  seen: Map<string, Seen & { left?: string; wanted?: Record<string, unknown> }>
  audit: AuditLine[]
  surfaces: Set<string>
  offered?: Record<string, unknown> | undefined
  resources?: Record<string, unknown> | undefined
}

async function play(row: Row, { config, calls }: Play): Promise<Run> {
  await using world = await openWorld({ files, config })
  await using door = await row.open(world.project)
  const stage: Stage = { world, kept: new Map() }
  const seen: Run['seen'] = new Map()
  let recorded = 0
  for (const { name, tool, input, before, leaves, details, keep } of calls) {
    if (before) await settled(world, recorded)
    before?.(stage)
    const found = await door.call(tool, filled(input, stage.kept))
    if (!found.refused) recorded++
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
async function settled(world: World, calls: number): Promise<void> {
  const written = (): number =>
    world.runtime.audit.last(10_000, ({ event }) => event === 'call.end' || event === 'call.read').length
  for (let tries = 0; tries < 1_000 && written() < calls; tries++) await pause(10)
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

const ids = /(?:snap_\d{8}T\d{6}_[0-9a-f]{8}|appr_[0-9a-f]{32}|call_[0-9a-f]{24}|sess_[0-9a-f]{16})/g
const times = /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z/g
/** Fields that tell where and when, and the chain that holds on to them. */
const passing = ['surface', 'client', 'hash', 'prev', 'timestamp', 'ms', 'ranMs', 'duration_ms']

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
        .replace(/"(timestamp|duration_ms|ms)":\d+/g, '"$1":"<$1>"')
    if (value instanceof Map) return new Map([...value].map(([name, one]) => [name, walk(one)]))
    if (Array.isArray(value)) return value.map((one) => walk(one))
    if (typeof value !== 'object' || value === null || 'asymmetricMatch' in value) return value
    return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, walk(one, name)]))
  }
  return (value) => walk(value) as typeof value
}

/** All that a client is told before it makes a call. */
async function offeredBy({ client }: McpConnection): Promise<Record<string, unknown>> {
  return {
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
    tools: (await client.listTools()).tools,
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
  // Their answers hold an address of their own, or need a browser or another agent; they have flows of their own.
  const programs = process.env['HANDRAIL_TEST_CONFINES'] ? [] : ['shell', 'execute_command', 'python_run', 'script_run']
  const apart = ['preview_scene', 'browser_action', 'agent_run', ...programs]
  const listed = catalogue().filter((tool) => tool.audience === 'agent' && !apart.includes(tool.name))
  const good = new Set(calls.filter(({ gives }) => typeof gives === 'object').map(({ tool }) => tool))
  expect(listed.map(({ name }) => name).filter((name) => !good.has(name))).toEqual([])
  const codes = new Set(calls.map(({ gives }) => gives))
  expect(reachable.filter((code) => !codes.has(code as ErrorCode))).toEqual([])
})

describe.each(Object.entries(plays))('%s', (_, script) => {
  const runs = new Map<string, Run>()
  beforeAll(async () => {
    await Promise.all(rows.map(async (row) => runs.set(row.name, await play(row, script))))
  }, 180_000)

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
