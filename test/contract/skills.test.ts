// @stage
import { chmodSync, existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { agreed } from '../support/approve.ts'
import { proves } from '../support/proof.ts'
import { openWorld as openAny, type World } from '../support/world.ts'

const init = 'skills_workspace/my-skill/scripts/init.py'
const echo = 'import sys, os\nprint(os.getcwd()); print(sys.argv[1:])\n'
/** Seed 004 §2.6, in its order. */
const fields = ['script_path_relative', 'args', 'cwd', 'timeout_seconds', 'exit_code', 'stdout_len', 'stderr_len', 'duration_ms']

/** Nobody is there to answer: what would ask fails at once. */
const openWorld = (options: Parameters<typeof openAny>[0] = {}) =>
  openAny({ ...options, flags: { 'approval-wait-ms': '0', ...options.flags } })

interface Answer {
  ok: boolean
  exit_code: number
  stdout_excerpt: string
  stderr_excerpt: string
  artifacts_changed: { path: string; size: number; kind: string }[]
  meta: { cwd: string; duration_ms: number; stdout_len: number; stderr_len: number; notes?: string[] }
}

const lines = (world: World, event: string) =>
  [...world.runtime.audit.lines()].filter((line) => line.event === event).map((line) => line.details as Record<string, unknown>)

proves('python.audit', 'what only prints is answered at once, from the sandbox folder, which is not made for it', async () => {
  await using world = await openWorld({ files: { [init]: echo } })
  const answer = await world.call<Answer>('python_run', { script_path: init, args: ['a b', '--x', '我'] })
  expect(answer).toEqual({
    ok: true,
    exit_code: 0,
    stdout_excerpt: `${world.path('sandbox')}\n['a b', '--x', '我']\n`,
    stderr_excerpt: '',
    artifacts_changed: [],
    meta: {
      cwd: 'sandbox',
      duration_ms: expect.any(Number) as number,
      stdout_len: Buffer.byteLength(answer.stdout_excerpt),
      stderr_len: 0,
    },
    confined: true,
  })
  expect(existsSync(world.path('sandbox'))).toBe(false)
  const [details] = lines(world, 'tool.python_run')
  expect(Object.keys(details ?? {})).toEqual(fields)
  expect(details).toEqual({
    script_path_relative: init,
    args: ['a b', '--x', '我'],
    cwd: 'sandbox',
    timeout_seconds: 60,
    exit_code: 0,
    stdout_len: answer.meta.stdout_len,
    stderr_len: 0,
    duration_ms: answer.meta.duration_ms,
  })
})

proves('python.cwd', "the contract's own example lands in sandbox/outputs, and undo takes it back", async () => {
  const script = `import argparse, pathlib
parser = argparse.ArgumentParser()
parser.add_argument('--output')
out = pathlib.Path(parser.parse_args().output)
out.parent.mkdir(parents=True, exist_ok=True)
out.write_text('done\\n')
`
  await using world = await openWorld({ files: { [init]: script } })
  const input = { script_path: init, args: ['--output', 'sandbox/outputs/result.txt'], timeout_seconds: 60 }
  const { answer, cards } = await agreed<Answer>(world, 'python_run', input)
  expect(cards).toHaveLength(1)
  expect(cards[0]?.changes.map(({ path }) => path)).toContain('sandbox/outputs/result.txt')
  expect(world.read('sandbox/outputs/result.txt')).toBe('done\n')
  expect(existsSync(world.path('sandbox/sandbox'))).toBe(false)
  expect(answer.artifacts_changed).toEqual([{ path: 'sandbox/outputs/result.txt', size: 5, kind: 'added' }])
  expect(answer.meta.notes?.[0]).toContain('sandbox/ at the start of an argument was left out')
  await world.call('undo', { last: true, dryRun: false }, { role: 'person' })
  expect(existsSync(world.path('sandbox'))).toBe(false)
})

test('the prefix is left out of whole arguments and of values, and kept where sandbox/sandbox is real', async () => {
  await using world = await openWorld({ files: { [init]: echo, 'sandbox/keep.txt': '' } })
  const args = [
    'sandbox/a',
    '--out=sandbox/b',
    './sandbox/c',
    '-o=sandbox/d',
    'x/sandbox/e',
    'sandbox',
    'sandbox/',
    'see sandbox/f',
    'sandboxes/g',
  ]
  const shown = async () => (await world.call<Answer>('python_run', { script_path: init, args })).stdout_excerpt.split('\n')[1]
  expect(await shown()).toBe("['a', '--out=b', 'c', '-o=d', 'x/sandbox/e', 'sandbox', '.', 'see sandbox/f', 'sandboxes/g']")
  world.write('sandbox/sandbox/real.txt', '')
  expect(await shown()).toBe(`[${args.map((arg) => `'${arg}'`).join(', ')}]`)
})

proves('python.gate', 'added, modified, deleted and moved files are listed as what they are', async () => {
  const script = `import os
open('new.txt', 'w').write('four')
open('old.txt', 'a').write('more')
os.remove('gone.txt')
os.rename('here.txt', 'there.txt')
os.mkdir('empty')
`
  await using world = await openWorld({
    files: { [init]: script, 'sandbox/old.txt': 'old', 'sandbox/gone.txt': 'gone', 'sandbox/here.txt': 'moved' },
  })
  const { answer } = await agreed<Answer>(world, 'python_run', { script_path: init })
  expect(answer.artifacts_changed).toEqual(
    expect.arrayContaining([
      { path: 'sandbox/new.txt', size: 4, kind: 'added' },
      { path: 'sandbox/old.txt', size: 7, kind: 'modified' },
      { path: 'sandbox/gone.txt', size: 0, kind: 'deleted' },
      { path: 'sandbox/here.txt', size: 0, kind: 'deleted' },
      { path: 'sandbox/there.txt', size: 5, kind: 'added' },
    ]),
  )
  expect(answer.artifacts_changed).toHaveLength(5)
  expect(existsSync(world.path('sandbox/empty'))).toBe(true)
})

test('a script that makes a sandbox/sandbox of its own is answered as it was run', async () => {
  await using world = await openWorld({
    files: { [init]: "import os, sys\nos.mkdir('sandbox')\nopen('sandbox/x', 'w').write(sys.argv[1])\n" },
  })
  const { answer } = await agreed<Answer>(world, 'python_run', { script_path: init, args: ['sandbox/a'] })
  expect(world.read('sandbox/sandbox/x')).toBe('a')
  expect(answer.meta.notes).toHaveLength(1)
  await using other = await openWorld({ files: { [init]: "open('sandbox', 'w')\n" } })
  expect((await agreed<Answer>(other, 'python_run', { script_path: init, args: ['sandbox/a'] })).answer.ok).toBe(true)
})

test('more than 200 artifacts: 200 are listed, and it is said', async () => {
  await using world = await openWorld({ files: { [init]: "for n in range(205): open(f'{n}.txt', 'w')\n" } })
  const { answer } = await agreed<Answer>(world, 'python_run', { script_path: init })
  expect(answer.artifacts_changed).toHaveLength(200)
  expect(answer.meta.notes).toEqual(['5 more changed files are not listed'])
  expect(readdirSync(world.path('sandbox'))).toHaveLength(205)
})

proves('python.audit', 'an exit code is an answer, not an error; it is on record', async () => {
  await using world = await openWorld({ files: { [init]: "import sys\nprint('bad', file=sys.stderr)\nsys.exit(3)\n" } })
  const answer = await world.call<Answer>('python_run', { script_path: init })
  expect(answer).toMatchObject({ ok: false, exit_code: 3, stderr_excerpt: 'bad\n' })
  expect(lines(world, 'tool.python_run')).toMatchObject([{ exit_code: 3, stderr_len: 4 }])
})

proves('python.time', 'a deadline ends it, nothing of it is kept, and it is on record', async () => {
  await using world = await openWorld({
    files: { [init]: "import time\nprint('began')\nopen('half.txt', 'w').write('x')\ntime.sleep(600)\n" },
  })
  const fault = await world.fault('python_run', { script_path: init, timeout_seconds: 4 })
  expect(fault.code).toBe('E_TIMEOUT')
  expect(fault.details).toMatchObject({ stdout: 'began\n' })
  expect(existsSync(world.path('sandbox'))).toBe(false)
  const [details] = lines(world, 'tool.python_run')
  expect(Object.keys(details ?? {})).toEqual(fields)
  expect(details).toMatchObject({ exit_code: null, timeout_seconds: 4, stdout_len: 6 })
})

proves('python.audit', 'a refusal of a fitting input is on record; an input that does not fit is not', async () => {
  await using world = await openWorld({ files: { 'other.py': '' } })
  expect((await world.fault('python_run', { script_path: 'other.py', args: ['x'] })).code).toBe('E_DENY_PATH')
  expect((await world.fault('python_run', { script_path: '../x.py' })).code).toBe('E_DENY_PATH')
  expect((await world.fault('python_run', { script_path: init })).code).toBe('E_NOT_FOUND')
  expect((await world.fault('python_run', { script_path: init, timeout_seconds: 121 })).code).toBe('E_BAD_ARGS')
  expect((await world.fault('python_run', { script_path: 7 })).code).toBe('E_BAD_ARGS')
  const found = lines(world, 'tool.python_run')
  expect(found.map((details) => Object.keys(details))).toEqual([fields, fields, fields])
  expect(found.map(({ script_path_relative: path, exit_code: code }) => [path, code])).toEqual([
    ['other.py', null],
    ['../x.py', null],
    [init, null],
  ])
})

test('a call that waits for an answer is one line however often it is made, and the script runs once', async () => {
  await using world = await openWorld({ files: { [init]: "import time\nopen('t.txt', 'w').write(str(time.time_ns()))\n" } })
  const input = { script_path: init }
  const first = await world.fault('python_run', input, { approvalWaitMs: 0 })
  const card = world.runtime.approvals.get(first.details?.['approvalId'] as string)?.card
  const stamp = card?.changes.find(({ path }) => path === 'sandbox/t.txt')?.diff.hunks[0]?.linesNew[0]
  expect(stamp).toMatch(/^\d+$/)
  await agreed(world, 'python_run', input)
  expect(world.read('sandbox/t.txt')).toBe(stamp)
  expect(lines(world, 'tool.python_run').map((details) => details['exit_code'])).toEqual([0])
})

proves('python.cut', 'long output: 2,048 characters, both ends, no character cut in two, and the whole length', async () => {
  const script = "import sys\nsys.stdout.write('BEGIN' + '我😀' * 150_000 + 'END')\nsys.stderr.write('x' * 2048)\n"
  await using world = await openWorld({ files: { [init]: script } })
  const { stdout_excerpt: text, stderr_excerpt: errors, meta } = await world.call<Answer>('python_run', { script_path: init })
  expect(Array.from(text)).toHaveLength(2_048)
  expect(text.isWellFormed()).toBe(true)
  expect(text).not.toContain('\ufffd')
  expect(text).toMatch(/^BEGIN我😀[^]*我?😀END$/u)
  expect(text).toContain('1050008 bytes in all')
  expect(meta).toMatchObject({ stdout_len: 1_050_008, stderr_len: 2_048 })
  expect(errors).toBe('x'.repeat(2_048))
})

test('a script finds what stands beside it, and leaves no caches there', async () => {
  await using world = await openWorld({
    files: {
      'sandbox/scripts/main.py': 'import beside\nprint(beside.word)\n',
      'sandbox/scripts/beside.py': "word = 'found'\n",
      'skills_workspace/a/scripts/main.py': 'import beside\nprint(beside.word)\n',
      'skills_workspace/a/scripts/beside.py': "word = 'too'\n",
    },
  })
  expect(await world.call('python_run', { script_path: 'sandbox/scripts/main.py' })).toMatchObject({
    stdout_excerpt: 'found\n',
    artifacts_changed: [],
  })
  expect(await world.call('python_run', { script_path: './skills_workspace//a/scripts/main.py' })).toMatchObject({
    stdout_excerpt: 'too\n',
  })
})

test('two at once do not meet', async () => {
  const script =
    "import sys, time\nopen('mine.txt', 'w').write(sys.argv[1])\ntime.sleep(0.3)\nprint(open('mine.txt').read())\nimport os; os.remove('mine.txt')\n"
  await using world = await openWorld({ files: { [init]: script } })
  const both = await Promise.all(
    ['one', 'two'].map((word) => world.call<Answer>('python_run', { script_path: init, args: [word] })),
  )
  expect(both.map((answer) => answer.stdout_excerpt)).toEqual(['one\n', 'two\n'])
})

test('a python3 on the PATH that does not work does not stand in the way', async () => {
  await using world = await openWorld({ files: { [init]: echo }, environment: (base) => ({ PATH: join(base, 'bin') }) })
  world.write('../bin/python3', '#!/bin/sh\nexit 1\n')
  chmodSync(join(world.base, 'bin/python3'), 0o755)
  expect(await world.call('python_run', { script_path: init })).toMatchObject({ ok: true })
})

test('script_run: sh, bash by its first line, and the three endings of JavaScript', async () => {
  await using world = await openWorld({
    files: {
      'skills/a/scripts/one.sh': 'echo "$0 $1 ${BASH_VERSION:+bash}"; pwd\n',
      'skills/a/scripts/two.sh': '#!/usr/bin/env bash\necho "${BASH_VERSION:+bash} $1"\n',
      'skills/a/scripts/a.js': 'console.log(process.argv.slice(2))\n',
      'skills/a/scripts/b.mjs': "import { cwd } from 'node:process'\nconsole.log(cwd())\n",
      'skills/a/scripts/c.cjs': 'console.log(typeof require, process.env.JARVIS_A)\n',
    },
  })
  const run = (name: string, more = {}) => world.call<Answer>('script_run', { script_path: `skills/a/scripts/${name}`, ...more })
  expect((await run('one.sh', { args: ['x'] })).stdout_excerpt).toBe(
    `${world.path('skills/a/scripts/one.sh')} x \n${world.path('sandbox')}\n`,
  )
  expect((await run('two.sh', { args: ['x'] })).stdout_excerpt).toBe('bash x\n')
  expect((await run('a.js', { args: ['sandbox/x'] })).stdout_excerpt).toBe("[ 'x' ]\n")
  expect((await run('b.mjs')).stdout_excerpt).toBe(`${world.path('sandbox')}\n`)
  expect((await run('c.cjs', { env: { JARVIS_A: 'yes' } })).stdout_excerpt).toBe('function yes\n')
  const found = lines(world, 'tool.script_run')
  expect(found).toHaveLength(5)
  expect(found.map((details) => Object.keys(details))).toEqual(found.map(() => fields))
})

test('script_run: TypeScript with a Node that can, with the tsx of the project, or a word on what is missing', async () => {
  const path = 'sandbox/scripts/a.ts'
  await using world = await openWorld({ files: { [path]: 'const word: string = "typed"\nconsole.log(word)\n' } })
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major > 22 || (major === 22 && minor >= 6)) {
    expect(await world.call('script_run', { script_path: path })).toMatchObject({ stdout_excerpt: 'typed\n' })
    return
  }
  const fault = await world.fault('script_run', { script_path: path })
  expect(fault.code).toBe('E_UNSUPPORTED')
  expect(fault.hint).toContain('tsx')
  world.write('node_modules/.bin/tsx', '#!/bin/sh\necho "tsx $1"\n')
  chmodSync(world.path('node_modules/.bin/tsx'), 0o755)
  expect(await world.call('script_run', { script_path: path })).toMatchObject({ stdout_excerpt: `tsx ${world.path(path)}\n` })
})

