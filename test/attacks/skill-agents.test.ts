// @stage
import { errorBodyOf } from '../../src/contracts/faults/contract-000.ts'
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { agreed } from '../support/approve.ts'
import { proves } from '../support/proof.ts'
import type { World } from '../support/world.ts'
import { details, openWorld } from '../support/skills.ts'

const workspace = 'sandbox/workspaces/demo'
const key = 'sk-the-persons-own-key-1234567890'

interface AgentAnswer {
  success: boolean
  exit_code: number
  stdout_excerpt: string
  stderr_excerpt: string
  changed_files: string[]
  diff_summary: string
  evidence_refs: string[]
  taken_over: boolean
}

/** A world where `name` is installed as a small program of our own: the agents themselves need accounts. */
async function withAgent(name: string, code: string, more: Record<string, string> = {}): Promise<World> {
  const world = await openWorld({
    onDisk: true,
    files: { [`${workspace}/a.txt`]: 'one\ntwo\n', [`${workspace}/b.txt`]: 'gone\n', 'secret.txt': 'not for agents\n' },
    environment: (base) => ({ PATH: `${base}/bin:/usr/bin:/bin`, HOME: `${base}/home`, ...more }),
  })
  mkdirSync(join(world.base, 'bin'))
  writeFileSync(join(world.base, 'bin', name), code, { mode: 0o755 })
  mkdirSync(join(world.base, 'home'))
  return world
}

