// @stage
import { chmodSync, existsSync, readdirSync } from 'node:fs'
import { describe, expect, test } from 'vitest'
import { runInside } from '../support/inside.ts'
import { isSoak } from '../support/soak.ts'
import { agreed, approve, ask, stagesLeft, withShell } from '../support/stage.ts'
import { openWorld, runCli, type World } from '../support/world.ts'

/** Runs a command that nobody may be asked about. */
const unasked = (world: World, command: string): Promise<Record<string, unknown>> =>
  world.call('shell', { command }, { approvalWaitMs: 0 })

/** Runs one that must ask, and says why it does. */
async function why(world: World, command: string): Promise<string> {
  return (await ask(world, { command })).card.notes?.join('\n') ?? ''
}

const several = (count: number, text = 'text\n'): Record<string, string> =>
  Object.fromEntries(Array.from({ length: count }, (_, n) => [`f${n}.txt`, `${n} ${text}`]))

describe('what a program does unasked is bounded', () => {
  test('a few removals are plain; more are asked about, whichever way a file goes', async () => {
    await using world = await openWorld({ files: several(12), flags: withShell })
    const asks = 'removes, empties, moves or replaces 4 files'
    expect(await why(world, 'rm f0.txt f1.txt f2.txt f3.txt')).toContain(asks)
    expect(await why(world, 'mkdir away; mv f0.txt f1.txt f2.txt f3.txt away')).toContain(asks)
    expect(await why(world, 'for n in 0 1 2 3; do : > f$n.txt; done')).toContain(asks)
    // Two go, and two are no longer what they were.
    expect(await why(world, 'mv f0.txt f1.txt; mv f2.txt f3.txt')).toContain(asks)
    // A folder in the place of a file.
    expect(await why(world, 'for n in 0 1 2 3; do rm f$n.txt; mkdir f$n.txt; done')).toContain(asks)
    expect(readdirSync(world.project).length).toBe(12)
    await unasked(world, 'rm f0.txt f1.txt f2.txt')
    expect(existsSync(world.path('f2.txt'))).toBe(false)
  })

  test('a change in place is no removal, however a program makes it; it counts by its lines', async () => {
    const long = 'line\n'.repeat(300)
    await using world = await openWorld({ files: several(12, long), flags: withShell })
    await unasked(world, 'sed -i s/line/row/ f0.txt; for n in 1 2 3 4 5 6 7 8; do echo more >> f$n.txt; done')
    expect(world.read('f0.txt')).toContain('row')
    const lines = 'changes more than 2,000 lines'
    expect(await why(world, 'for n in 1 2 3 4 5 6 7 8; do echo gone > f$n.txt; done')).toContain(lines)
    // What is no text any more takes its lines with it.
    expect(await why(world, "for n in 1 2 3 4 5 6 7 8; do printf 'a\\0b' > f$n.txt; done")).toContain(lines)
    expect(await why(world, 'seq 3000 > new.txt')).toContain(lines)
  })

  test('many files and many bytes ask, and a person may set each bound lower', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'a\n' }, flags: withShell })
    expect(await why(world, 'mkdir d; for n in $(seq 501); do : > d/$n; done')).toContain('changes 502 files and folders')
    expect(await why(world, 'head -c 11000000 /dev/zero > big.bin')).toContain('changes files of 11,000,000 bytes together')
    await world.reopen({ 'unasked-removals': '0', 'unasked-files': '1', 'unasked-bytes': '100' })
    expect(await why(world, 'rm a.txt')).toContain('1 file of the project')
    expect(await why(world, 'echo 1 > x; echo 2 > y')).toContain('2 files and folders')
    expect(await why(world, 'seq 100 > x')).toContain('bytes together')
  })

  test('a project’s own settings only lower the bounds', async () => {
    const policies = { unaskedRemovals: 100, unaskedFiles: 2 }
    await using world = await openWorld({ files: several(5), projectConfig: { policies }, flags: withShell })
    expect(await why(world, 'rm f0.txt f1.txt f2.txt f3.txt')).toContain('4 files of the project')
    expect(await why(world, 'echo 1 > x; echo 2 > y; echo 3 > z')).toContain('3 files and folders')
  })

  // In `npm test` the one over restarts and processes, below, is over sessions too.
  test.runIf(isSoak)('little by little adds up, over all sessions, until a person has looked', async () => {
    await using world = await openWorld({ files: several(40), flags: withShell })
    const remove = (from: number, session: string): Promise<unknown> =>
      world.call('shell', { command: `rm f${from}.txt f${from + 1}.txt f${from + 2}.txt` }, { approvalWaitMs: 0, session })
    for (let round = 0; round < 10; round++) await remove(round * 3, `sess_${round}`)
    const input = { command: 'rm f30.txt f31.txt f32.txt' }
    // A yes to something else, to whomever, is none to what adds up.
    await agreed(world, { command: 'ln -s f39.txt link' })
    const asked = await ask(world, input)
    expect(asked.card.notes?.join('\n')).toMatch(/33 files.*together with what programs did unasked within the hour/)
    approve(world, asked)
    await world.call('shell', input, { approvalWaitMs: 0 })
    await remove(33, 'sess_more')
    expect(readdirSync(world.project).length).toBe(5)
  })
})

