// @stage
import { execFileSync } from 'node:child_process'
import { chmodSync, existsSync, linkSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { proves } from '../support/proof.ts'
import { details, openWorld } from '../support/skills.ts'

const script = 'sandbox/scripts/a.py'
const print = (code: string): string => `${code}\n`

describe('where a script may stand', () => {
  proves('python.places', 'every way to name something else is refused, and nothing of it runs', async () => {
    await using world = await openWorld({
      files: {
        'evil.py': print("print('ran')"),
        'skills_workspace/x/evil.py': print("print('ran')"),
        'skills_workspace/x/scripts/deep/evil.py': print("print('ran')"),
        'skills_workspace/scripts/evil.py': print("print('ran')"),
        'sandbox/evil.py': print("print('ran')"),
        'sandbox/scripts/deep/evil.py': print("print('ran')"),
        'other/x/scripts/evil.py': print("print('ran')"),
        'sandbox/scripts/UPPER.PY': print("print('ran')"),
        'sandbox/scripts/evil.py.txt': print("print('ran')"),
        'Skills/x/scripts/evil.py': print("print('ran')"),
        'node_modules/x/scripts/evil.py': print("print('ran')"),
      },
    })
    writeFileSync(join(world.base, 'outside.py'), "print('ran')\n")
    mkdirSync(world.path('sandbox/scripts/folder.py'))
    const refused: [string, string][] = [
      ['evil.py', 'E_DENY_PATH'],
      ['skills_workspace/x/evil.py', 'E_DENY_PATH'],
      ['skills_workspace/x/scripts/deep/evil.py', 'E_DENY_PATH'],
      ['skills_workspace/scripts/evil.py', 'E_DENY_PATH'],
      ['sandbox/evil.py', 'E_DENY_PATH'],
      ['sandbox/scripts/deep/evil.py', 'E_DENY_PATH'],
      ['other/x/scripts/evil.py', 'E_DENY_PATH'],
      ['sandbox/scripts/UPPER.PY', 'E_DENY_PATH'],
      ['sandbox/scripts/evil.py.txt', 'E_DENY_PATH'],
      ['Skills/x/scripts/evil.py', 'E_DENY_PATH'],
      ['node_modules/x/scripts/evil.py', 'E_DENY_PATH'],
      ['skills_workspace/x/scripts/../../../evil.py', 'E_DENY_PATH'],
      ['skills_workspace/x/scripts/../../../../outside.py', 'E_DENY_PATH'],
      ['skills_workspace/x/scripts/../../../etc/passwd', 'E_DENY_PATH'],
      ['skills_workspace/x/scripts/%2e%2e/evil.py', 'E_DENY_PATH'],
      ['skills\\x\\scripts\\evil.py', 'E_DENY_PATH'],
      [join(world.base, 'outside.py'), 'E_DENY_PATH'],
      [world.path(script), 'E_DENY_PATH'],
      ['~/a.py', 'E_DENY_PATH'],
      ['file:///sandbox/scripts/a.py', 'E_DENY_PATH'],
      [`${script}\0.py`, 'E_DENY_PATH'],
      [`sandbox/scripts/${'a'.repeat(5_000)}.py`, 'E_DENY_PATH'],
      ['sandbox/scripts/folder.py', 'E_IO'],
      ['sandbox/scripts/.py', 'E_NOT_FOUND'],
      ['sandbox/scripts/missing.py', 'E_NOT_FOUND'],
      ['-c', 'E_DENY_PATH'],
      ['', 'E_BAD_ARGS'],
    ]
    for (const [path, code] of refused)
      expect([path, (await world.fault('python_run', { script_path: path })).code]).toEqual([path, code])
    expect(details(world, 'tool.python_run').map((one) => one['exit_code'])).toEqual(Array(refused.length - 1).fill(null))
  })

  proves('python.places', 'links are refused wherever they stand', async () => {
    await using world = await openWorld({ files: { 'evil.py': print("print('ran')"), 'sandbox/scripts/real.py': '' } })
    symlinkSync(world.path('evil.py'), world.path('sandbox/scripts/link.py'))
    symlinkSync('/etc/passwd', world.path('sandbox/scripts/passwd.py'))
    linkSync(world.path('evil.py'), world.path('sandbox/scripts/hard.py'))
    mkdirSync(world.path('skills_workspace/x'), { recursive: true })
    symlinkSync(world.path('sandbox/scripts'), world.path('skills_workspace/x/scripts'))
    symlinkSync('.', world.path('skills_workspace/y'))
    for (const path of [
      'sandbox/scripts/link.py',
      'sandbox/scripts/passwd.py',
      'sandbox/scripts/hard.py',
      'skills_workspace/x/scripts/real.py',
    ])
      expect([path, (await world.fault('python_run', { script_path: path })).code]).toEqual([path, 'E_DENY_PATH'])
  })

  test('a sandbox that is a link or a file is refused', async () => {
    await using world = await openWorld({ files: { 'skills_workspace/x/scripts/a.py': '', 'real/keep.txt': '' } })
    symlinkSync(world.path('real'), world.path('sandbox'))
    expect((await world.fault('python_run', { script_path: 'skills_workspace/x/scripts/a.py' })).code).toBe('E_DENY_PATH')
    await using other = await openWorld({ files: { 'skills_workspace/x/scripts/a.py': '', sandbox: 'a file' } })
    expect((await other.fault('python_run', { script_path: 'skills_workspace/x/scripts/a.py' })).code).toBe('E_IO')
    expect(other.read('sandbox')).toBe('a file')
  })
})

describe('what a script gets', () => {
  test('arguments: too many, too long, NUL; what looks like an option of Python is an argument', async () => {
    await using world = await openWorld({ files: { [script]: print('import sys; print(sys.argv[1:])') } })
    const bad = [Array(10_000).fill('x'), ['\0'], ['x'.repeat(8_193)], Array(256).fill('x'.repeat(8_000)), [7]]
    for (const args of bad) expect((await world.fault('python_run', { script_path: script, args })).code).toBe('E_BAD_ARGS')
    const args = ['-c', 'import os', '--', '$(id)', '`id`', '; id', '*', '\n', '']
    expect(await world.call('python_run', { script_path: script, args })).toMatchObject({
      stdout_excerpt: "['-c', 'import os', '--', '$(id)', '`id`', '; id', '*', '\\n', '']\n",
    })
  })

  test('only its own variables may be set, and nothing of ours comes along', async () => {
    process.env['HANDRAIL_SKILL_LEAK'] = 'leaked'
    try {
      await using world = await openWorld({
        files: { [script]: print('import os; print(sorted(os.environ))') },
        environment: () => ({ OPENAI_API_KEY: 'sk-of-the-person', JARVIS_LEAK: 'leaked' }),
      })
      for (const name of [
        'PATH',
        'PYTHONPATH',
        'LD_PRELOAD',
        'JARVIS_',
        'jarvis_a',
        'JARVIS_A=B',
        'XJARVIS_A',
        'HANDRAIL_MARK',
        '__proto__',
      ])
        expect([
          name,
          (
            await world.fault('python_run', {
              script_path: script,
              env: { ['x']: '', ...JSON.parse(`{${JSON.stringify(name)}:"v"}`) },
            })
          ).code,
        ]).toEqual([name, 'E_BAD_ARGS'])
      const { stdout_excerpt: text } = await world.call<{ stdout_excerpt: string }>('python_run', {
        script_path: script,
        env: { JARVIS_A: 'a', HANDRAIL_SKILL_B: 'b' },
      })
      expect(text).toContain("'JARVIS_A'")
      expect(text).toContain("'HANDRAIL_SKILL_B'")
      expect(text).not.toMatch(/LEAK|OPENAI|XDG|VITEST|npm_/)
    } finally {
      delete process.env['HANDRAIL_SKILL_LEAK']
    }
  })

  test('secrets in arguments and variables stay out of the record', async () => {
    await using world = await openWorld({ files: { [script]: '' } })
    await world.call('python_run', {
      script_path: script,
      args: ['--api-key', 'hunter2-hunter2', '--token=abcdefgh', 'sk-abcdefghijklmnopqrst', '--name', 'plain'],
      env: { JARVIS_API_TOKEN: 'hunter3-hunter3' },
    })
    expect(details(world, 'tool.python_run')[0]?.['args']).toEqual([
      '--api-key',
      '[secret: value of a flag, 15 characters]',
      '--token=[secret: value of a flag, 8 characters]',
      '[secret: API key, 23 characters]',
      '--name',
      'plain',
    ])
    expect(JSON.stringify([...world.runtime.audit.lines()])).not.toMatch(/hunter|abcdefgh/)
  })

  test('the project is read-only for it outside sandbox/, and no network is there', async () => {
    const code = `import os, socket
def tried(name, act):
    try:
        act(); print(name, 'POSSIBLE')
    except OSError as fault:
        print(name, fault.errno)
tried('write', lambda: open('../own.txt', 'w'))
tried('change', lambda: open('../kept.txt', 'a'))
tried('remove', lambda: os.remove('../kept.txt'))
tried('rename', lambda: os.rename('../kept.txt', 'mine.txt'))
tried('script', lambda: open(__file__.replace('sandbox/scripts', 'skills_workspace/x/scripts'), 'a'))
tried('state', lambda: open('../.handrail/token').read())
tried('home', lambda: os.listdir('/root') or os.listdir('/root/x'))
tried('connect', lambda: socket.create_connection(('1.1.1.1', 53), 2))
print(open('../kept.txt').read())
`
    await using world = await openWorld({
      files: { [script]: code, 'kept.txt': 'kept', 'skills_workspace/x/scripts/a.py': '' },
      // A Python in the home would be shown there, and rightly.
      environment: () => ({ PATH: '/usr/bin:/bin' }),
    })
    world.runtime.token()
    const answer = await world.call<{ stdout_excerpt: string; artifacts_changed: unknown[] }>('python_run', {
      script_path: script,
    })
    expect(answer.stdout_excerpt).not.toContain('POSSIBLE')
    expect(answer.stdout_excerpt).toContain('kept\n')
    expect(answer.artifacts_changed).toEqual([])
    expect(world.read('kept.txt')).toBe('kept')
  })

  test('what it leaves running ends with it, also at the deadline', async () => {
    const code = `import os, signal, sys, time
if os.fork() == 0:
    os.setsid()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if os.fork() == 0:
        sys.argv[0] = 'still-here'
        while True: time.sleep(1)
    while True: time.sleep(1)
print('left', flush=True)
time.sleep(float(sys.argv[1]))
`
    const mark = 'left-by-skills-test'
    const alive = () =>
      readdirSync('/proc')
        .filter((name) => /^\d+$/.test(name))
        .filter((pid) => {
          try {
            return readFileSync(`/proc/${pid}/cmdline`, 'latin1').includes(mark)
          } catch {
            return false
          }
        })
    await using world = await openWorld({ files: { [script]: code } })
    expect(await world.call('python_run', { script_path: script, args: ['0', mark] })).toMatchObject({
      ok: true,
      stdout_excerpt: 'left\n',
    })
    expect(alive()).toEqual([])
    expect((await world.fault('python_run', { script_path: script, args: ['600', mark], timeout_seconds: 1 })).code).toBe(
      'E_TIMEOUT',
    )
    expect(alive()).toEqual([])
  })

  test('a Python of its own somewhere else works, with what is installed there', async () => {
    await using world = await openWorld({
      onDisk: true,
      files: { [script]: print('import sys, extra; print(sys.prefix, extra.word)') },
      environment: (base) => ({ PATH: `${base}/tools/venv/bin:/usr/bin:/bin`, HOME: base }),
    })
    const venv = join(world.base, 'tools/venv')
    execFileSync('/usr/bin/python3', ['-m', 'venv', '--without-pip', venv])
    const packages = execFileSync(join(venv, 'bin/python3'), ['-c', 'import site; print(site.getsitepackages()[0])'])
      .toString()
      .trim()
    writeFileSync(join(packages, 'extra.py'), "word = 'installed'\n")
    expect(await world.call('python_run', { script_path: script })).toMatchObject({
      stderr_excerpt: '',
      stdout_excerpt: `${venv} installed\n`,
    })
  })

  test('a python3 that lies in the project is never started outside the stage', async () => {
    await using world = await openWorld({
      onDisk: true,
      files: {
        [script]: print('print(1)'),
        'venv/bin/python3': `#!/bin/sh\ntouch "$HOME/escaped"\nexec /usr/bin/python3 "$@"\n`,
      },
      environment: (base) => ({ PATH: `${base}/project/venv/bin:${base}/links:/usr/bin`, HOME: base }),
    })
    chmodSync(world.path('venv/bin/python3'), 0o755)
    mkdirSync(join(world.base, 'links'))
    symlinkSync(world.path('venv/bin/python3'), join(world.base, 'links/python3'))
    expect(await world.call('python_run', { script_path: script })).toMatchObject({ stdout_excerpt: '1\n' })
    expect(existsSync(join(world.base, 'escaped'))).toBe(false)
  })
})
