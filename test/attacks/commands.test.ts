// @stage
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  agreed,
  approve,
  ask,
  endAllWith,
  noNamespaces,
  processesWith,
  soon,
  stagesLeft,
  stubborn,
  shownFirst,
} from '../support/stage.ts'
import { cleanEnv, openWorld, program } from '../support/world.ts'
import { listen, quoted } from '../support/commands.ts'
import { ceiling } from '../support/ceiling.ts'
import { draws } from '../support/seed.ts'
import { isSoak, sweep } from '../support/soak.ts'

const developer = { mode: 'developer', 'ask-from': 'R1' }

const joined = (words: readonly string[]): string => words.map(quoted).join(' ')

/** Every way of writing a command so that a list of forbidden words does not know it. */
const tricks: Record<string, (name: string, args: readonly string[]) => string> = {
  'C01 quoted name': (name, args) => `"${name}" ${joined(args)}`,
  'C02 backslash inside the name': (name, args) => `${name.slice(0, 1)}\\${name.slice(1)} ${joined(args)}`,
  'C03 bash -c': (name, args) => `bash -c ${quoted(`${name} ${joined(args)}`)}`,
  'C04 env': (name, args) => `env ${name} ${joined(args)}`,
  'C05 eval': (name, args) => `eval ${quoted(`${name} ${joined(args)}`)}`,
  'C06 name in a variable': (name, args) => `a=${name.slice(0, 1)}; b=${name.slice(1)}; $a$b ${joined(args)}`,
  'C07 base64 piped to sh': (name, args) => `echo ${Buffer.from(`${name} ${joined(args)}`).toString('base64')} | base64 -d | sh`,
  'C08 through an interpreter': (name, args) =>
    `node -e 'require("child_process").spawnSync(process.argv[1], process.argv.slice(2), { stdio: "inherit" })' -- ${name} ${joined(args)}`,
  'control: absolute path': (name, args) => `/usr/bin/${name} ${joined(args)}`,
  'control: $(X)': (name, args) => `echo "$(${name} ${joined(args)})"`,
  'control: backticks': (name, args) => `echo \`${name} ${joined(args)}\``,
  'control: <(X)': (name, args) => `bash -c ${quoted(`cat <(${name} ${joined(args)}; echo)`)}`,
  'control: globs': (name, args) => `/usr/b?n/${name.slice(0, 1)}[${name.slice(1, 2)}]${name.slice(2)} ${joined(args)}`,
}

describe('there is no list of refused commands: what must not happen does not, however it is written', () => {
  // In `npm test` every fourth, from another one with every seed.
  const from = draws('tricks')(4)
  test.each(Object.entries(tricks).filter((_, at) => isSoak || at % 4 === from))('%s', async (_, trick) => {
    await using world = await openWorld({ files: { 'keep.txt': 'kept\n' }, flags: shownFirst })
    const listener = await listen({ port: 0, host: '127.0.0.1' })
    const outside = join(world.base, 'outside.txt')
    writeFileSync(outside, 'SECRET-outside')
    try {
      // A change is shown before it is one.
      const approval = await ask(world, { command: trick('rm', ['-rf', 'keep.txt']) })
      expect(approval.card.changes).toMatchObject([{ path: 'keep.txt', says: 'deleted' }])
      expect(world.read('keep.txt')).toBe('kept\n')
      // What lies outside is not there: not to read, not to write, not to connect to.
      const command = [
        trick('cat', ['/etc/shadow']),
        trick('cat', [outside]),
        trick('cp', ['keep.txt', join(world.base, 'pwned')]),
        trick('cp', ['keep.txt', '/usr/pwned']),
        trick('bash', ['-c', `cat < /dev/tcp/127.0.0.1/${listener.port}`]),
        'echo; echo tried',
      ].join('\n')
      const { stdout } = await world.call<{ stdout: string }>('shell', { command }, { approvalWaitMs: 0 })
      expect(stdout.trim()).toBe('tried')
      expect(existsSync(join(world.base, 'pwned')) || existsSync('/usr/pwned')).toBe(false)
      expect(listener.came).toEqual([])
    } finally {
      listener.close()
    }
  })
})

