import { execFileSync, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import {
  chmodSync,
  existsSync,
  lchownSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { headline } from '../../src/contracts/plain.ts'
import type { Card, CardChange } from '../../src/contracts/tool.ts'
import type { Difference } from '../../src/host/stage/effects.ts'
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
  theStage,
  treeOf,
  withShell,
} from '../support/stage.ts'
import { cleanEnv, openWorld, program, stateOf, type CliEnd, type World } from '../support/world.ts'
import { sweep } from '../support/soak.ts'

const developer = { mode: 'developer' }

/** A listener on this machine that counts who came, and a name for it. */
async function listen(where: { port: number; host: string } | { path: string }) {
  const came: string[] = []
  const server = createServer((socket) => {
    came.push('somebody')
    socket.on('error', () => undefined).end('SECRET-net')
  })
  server.listen(where)
  await once(server, 'listening')
  const address = server.address()
  return { came, port: typeof address === 'object' ? (address?.port ?? 0) : 0, close: () => server.close() }
}

const quoted = (word: string): string => `'${word.replaceAll("'", "'\\''")}'`
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
  test.each(Object.entries(tricks))('%s', async (_, trick) => {
    await using world = await openWorld({ files: { 'keep.txt': 'kept\n' }, flags: withShell })
    const listener = await listen({ port: 0, host: '127.0.0.1' })
    const outside = join(world.base, 'outside.txt')
    writeFileSync(outside, 'SECRET-outside')
    try {
      // A change is shown before it is one.
      const approval = await ask(world, { command: trick('rm', ['-rf', 'keep.txt']) })
      expect(approval.card.changes).toMatchObject([{ path: 'keep.txt', says: 'deleted' }])
      expect(world.read('keep.txt')).toBe('kept\n')
      // What lies outside is not there: not to read, not to write, not to connect to.
      const printed = async (name: string, args: string[]): Promise<string> => {
        const { stdout } = await world.call<{ stdout: string }>('shell', { command: trick(name, args) }, { approvalWaitMs: 0 })
        return stdout.trim()
      }
      expect(await printed('cat', ['/etc/shadow'])).toBe('')
      expect(await printed('cat', [outside])).toBe('')
      await printed('cp', ['keep.txt', join(world.base, 'pwned')])
      await printed('cp', ['keep.txt', '/usr/pwned'])
      expect(existsSync(join(world.base, 'pwned')) || existsSync('/usr/pwned')).toBe(false)
      expect(await printed('bash', ['-c', `cat < /dev/tcp/127.0.0.1/${listener.port}`])).toBe('')
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
  test.each(words)('C09 %j', async (word) => {
    await using world = await openWorld({
      files: {
        'package.json': JSON.stringify({ name: 'x', scripts: { build: 'node show.cjs' } }),
        'show.cjs': 'console.log("GOT" + JSON.stringify(process.argv.slice(2)))',
      },
      flags: developer,
    })
    const { logs, changes } = await world.call<{ logs: string[]; changes: unknown[] }>('execute_command', {
      scriptName: 'build',
      args: [word, 'last'],
    })
    expect(logs.find((line) => line.startsWith('GOT'))).toBe(`GOT${JSON.stringify([word, 'last'])}`)
    expect(changes).toEqual([])
    expect(existsSync(world.path('pwned'))).toBe(false)
  })

  test('C09 a NUL, a script of another name, and more than the system takes are refused in words', async () => {
    await using world = await openWorld({
      files: { 'package.json': JSON.stringify({ scripts: { build: 'true', postinstall: 'touch pwned' } }) },
      flags: { ...developer, ...withShell },
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

const known = ['HOME', 'LANG', 'NO_COLOR', 'PATH', 'PWD', 'TERM', 'TMPDIR']
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
    await using world = await openWorld({ flags: withShell })
    await withEnvironment(hostile, async () => {
      const { stdout, stderr } = await world.call<{ stdout: string; stderr: string }>('shell', {
        command: 'env | cut -d= -f1 | sort; cat /proc/[0-9]*/environ /proc/self/environ | tr "\\0" "\\n"; node -p process.title',
      })
      expect(stdout + stderr).not.toContain('SECRET')
      expect(stdout.split('\n').slice(0, known.length)).toEqual(known)
    })
  })

  test('C11 C14 nothing of it is inherited where nothing confines', async () => {
    await using world = await openWorld({ flags: withShell })
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
    await using world = await openWorld({ flags: withShell })
    if (how === 'unconfined') await world.reopen({ bubblewrap: noNamespaces(world.base) })
    const mark = word()
    const input = { command: stubborn(mark), timeout_seconds: 1 }
    if (how === 'unconfined') approve(world, await ask(world, input))
    const call = world.fault('shell', input, { approvalWaitMs: 0 })
    expect(await soon(() => processesWith(mark).length >= 2)).toBe(true)
    await pause(1_000)
    expect(await soon(() => processesWith(mark).length === 0, 2_000)).toBe(true)
    expect((await call).code).toBe('E_TIMEOUT')
    expect(stagesLeft(world.base)).toEqual([])
  })

  test.each(['confined', 'unconfined'])('C12 a cancelled call: gone within 2 s (%s)', async (how) => {
    await using world = await openWorld({ flags: withShell })
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
    expect(await soon(() => processesWith(mark).length === 0, 2_000)).toBe(true)
    expect(await call).toBe('failed')
    expect(await soon(() => stagesLeft(world.base).length === 0)).toBe(true)
  })

  test.each(['confined', 'unconfined'])('C12 a normal end with children in the background: gone with it (%s)', async (how) => {
    await using world = await openWorld({ flags: withShell })
    if (how === 'unconfined') await world.reopen({ bubblewrap: noNamespaces(world.base) })
    const mark = word()
    const one = `trap "" TERM HUP; while :; do sleep 1; : ${mark}; done`
    const input = { command: `setsid sh -c '${one}' & sh -c '${one}' & sleep 0.3; echo over`, timeout_seconds: 60 }
    const answer = how === 'unconfined' ? await agreed(world, input) : await world.call('shell', input)
    expect(answer).toMatchObject({ ok: true, stdout: 'over\n' })
    expect(await soon(() => processesWith(mark).length === 0, 2_000)).toBe(true)
  })

  test('C12 where nothing confines, a child that loses its environment too', async () => {
    await using world = await openWorld({ flags: withShell })
    await world.reopen({ bubblewrap: noNamespaces(world.base) })
    const mark = word()
    const input = {
      command: `env -i setsid sh -c 'trap "" TERM HUP; while :; do sleep 1; : ${mark}; done' & sleep 60`,
      timeout_seconds: 1,
    }
    try {
      approve(world, await ask(world, input))
      expect((await world.fault('shell', input, { approvalWaitMs: 0 })).code).toBe('E_TIMEOUT')
      expect(await soon(() => processesWith(mark).length === 0, 2_000)).toBe(true)
    } finally {
      endAllWith(mark)
    }
  })
})

test('C13 200 MB of output: both ends, right totals, whole characters, bounded memory', async () => {
  await using world = await openWorld({ flags: withShell })
  await world.call('shell', { command: 'true' })
  const before = process.memoryUsage().rss
  let most = 0
  const watch = setInterval(() => (most = Math.max(most, process.memoryUsage().rss)), 20)
  try {
    const found = await world.call<{ stdout: string; stderr: string; stdout_bytes: number; stderr_bytes: number }>('shell', {
      command: `echo START; yes 汉字 | head -c 200000000; printf '\\nEND'; yes é | head -c 50000000 >&2`,
      timeout_seconds: 120,
    })
    expect(found.stdout_bytes).toBe(200_000_010)
    expect(found.stderr_bytes).toBe(50_000_000)
    expect(found.stdout.startsWith('START\n汉字\n')).toBe(true)
    expect(found.stdout.endsWith('\nEND')).toBe(true)
    // The very last character was cut by `head`, not by us.
    expect(found.stdout.slice(0, -10)).not.toContain('\ufffd')
    expect(Buffer.byteLength(found.stdout)).toBeLessThan(65_536 + 200)
    expect(most - before).toBeLessThan(200_000_000)
  } finally {
    clearInterval(watch)
  }
}, 120_000)

// What lies out of reach is tried through the real program, once as root and once as a normal user.

interface Ground {
  who: string
  uid: number
  base: string
  project: string
  call(input: Record<string, unknown>, more?: string[], env?: Record<string, string>): Promise<CliEnd>
  /** What a command printed on its stage; it must have run to its end. */
  prints(command: string, more?: string[]): Promise<string>
  approve(id: string, ...more: string[]): Promise<CliEnd>
  /** A command that must ask, approved and made again. */
  agreed(command: string): Promise<Record<string, unknown>>
  asks(command: string): Promise<string>
  [Symbol.dispose](): void
}

const nobody = 65_534

function cli(uid: number, base: string, args: string[], env: Record<string, string> = {}): Promise<CliEnd> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [program, ...args], {
      env: cleanEnv(base, { SECRET_PARENT: 'SECRET-parent', ...env }),
      cwd: base,
      ...(uid !== process.getuid?.() && { uid, gid: uid }),
    })
    let [out, err] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
    child.once('error', reject)
    child.once('close', (code) => resolve({ code, out, err }))
    child.stdin.end()
  })
}