test('little by little adds up over sessions, over restarts and over processes on the same project, until a person has looked', async () => {
  await using world = await openWorld({ files: several(43), flags: withShell })
  const remove = (from: number): string => `rm f${from}.txt f${from + 1}.txt f${from + 2}.txt`
  const elsewhere = (command: string) =>
    runCli(world.project, ['call', 'shell', JSON.stringify({ command }), '--enable-shell', '--wait', '0'])
  const here = (from: number): Promise<unknown> =>
    world.call('shell', { command: remove(from) }, { approvalWaitMs: 0, session: `sess_${from}` })
  for (let round = 0; round < 4; round++) await here(round * 3)
  await world.reopen()
  for (let round = 4; round < 9; round++) await here(round * 3)
  expect(await elsewhere(remove(27))).toMatchObject({ code: 0 })
  // A yes to something else, to whomever, is none to what adds up.
  await agreed(world, { command: 'ln -s f42.txt link' })
  const asked = await ask(world, { command: remove(30) })
  expect(asked.card.notes?.join('\n')).toMatch(/33 files.*together with what programs did unasked within the hour/)
  expect((await elsewhere(remove(33))).code, 'every process asks').toBe(1)
  approve(world, asked)
  await world.call('shell', { command: remove(30) }, { approvalWaitMs: 0 })
  expect(await elsewhere(remove(36)), 'a person has looked, for all of them').toMatchObject({ code: 0 })
  await here(39)
  expect(readdirSync(world.project).toSorted()).toEqual(['f33.txt', 'f34.txt', 'f35.txt', 'f42.txt', 'link'])
})

describe('what is no plain content asks, be it ever so little', () => {
  test('links, permissions, executables, scripts and files that run', async () => {
    const files = { 'a.txt': 'a\n', 'run.sh': '#!/bin/sh\n', 'vite.config.ts': '\n', 'src/a.ts': '\n' }
    await using world = await openWorld({ files, flags: { ...withShell, 'sensitive-files': 'keys/**' } })
    expect(await why(world, 'ln -s a.txt b')).toContain('makes or changes 1 link')
    expect(await why(world, 'chmod 600 a.txt')).toContain('changes the permissions of 1 file or folder')
    expect(await why(world, 'mkdir d; chmod 777 d')).toContain('anybody can write to')
    expect(await why(world, 'chmod +x run.sh')).toContain('can be executed from now on')
    expect(await why(world, 'cp /bin/true t')).toContain('can be executed')
    // A script needs no permission to be started by `sh` or by a system that knows no permissions.
    expect(await why(world, 'printf "#!/bin/sh\\nid\\n" > fresh')).toContain('can be executed by its first bytes')
    expect(await why(world, 'printf "#!/bin/sh\\nid\\n" > a.txt')).toContain('can be executed by its first bytes')
    expect(await why(world, 'echo all: > MAKEFILE')).toContain('MAKEFILE')
    expect(await why(world, 'mkdir -p .vscode; echo {} > .VSCODE/tasks.json || echo {} > .vscode/tasks.json')).toContain(
      'tasks.json',
    )
    expect(await why(world, 'mkdir keys; echo k > keys/one')).toContain('your list of sensitive files')
    expect(await why(world, 'git init -q --bare bare')).toContain('git repository of its own')
  })

  test('a folder that settings put on the PATH holds no plain files', async () => {
    await using world = await openWorld({ files: { '.envrc': 'PATH_add tools\n', 'tools/.keep': '' }, flags: withShell })
    expect(await why(world, 'echo echo pwned > tools/ls')).toContain('.envrc')
  })

  test('a file of everyday builds asks once, as a write to it does; R3 leaves nothing behind', async () => {
    await using world = await openWorld({ files: { 'vite.config.ts': '\n' }, flags: withShell })
    const write = (text: string) => ({ command: `echo '${text}' > vite.config.ts` })
    const raised = { raisedRisk: 'R3', approvalWaitMs: 0 } as const
    approve(world, await ask(world, write('// 1'), 'shell', raised)) // to its running
    approve(world, await ask(world, write('// 1'), 'shell', raised)) // to what it did
    await world.call('shell', write('// 1'), raised)
    expect(world.runtime.grants.list()).toEqual([])
    approve(world, await ask(world, write('// 2')))
    await world.call('shell', write('// 2'), { approvalWaitMs: 0 })
    expect(world.runtime.grants.list()).toMatchObject([{ kind: 'runs', scope: 'session', subject: 'vite.config.ts' }])
    await unasked(world, write('// 3').command)
    expect(world.read('vite.config.ts')).toBe('// 3\n')
    expect((await ask(world, write('// 4'), 'shell', { session: 'sess_other' })).risk).toBe('R2')
  })

  test('a file that keeps failing its check asks, whoever repairs it', async () => {
    await using world = await openWorld({ files: { 'game/scene/a.txt': 'x\n' }, flags: withShell })
    const bad = 'changeBg: nowhere.png -next=;\nchoose:\n'
    for (let round = 0; round < 3; round++) {
      const { valid } = await world.call<{ valid: boolean }>('validate_script', { path: 'game/scene/a.txt' })
      if (round < 2) await unasked(world, `printf '${bad}${round}' > game/scene/a.txt`)
      else expect(valid).toBe(false)
    }
    expect((await ask(world, { command: 'echo again > game/scene/a.txt' })).risk).toBe('R2')
  })
})