describe('C09 arguments of execute_command reach the script as they are', () => {
  const words = [
    '--',
    '-c',
    '--prefix=/',
    '--script-shell=/bin/x',
    ';rm -rf .',
    'a\nb',
    '%PATH%',
    '$(touch pwned)',
    '`touch pwned`',
    '| touch pwned',
    '&& touch pwned',
    '"',
    "'",
    '\\',
    '',
    ' ',
    '*',
    '$HOME',
    '--ignore-scripts',
    '--workspace=x',
    '-h',
  ]
  // The first is what a script's runner would take for its own: each of them in a soak, else all together, and once more behind one that is drawn.
  const first = words[draws('first words')(words.length)] as string
  const given = isSoak ? words.map((word) => [word, 'last']) : [words, [first, ...words.toReversed()]]
  test.for(given)('C09 %j', async (args) => {
    await using world = await openWorld({
      files: {
        'package.json': JSON.stringify({ name: 'x', scripts: { build: 'node show.cjs' } }),
        'show.cjs': 'console.log("GOT" + JSON.stringify(process.argv.slice(2)))',
      },
      flags: developer,
    })
    const { logs, changes } = await world.call<{ logs: string[]; changes: unknown[] }>('execute_command', {
      scriptName: 'build',
      args,
    })
    expect(logs.find((line) => line.startsWith('GOT'))).toBe(`GOT${JSON.stringify(args)}`)
    expect(changes).toEqual([])
    expect(existsSync(world.path('pwned'))).toBe(false)
  })

  test('C09 a NUL, a script of another name, and more than the system takes are refused in words', async () => {
    await using world = await openWorld({
      files: { 'package.json': JSON.stringify({ scripts: { build: 'true', postinstall: 'touch pwned' } }) },
      flags: { ...developer, ...shownFirst },
    })
    const refused = async (tool: string, input: unknown): Promise<string> => (await world.fault(tool, input)).code
    expect(await refused('execute_command', { scriptName: 'build', args: ['a\0b'] })).toBe('E_BAD_ARGS')
    expect(await refused('execute_command', { scriptName: 'postinstall' })).toBe('E_BAD_ARGS')
    expect(await refused('execute_command', { scriptName: 'lint' })).toBe('E_POLICY_VIOLATION')
    expect(await refused('shell', { command: 'a\0b' })).toBe('E_BAD_ARGS')
    // Longer than one argument may be, and than all of them together may be.
    expect(await refused('shell', { command: `: ${'汉'.repeat(60_000)}` })).toBe('E_BAD_ARGS')
    expect(await refused('execute_command', { scriptName: 'build', args: ['x'.repeat(131_072)] })).toBe('E_BAD_ARGS')
    expect(await refused('execute_command', { scriptName: 'build', args: Array(256).fill('x'.repeat(8_192)) })).toBe('E_BAD_ARGS')
    // The longest there is.
    expect(await world.call('shell', { command: `: # ${'汉'.repeat(43_689)}` })).toMatchObject({ ok: true })
  })
})

describe('C10 what runs, and what is committed, is what was shown', () => {
  const scripts = (build: string): string => JSON.stringify({ name: 'x', scripts: { build } })

  test('C10 package.json changes after the stage ran: what was shown is committed, nothing runs again', async () => {
    await using world = await openWorld({ files: { 'package.json': scripts('echo shown > out.txt') }, flags: developer })
    const input = { scriptName: 'build' }
    const approval = await ask(world, input, 'execute_command')
    world.write('package.json', scripts('echo other > out.txt; echo other > more.txt'))
    approve(world, approval)
    await world.call('execute_command', input)
    expect(world.read('out.txt')).toBe('shown\n')
    expect(existsSync(world.path('more.txt'))).toBe(false)
  })

  test('C10 package.json is changed on the stage and by somebody else meanwhile: E_CONFLICT, nothing lost', async () => {
    await using world = await openWorld({ files: { 'package.json': scripts('echo {} > package.json') }, flags: developer })
    const approval = await ask(world, { scriptName: 'build' }, 'execute_command')
    const theirs = scripts('echo theirs')
    world.write('package.json', theirs)
    approve(world, approval)
    expect((await world.fault('execute_command', { scriptName: 'build' }, { approvalWaitMs: 0 })).code).toBe('E_CONFLICT')
    expect(world.read('package.json')).toBe(theirs)
    expect(stagesLeft(world.base)).toEqual([])
  })

  test('C10 nothing confines, and package.json changes between approval and run: the other script does not run', async () => {
    await using world = await openWorld({ files: { 'package.json': scripts('echo shown > out.txt') }, flags: developer })
    await world.reopen({ bubblewrap: noNamespaces(world.base) })
    const approval = await ask(world, { scriptName: 'build' }, 'execute_command')
    expect(approval.card.notes?.join('\n')).toContain('echo shown > out.txt')
    world.write('package.json', scripts('echo other > out.txt'))
    approve(world, approval)
    expect((await world.fault('execute_command', { scriptName: 'build' }, { approvalWaitMs: 0 })).code).toBe('E_CONFLICT')
    expect(existsSync(world.path('out.txt'))).toBe(false)
  })
})

