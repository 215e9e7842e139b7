import { mkdirSync, readdirSync, readlinkSync, renameSync, unlinkSync, writeFileSync } from 'node:fs'
import { beforeAll, expect, afterAll } from 'vitest'
import { proves } from '../support/proof.ts'
import { runInside } from '../support/inside.ts'
import { openStdio, openWorld, type McpPeer, type World } from '../support/world.ts'

// Every code these tools can raise, through the official client over stdio, as an agent meets it.

let world: World
let peer: McpPeer

beforeAll(async () => {
  world = await openWorld({
    files: {
      // What there are tools for.
      'game/scene/.keep': '',
      'skills/.keep': '',
      'sandbox/workspaces/.keep': '',
      'a.txt': 'one\n',
      'folder/x.txt': 'x',
      'bin.dat': Buffer.from([0, 255]),
      'redos.txt': `${'a'.repeat(40)}!\n`,
      'package.json': '{}',
    },
  })
  peer = await openStdio(world.project, {
    args: ['--disabled-tools', 'search_files', '--approval-wait-ms', '0', '--regex-timeout-ms', '300'],
  })
})

afterAll(async () => {
  await peer[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

const code = async (tool: string, input: Record<string, unknown>): Promise<string | undefined> =>
  (await peer.call(tool, input)).error?.code

proves('errors.shape', 'code, message, details, hint and recoverable, and nothing else', async () => {
  const { error, ...rest } = await peer.call('read_file', { path: 'game/scene/foo.txt' })
  expect(rest).toEqual({})
  expect(error).toEqual({
    code: 'E_NOT_FOUND',
    message: 'File not found: game/scene/foo.txt',
    details: { path: 'game/scene/foo.txt' },
    hint: expect.any(String) as string,
    recoverable: true,
  })
})

proves('errors.deny-path', 'over MCP', async () => expect(await code('read_file', { path: '../secret' })).toBe('E_DENY_PATH'))
proves('errors.not-found', 'over MCP', async () => expect(await code('read_file', { path: 'none.txt' })).toBe('E_NOT_FOUND'))
proves('errors.io', 'over MCP', async () => expect(await code('read_file', { path: 'folder' })).toBe('E_IO'))
proves('errors.too-large', 'over MCP', async () =>
  expect(await code('read_file', { path: 'a.txt', maxBytes: 1 })).toBe('E_TOO_LARGE'),
)
proves('errors.encoding', 'over MCP', async () => expect(await code('read_file', { path: 'bin.dat' })).toBe('E_ENCODING'))
proves('errors.bad-args', 'over MCP', async () => expect(await code('read_file', { path: 7 })).toBe('E_BAD_ARGS'))
proves('errors.disabled', 'over MCP', async () =>
  expect(await code('search_files', { path: '.', regex: 'x' })).toBe('E_TOOL_DISABLED'),
)
proves('errors.policy', 'over MCP: no dry run; a person is needed', async () => {
  expect(await code('write_to_file', { path: 'a.txt', content: 'x', dryRun: false })).toBe('E_POLICY_VIOLATION')
  const { error } = await peer.call('replace_in_file', { path: 'package.json', find: '{}', replace: '{ }' })
  expect(error).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: expect.stringMatching(/^appr_/) as string } })
})
proves('errors.timeout', 'over MCP: a pattern that would never end', async () => {
  expect(await code('replace_in_file', { path: 'redos.txt', find: '^(a+)+$', replace: 'x', flags: 'm' })).toBe('E_TIMEOUT')
  expect(await code('read_file', { path: 'a.txt' })).toBeUndefined()
})
proves('errors.conflict', 'over MCP: the file changed after the dry run', async () => {
  await peer.call('write_to_file', { path: 'a.txt', content: 'two\n', dryRun: true })
  writeFileSync(world.path('a.txt'), 'outside\n')
  expect(await code('write_to_file', { path: 'a.txt', content: 'two\n', dryRun: false })).toBe('E_CONFLICT')
})

const written = async (content: string): Promise<string> => {
  await peer.call('write_to_file', { path: 'b.txt', content, dryRun: true })
  return (await peer.call('write_to_file', { path: 'b.txt', content, dryRun: false }))['snapshotId'] as string
}