function own(folder: string, uid: number): void {
  lchownSync(folder, uid, uid)
  if (!lstatSync(folder).isDirectory()) return
  for (const name of readdirSync(folder)) own(join(folder, name), uid)
}

async function openGround(who: string, uid: number): Promise<Ground> {
  const base = realpathSync(mkdtempSync(join(tmpdir(), 'handrail-test-')))
  const project = join(base, 'project')
  for (const [name, content] of Object.entries({
    'project/a.txt': 'one\n',
    'project/dir/b.txt': 'two\n',
    'project/.env': 'SECRET-dotenv',
    'project/.env.local': 'SECRET-dotenv-local',
    'project/sub/.env': 'SECRET-dotenv-deep',
    'other/secret.txt': 'SECRET-other',
    'secret.txt': 'SECRET-home',
    '.ssh/id_rsa': 'SECRET-key',
  })) {
    mkdirSync(dirname(join(base, name)), { recursive: true })
    writeFileSync(join(base, name), content)
  }
  if (uid !== process.getuid?.()) own(base, uid)
  const call: Ground['call'] = (input, more = [], env = {}) =>
    cli(uid, base, ['call', 'shell', JSON.stringify(input), '--project', project, '--enable-shell', '--wait', '0', ...more], env)
  const approvals = (id: string, ...more: string[]): Promise<CliEnd> =>
    cli(uid, base, ['approvals', 'approve', id, ...more, '--project', project])
  const asks = async (command: string): Promise<string> => {
    const { err, out } = await call({ command })
    const id = /appr_[0-9a-f]{32}/.exec(err)?.[0]
    if (id === undefined) throw new Error(`nobody was asked: ${err}${out}`)
    return id
  }
  const ground: Ground = {
    who,
    uid,
    base,
    project,
    call,
    async prints(command, more) {
      const { out, err } = await call({ command: `${command}\necho ran` }, more)
      expect(err).toBe('')
      const { stdout, stderr, confined } = JSON.parse(out) as { stdout: string; stderr: string; confined: boolean }
      expect(confined).toBe(true)
      expect(stdout.endsWith('ran\n')).toBe(true)
      expect(stdout + stderr).not.toContain('SECRET')
      return stdout.slice(0, -4)
    },
    approve: approvals,
    asks,
    async agreed(command) {
      // Binaries are not shown.
      expect(await approvals(await asks(command), '--unread')).toMatchObject({ code: 0 })
      const { out, err } = await call({ command })
      if (!out) throw new Error(err)
      return JSON.parse(out) as Record<string, unknown>
    },
    // Not by ourselves: no path of Node is long enough for what is tried here.
    [Symbol.dispose]: () => void execFileSync('rm', ['-rf', base]),
  }
  await ground.prints('true')
  writeFileSync(join(stateOf(project), 'token'), 'SECRET-state')
  mkdirSync(join(project, '.handrail'))
  writeFileSync(join(project, '.handrail', 'token'), 'SECRET-token')
  writeFileSync(join(project, '.handrail', 'planted'), 'SECRET-planted')
  return ground
}