describe('another agent', () => {
  proves('agents.tool', 'a person is asked before with all they need to know, and again about what it did', async () => {
    await using world = await withAgent(
      'codex',
      `#!/bin/sh
printf '%s\\n' "$@"
echo "key: $OPENAI_API_KEY" >&2
cat "$HOME/.codex/auth.json"; touch "$HOME/.codex/session"
printf 'one\\n2\\n' > a.txt; rm b.txt; mkdir -p src; echo new > "src/a new.txt"; ln -s a.txt link
`,
      { OPENAI_API_KEY: key, ANTHROPIC_API_KEY: 'sk-of-another-one-12345' },
    )
    mkdirSync(join(world.base, 'home/.codex'))
    writeFileSync(join(world.base, 'home/.codex/auth.json'), '{"signed":"in","token":"eyJhbGciOiJIUzI1NiJ9.e30.abc"}\n')
    const before = world.path(workspace)
    const input = {
      agent: 'codex',
      workspace_path: workspace,
      task_prompt: '--do this\nand $(that)',
      additional_args: ['--model', 'gpt-5'],
    }
    const { answer, cards } = await agreed<AgentAnswer>(world, 'agent_run', input)
    expect(cards).toHaveLength(2)
    const asked = cards[0]?.notes?.join('\n') ?? ''
    for (const word of ['Task: --do this\nand $(that)', workspace, '~/.codex/auth.json', 'OPENAI_API_KEY', 'network', 'spends'])
      expect(asked).toContain(word)
    expect(cards[1]?.changes[0]?.path, 'what goes away comes first').toBe(`${workspace}/b.txt`)
    expect(cards[1]?.changes.map(({ path }) => path).sort()).toEqual([
      `${workspace}/a.txt`,
      `${workspace}/b.txt`,
      `${workspace}/link`,
      `${workspace}/src`,
      `${workspace}/src/a new.txt`,
    ])
    expect(JSON.stringify(cards)).not.toContain(key)
    expect(answer).toMatchObject({
      success: true,
      changed_files: [`${workspace}/a.txt`, `${workspace}/b.txt`, `${workspace}/link`, `${workspace}/src/a new.txt`],
      diff_summary: '4 files changed: 2 created, 1 modified, 1 deleted',
      stderr_excerpt: 'key: [secret]\n',
      taken_over: true,
    })
    expect(answer.stdout_excerpt).toBe(
      'exec\n--json\n--color\nnever\n--skip-git-repo-check\n--sandbox\ndanger-full-access\n--model\ngpt-5\n--\n--do this\nand $(that)\n{"signed":"in","token":"[secret]"}\n',
    )
    expect(readFileSync(join(before, 'a.txt'), 'utf8')).toBe('one\n2\n')
    expect(existsSync(join(before, 'b.txt'))).toBe(false)
    expect(readdirSync(join(world.base, 'home/.codex'))).toEqual(['auth.json'])
  })

  proves('agents.evidence', 'the whole log and a patch that applies are kept, named by the answer and the log', async () => {
    await using world = await withAgent(
      'aider',
      `#!/bin/sh
i=0; while [ $i -lt 3000 ]; do echo "line $i"; i=$((i+1)); done
printf 'one\\n2\\n' > a.txt; rm b.txt; mkdir -p src; printf 'no end' > "src/a new.txt"; ln -s a.txt link; : > empty.txt; chmod +x a.txt; printf '\\000' > bin.dat
`,
    )
    const { answer } = await agreed<AgentAnswer>(world, 'agent_run', {
      agent: 'aider',
      workspace_path: `${workspace}/`,
      task_prompt: 'x',
    })
    expect(answer.evidence_refs).toEqual([expect.stringMatching(/^evidence\/call_\w+\.log$/), expect.stringMatching(/\.patch$/)])
    const [log = '', patch = ''] = answer.evidence_refs.map((ref) => readFileSync(world.state(ref), 'utf8'))
    expect(log).toContain('line 1500\n')
    expect(answer.stdout_excerpt).not.toContain('line 1500\n')
    expect(patch).toContain('Binary files')
    const fresh = join(world.base, 'fresh')
    mkdirSync(join(fresh, workspace), { recursive: true })
    writeFileSync(join(fresh, workspace, 'a.txt'), 'one\ntwo\n')
    writeFileSync(join(fresh, workspace, 'b.txt'), 'gone\n')
    const applied = patch.replace(/diff --git [^\n]*bin\.dat\n[^]*?(?=diff --git|$)/, '')
    execFileSync('git', ['apply', '-'], {
      cwd: fresh,
      input: applied,
      env: { ...process.env, GIT_CEILING_DIRECTORIES: world.base },
    })
    const list = (root: string) =>
      execFileSync('find', [workspace, '-type', 'f', '-o', '-type', 'l', '-printf', '%p %l\n'], { cwd: root })
        .toString()
        .split('\n')
        .filter(Boolean)
    expect(readFileSync(join(fresh, workspace, 'src/a new.txt'), 'utf8')).toBe('no end')
    expect(readFileSync(join(fresh, workspace, 'a.txt'), 'utf8')).toBe('one\n2\n')
    expect(list(fresh)).toEqual(list(world.project).filter((name) => !name.includes('bin.dat')))
    const ends = [...world.runtime.audit.lines()].filter((line) => line.event === 'call.end')
    expect(ends.at(-1)?.evidence).toEqual(answer.evidence_refs)
    expect(details(world, 'tool.agent_run').at(-1)).toEqual({
      agent: 'aider',
      task_prompt: 'x',
      workspace: `${workspace}/`,
      exit_code: 0,
      changed_files: 6,
      duration_ms: expect.any(Number) as number,
    })
  })

  test('the patch says what became of links, folders and permissions, and applies', async () => {
    await using world = await withAgent(
      'aider',
      `#!/bin/sh
rm a.txt; ln -s b.txt a.txt; rm -r dir; echo file > dir; rm file; mkdir file; echo in > file/in.txt; mv b.txt c.txt; chmod +x run.sh; echo tail >> 'we"ird.txt'
`,
    )
    const given: Record<string, string> = { 'dir/x.txt': 'x\n', file: 'f\n', 'run.sh': 'echo\n', 'we"ird.txt': 'w' }
    const fresh = join(world.base, 'fresh')
    for (const root of [world.project, fresh])
      for (const [name, content] of Object.entries({ 'a.txt': 'one\ntwo\n', 'b.txt': 'gone\n', ...given })) {
        mkdirSync(dirname(join(root, workspace, name)), { recursive: true })
        writeFileSync(join(root, workspace, name), content)
      }
    const { answer } = await agreed<AgentAnswer>(world, 'agent_run', {
      agent: 'aider',
      workspace_path: workspace,
      task_prompt: 'x',
    })
    const patch = readFileSync(world.state(answer.evidence_refs[1] ?? ''), 'utf8')
    execFileSync('git', ['apply', '-'], {
      cwd: fresh,
      input: patch,
      env: { ...process.env, GIT_CEILING_DIRECTORIES: world.base },
    })
    const list = (root: string): string =>
      execFileSync('sh', ['-c', 'find . ! -type d -printf "%p %M %l " -exec cat {} ";" 2>/dev/null | sort'], {
        cwd: join(root, workspace),
      }).toString()
    expect(list(fresh)).toBe(list(world.project))
  })

  test('installed the way npm does it, it finds what stands beside it and no more of that home', async () => {
    await using world = await withAgent('unused', '')
    const inside = join(world.base, 'home/.npm-global/lib/node_modules/@openai/codex')
    mkdirSync(join(inside, 'bin'), { recursive: true })
    mkdirSync(join(world.base, 'home/.npm-global/lib/node_modules/other'))
    writeFileSync(join(inside, 'beside.cjs'), "module.exports = 'beside'\n")
    writeFileSync(
      join(inside, 'bin/codex.cjs'),
      `#!/usr/bin/env node\nconsole.log(require('../beside.cjs'), require('node:fs').readdirSync(${JSON.stringify(join(world.base, 'home/.npm-global/lib/node_modules'))}))\n`,
      { mode: 0o755 },
    )
    symlinkSync('../home/.npm-global/lib/node_modules/@openai/codex/bin/codex.cjs', join(world.base, 'bin/codex'))
    const { answer } = await agreed<AgentAnswer>(world, 'agent_run', {
      agent: 'codex',
      workspace_path: workspace,
      task_prompt: 'x',
    })
    expect(answer).toMatchObject({ stderr_excerpt: '', stdout_excerpt: "beside [ '@openai' ]\n" })
  })

  test('where nothing confines, one question says so, what it did can be undone, and a report is not promised', async () => {
    await using world = await withAgent('codex', '#!/bin/sh\necho changed > a.txt; cat "$HOME/.codex/auth.json"\n')
    await world.reopen({ bubblewrap: '/nowhere/bwrap' })
    mkdirSync(join(world.base, 'home/.codex'))
    writeFileSync(join(world.base, 'home/.codex/auth.json'), 'signed in\n')
    const input = { agent: 'codex', workspace_path: workspace, task_prompt: 'x' }
    const { answer, cards } = await agreed<AgentAnswer>(world, 'agent_run', input)
    expect(cards).toHaveLength(1)
    expect(cards[0]?.notes?.join('\n')).toContain('NOT CONFINED')
    expect(answer).toMatchObject({
      stdout_excerpt: 'signed in\n',
      changed_files: [`${workspace}/a.txt`],
      taken_over: true,
      confined: false,
    })
    expect(readFileSync(world.state(answer.evidence_refs[1] ?? ''), 'utf8')).toContain('-one\n-two\n+changed\n')
    await world.call('undo', { last: true, dryRun: false }, { role: 'person' })
    expect(world.read(`${workspace}/a.txt`)).toBe('one\ntwo\n')
    expect((await world.fault('agent_run', { ...input, output_mode: 'report' })).code).toBe('E_UNSUPPORTED')
  })

  proves(
    'agents.workspace',
    'it sees its folder and nothing else of the project, of the home, or of our environment',
    async () => {
      await using world = await withAgent(
        'claude',
        '#!/bin/sh\npwd\nls ../../.. 2>&1\ncat ../../../secret.txt 2>&1\nls -A "$HOME"\nls "$OLD" 2>&1\nenv\n',
        { XDG_SECRET: 'leaked', ANTHROPIC_API_KEY: key },
      )
      mkdirSync(join(world.base, 'home/.ssh'), { recursive: true })
      writeFileSync(join(world.base, 'home/.ssh/id'), 'private')
      mkdirSync(join(world.base, 'home/.claude'))
      writeFileSync(join(world.base, 'home/.claude/.credentials.json'), '{}')
      writeFileSync(join(world.base, 'home/.claude/history.jsonl'), 'private')
      const { answer } = await agreed<AgentAnswer>(world, 'agent_run', {
        agent: 'claude',
        workspace_path: workspace,
        task_prompt: 'look',
      })
      expect(answer.stdout_excerpt.split('\n').slice(0, 2)).toEqual([world.path(workspace), 'sandbox'])
      expect(answer.stdout_excerpt).not.toMatch(/not for agents|private|leaked|\.ssh|the-persons-own-key/)
      expect(answer.stdout_excerpt).toContain('ANTHROPIC_API_KEY=[secret]')
      expect(answer).toMatchObject({ changed_files: [], diff_summary: 'no files changed', taken_over: false })
    },
  )

  test('workspaces: everything but a folder of its own below sandbox/workspaces is refused', async () => {
    await using world = await withAgent('codex', '#!/bin/sh\n')
    mkdirSync(world.path('sandbox/other'))
    symlinkSync(world.project, world.path('sandbox/workspaces/link'))
    const refused: [string, string][] = [
      ['.', 'E_DENY_PATH'],
      ['sandbox', 'E_DENY_PATH'],
      ['sandbox/workspaces', 'E_DENY_PATH'],
      ['sandbox/workspaces/', 'E_DENY_PATH'],
      ['sandbox/workspaces/.', 'E_DENY_PATH'],
      ['sandbox/workspaces/../other', 'E_DENY_PATH'],
      ['sandbox/workspaces/demo/../../..', 'E_DENY_PATH'],
      ['sandbox/other', 'E_DENY_PATH'],
      ['sandbox/workspaces/link', 'E_DENY_PATH'],
      ['sandbox/workspaces/link/sandbox', 'E_DENY_PATH'],
      [`${workspace}/.git`, 'E_DENY_PATH'],
      [world.path(workspace), 'E_DENY_PATH'],
      [`${workspace}/a.txt`, 'E_IO'],
      ['sandbox/workspaces/missing', 'E_NOT_FOUND'],
    ]
    for (const [path, code] of refused)
      expect([path, (await world.fault('agent_run', { agent: 'codex', workspace_path: path, task_prompt: 'x' })).code]).toEqual([
        path,
        code,
      ])
    expect(details(world, 'tool.agent_run')).toHaveLength(refused.length)
  })

  test('arguments: only what the profile names, with values of its kind', async () => {
    await using world = await withAgent('opencode', '#!/bin/sh\nprintf "%s|" "$@"\n')
    const input = { agent: 'opencode', workspace_path: workspace, task_prompt: 'x' }
    const bad = [
      ['--auto'],
      ['--dangerously-skip-permissions'],
      ['--attach', 'http://evil'],
      ['--model'],
      ['--model', '--auto'],
      ['--model='],
      ['--model', 'a b'],
      ['-m', 'x'],
      ['--file', '/etc/passwd'],
      ['--file', '../../../secret.txt'],
      ['--', 'x'],
      ['x'],
      ['__proto__', 'x'],
      ['constructor', 'x'],
    ]
    for (const additional_args of bad) {
      const fault = await world.fault('agent_run', { ...input, additional_args })
      expect([additional_args, fault.code]).toEqual([
        additional_args,
        fault.code === 'E_DENY_PATH' ? 'E_DENY_PATH' : 'E_BAD_ARGS',
      ])
      if (fault.code === 'E_BAD_ARGS') expect(fault.hint).toContain('--model <word>')
    }
    const { answer } = await agreed<AgentAnswer>(world, 'agent_run', {
      ...input,
      additional_args: ['--model=anthropic/claude', '--file', 'a.txt'],
    })
    expect(answer.stdout_excerpt).toBe('run|--format|json|--model|anthropic/claude|--file|a.txt|--|x|')
  })

  test('keys in the settings of another agent do not come back, whatever it prints them beside', async () => {
    const show = `#!/bin/sh
sed 's/apiKey/value/; s/Bearer //' "$HOME/.config/opencode/opencode.json"
`
    await using world = await withAgent('opencode', show)
    const home = join(world.base, 'home/.config/opencode')
    mkdirSync(home, { recursive: true })
    const settings = {
      theme: 'a-long-name-of-a-theme',
      provider: { mine: { apiKey: 'k9Zq4Tn7Rw2Lx8' } },
      headers: { Authorization: 'Bearer w1Xy2Zw3Vu' },
    }
    writeFileSync(join(home, 'opencode.json'), JSON.stringify(settings))
    const input = { agent: 'opencode', workspace_path: workspace, task_prompt: 'x', output_mode: 'report' }
    const { answer } = await agreed<AgentAnswer>(world, 'agent_run', input)
    expect(answer.stdout_excerpt).toContain('a-long-name-of-a-theme')
    expect(answer.stdout_excerpt).not.toMatch(/k9Zq4Tn7Rw2Lx8|w1Xy2Zw3Vu/)
    expect(answer.stdout_excerpt).toContain('"value":"[secret]"')
  })

  test('a report takes nothing over; its patch is kept', async () => {
    await using world = await withAgent('claude', '#!/bin/sh\necho changed > a.txt; echo said\n')
    const { answer, cards } = await agreed<AgentAnswer>(world, 'agent_run', {
      agent: 'claude',
      workspace_path: workspace,
      task_prompt: 'x',
      output_mode: 'report',
    })
    expect(cards).toHaveLength(1)
    expect(answer).toMatchObject({ stdout_excerpt: 'said\n', changed_files: [`${workspace}/a.txt`], taken_over: false })
    expect(world.read(`${workspace}/a.txt`)).toBe('one\ntwo\n')
    expect(readFileSync(world.state(answer.evidence_refs[1] ?? ''), 'utf8')).toContain('+changed')
  })

  test('not installed, and a program of that name in the project, are the same: it is not there', async () => {
    await using world = await openWorld({
      onDisk: true,
      files: { [`${workspace}/a.txt`]: '', 'bin/codex': '#!/bin/sh\n' },
      environment: (base) => ({ PATH: `${base}/project/bin`, HOME: base }),
    })
    chmodSync(world.path('bin/codex'), 0o755)
    const fault = await world.fault('agent_run', { agent: 'codex', workspace_path: workspace, task_prompt: 'x' })
    expect(fault.code).toBe('E_UNSUPPORTED')
    expect(fault.hint).toContain('npm install -g @openai/codex')
  })

  test('a failing agent and one that takes too long are on record, with their log', async () => {
    await using world = await withAgent('codex', `#!/bin/sh\necho "$OPENAI_API_KEY"\n[ -e a.txt ] && exit 7\n`, {
      OPENAI_API_KEY: key,
    })
    const { answer } = await agreed<AgentAnswer>(world, 'agent_run', {
      agent: 'codex',
      workspace_path: workspace,
      task_prompt: 'x',
    })
    expect(answer).toMatchObject({ success: false, exit_code: 7, stdout_excerpt: '[secret]\n' })
    writeFileSync(join(world.base, 'bin/codex'), '#!/bin/sh\necho "$OPENAI_API_KEY"\nexec sleep 600\n', { mode: 0o755 })
    const input = { agent: 'codex', workspace_path: workspace, task_prompt: 'y', timeout_seconds: 10 }
    const asked = await world.fault('agent_run', input)
    world.runtime.approvals.decide(asked.details?.['approvalId'] as string, { approve: true, by: 'me' })
    const fault = await world.fault('agent_run', input)
    expect(fault.code).toBe('E_TIMEOUT')
    expect(JSON.stringify(errorBodyOf(fault))).not.toContain(key)
    const end = [...world.runtime.audit.lines()].findLast((line) => line.event === 'call.end')
    expect(readFileSync(world.state(end?.evidence?.[0] ?? ''), 'utf8')).toContain('by force: it ran longer than 10 s')
    expect(details(world, 'tool.agent_run').map((one) => one['exit_code'])).toEqual([7, null])
    const all = readdirSync(world.state(''), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => readFileSync(join(entry.parentPath, entry.name), 'latin1'))
    expect(all.filter((text) => text.includes(key))).toEqual([])
  })
})