proves('errors.parse-fail', 'over MCP: a damaged snapshot', async () => {
  const id = await written('1')
  writeFileSync(world.state(`snapshots/${id}.meta.json`), '{')
  expect(await code('restore_snapshot', { snapshotId: id })).toBe('E_PARSE_FAIL')
})
proves('errors.internal', 'over MCP: the store itself cannot be read', async () => {
  const id = await written('2')
  unlinkSync(world.state(`snapshots/${id}.txt`))
  mkdirSync(world.state(`snapshots/${id}.txt`))
  expect(await code('restore_snapshot', { snapshotId: id })).toBe('E_INTERNAL')
})
proves('errors.unsupported', 'a tool nobody knows: a protocol error over MCP, the code on the command line', async () => {
  await expect(peer.client.callTool({ name: 'no_such_tool', arguments: {} })).rejects.toThrow(/Unknown tool/)
  const { code: exit, err } = await runInside(world.project, ['call', 'no_such_tool', '--json'])
  expect(exit).toBe(1)
  expect(JSON.parse(err)).toMatchObject({ error: { code: 'E_UNSUPPORTED' } })
})

proves(
  'network.none',
  'after its tools were used, the process holds no socket but its own stdin, stdout and stderr',
  async () => {
    await peer.call('list_files', { path: '.', globs: ['**'] })
    await peer.call('get_runtime_info', {})
    await peer.call('ask_followup_question', { question: 'x' })
    await peer.call('attempt_completion', { result: 'x' })
    await peer.call('list_snapshots', {})
    const folder = `/proc/${peer.pid}/fd`
    const sockets = readdirSync(folder)
      .filter((fd) => Number(fd) > 2)
      .filter((fd) => linkOf(`${folder}/${fd}`).startsWith('socket:'))
    expect(sockets).toEqual([])
  },
)

const linkOf = (path: string): string => {
  try {
    return readlinkSync(path)
  } catch {
    return ''
  }
}

proves(
  'compat.mcp',
  'the official client lists the tools with their schemas and carries out read, dry run, write, restore',
  async () => {
    const { tools } = await peer.client.listTools()
    expect(tools.map((tool) => tool.name)).toEqual([
      'list_files',
      'read_file',
      'write_to_file',
      'replace_in_file',
      'list_snapshots',
      'restore_snapshot',
      'get_runtime_info',
      'ask_followup_question',
      'attempt_completion',
      'search_memory',
      'list_project_resources',
      'validate_script',
      'preview_scene',
      'generate_character_profile',
      'scene_graph',
      'project_report',
      'rename_in_game',
      'play_routes',
      'save_filmstrip',
      'python_run',
      'script_run',
      'agent_run',
      'list_task_templates',
      'run_task_template',
      'get_task_run',
      'list_task_runs',
      'cancel_task_run',
      'get_artifact',
      'get_runtime_profile',
      'subscribe_task_run_events',
      'run_checks',
    ])
    for (const tool of tools)
      expect(tool).toMatchObject({
        title: expect.any(String) as string,
        description: expect.any(String) as string,
        inputSchema: { type: 'object' },
        // What answers with a picture has none: some clients would show nothing else.
        ...(tool.name !== 'preview_scene' && { outputSchema: { type: 'object' } }),
        annotations: { readOnlyHint: expect.any(Boolean) as boolean },
      })
    await peer.call('write_to_file', { path: 'flow.txt', content: 'one\n', dryRun: true })
    const first = await peer.call('write_to_file', { path: 'flow.txt', content: 'one\n', dryRun: false })
    expect(await peer.call('replace_in_file', { path: 'flow.txt', find: 'one', replace: 'two' })).toEqual({ count: 1 })
    expect(await peer.call('restore_snapshot', { snapshotId: first['snapshotId'] })).toEqual({
      path: 'flow.txt',
      content: 'one\n',
    })
    expect(await peer.call('read_file', { path: 'flow.txt' })).toMatchObject({ content: 'two\n' })
    renameSync(world.path('flow.txt'), world.path('moved.txt'))
    expect(await code('read_file', { path: 'flow.txt' })).toBe('E_NOT_FOUND')
  },
)