const users: [string, number][] =
  process.getuid?.() === 0
    ? [
        ['root', 0],
        ['a normal user', nobody],
      ]
    : [['a normal user', process.getuid?.() ?? 0]]

describe.each(users)('out of reach for %s', (who, uid) => {
  let shared!: Ground
  beforeAll(async () => {
    shared = await openGround(who, uid)
  })
  afterAll(() => shared[Symbol.dispose]())

  test('it is that user', async () => {
    expect(await shared.prints('id -u; id -G')).toBe(`${uid}\n${uid}\n`)
  })

  test('the network: TCP, UDP, DNS, abstract sockets', async () => {
    const tcp = await listen({ port: 0, host: '127.0.0.1' })
    const abstract = await listen({ path: `\0handrail-test-${process.pid}-${uid}` }).catch(() => undefined)
    const udp = createSocket('udp4')
    const got: string[] = []
    udp.on('message', (message) => void got.push(message.toString())).bind(0, '127.0.0.1')
    await once(udp, 'listening')
    try {
      const script = `
        const net = require('net'), dgram = require('dgram'), dns = require('dns')
        const over = (name) => (what) => console.log(name, what?.code ?? 'REACHED')
        const at = (options, name) => { const s = net.connect(options, over(name)); s.on('error', over(name)); s.on('data', over(name)) }
        at({ host: '127.0.0.1', port: ${tcp.port} }, 'tcp')
        at({ host: '::1', port: ${tcp.port} }, 'tcp6')
        at({ path: '\\0handrail-test-${process.pid}-${uid}' }, 'abstract')
        dgram.createSocket('udp4').on('error', over('udp')).send('hello', ${udp.address().port}, '127.0.0.1', () => 0)
        dns.resolve4('example.com', (fault) => over('dns')(fault ?? undefined))
        setTimeout(() => process.exit(), 1500)`
      const said = await shared.prints(
        `node -e ${quoted(script)}; cat /proc/net/dev | tail -n +3 | cut -d: -f1; cat /etc/resolv.conf`,
      )
      expect(said).not.toContain('REACHED')
      expect(said.trim().split('\n').at(-1)?.trim()).toBe('lo')
      expect({ tcp: tcp.came, abstract: abstract?.came ?? [], got }).toEqual({ tcp: [], abstract: [], got: [] })
    } finally {
      tcp.close()
      abstract?.close()
      udp.close()
    }
  })

  test('a socket of somebody else in the project', async () => {
    const path = join(shared.project, 'door.sock')
    const listener = await listen({ path })
    chmodSync(path, 0o777)
    try {
      const script = `const s = require('net').connect('door.sock'); s.on('data', (d) => console.log(String(d))).on('error', (e) => console.log(e.code)).on('close', () => process.exit())`
      await shared.prints(`timeout 5 node -e ${quoted(script)}`)
      expect(listener.came).toEqual([])
    } finally {
      listener.close()
      rmSync(path, { force: true })
    }
  })

  /** Commands that print nothing where what they reach for is out of reach. */
  const silent: Record<string, string> = {
    '/etc/shadow and its kin': 'cat /etc/shadow /etc/gshadow /etc/sudoers /etc/ssh/* /etc/ssl/private/*',
    'the home folder':
      'cat "$BASE/secret.txt" "$BASE/.ssh/id_rsa" ~/.ssh/id_rsa; ls -A "$BASE" | grep -vx project; ls -A /root /home',
    'another project beside this one': 'cat "$BASE/other/secret.txt" ../other/secret.txt; ls -A ../other',
    'the state of every project':
      'cat "$BASE"/state/handrail/projects/*/* ~/.local/state/handrail/projects/*/*; ls -AR "$BASE/state/handrail/projects"',
    'the token and the audit log of an older version':
      'cat .handrail/token .handrail/audit/* .handrail/*; ls -AR .handrail/ | grep -v ^.handrail',
    'the state through other names':
      'cat .HANDRAIL/token ./././.handrail/token dir/../.handrail/token "$PWD/.handrail/token"; find . -name token; ls -A .handrail/..namedfork',
    'the state through /proc':
      'for p in /proc/[0-9]* /proc/self /proc/thread-self; do cat $p/root$PWD/.handrail/token $p/cwd/.handrail/token; ls -A $p/root/root; done',
    'a hard link to the state': 'ln .handrail/token stolen && cat stolen; ln -s .handrail/token s && cat s; rm -f s stolen',
    'secrets of the project': 'cat .env .env.local sub/.env; cp .env .env.local /tmp && cat /tmp/.env*; strings .env; cat < .env',
    'the environment of the parent':
      'cat /proc/1/environ /proc/$PPID/environ /proc/[0-9]*/environ | tr "\\0" "\\n" | grep -i -e secret -e XDG -e ^HOME=/root',
    'the stages of other calls':
      'ls -A "$BASE/state"; find / -name stage.json -not -path "/proc/*"; find / -name upper -maxdepth 8 -not -path "/proc/*" -not -path "/usr/*"',
    'other processes of the machine': `ls /proc | grep -x ${process.pid}; kill -9 ${process.pid} && echo KILLED; ls -d /proc/[0-9]* | wc -l | grep -vE "^([0-9]|1[0-9])$"`,
    'namespaces of its own':
      'unshare -Ur true && echo DID; unshare -m true && echo DID; unshare -n true && echo DID; unshare -p -f true && echo DID',
    'namespaces of others':
      'nsenter -t 1 -m true && echo DID; nsenter -t 1 -U true && echo DID; nsenter -t $PPID -n true && echo DID; chroot / true && echo DID',
    mounts:
      'mount -t tmpfs x /tmp/home && echo DID; mount --bind /usr .handrail && echo DID; mount -o remount,rw / && echo DID; umount .handrail && echo DID; umount -l .handrail && echo DID; umount .env && echo DID; mount -t proc p /tmp/home && echo DID',
    'device nodes':
      'mknod /tmp/m c 1 1 && echo DID; mknod /tmp/b b 254 0 && echo DID; mknod m c 1 1 && echo DID; ls /dev/mem /dev/kmem /dev/sda /dev/vda /dev/fuse /dev/kvm; find /dev -type b; rm -f m',
    'tracing whoever started it': `perl -e 'for my $pid (1, getppid(), ${process.pid}) { next if $pid == $$; open my $m, "+<", "/proc/$pid/mem" or next; seek $m, 0, 0 }'; cat /proc/kcore | head -c 1; dmesg | head -1`,
    'the kernel itself, which root could set without any capability':
      'for f in $(find /proc -not -path "/proc/[0-9]*" -not -path "/proc/self*" -not -path "/proc/thread-self*" -type f -perm /222); do (exec 3>>"$f") && echo "$f"; done; ls /sys /sys/fs/cgroup',
    'the system':
      'for d in / /usr /usr/bin /usr/local /etc /bin /lib /opt /var /proc; do touch $d/pwned && echo "$d"; done; echo x >> /etc/passwd && echo passwd; echo x > /usr/bin/sh && echo sh',
    'what a terminal would take as typed': `perl -e 'for my $fd (0..9) { open my $t, "+<&=", $fd or next; ioctl($t, 0x5412, "x") and print "TYPED $fd\\n" }'; (exec 3<>/dev/tty) && echo TTY; exit_code=0`,
    'keys of the session that started it': `perl -e 'my $n = syscall(250, 11, -3, my $b = "\\0" x 4096, 4096); print "KEYS $n\\n" if $n > 0 and unpack("l", $b) != 0 and do { my $i = unpack("l", $b); my $d = "\\0" x 512; syscall(250, 6, $i, $d, 512); $d =~ /handrail-test/ }'`,
    'files of its parent that stayed open':
      'for f in /proc/self/fd/*; do n=${f##*/}; [ "$n" -gt 9 ] && t=$(readlink "$f") && case "$t" in /dev/null) ;; /*) echo "$n $t";; esac; done',
    privileges:
      'grep -E "^Cap(Inh|Prm|Eff|Bnd|Amb)" /proc/self/status /proc/1/status | grep -v 0000000000000000; grep NoNewPrivs /proc/self/status | grep -v 1; su -c id; sudo -n id; find / -perm -4000 -type f -not -path "/proc/*" -exec {} --version \\; 2>/dev/null | head -0',
  }
  test.each(Object.entries(silent))('%s', async (_, command) => {
    const before = treeOf(shared.project)
    expect(await shared.prints(`BASE=${shared.base}\n{ ${command}\n} 2>/dev/null`)).toBe('')
    expect(treeOf(shared.project)).toEqual(before)
  })

  test('our own state can not be written, moved, replaced or covered', async () => {
    const tries = [
      'echo x > .handrail/token',
      'echo x > .handrail/new',
      'mkdir .handrail/new',
      'mv .handrail moved',
      'rm -r .handrail',
      'ln -sfn /tmp .handrail/x',
      'chmod 777 .handrail',
      'mv .env moved',
      'rm .env',
      'echo x > .env',
    ]
    const said = await shared.prints(
      `{ ${tries.map((one) => `${one} && echo ${quoted(`DID ${one}`)}`).join('\n')}\n} 2>/dev/null`,
    )
    expect(said).toBe('')
    expect(readFileSync(join(shared.project, '.handrail', 'token'), 'utf8')).toBe('SECRET-token')
  })

  test('bits that lend powers are not taken over', async () => {
    await shared.agreed(
      'cp /usr/bin/id lent && chmod 6755 lent; mkdir lentdir && chmod 7777 lentdir; echo x > a2; chmod 4644 a2; chmod u+s dir/b.txt 2>/dev/null; true',
    )
    for (const [path, { mode }] of Object.entries(treeOf(shared.project))) expect(`${path} ${mode & 0o7000}`).toBe(`${path} 0`)
    expect(treeOf(shared.project)['lent']?.mode).toBe(0o755)
    await shared.agreed('rm -rf lent lentdir a2')
  })

  test('links that lead outside are committed as links, and no later call follows them', async () => {
    const { changes } = await shared.agreed(
      `ln -s ${shared.base}/secret.txt out; ln -s ${shared.base}/other outdir; ln -s / rootdir`,
    )
    expect(changes).toHaveLength(3)
    expect(lstatSync(join(shared.project, 'out')).isSymbolicLink()).toBe(true)
    const calls = [
      ['read_file', { path: 'out' }],
      ['read_file', { path: 'outdir/secret.txt' }],
      ['list_files', { path: 'outdir' }],
      ['write_to_file', { path: 'outdir/new.txt', content: 'x', dryRun: true }],
      ['write_to_file', { path: 'out', content: 'x', dryRun: true }],
    ] as const
    for (const [tool, input] of calls) {
      const { code, out, err } = await cli(uid, shared.base, ['call', tool, JSON.stringify(input), '--project', shared.project])
      expect(`${tool} ${code}`).toBe(`${tool} 1`)
      expect(out + err).not.toContain('SECRET')
    }
    expect(await shared.prints('cat out outdir/secret.txt rootdir/etc/shadow 2>/dev/null')).toBe('')
    // What stands "in" such a folder on the stage is not written through it.
    await shared.prints('echo pwned > outdir/pwned 2>/dev/null; echo pwned > out 2>/dev/null; true')
    expect(existsSync(join(shared.base, 'other', 'pwned'))).toBe(false)
    expect(readFileSync(join(shared.base, 'secret.txt'), 'utf8')).toBe('SECRET-home')
    await shared.agreed('rm -f out outdir rootdir')
  })

  test('a folder that becomes a link to outside is committed as that link, and nothing through it', async () => {
    await shared.agreed('mkdir swap && echo one > swap/f')
    const id = await shared.asks(
      `rm -rf swap && ln -s ${shared.base}/other swap && echo through > swap/f; mkdir real; echo y > real/f`,
    )
    expect(await shared.approve(id)).toMatchObject({ code: 0 })
    await shared.call({
      command: `rm -rf swap && ln -s ${shared.base}/other swap && echo through > swap/f; mkdir real; echo y > real/f`,
    })
    expect(lstatSync(join(shared.project, 'swap')).isSymbolicLink()).toBe(true)
    expect(readdirSync(join(shared.base, 'other'))).toEqual(['secret.txt'])
    await shared.agreed('rm -rf swap real')
  })

  test('a link that appears in the project while the approval waits is not written through', async () => {
    await shared.agreed('mkdir -p late && echo one > late/f')
    const command = 'echo two > late/f; echo new > late/g'
    const id = await shared.asks(command)
    rmSync(join(shared.project, 'late'), { recursive: true })
    symlinkSync(join(shared.base, 'other'), join(shared.project, 'late'))
    expect(await shared.approve(id)).toMatchObject({ code: 0 })
    expect(await shared.call({ command })).toMatchObject({ code: 1 })
    expect(readdirSync(join(shared.base, 'other'))).toEqual(['secret.txt'])
    rmSync(join(shared.project, 'late'))
  })

  test('pipes, sockets and names no tool may use are left behind, and said so; the rest is taken over', async () => {
    using ground = await openGround(who, uid)
    const names = [
      '.git/hooks/pre-commit',
      '.GIT/hooks/pre-commit',
      'node_modules/x/index.js',
      'deep/node_modules/x.js',
      '.handrail-evil.tmp',
      'handrail.config.json',
      'HANDRAIL.CONFIG.JSON',
      'GIT~1/x',
      '..\\x',
      'new\nline',
      '\u001b[2Jansi',
      'bidi\u202etxt',
      'C:evil',
      ' %2e%2e',
      '...',
    ]
    const command = [
      ...names.map((name) => `mkdir -p "$(dirname ${quoted(name)})" && echo x > ${quoted(name)}`),
      'mkfifo fifo',
      `perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Local => "sock", Listen => 1)'`,
      `echo x > "$(printf 'bad\\377name')"; mkdir "$(printf 'bad\\376dir')"; echo x > "$(printf 'bad\\376dir')/f"`,
      'echo fine > fine.txt',
    ].join('\n')
    const before = new Set(Object.keys(treeOf(ground.project)))
    const { changes, left } = (await ground.agreed(command)) as {
      changes: { path: string }[]
      left: { path: string; why: string }[]
    }
    const made = Object.keys(treeOf(ground.project)).filter((path) => !before.has(path))
    expect(made.sort()).toEqual(changes.map((change) => change.path).sort())
    expect(made).toContain('fine.txt')
    expect(made.filter((path) => /git|node_modules\/|handrail|fifo|sock|bad|\\|\n|\u001b|\u202e/i.test(path))).toEqual([])
    for (const word of ['fifo', 'sock', '.handrail-evil.tmp', 'handrail.config.json', '.git', '.GIT', '..\\x'])
      expect(left.map((one) => one.path)).toContain(word)
    expect(stagesLeft(ground.base)).toEqual([])
    await ground.agreed('rm -rf fine.txt deep GIT~1 C:evil " %2e%2e"')
  })

  test('very deep folders: what has a path is taken over and back, the rest is named, nothing stays on the disk', async () => {
    using ground = await openGround(who, uid)
    const name = 'd'.repeat(200)
    const { changes, left } = (await ground.agreed(
      `i=0; while [ $i -lt 60 ]; do mkdir ${name}; cd ${name}; i=$((i+1)); done; echo x > f`,
    )) as { changes: unknown[]; left: unknown[] }
    expect(left).toMatchObject([{ why: 'its path is longer than the system takes' }])
    expect(changes.length).toBeGreaterThan(10)
    expect(await ground.prints('true')).toBe('')
    expect(await cli(uid, ground.base, ['undo', '--last', '--yes', '--project', ground.project])).toMatchObject({ code: 0 })
    expect(existsSync(join(ground.project, name))).toBe(false)
    expect(stagesLeft(ground.base)).toEqual([])
  })

  test('three hundred folders in each other', async () => {
    using ground = await openGround(who, uid)
    const { out, err } = await ground.call({ command: `mkdir -p $(printf 'n/%.0s' $(seq 300)); echo x > n/f` })
    expect(out + err).not.toContain('E_INTERNAL')
    expect(existsSync(join(ground.project, 'n'))).toBe(false)
    for (const stage of stagesLeft(ground.base)) expect(existsSync(join(stage, 'stage.json'))).toBe(true)
  })

  test('many files (soak: 10,000): two thousand are listed, all can be read, agreed to unread, committed and taken back', async () => {
    using ground = await openGround(who, uid)
    const all = sweep(10_000, 2_300)
    const command = `mkdir many; for i in $(seq ${all}); do echo $i > many/$i; done`
    const id = await ground.asks(command)
    const { out } = await cli(uid, ground.base, ['approvals', 'show', id, '--json', '--project', ground.project])
    const { card } = JSON.parse(out) as { card: Card }
    expect(card.changes).toHaveLength(2_000)
    expect(card.rest).toEqual([{ folder: 'many', changes: all - 1_999, bytes: expect.any(Number) as number }])
    const full = await cli(uid, ground.base, ['approvals', 'show', id, '--full', '--project', ground.project])
    for (let file = 1; file <= all; file++)
      if (!full.out.includes(`many/${file}: created`)) throw new Error(`not listed: ${file}`)
    const plainly = await cli(uid, ground.base, ['approvals', 'approve', id, '--project', ground.project])
    expect(plainly).toMatchObject({ code: 1, err: expect.stringContaining('--unread') as string })
    await ground.approve(id, '--unread')
    expect((await ground.call({ command })).code).toBe(0)
    expect(readdirSync(join(ground.project, 'many'))).toHaveLength(all)
    expect(await cli(uid, ground.base, ['undo', '--last', '--yes', '--json', '--project', ground.project])).toMatchObject({
      code: 0,
    })
    expect(existsSync(join(ground.project, 'many'))).toBe(false)
  }, 240_000)

  test('files and folders nobody may read, made on the stage', async () => {
    using ground = await openGround(who, uid)
    const before = treeOf(ground.project)
    await ground.agreed(
      'mkdir shut; echo s > shut/f; chmod 000 shut/f; chmod 000 shut; echo t > t; chmod 000 t; chmod 000 dir; chmod 000 a.txt',
    )
    const mode = (path: string): number => lstatSync(join(ground.project, path)).mode & 0o777
    expect([mode('shut'), mode('t'), mode('dir'), mode('a.txt')]).toEqual([0, 0, 0, 0])
    expect(await cli(uid, ground.base, ['undo', '--last', '--yes', '--json', '--project', ground.project])).toMatchObject({
      code: 0,
    })
    expect(treeOf(ground.project)).toEqual(before)
    expect(stagesLeft(ground.base)).toEqual([])
  })

  test('two names of one file are two files after the commit', async () => {
    using ground = await openGround(who, uid)
    await ground.agreed('echo h > h1; ln h1 h2; ln a.txt a3; echo more >> a3')
    const read = (path: string): string => readFileSync(join(ground.project, path), 'utf8')
    expect([read('h1'), read('h2'), read('a3'), read('a.txt')]).toEqual(['h\n', 'h\n', 'one\nmore\n', 'one\nmore\n'])
    expect(lstatSync(join(ground.project, 'h1')).nlink).toBe(1)
    await ground.agreed('rm h1 h2 a3; echo one > a.txt')
  })

  const small = ['--stage-disk-bytes', '20000000', '--stage-processes', '64', '--stage-memory-bytes', '100000000']
  const bombs: Record<string, string> = {
    disk: 'for i in 1 2 3 4 5 6 7 8; do head -c 10000000 /dev/zero > big$i; sleep 0.2; done; sleep 3',
    'disk at once': 'head -c 15000000 /dev/zero > one; cp one two; cp one three',
    'one large file': 'head -c 100000000 /dev/zero > big',
    'one sparse file': 'truncate -s 10G sparse',
    'many sparse files': 'for i in $(seq 100); do truncate -s 15M sparse$i; done',
    'the temporary folder': 'head -c 100000000 /dev/zero > /tmp/big',
    'shared memory': 'head -c 100000000 /dev/zero > /dev/shm/big',
    processes: 'b() { b | b & }; b; sleep 5',
    'many sleepers': 'for i in $(seq 500); do sleep 5 & done; wait',
    memory: `node -e 'const a = []; for (;;) a.push(Buffer.alloc(1e7, 1))'`,
    'memory of many': `for i in 1 2 3 4 5 6; do perl -e '$x = "x" x 40000000; sleep 5' & done; wait`,
  }
  test.each(Object.entries(bombs))('more than it may take is not had: %s', async (_, command) => {
    using ground = await openGround(who, uid)
    const before = treeOf(ground.project)
    const { out, err } = await ground.call({ command, timeout_seconds: 30 }, small)
    // It was ended, or the system said no to it, or what is left of it keeps within the limits.
    if (/needs a person/.test(err)) {
      const bytes = (theStage(ground.base).record.ran?.effects ?? []).map((effect) => effect.sizes[1] ?? 0)
      expect(bytes.reduce((sum, one) => sum + one, 0)).toBeLessThan(20_001_000)
    } else {
      const { ok, stderr } = JSON.parse(out || '{"ok":true,"stderr":""}') as { ok: boolean; stderr: string }
      const ended = /E_POLICY_VIOLATION.*limits\.stage/s.test(err) || !ok || /cannot fork/i.test(stderr)
      expect({ ended, err }).toMatchObject({ ended: true })
      expect(stagesLeft(ground.base)).toEqual([])
    }
    expect(treeOf(ground.project)).toEqual(before)
  })

  test('an exit code is an exit code, and words on stderr are words', async () => {
    using ground = await openGround(who, uid)
    for (const code of [1, 2, 119, 120, 121, 122, 126, 127, 137, 255]) {
      const { out } = await ground.call({ command: `echo "bwrap: nothing to see" >&2; exit ${code}` })
      expect(JSON.parse(out)).toMatchObject({ ok: false, exit_code: code, stderr: 'bwrap: nothing to see\n' })
    }
  })
})