const known = ['GIT_OPTIONAL_LOCKS', 'HOME', 'LANG', 'NO_COLOR', 'PATH', 'PWD', 'TERM', 'TMPDIR']
const hostile = {
  NODE_OPTIONS: '--title=SECRET-node',
  LD_PRELOAD: '/no/such/SECRET.so',
  LD_LIBRARY_PATH: '/no/such/SECRET',
  npm_config_script_shell: '/no/such/SECRET-shell',
  npm_config_prefix: '/no/such/SECRET',
  BASH_ENV: '/no/such/SECRET',
  ENV: '/no/such/SECRET',
  GIT_SSH_COMMAND: 'SECRET',
  AWS_SECRET_ACCESS_KEY: 'SECRET-aws',
  HANDRAIL_TEST: 'SECRET-own',
}

/** With variables of ours set for as long as it takes. */
async function withEnvironment<T>(variables: Record<string, string>, act: () => Promise<T>): Promise<T> {
  const before = new Map(Object.keys(variables).map((name) => [name, process.env[name]]))
  Object.assign(process.env, variables)
  try {
    return await act()
  } finally {
    for (const [name, value] of before)
      if (value === undefined) delete process.env[name]
      else process.env[name] = value
  }
}

describe('C11 C14 the environment of the parent', () => {
  test('C11 C14 nothing of it is seen or felt, on a stage', async () => {
    await using world = await openWorld({ flags: shownFirst })
    await withEnvironment(hostile, async () => {
      const { stdout, stderr } = await world.call<{ stdout: string; stderr: string }>('shell', {
        command: 'env | cut -d= -f1 | sort; cat /proc/[0-9]*/environ /proc/self/environ | tr "\\0" "\\n"; node -p process.title',
      })
      expect(stdout + stderr).not.toContain('SECRET')
      expect(stdout.split('\n').slice(0, known.length)).toEqual(known)
    })
  })

  test('C11 C14 nothing of it is inherited where nothing confines', async () => {
    await using world = await openWorld({ flags: shownFirst })
    await world.reopen({ bubblewrap: noNamespaces(world.base) })
    await withEnvironment(hostile, async () => {
      const { stdout } = await agreed(world, { command: 'env' })
      expect(stdout).not.toContain('SECRET')
    })
  })

  test('C11 a hostile .npmrc of the project gets no further than the stage', async () => {
    await using world = await openWorld({
      files: { 'package.json': JSON.stringify({ name: 'x', scripts: { build: 'echo built' } }) },
      flags: developer,
    })
    world.write('evil.sh', `#!/bin/sh\necho x > ${world.base}/pwned\necho x > /usr/pwned\necho x > inside.txt\n`)
    chmodSync(world.path('evil.sh'), 0o755)
    world.write('.npmrc', `script-shell=${world.path('evil.sh')}\nprefix=/usr\nregistry=http://127.0.0.1:9\n`)
    // It holds the token of a registry, so npm does not see it either.
    expect(await world.call('execute_command', { scriptName: 'build' })).toMatchObject({ exitCode: 0, changes: [] })
    expect(existsSync(join(world.base, 'pwned')) || existsSync('/usr/pwned') || existsSync(world.path('inside.txt'))).toBe(false)
  })
})