describe('what the agent is told', () => {
  test('output, exit code and effects at once: while it waits, and after a no', async () => {
    await using world = await openWorld({ files: several(5), flags: withShell })
    const input = { command: 'rm f*.txt; echo printed; echo broken >&2; seq 100000; exit 3' }
    const fault = await world.fault('shell', input, { approvalWaitMs: 0 })
    const told = { applied: false, ok: false, exit_code: 3, stderr: 'broken\n', stdout: expect.stringMatching(/^printed\n/) }
    expect(fault).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: expect.any(String), ran: told } })
    const { stdout, changes } = (fault.details as { ran: { stdout: string; changes: unknown[] } }).ran
    expect(changes).toHaveLength(5)
    expect(Buffer.byteLength(stdout)).toBeLessThan(70_000)
    const id = String(fault.details?.['approvalId'])
    world.runtime.approvals.decide(id, { approve: false, by: 'test', note: 'keep them' })
    const no = await world.fault('shell', input, { approvalWaitMs: 0 })
    expect(no).toMatchObject({ details: { declined: true, note: 'keep them', ran: told } })
    expect(existsSync(world.path('f0.txt'))).toBe(true)
  })

  test('a no to exactly this holds where it would be plain by now', async () => {
    await using world = await openWorld({ files: { 'vite.config.ts': '\n' }, flags: withShell })
    const input = { command: 'echo // > vite.config.ts' }
    const { id, session } = await ask(world, input)
    world.runtime.approvals.decide(id, { approve: false, by: 'test' })
    world.runtime.openSession({ id: session, surface: 'mcp-stdio', client: 'test/1' })
    await world.runtime.grants.give({ kind: 'runs', subject: 'vite.config.ts', session, by: 'test' })
    const again = await world.fault('shell', input, { approvalWaitMs: 0 })
    expect(again.details?.['approvalId']).toBeDefined()
    expect(world.read('vite.config.ts')).toBe('\n')
    await unasked(world, 'echo /// > vite.config.ts')
  })

  test('a question about what was granted meanwhile is withdrawn, and what ran is applied', async () => {
    await using world = await openWorld({ files: { 'vite.config.ts': '\n' }, flags: withShell })
    const input = { command: 'echo // > vite.config.ts; date +%N' }
    const { id, session } = await ask(world, input)
    world.runtime.openSession({ id: session, surface: 'mcp-stdio', client: 'test/1' })
    await world.runtime.grants.give({ kind: 'runs', subject: 'vite.config.ts', session, by: 'test' })
    await world.call('shell', input, { approvalWaitMs: 0 })
    expect(world.read('vite.config.ts')).toBe('//\n')
    expect(world.runtime.approvals.state(id)).toBe('void')
    expect(stagesLeft(world.base)).toEqual([])
  })

  test('the words of a yes reach it as those of a no do', async () => {
    await using world = await openWorld({ files: several(5), flags: withShell })
    const input = { command: 'rm f*.txt' }
    const { id } = await ask(world, input)
    world.runtime.approvals.decide(id, { approve: true, by: 'test', note: 'fine, but use git rm next time' })
    const answer = await world.call('shell', input, { approvalWaitMs: 0 })
    expect(answer).toMatchObject({ ok: true, approvalNote: 'fine, but use git rm next time' })
    await world.put('a.txt', 'a\n')
    const write = { path: 'package.json', content: '{}\n' }
    await world.call('write_to_file', { ...write, dryRun: true })
    const asked = await ask(world, { ...write, dryRun: false }, 'write_to_file')
    world.runtime.approvals.decide(asked.id, { approve: true, by: 'test', note: 'ok' })
    expect(await world.call('write_to_file', { ...write, dryRun: false })).toMatchObject({ applied: true, approvalNote: 'ok' })
  })
})

