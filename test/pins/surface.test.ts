import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Ajv2020 } from 'ajv/dist/2020.js'
import { expect, test } from 'vitest'
import { Config } from '../../src/contracts/config.ts'
import { errorTable } from '../../src/contracts/faults/contract-000.ts'
import { catalogue } from '../../src/toolsets/index.ts'
import { describeTool, toResult } from '../../src/surfaces/mcp/dialect.ts'
import { toWire } from '../../src/surfaces/mcp/wire.ts'
import { commands } from '../../src/surfaces/cli/run.ts'
import { repository } from '../support/world.ts'

test('the error codes are those of seed 000 §0.2, each documented', () => {
  expect(Object.keys(errorTable).sort()).toEqual([
    'E_BAD_ARGS',
    'E_CONFLICT',
    'E_DENY_PATH',
    'E_ENCODING',
    'E_INTERNAL',
    'E_IO',
    'E_LINT_FAIL',
    'E_NOT_FOUND',
    'E_PARSE_FAIL',
    'E_POLICY_VIOLATION',
    'E_PREVIEW_FAIL',
    'E_TIMEOUT',
    'E_TOOL_DISABLED',
    'E_TOO_LARGE',
    'E_UNSUPPORTED',
  ])
  const page = readFileSync(join(repository, 'docs/reference/errors.md'), 'utf8')
  expect(Object.keys(errorTable).filter((code) => !page.includes(`## ${code}\n`))).toEqual([])
})

test('the tools and who may use them', () => {
  expect(catalogue().map((tool) => `${tool.name} ${tool.floor} ${tool.audience}`)).toEqual([
    'list_files R0 agent',
    'read_file R0 agent',
    'write_to_file by input agent',
    'replace_in_file by input agent',
    'replace_in_files R1 agent',
    'search_files R0 agent',
    'list_snapshots R0 agent',
    'restore_snapshot R0 agent',
    'undo by input person',
    'get_runtime_info R0 agent',
    'ask_followup_question R0 agent',
    'attempt_completion R0 agent',
    'present_plan by input agent',
    'read_audit R0 resource',
    'search_memory R0 agent',
    'list_project_resources R0 agent',
    'validate_script R0 agent',
    'preview_scene R0 agent',
    'generate_character_profile R1 agent',
    'scene_graph R0 agent',
    'project_report R0 agent',
    'webgal_reference R0 resource',
    'convert_encoding R1 agent',
    'rename_in_game by input agent',
    'play_routes R0 agent',
    'save_filmstrip R1 agent',
    'browser_action by input agent',
    'allow_sites R0 agent',
    'visit_page R0 agent',
    'search_page R0 agent',
    'next_page R0 agent',
    'compare_pages R0 agent',
    'submit_form R2 agent',
    'log_in R3 agent',
    'use_login R3 agent',
    'page_navigate R0 agent',
    'page_snapshot R0 agent',
    'page_click by input agent',
    'page_type by input agent',
    'page_select by input agent',
    'page_upload R2 agent',
    'page_wait R0 agent',
    'page_extract R0 agent',
    'page_screenshot R1 agent',
    'page_tabs R0 agent',
    'browse_page R0 person',
    'shell R1 agent',
    'execute_command R1 agent',
    'python_run R2 agent',
    'script_run R2 agent',
    'agent_run R3 agent',
    'read_skill R0 resource',
    'list_task_templates R0 agent',
    'run_task_template R1 agent',
    'get_task_run R0 agent',
    'list_task_runs R0 agent',
    'cancel_task_run R1 agent',
    'get_artifact R0 agent',
    'get_runtime_profile R0 agent',
    'subscribe_task_run_events R0 agent',
    'run_checks R0 agent',
    'run_check R0 agent',
    'anchor_index R0 agent',
    'plan_autofill R0 agent',
    'plan_transform R0 agent',
    'apply_patch_plan R1 agent',
    'trial_run R0 agent',
    'write_artifacts R1 agent',
    'pursue_goal R0 agent',
  ])
})

test('tool, file, contract and page carry the same name', () => {
  const page = readFileSync(join(repository, 'docs/reference/tools.md'), 'utf8')
  for (const tool of catalogue()) {
    expect(page).toContain(`## ${tool.name}\n`)
    expect(
      (JSON.parse(readFileSync(join(repository, `contracts/v1/tools/${tool.name}.json`), 'utf8')) as { name: string }).name,
    ).toBe(tool.name)
  }
})

