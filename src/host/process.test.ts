import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { runProcess, type ProcessOptions } from './process.ts'
import { gone, killMarked, processName } from './running.ts'

const env = { PATH: '/usr/bin:/bin' }

async function run(args: string[], more: Partial<ProcessOptions> = {}) {
  const chunks: Buffer[] = []
  const end = await runProcess({
    file: '/bin/sh',
    args,
    cwd: '/',
    env,
    timeoutMs: 20_000,
    onOutput: (chunk) => void chunks.push(chunk),
    ...more,
  })
  return { ...end, out: Buffer.concat(chunks).toString() }
}

const sh = (script: string, more: Partial<ProcessOptions> = {}) => run(['-c', script], more)

const lives = (pid: number): boolean => {
  try {
    return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'))
  } catch {
    return false
  }
}

/** The numbers a script printed, one a line. */
const pidsIn = (out: string): number[] => out.trim().split('\n').filter(Boolean).map(Number)

async function allGone(pids: readonly number[], withinMs = 45_000): Promise<void> {
  for (const until = performance.now() + withinMs; pids.some(lives) && performance.now() < until;) await pause(10)
  expect(pids.filter(lives)).toEqual([])
}

test('arguments arrive as they are, however they look to a shell', async () => {
  const words = ['', ' ', '$(echo no)', '`echo no`', '; rm -rf /', '--', '-c', "it's", '"', '\\', 'a\nb', '*', '%PATH%', '汉']
  const { out } = await run(['-c', 'for one; do printf "<%s>" "$one"; done', 'sh', ...words])
  expect(out).toBe(words.map((word) => `<${word}>`).join(''))
})

test('a NUL in an argument is refused before anything starts', async () => {
  await expect(run(['-c', 'echo ran', 'a\0b'])).rejects.toThrow()
})

test('nothing of our own environment is inherited', async () => {
  process.env['HANDRAIL_TEST_SECRET'] = 'secret'
  try {
    const { out } = await run([], { file: '/usr/bin/env', args: [] })
    expect(out).toBe('PATH=/usr/bin:/bin\n')
  } finally {
    delete process.env['HANDRAIL_TEST_SECRET']
  }
})

test('it has no terminal, its own session and nothing to read', async () => {
  const { out } = await sh('cat; [ -t 0 ] || echo no terminal; cut -d" " -f1,6 /proc/$$/stat')
  expect(out).toMatch(/^no terminal\n(\d+) \1\n$/)
})

test('what it is given to read arrives whole, also where it reads none of it', async () => {
  const input = Buffer.alloc(1_000_000, 'x')
  expect((await sh('wc -c', { input })).out.trim()).toBe('1000000')
  expect(await sh('exit 3', { input })).toMatchObject({ code: 3 })
})

test('after its last fact it is over when it has ended, whoever still holds that pipe', async () => {
  // Without a clock nobody is let go of for taking long.
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  try {
    const heard: string[] = []
    const { out } = await sh(`setsid sh -c 'sleep 60 >/dev/null 2>&1 & echo $!'; echo done >&3`, {
      onFacts: (chunk) => (heard.push(chunk.toString()), 'last'),
    })
    expect(heard.join('')).toBe('done\n')
    const [holder = 0] = pidsIn(out)
    expect(lives(holder)).toBe(true)
    process.kill(holder, 'SIGKILL')
  } finally {
    vi.useRealTimers()
  }
})

test('ends are told apart: its own code, its own signal, the deadline, a cancelled call, a reason of ours, enough output', async () => {
  expect(await sh('exit 7')).toMatchObject({ code: 7, killedBy: null, stopped: false, timedOut: false, ended: undefined })
  expect(await sh('kill -TERM $$')).toMatchObject({ code: null, killedBy: 'SIGTERM', stopped: false, timedOut: false })
  expect(await sh('sleep 60', { timeoutMs: 100 })).toMatchObject({ code: null, killedBy: null, timedOut: true, stopped: false })
  const cancelled = sh('sleep 60', { signal: AbortSignal.timeout(100) })
  expect(await cancelled).toMatchObject({ code: null, killedBy: null, timedOut: false, stopped: true })
  const ended = sh('sleep 60', { onStarted: (_, end) => void setTimeout(() => (end('too fat'), end('too late')), 50) })
  expect(await ended).toMatchObject({ code: null, killedBy: null, ended: 'too fat', timedOut: false, stopped: false })
  expect(await sh('yes', { onOutput: () => 'stop' })).toMatchObject({ code: null, stopped: true })
})