test('what each runs is its own: .sh is not for python_run, and a .py of another folder is for script_run', async () => {
  await using world = await openWorld({ files: { 'skills/a/scripts/a.py': 'print(1)\n', 'sandbox/scripts/a.sh': '' } })
  const [shell, elsewhere] = [
    await world.fault('python_run', { script_path: 'sandbox/scripts/a.sh' }),
    await world.fault('python_run', { script_path: 'skills/a/scripts/a.py' }),
  ]
  expect([shell.code, elsewhere.code]).toEqual(['E_DENY_PATH', 'E_DENY_PATH'])
  expect([shell.hint, elsewhere.hint]).toEqual([
    expect.stringContaining('script_run') as string,
    expect.stringContaining('script_run') as string,
  ])
  expect(await world.call('script_run', { script_path: 'skills/a/scripts/a.py' })).toMatchObject({ stdout_excerpt: '1\n' })
})

test('where nothing confines, a person is asked before, the folder is made, and undo takes it back', async () => {
  await using world = await openWorld({
    files: { [init]: "open('x.txt', 'w').write('x')\n" },
    flags: { bubblewrap: '/nowhere/bwrap' },
  })
  const { answer, cards } = await agreed<Answer>(world, 'python_run', { script_path: init })
  expect(cards).toHaveLength(1)
  expect(cards[0]?.notes?.join('\n')).toContain('NOT CONFINED')
  expect(answer).toMatchObject({ ok: true, confined: false, artifacts_changed: [{ path: 'sandbox/x.txt', kind: 'added' }] })
  await world.call('undo', { last: true, dryRun: false }, { role: 'person' })
  expect(existsSync(world.path('sandbox'))).toBe(false)
})

test('a yes before an unconfined run is for the script as it was', async () => {
  await using world = await openWorld({ files: { [init]: 'print(1)\n' }, flags: { bubblewrap: '/nowhere/bwrap' } })
  const first = await world.fault('python_run', { script_path: init }, { approvalWaitMs: 0 })
  world.runtime.approvals.decide(first.details?.['approvalId'] as string, { approve: true, by: 'me' })
  world.write(init, 'print(2)\n')
  expect((await world.fault('python_run', { script_path: init }, { approvalWaitMs: 0 })).code).toBe('E_CONFLICT')
})

test('the record of a refused read-only project is complete', async () => {
  await using world = await openWorld({ files: { [init]: "open('x', 'w').write('x')\n" }, config: { readOnly: true } })
  expect((await world.fault('python_run', { script_path: init })).code).toBe('E_POLICY_VIOLATION')
  expect(lines(world, 'tool.python_run')).toMatchObject([{ exit_code: 0 }])
  expect(readFileSync(world.path(init), 'utf8')).toContain('open')
})