describe('grants', () => {
  test('one for good counts for every session until it is revoked; secrets are never granted so; a single use is one', async () => {
    await using world = await openWorld({ files: { 'vite.config.ts': '\n', '.env': 'TOKEN=abc\n' }, flags: withShell })
    const { grants } = world.runtime
    world.runtime.openSession({ id: 'sess_test', surface: 'mcp-stdio', client: 'test/1' })
    const cli = (...args: string[]) => runInside(world.project, ['grants', ...args])
    expect(await cli('allow', 'secret', '.env', '--always')).toMatchObject({ code: 2 })
    expect(await cli('allow', 'runs', 'vite.config.ts', '--always', '--once')).toMatchObject({ code: 2 })
    const always = await cli('allow', 'runs', 'vite.config.ts', '--always')
    expect(always).toMatchObject({ code: 0, out: expect.stringContaining('every session may change vite.config.ts') as string })
    await unasked(world, 'echo // > vite.config.ts')
    await world.call('shell', { command: 'echo /// > vite.config.ts' }, { approvalWaitMs: 0, session: 'sess_other' })
    const listed = await cli('list')
    expect(listed.out).toMatch(/runs +always +vite\.config\.ts +every/)
    const [grant] = grants.list()
    expect(grant).toMatchObject({ scope: 'always', session: null, expiresAt: null })
    expect(await cli('revoke', grant?.id ?? '')).toMatchObject({ code: 0 })
    expect((await ask(world, { command: 'echo 4 > vite.config.ts' })).risk).toBe('R2')
    await grants.give({ kind: 'secret', subject: '.env', scope: 'once', session: 'sess_test', by: 'test' })
    expect(await world.call('read_file', { path: '.env' })).toMatchObject({ content: 'TOKEN=abc\n' })
    expect((await world.fault('read_file', { path: '.env' })).code).toBe('E_DENY_PATH')
  })
})

test('run as root or not, an unasked commit keeps the owner’s permissions', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' }, flags: withShell })
  chmodSync(world.path('a.txt'), 0o640)
  await unasked(world, 'sed -i s/a/b/ a.txt')
  expect(world.read('a.txt')).toBe('b\n')
})

describe('what an attacker with fresh eyes got past the rules', () => {
  const compile = (file: string): string =>
    `mkdir -p __pycache__; echo 1 > /tmp/e.py; python3 -c "import py_compile; py_compile.compile('/tmp/e.py', cfile='${file}')"`

  test('compiled Python in the place of what asks', async () => {
    const hook = { '.husky/pre-commit': 'python3 -m checks\n', 'checks.py': '1\n', 'plain.py': '1\n', 'conftest.py': '1\n' }
    await using world = await openWorld({ files: hook, flags: withShell })
    expect(await why(world, compile('__pycache__/checks.cpython-311.pyc'))).toContain('is read in the place of checks.py')
    expect(await why(world, compile('checks.pyc'))).toContain('is read in the place of checks.py')
    expect(await why(world, compile('sitecustomize.pyc'))).toContain('runs with every start of that Python')
    // Caches of everyday files are what every test run leaves.
    await unasked(world, `${compile('__pycache__/plain.cpython-311.pyc')}; ${compile('__pycache__/conftest.cpython-311.pyc')}`)
  })

  test('what may be executed, moved to another name', async () => {
    await using world = await openWorld({ files: { 'dev.sh': '#!/bin/sh\n' }, flags: withShell })
    chmodSync(world.path('dev.sh'), 0o755)
    expect(await why(world, 'mkdir cmd; mv dev.sh cmd/ls')).toContain('can be executed from now on')
  })

  test('files that are emptied but for a byte', async () => {
    await using world = await openWorld({ files: several(12, 'text that is long enough to be missed\n'), flags: withShell })
    expect(await why(world, 'for f in *.txt; do echo > $f; done')).toContain('removes, empties, moves or replaces 12 files')
  })
})
