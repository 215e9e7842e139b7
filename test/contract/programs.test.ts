// @stage
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { proves } from '../support/proof.ts'
import { openWorld, type World } from '../support/world.ts'

let world: World

const script = 'skills_workspace/my-skill/scripts/init.py'

beforeAll(async () => {
  world = await openWorld({
    files: {
      'package.json': JSON.stringify({
        name: 'x',
        scripts: { lint: 'echo linted; echo "$@" fault >&2', build: 'echo built > out.txt', slow: 'sleep 99' },
      }),
      [script]: 'import os, sys\nprint("in", os.getcwd())\nprint(sys.argv[1:])\n',
      'skills_workspace/my-skill/scripts/make.py':
        'import os\nos.makedirs("outputs", exist_ok=True)\nopen("outputs/r.txt", "w").write("r")\n',
      'skills_workspace/my-skill/scripts/long.py': 'print("é" * 10_000)\n',
      'skills_workspace/my-skill/scripts/slow.py': 'import time\ntime.sleep(60)\n',
      'skills_workspace/my-skill/scripts/bad.py': 'import sys\nsys.exit(3)\n',
      'elsewhere/x.py': 'print("never")\n',
      'sandbox/workspaces/w/a.txt': 'a\n',
    },
    flags: { mode: 'developer' },
  })
})
afterAll(() => world[Symbol.asyncDispose]())

const audited = (event: string): AuditLine[] => [...world.runtime.audit.lines()].filter((line) => line.event === event)

proves('shell.off', 'it is neither offered nor run, and the error says how a person switches it on', async () => {
  expect(world.runtime.tools.map((tool) => tool.name)).not.toContain('shell')
  const fault = await world.fault('shell', { command: 'true' })
  expect(fault.code).toBe('E_TOOL_DISABLED')
  expect(fault.hint).toContain('--enable-shell')
})

proves('modes.developer-only', 'execute_command and browser_action are switched off in user mode', async () => {
  await using user = await openWorld({ files: { 'package.json': '{"scripts":{"lint":"true"}}' } })
  for (const [tool, input] of [
    ['execute_command', { scriptName: 'lint' }],
    ['browser_action', { action: 'open', url: 'http://localhost:1/' }],
  ] as const)
    expect((await user.fault(tool, input)).code).toBe('E_TOOL_DISABLED')
})

proves(
  'command.run',
  'its exit is ok, its lines are logs; what it changes is applied where it is plain, and waits for a person where it is more',
  async () => {
    const answer = await world.call<{ ok: boolean; logs: string[] }>('execute_command', { scriptName: 'lint' })
    expect(answer.ok).toBe(true)
    expect(answer.logs).toContain('linted')
    expect(await world.call('execute_command', { scriptName: 'build' })).toMatchObject({
      ok: true,
      changes: [{ path: 'out.txt' }],
    })
    expect(world.read('out.txt')).toBe('built\n')
    await using more = await openWorld({
      files: { 'package.json': '{"scripts":{"build":"echo built; ln -s out.txt link"}}' },
      flags: { mode: 'developer' },
    })
    const fault = await more.fault('execute_command', { scriptName: 'build' }, { approvalWaitMs: 0 })
    expect(fault).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { ran: { applied: false, logs: expect.any(Array) } } })
    expect(() => more.read('link')).toThrow()
  },
)

proves('command.errors', 'a script that does not stand there, one the policy leaves out, one that takes too long', async () => {
  expect((await world.fault('execute_command', { scriptName: 'dev' })).code).toBe('E_POLICY_VIOLATION')
  expect((await world.fault('execute_command', { scriptName: 'slow' })).code).toBe('E_BAD_ARGS')
  await using strict = await openWorld({
    files: { 'package.json': '{"scripts":{"lint":"sleep 60","build":"true"}}' },
    flags: { mode: 'developer', 'allowed-commands': 'lint', 'command-timeout-ms': '1000' },
  })
  expect((await strict.fault('execute_command', { scriptName: 'build' })).code).toBe('E_POLICY_VIOLATION')
  expect((await strict.fault('execute_command', { scriptName: 'lint' })).code).toBe('E_TIMEOUT')
})

proves('python.places', 'other places, climbing paths and links are refused', async () => {
  mkdirSync(world.path('sandbox/scripts'), { recursive: true })
  writeFileSync(world.path('sandbox/scripts/ok.py'), 'print("fine")\n')
  symlinkSync('../../elsewhere/x.py', world.path('sandbox/scripts/link.py'))
  expect(await world.call('python_run', { script_path: 'sandbox/scripts/ok.py' })).toMatchObject({ ok: true })
  expect(await world.call('python_run', { script_path: script })).toMatchObject({ ok: true })
  for (const path of [
    'elsewhere/x.py',
    'sandbox/scripts/link.py',
    'skills_workspace/my-skill/scripts/../../../elsewhere/x.py',
    '/etc/x.py',
    'skills_workspace/my-skill/x.py',
    'package.json',
  ])
    expect((await world.fault('python_run', { script_path: path })).code, path).toMatch(
      /^E_(DENY_PATH|POLICY_VIOLATION|BAD_ARGS)$/,
    )
})

proves('python.cwd', 'the folder it starts in, and where a relative file lands', async () => {
  const { stdout_excerpt } = await world.call<{ stdout_excerpt: string }>('python_run', { script_path: script })
  expect(stdout_excerpt).toContain(`in ${join(world.project, 'sandbox')}\n`)
})