test('a program that is not there is an error, not an end', async () => {
  await expect(run([], { file: '/no/such/program' })).rejects.toThrow(/ENOENT/)
  await expect(sh('echo', { cwd: '/no/such/folder' })).rejects.toThrow(/ENOENT/)
})

test('a call that was cancelled before does not get to run', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'handrail-test-'))
  try {
    const end = await sh(`echo x > ${folder}/ran; sleep 5`, { signal: AbortSignal.abort() }).catch(() => undefined)
    expect(end?.code ?? null).toBe(null)
    await pause(50)
    expect(existsSync(join(folder, 'ran'))).toBe(false)
  } finally {
    rmSync(folder, { recursive: true })
  }
})

/** Whoever is started here is deaf to the same signals. */
const tree = `
trap '' TERM HUP INT
sleep 1000 & echo $!
(sleep 1000 & echo $!)
echo $$`

test('the deadline takes the whole group, whatever it does about signals', async () => {
  const { out, timedOut } = await sh(`${tree}; sleep 1000`, { timeoutMs: 2_000 })
  expect(timedOut).toBe(true)
  const pids = pidsIn(out)
  expect(pids).toHaveLength(3)
  await allGone(pids)
})

test('a normal end takes along what was left running in the background', async () => {
  const { out, code } = await sh(tree)
  expect(code).toBe(0)
  const pids = pidsIn(out)
  expect(pids).toHaveLength(3)
  await allGone(pids)
})

/** Two that leave the group, and one of them the session twice; it goes on once both have said who they are. */
const stray = `d=$(mktemp -d); export d
setsid sh -c 'trap "" TERM HUP; echo $$ > $d/one; exec sleep 1000' & setsid setsid sh -c 'trap "" TERM; echo $$ > $d/two; sleep 1000; :' &
until [ -s $d/one ] && [ -s $d/two ]; do sleep 0.05; done; cat $d/one $d/two; rm -r $d`

test('with a mark, what left the group and the session goes too: at the end, at the deadline, when cancelled', async () => {
  const mark = (): string => `test-${process.pid}-${Math.random()}`
  const ended = await sh(stray, { mark: mark() })
  const late = await sh(`${stray}; sleep 1000`, { mark: mark(), timeoutMs: 5_000 })
  const stop = new AbortController()
  let heard = ''
  const onOutput = (chunk: Buffer): void => {
    heard += chunk.toString()
    if (pidsIn(heard).length === 2) stop.abort()
  }
  await sh(`${stray}; sleep 1000`, { mark: mark(), signal: stop.signal, onOutput })
  for (const { out } of [ended, late, { out: heard }]) {
    const pids = pidsIn(out)
    expect(pids).toHaveLength(2)
    await allGone(pids)
  }
})

test('a mark kills nobody without it, and nobody with a longer one', async () => {
  const bystander = sh('echo $$; exec sleep 1000', { mark: 'mine-2', timeoutMs: 1_500 })
  const own = await sh(stray, { mark: 'mine' })
  killMarked('mine')
  await allGone(pidsIn(own.out))
  expect(await bystander).toMatchObject({ timedOut: true })
})

test('a stray that holds the pipes is not waited for', async () => {
  const { out, code } = await sh(`setsid sleep 1000 & echo $!`)
  expect(code).toBe(0)
  for (const pid of pidsIn(out)) process.kill(pid, 'SIGKILL')
})

test('all output that was written is there at the end, the errors apart and bounded', async () => {
  const { out, errors } = await sh('head -c 3000000 /dev/zero | tr "\\0" x; head -c 100000 /dev/zero | tr "\\0" e >&2')
  expect(out.length).toBe(3_000_000)
  expect(errors).toBe('e'.repeat(8_192))
})

test('facts come over a pipe of their own', async () => {
  let facts = ''
  const { out } = await sh('echo fact >&3; echo word', { onFacts: (chunk) => void (facts += chunk.toString()) })
  expect({ out, facts }).toEqual({ out: 'word\n', facts: 'fact\n' })
})

test('a process is waited for until it is gone, and its name is never that of another', async () => {
  let seen: number | undefined
  let named: string | undefined
  await sh('sleep 0.1', { onStarted: (pid) => ((seen = pid), (named = processName(pid))) })
  await gone(seen ?? 0)
  expect(named).toMatch(new RegExp(`^${seen}-\\d+$`))
  expect(processName(seen ?? 0)).not.toBe(named)
  expect(processName(process.pid)).toBe(processName(process.pid))
})