describe('C12 no child outlives its call', () => {
  let count = 0
  const word = (): string => `handrail-stray-${process.pid}-${count++}`

  test.each(['confined', 'unconfined'])('C12 the deadline: gone within 2 s (%s)', async (how) => {
    await using world = await openWorld({ flags: shownFirst })
    if (how === 'unconfined') await world.reopen({ bubblewrap: noNamespaces(world.base) })
    const mark = word()
    const input = { command: stubborn(mark), timeout_seconds: 3 }
    if (how === 'unconfined') approve(world, await ask(world, input))
    const call = world.fault('shell', input, { approvalWaitMs: 0 })
    expect(await soon(() => processesWith(mark).length >= 2)).toBe(true)
    expect((await call).code).toBe('E_TIMEOUT')
    expect(await soon(() => processesWith(mark).length === 0)).toBe(true)
    expect(stagesLeft(world.base)).toEqual([])
  })

  test.each(['confined', 'unconfined'])('C12 a cancelled call: gone within 2 s (%s)', async (how) => {
    await using world = await openWorld({ flags: shownFirst })
    if (how === 'unconfined') await world.reopen({ bubblewrap: noNamespaces(world.base) })
    const mark = word()
    const input = { command: stubborn(mark), timeout_seconds: 60 }
    if (how === 'unconfined') approve(world, await ask(world, input))
    const stop = new AbortController()
    const call = world.call('shell', input, { approvalWaitMs: 0, signal: stop.signal }).then(
      () => 'answered',
      () => 'failed',
    )
    expect(await soon(() => processesWith(mark).length >= 2)).toBe(true)
    stop.abort()
    expect(await soon(() => processesWith(mark).length === 0)).toBe(true)
    expect(await call).toBe('failed')
    expect(await soon(() => stagesLeft(world.base).length === 0)).toBe(true)
  })

  test.each(['confined', 'unconfined'])('C12 a normal end with children in the background: gone with it (%s)', async (how) => {
    await using world = await openWorld({ flags: shownFirst })
    if (how === 'unconfined') await world.reopen({ bubblewrap: noNamespaces(world.base) })
    const mark = word()
    const one = `trap "" TERM HUP; while :; do sleep 1; : ${mark}; done`
    const input = { command: `setsid sh -c '${one}' & sh -c '${one}' & sleep 0.3; echo over`, timeout_seconds: 60 }
    const answer = how === 'unconfined' ? await agreed(world, input) : await world.call('shell', input)
    expect(answer).toMatchObject({ ok: true, stdout: 'over\n' })
    expect(await soon(() => processesWith(mark).length === 0)).toBe(true)
  })

  test('C12 where nothing confines, a child that loses its environment too', async () => {
    await using world = await openWorld({ flags: shownFirst })
    await world.reopen({ bubblewrap: noNamespaces(world.base) })
    const mark = word()
    const input = {
      command: `env -i setsid sh -c 'trap "" TERM HUP; while :; do sleep 1; : ${mark}; done' & sleep 60`,
      timeout_seconds: 1,
    }
    try {
      approve(world, await ask(world, input))
      expect((await world.fault('shell', input, { approvalWaitMs: 0 })).code).toBe('E_TIMEOUT')
      expect(await soon(() => processesWith(mark).length === 0)).toBe(true)
    } finally {
      endAllWith(mark)
    }
  })
})

test('C13 much output (soak: 200 MB): both ends, right totals, whole characters, bounded memory', async () => {
  await using world = await openWorld({ flags: shownFirst })
  await world.call('shell', { command: 'true' })
  const bytes = sweep(200_000_000, 40_000_000)
  const before = process.memoryUsage().rss
  let most = 0
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 20)
  try {
    const found = await world.call<{ stdout: string; stderr: string; stdout_bytes: number; stderr_bytes: number }>('shell', {
      command: `echo START; yes 汉字 | head -c ${bytes}; printf '\\nEND'; yes é | head -c ${bytes / 4} >&2`,
      timeout_seconds: 120,
    })
    expect(found.stdout_bytes).toBe(bytes + 10)
    expect(found.stderr_bytes).toBe(bytes / 4)
    expect(found.stdout.startsWith('START\n汉字\n')).toBe(true)
    expect(found.stdout.endsWith('\nEND')).toBe(true)
    // The very last character was cut by `head`, not by us.
    expect(found.stdout.slice(0, -10)).not.toContain('\ufffd')
    expect(Buffer.byteLength(found.stdout)).toBeLessThan(65_536 + 200)
    ceiling('MB', (most - before) / 1e6, 200)
  } finally {
    clearInterval(watch)
  }
})

test('what Handrail inherited as an open file does not reach the program', async () => {
  await using world = await openWorld({ flags: shownFirst })
  const child = spawn(
    'bash',
    [
      '-c',
      `exec 77</ "$0" "$@"`,
      process.execPath,
      program,
      'call',
      'shell',
      JSON.stringify({ command: 'ls /proc/self/fd/77/' }),
      '--project',
      world.project,
      '--enable-shell',
    ],
    { env: cleanEnv(world.base) },
  )
  let out = ''
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  await once(child, 'close')
  expect((JSON.parse(out) as { stdout: string }).stdout).toBe('')
})