proves('python.gate', 'the tool is R2, and a file it makes is committed by a yes only', async () => {
  expect(world.runtime.tools.find((tool) => tool.name === 'python_run')?.floor).toBe('R2')
  const input = { script_path: 'skills_workspace/my-skill/scripts/make.py' }
  const fault = await world.fault('python_run', input, { approvalWaitMs: 0 })
  expect(() => world.read('sandbox/outputs/r.txt')).toThrow()
  world.runtime.approvals.decide(fault.details?.['approvalId'] as string, { approve: true, by: 'me' })
  expect(await world.call('python_run', input)).toMatchObject({
    ok: true,
    artifacts_changed: [{ path: 'sandbox/outputs/r.txt', kind: 'added', size: 1 }],
  })
  expect(world.read('sandbox/outputs/r.txt')).toBe('r')
})

proves('python.time', 'more than 120 s is a bad argument; a second is a second', async () => {
  const slow = 'skills_workspace/my-skill/scripts/slow.py'
  expect((await world.fault('python_run', { script_path: slow, timeout_seconds: 121 })).code).toBe('E_BAD_ARGS')
  expect((await world.fault('python_run', { script_path: slow, timeout_seconds: 1 })).code).toBe('E_TIMEOUT')
})

proves('python.cut', 'both ends of it, counted in characters', async () => {
  const { stdout_excerpt, meta } = await world.call<{ stdout_excerpt: string; meta: { stdout_len: number } }>('python_run', {
    script_path: 'skills_workspace/my-skill/scripts/long.py',
  })
  expect(stdout_excerpt.length).toBeLessThanOrEqual(2_048)
  expect(stdout_excerpt).not.toContain('\ufffd')
  expect(meta.stdout_len).toBeGreaterThanOrEqual(10_000)
})

proves('python.audit', 'on success, on failure and on timeout', async () => {
  const before = audited('tool.python_run').length
  await world.call('python_run', { script_path: script, args: ['one'] })
  await world.call('python_run', { script_path: 'skills_workspace/my-skill/scripts/bad.py' })
  await world.fault('python_run', { script_path: 'skills_workspace/my-skill/scripts/slow.py', timeout_seconds: 1 })
  const lines = audited('tool.python_run').slice(before)
  expect(lines).toHaveLength(3)
  for (const line of lines)
    expect(Object.keys(line.details as object).sort()).toEqual(
      ['args', 'cwd', 'duration_ms', 'exit_code', 'script_path_relative', 'stderr_len', 'stdout_len', 'timeout_seconds'].sort(),
    )
  expect(lines.map((line) => (line.details as { exit_code: number | null }).exit_code)).toEqual([0, 3, null])
})

const withAgent = async (): Promise<World> => {
  const made = await openWorld({ onDisk: true, files: { 'sandbox/workspaces/w/a.txt': 'a\n', 'secret.txt': 's\n' } })
  const bin = join(made.base, 'bin')
  mkdirSync(bin)
  writeFileSync(join(bin, 'opencode'), '#!/bin/sh\necho working; echo b >> a.txt; ls ../../.. > seen.txt\n')
  chmodSync(join(bin, 'opencode'), 0o755)
  await made.reopen({}, { PATH: `${bin}:/usr/bin:/bin` })
  return made
}
const task = { agent: 'opencode', workspace_path: 'sandbox/workspaces/w', task_prompt: 'add a line' }

proves('agents.tool', 'a tool of its own, R3; nothing runs before the first yes', async () => {
  await using made = await withAgent()
  expect(made.runtime.tools.find((tool) => tool.name === 'agent_run')?.floor).toBe('R3')
  const fault = await made.fault('agent_run', task, { approvalWaitMs: 0 })
  expect(fault.code).toBe('E_POLICY_VIOLATION')
  const card = made.runtime.approvals.get(fault.details?.['approvalId'] as string)
  expect(card?.risk).toBe('R3')
  expect(JSON.stringify(card?.card)).toContain('add a line')
})

proves('agents.workspace', 'any other folder is refused', async () => {
  await using made = await withAgent()
  for (const path of ['.', 'sandbox', 'sandbox/workspaces', 'sandbox/workspaces/../..', '/tmp', 'sandbox/workspaces/none'])
    expect((await made.fault('agent_run', { ...task, workspace_path: path })).code, path).toMatch(
      /^E_(DENY_PATH|POLICY_VIOLATION|BAD_ARGS|NOT_FOUND)$/,
    )
})

proves('agents.evidence', 'what it changed, its log and its patch, and a line in the log', async () => {
  await using made = await withAgent()
  const yes = async (): Promise<void> => {
    const fault = await made.fault('agent_run', task, { approvalWaitMs: 0 })
    made.runtime.approvals.decide(fault.details?.['approvalId'] as string, { approve: true, by: 'me' })
  }
  await yes() // to its running
  await yes() // to what it did
  const answer = await made.call<{ success: boolean; changed_files: string[]; evidence_refs: string[] }>('agent_run', task)
  expect(answer.success).toBe(true)
  expect(answer.changed_files.join()).toContain('a.txt')
  expect(answer.evidence_refs.length).toBeGreaterThan(0)
  expect(made.read('sandbox/workspaces/w/a.txt')).toBe('a\nb\n')
  // It sees nothing else of the project.
  expect(made.read('sandbox/workspaces/w/seen.txt')).not.toContain('secret')
  expect([...made.runtime.audit.lines()].some((line) => line.event === 'tool.agent_run')).toBe(true)
})