test('what Handrail inherited as an open file does not reach the program', async () => {
  await using world = await openWorld({ flags: withShell })
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

describe('the card cannot lie', () => {
  test('what is shown is what is committed, byte for byte', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\ntwo\n', 'bin.dat': Buffer.from([0, 1, 2]) }, flags: withShell })
    const strange = 'plain\n\u001b[2K\u001b[1Ahidden\r\n\u202ereversed\u202c\n\u200bzero\nno end'
    const command = `printf '${[...Buffer.from(strange)].map((byte) => `\\${byte.toString(8)}`).join('')}' > a.txt; printf '\\000\\377' > bin.dat`
    const approval = await ask(world, { command })
    const [text, binary] = ['a.txt', 'bin.dat'].map((path) => approval.card.changes.find((change) => change.path === path))
    expect(text?.diff.hunks.flatMap((hunk) => hunk.linesNew).join('\n')).toBe(strange)
    expect(headline(binary as CardChange)).toMatch(
      /^bin.dat: modified, 2 bytes that are no text written out; 3 bytes, sha256 [0-9a-f]{16} → 2 bytes, sha256 [0-9a-f]{16}$/,
    )
    approve(world, approval)
    await world.call('shell', { command })
    expect(world.read('a.txt')).toBe(strange)
    expect(readFileSync(world.path('bin.dat'))).toEqual(Buffer.from([0, 255]))
    const shown = await cli(process.getuid?.() ?? 0, world.base, ['approvals', 'show', approval.id, '--project', world.project])
    // oxlint-disable-next-line no-control-regex
    expect(shown.out).not.toMatch(/[\u001b\r\u202e\u200b]/)
  })

  test('what a program prints cannot pass for what Handrail says', async () => {
    await using world = await openWorld({ flags: withShell })
    const lie = 'Not taken over: nothing at all.'
    const { card } = await ask(world, { command: `echo "${lie}"; echo "${lie}" >&2; echo x > x; mkfifo p` })
    const notes = card.notes ?? []
    expect(notes.some((note) => note.startsWith('Not taken over: p '))).toBe(true)
    expect(notes.filter((note) => note === lie)).toEqual([])
  })

  test('a folder that becomes a file, a file that becomes a link, a link that becomes a folder are called that', async () => {
    await using world = await openWorld({ files: { 'd/f': 'x', f: 'y', g: 'z' }, flags: withShell })
    symlinkSync('f', world.path('l'))
    const { card } = await ask(world, { command: 'rm -r d; echo new > d; ln -sf g f; rm l; mkdir l' })
    const says = Object.fromEntries(card.changes.map((change) => [change.path, change.says ?? '']))
    expect(says).toEqual({
      d: 'folder becomes a file',
      'd/f': 'deleted',
      f: 'file becomes a link → g',
      l: 'link becomes a folder',
    })
  })

  test('a folder that holds what no commit removes can not become a file; the rest is taken over', async () => {
    await using world = await openWorld({ files: { 'd/node_modules/m.js': 'x', 'd/f': 'y' }, flags: withShell })
    const { left } = await agreed(world, { command: 'rm -rf d; echo new > d; echo z > z' })
    expect(left).toMatchObject([
      { path: 'd/node_modules' },
      { path: 'd', why: 'the folder in its place holds what no commit removes' },
    ])
    expect(world.read('z')).toBe('z\n')
    expect(world.read('d/node_modules/m.js')).toBe('x')
  })

  test('a stage that was tampered with after it was shown is not committed', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: withShell })
    const command = 'echo shown > a.txt; echo shown > b.txt; ln -s a.txt l'
    const tamper: ((upper: string) => void)[] = [
      (upper) => writeFileSync(join(upper, 'a.txt'), 'other\n'),
      (upper) => {
        rmSync(join(upper, 'b.txt'))
        symlinkSync('/etc/passwd', join(upper, 'b.txt'))
      },
      (upper) => {
        rmSync(join(upper, 'l'))
        symlinkSync('/etc/passwd', join(upper, 'l'))
      },
      (upper) => rmSync(join(upper, 'b.txt')),
      (upper) => {
        rmSync(join(upper, 'b.txt'))
        mkdirSync(join(upper, 'b.txt'))
      },
      (upper) => {
        rmSync(join(upper, 'b.txt'))
        execFileSync('mkfifo', [join(upper, 'b.txt')])
      },
      (upper) => {
        rmSync(upper, { recursive: true })
        writeFileSync(upper, '')
      },
    ]
    for (const act of tamper) {
      const approval = await ask(world, { command })
      act(join(theStage(world.base).folder, 'upper'))
      approve(world, approval)
      const fault = await world.fault('shell', { command }, { approvalWaitMs: 0 })
      expect(fault.code).toBe('E_CONFLICT')
      expect(Object.keys(treeOf(world.project))).toEqual(['a.txt'])
      expect(world.read('a.txt')).toBe('one\n')
      expect(stagesLeft(world.base)).toEqual([])
    }
  })

  test('a record of a stage that is edited together with its files commits nothing that was not shown', async () => {
    await using world = await openWorld({ files: { 'a.dat': 'one\n' }, flags: withShell })
    const command = String.raw`printf '\000shown' > a.dat; ln -s a.dat l`
    const evil = Buffer.from('\0other')
    const hash = createHash('sha256').update(evil).digest('hex')
    const edit = (file: string, effectsToo: boolean): void => {
      const text = readFileSync(file, 'utf8')
      const line = text.split('\n').find((one) => one.startsWith('{"changed":{"path":"a.dat"')) ?? ''
      const shown = (JSON.parse(line) as { changed: Required<Difference> }).changed.after?.sha256 ?? ''
      writeFileSync(file, effectsToo ? text.replaceAll(shown, hash) : text.replace(line, line.replace(shown, hash)))
    }
    for (const effectsToo of [false, true]) {
      const approval = await ask(world, { command })
      const { folder } = theStage(world.base)
      edit(join(folder, 'story.jsonl'), effectsToo)
      writeFileSync(join(folder, 'upper', 'a.dat'), evil)
      approve(world, approval)
      const fault = await world.fault('shell', { command }, { approvalWaitMs: 0 })
      expect(world.read('a.dat')).toBe('one\n')
      // What was not shown is shown, and asked about anew; the old yes is not to it.
      if (!effectsToo) expect(fault.code).toBe('E_CONFLICT')
      else {
        expect(fault.details?.['approvalId']).not.toBe(approval.id)
        const { card } = world.runtime.approvals.get(String(fault.details?.['approvalId'])) ?? approval
        expect(card.changes.map(headline).join('\n')).toContain(hash.slice(0, 16))
      }
    }
  })

  test('what is added to a stage after it was shown is not committed', async () => {
    await using world = await openWorld({ flags: withShell })
    const approval = await ask(world, { command: 'echo x > x' })
    writeFileSync(join(theStage(world.base).folder, 'upper', 'more.txt'), 'more')
    approve(world, approval)
    await world.call('shell', { command: 'echo x > x' })
    expect(Object.keys(treeOf(world.project))).toEqual(['x'])
  })

  test('an approval counts once', async () => {
    await using world = await openWorld({ files: { 'n.txt': '' }, flags: withShell })
    const command = 'echo more >> n.txt'
    await agreed(world, { command })
    await ask(world, { command })
    expect(world.read('n.txt')).toBe('more\n')
  })

  test('two same calls at once: one commit, one approval', async () => {
    await using world = await openWorld({ files: { 'n.txt': '' }, flags: withShell })
    const command = 'echo more >> n.txt'
    const waiting: string[] = []
    const onApproval = (id: string): void => void waiting.push(id)
    const both = Promise.allSettled([1, 2].map(() => world.call('shell', { command }, { approvalWaitMs: 20_000, onApproval })))
    expect(await soon(() => waiting.length === 2)).toBe(true)
    const asked = world.runtime.approvals.list('pending')
    expect(asked).toHaveLength(1)
    asked.forEach((one) => approve(world, one))
    const ends = (await both).map((end) => end.status).sort()
    expect(ends).toEqual(['fulfilled', 'rejected'])
    expect(world.read('n.txt')).toBe('more\n')
    expect(stagesLeft(world.base)).toEqual([])
  })

  test('another session does not get to see or spoil a stage that waits; the same effect may use the same yes once', async () => {
    await using world = await openWorld({ files: { 'n.txt': '' }, flags: withShell })
    const command = 'echo more >> n.txt'
    const approval = await ask(world, { command })
    const other = await world.fault('shell', { command: 'echo other >> n.txt' }, { approvalWaitMs: 0, session: 'sess_other' })
    expect(other.details?.['approvalId']).not.toBe(approval.id)
    approve(world, approval)
    await world.call('shell', { command }, { approvalWaitMs: 0 })
    expect(world.read('n.txt')).toBe('more\n')
  })

  test('a no discards: nothing is left on the disk, and the words come back', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: withShell })
    const approval = await ask(world, { command: 'rm a.txt' })
    expect(stagesLeft(world.base)).toHaveLength(1)
    world.runtime.approvals.decide(approval.id, { approve: false, by: 'test', note: 'keep it' })
    const fault = await world.fault('shell', { command: 'rm a.txt' }, { approvalWaitMs: 0 })
    expect(fault.message).toContain('keep it')
    expect(stagesLeft(world.base)).toEqual([])
    expect(world.read('a.txt')).toBe('one\n')
  })

  test('a no to a call that waits discards at once', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: withShell })
    const call = world.fault('shell', { command: 'rm a.txt' }, { approvalWaitMs: 20_000 })
    expect(await soon(() => world.runtime.approvals.list('pending').length === 1)).toBe(true)
    world.runtime.approvals.decide(world.runtime.approvals.list('pending')[0]?.id ?? '', { approve: false, by: 'test' })
    expect((await call).details).toMatchObject({ declined: true })
    expect(stagesLeft(world.base)).toEqual([])
  })

  test('an approval that lapsed counts for nothing, and its stage goes', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: { ...withShell, 'approval-ttl-ms': '1000' } })
    const approval = await ask(world, { command: 'rm a.txt' })
    approve(world, approval)
    await pause(1_100)
    const again = await ask(world, { command: 'rm a.txt' })
    expect(again.id).not.toBe(approval.id)
    expect(world.read('a.txt')).toBe('one\n')
    await pause(1_100)
    // Whoever opens the project next sweeps it.
    await cli(process.getuid?.() ?? 0, world.base, ['approvals', 'list', '--project', world.project])
    expect(stagesLeft(world.base)).toEqual([])
  })

  test('a file that changed on the stage and in the project meanwhile: E_CONFLICT, nothing lost', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n', 'b.txt': 'b\n', 'd/x': 'x\n' }, flags: withShell })
    const moved: [string, (world: World) => void][] = [
      ['echo mine > a.txt', () => world.write('a.txt', 'theirs\n')],
      ['rm b.txt', () => world.write('b.txt', 'theirs\n')],
      ['echo mine > new.txt', () => world.write('new.txt', 'theirs\n')],
      ['rm -r d', () => world.write('d/y', 'theirs\n')],
      ['chmod 600 a.txt', () => chmodSync(world.path('a.txt'), 0o755)],
      ['rm -r d; echo x > d', () => world.write('d/z', 'theirs\n')],
    ]
    for (const [command, act] of moved) {
      const approval = await ask(world, { command })
      act(world)
      const theirs = treeOf(world.project)
      approve(world, approval)
      expect(`${command}: ${(await world.fault('shell', { command }, { approvalWaitMs: 0 })).code}`).toBe(
        `${command}: E_CONFLICT`,
      )
      expect(treeOf(world.project)).toEqual(theirs)
    }
    expect(stagesLeft(world.base)).toEqual([])
  })

  test('a file that somebody else changes while the program runs: E_CONFLICT, nothing lost', async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: withShell })
    const call = world.fault('shell', { command: 'echo mine >> a.txt; touch /tmp/x; sleep 1.5' }, { approvalWaitMs: 0 })
    expect(await soon(() => stagesLeft(world.base).some((stage) => existsSync(join(stage, 'upper', 'a.txt'))))).toBe(true)
    await pause(50)
    world.write('a.txt', 'theirs\n')
    expect((await call).code).toBe('E_CONFLICT')
    expect(world.read('a.txt')).toBe('theirs\n')
    expect(stagesLeft(world.base)).toEqual([])
  })
})