test('published input schemas have no combinator at the root, which some clients drop in silence', () => {
  for (const tool of catalogue())
    for (const word of ['oneOf', 'anyOf', 'allOf']) expect(describeTool(tool)['inputSchema']).not.toHaveProperty(word)
})

test('pictures reach every client: Codex shows its model structured content where there is some, and then nothing else', () => {
  const shows = catalogue().filter((tool) => tool.pictures)
  expect(shows.map((tool) => tool.name)).toEqual(['preview_scene', 'browser_action', 'page_screenshot'])
  for (const tool of shows) expect(describeTool(tool)).not.toHaveProperty('outputSchema')
  const answer = toResult({ ok: true }, 'call_1', [{ mimeType: 'image/png', bytes: Buffer.from('png') }])
  expect(answer).toEqual({
    content: [
      { type: 'text', text: '{"ok":true}' },
      { type: 'image', mimeType: 'image/png', data: 'cG5n' },
    ],
    _meta: { 'handrail/call': 'call_1' },
  })
  expect(toWire({ jsonrpc: '2.0', id: 1, result: answer })).toBe(JSON.stringify({ jsonrpc: '2.0', id: 1, result: answer }))
  expect(toResult({ ok: true }, 'call_1')).toMatchObject({ structuredContent: { ok: true } })
})

test('what is staged, asked about or undoable is not called destructive: clients ask twice then, or refuse', () => {
  const hints = new Map(
    catalogue().map((tool) => [tool.name, describeTool(tool)['annotations'] as Record<string, boolean>] as const),
  )
  const marked = (hint: string): string[] => [...hints].filter(([, hint_]) => hint_[hint]).map(([name]) => name)
  expect(marked('destructiveHint')).toEqual(['log_in', 'use_login', 'agent_run'])
  expect(marked('openWorldHint')).toEqual(['log_in', 'use_login', 'agent_run'])
})

test('the commands others rely on', () => {
  expect(commands.map((command) => command.name)).toEqual([
    'demo',
    'init',
    'mcp',
    'acp',
    'serve',
    'desk',
    'devserver',
    'worker',
    'chat',
    'keys',
    'call',
    'tools',
    'browse',
    'run',
    'runs',
    'artifacts',
    'templates',
    'plans',
    'skills',
    'prompts',
    'approvals',
    'questions',
    'grants',
    'logins',
    'mounts',
    'undo',
    'snapshots',
    'audit',
    'memory',
    'sessions',
    'state',
    'prune',
    'trust',
    'webgal',
    'doctor',
    'completion',
    'describe',
    'check',
    'anchor',
    'transform',
    'artifact',
    'trial',
  ])
})

test('the package has no install scripts and few runtime dependencies', () => {
  const { scripts, dependencies, optionalDependencies, peerDependenciesMeta } = JSON.parse(
    readFileSync(join(repository, 'package.json'), 'utf8'),
  ) as Record<string, Record<string, string>>
  expect(Object.keys(scripts ?? {}).filter((name) => /^(pre|post)?install$/.test(name))).toEqual([])
  // playwright-core drives a browser; it cannot be bundled, and everything but looking at pages works without it.
  // oxc-parser reads TypeScript: loaded where somebody asks for what sources define (062).
  // The system's keyring, for keys of models: loaded where one is set or used; without it they are in a file.
  // pg, bullmq and ioredis are for several machines: loaded where a database is configured, and only then (054).
  expect(Object.keys({ ...dependencies, ...optionalDependencies })).toEqual([
    '@photostructure/sqlite',
    '@napi-rs/keyring',
    '@vscode/ripgrep',
    'bullmq',
    'ioredis',
    'oxc-parser',
    'pg',
    'playwright-core',
  ])
  // 63 MB that only a preview needs, and only where the project has no engine of its own: never downloaded unasked.
  expect(peerDependenciesMeta).toEqual({ 'webgal-engine': { optional: true } })
})

test('every schema is JSON Schema 2020-12, since nobody checks that when the program starts', () => {
  const ajv = new Ajv2020()
  for (const schema of [Config, ...catalogue().flatMap(({ input, output }) => [input, output])])
    expect(ajv.validateSchema(schema), JSON.stringify(ajv.errors)).toBe(true)
})
