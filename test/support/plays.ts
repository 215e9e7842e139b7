import { mkdirSync, unlinkSync, writeFileSync } from 'node:fs'
import { expect } from 'vitest'
import type { ErrorCode } from '../../src/contracts/faults/contract-000.ts'
import type { World } from './world.ts'

/** Where a call happens: the project, and what earlier calls left to remember. */
export interface Stage {
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

export const files = {
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

export interface Play {
  config: object
  calls: Call[]
}

export const plays: Record<string, Play> = {
  'a WebGAL game': {
    config: {},
    calls: [
      { name: 'the templates of runs', tool: 'list_task_templates', input: {}, gives: { templates: any } },
      {
        name: 'a plan that only reads',
        tool: 'present_plan',
        input: { title: 'Look', steps: [{ tool: 'list_files', description: 'see', risk: 'R0' }] },
        gives: { ack: true },
      },
      { name: 'no checks', tool: 'run_checks', input: { checks: [] }, gives: { ok: true, results: [] } },
      { name: 'what sources define', tool: 'anchor_index', input: {}, gives: { kind: 'AnchorIndex', rawMode: [] } },
      { name: 'nothing to fill in', tool: 'plan_autofill', input: {}, gives: { changes: [] } },
      { name: 'a plan of nothing', tool: 'plan_transform', input: { deltas: [] }, gives: { ops: [] } },
      {
        name: 'an empty plan',
        tool: 'apply_patch_plan',
        input: {
          plan: {
            schemaVersion: 1,
            kind: 'PatchPlan',
            mode: 'write',
            operations: [],
            summary: { operationsTotal: 0, writableTotal: 0, skippedTotal: 0, failedTotal: 0 },
          },
        },
        gives: { modifiedFiles: [] },
      },
      {
        name: 'an artifact',
        tool: 'write_artifacts',
        input: { folder: 'out', files: [{ name: 'verdict.json', text: '{}\n' }] },
        gives: { written: ['out/verdict.json'] },
      },
      { name: 'the limits of runs', tool: 'get_runtime_profile', input: {}, gives: { maxConcurrentRuns: 5, isRemote: false } },
      { name: 'no runs yet', tool: 'list_task_runs', input: {}, gives: { runs: [], total: 0 } },
      {
        name: 'a replacement in two files',
        tool: 'replace_in_files',
        input: { paths: ['a.txt', 'crlf.txt'], find: 'two', replace: 'two' },
        gives: { count: 2 },
      },
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
      {
        name: 'a scene that is UTF-8 already',
        tool: 'convert_encoding',
        input: { paths: ['game/scene/start.txt'] },
        gives: { converted: [] },
      },
    ],
  },
  'programs on a stage': {
    config: { mode: 'developer', enableShell: true, limits: { approvalWaitMs: 0 } },
    calls: [
      { name: 'a check that is not set up', tool: 'run_check', input: { check: 'lint' }, gives: { ok: false, exitCode: 127 } },
      {
        name: 'a module that is none',
        tool: 'trial_run',
        input: { file: 'a.txt', exportName: 'x' },
        gives: { status: 'import-failed' },
      },
      {
        name: 'a command that only reads',
        tool: 'shell',
        input: { command: 'cat a.txt; echo oops >&2; exit 3' },
        before: ({ world }) => {
          world.write('package.json', '{ "scripts": { "lint": "echo linted" } }')
          world.write('skills_workspace/a/scripts/say.py', 'print("said")\n')
          world.write('skills/a/scripts/say.sh', 'echo said\n')
        },
        gives: { ok: false, exit_code: 3, stdout: 'one\ntwo\nthree\n', stderr: 'oops\n', changes: [] },
      },
      {
        name: 'a command that changes plain files is applied',
        tool: 'shell',
        input: { command: 'echo 0 > new.txt' },
        gives: { ok: true, changes: [{ path: 'new.txt', kind: 'created' }] },
        leaves: ['new.txt', '0\n'],
      },
      {
        name: 'a command that makes a link, too, waits',
        tool: 'shell',
        input: { command: 'echo four >> a.txt; rm crlf.txt; ln -s a.txt link' },
        gives: 'E_POLICY_VIOLATION',
        keep: { field: 'approvalId', as: 'effect' },
        leaves: ['a.txt', 'one\ntwo\nthree\n'],
      },
      {
        name: 'and is committed by a yes',
        tool: 'shell',
        input: { command: 'echo four >> a.txt; rm crlf.txt; ln -s a.txt link' },
        before: noteOn('effect', true),
        gives: {
          ok: true,
          changes: [{ path: 'a.txt', kind: 'modified' }, { path: 'crlf.txt', kind: 'deleted' }, { path: 'link' }],
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
        input: { script_path: 'skills_workspace/a/scripts/say.py' },
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
      {
        name: 'what was never done',
        tool: 'search_memory',
        input: { query: 'zeppelin', path: 'n.txt', since: '2026-01-01' },
        gives: { untrusted: true, hits: [], more: false, behind: 0 },
      },
      { name: 'a time that is none', tool: 'search_memory', input: { since: 'soon' }, gives: 'E_BAD_ARGS' },
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
      {
        name: 'a plan that only reads',
        tool: 'present_plan',
        input: { title: 'Look', steps: [{ tool: 'list_files', description: 'See what there is', risk: 'R0' }] },
        gives: { ack: true },
      },
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
