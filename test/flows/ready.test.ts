// @stage
import { errorBodyOf } from '../../src/contracts/faults/contract-000.ts'
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { draws } from '../support/seed.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { agreed, processesWith, soon, stagesLeft, withShell, shownFirst } from '../support/stage.ts'
import { openStdio, openWorld, type World } from '../support/world.ts'

/** Processes of stages below a folder that can still do something, with what they are and on which stage. */
function onStages(base: string): { pid: number; words: string[]; stage: string }[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const marks = readFileSync(`/proc/${name}/environ`, 'latin1').split('\0')
        const stage = marks.find((one) => one.startsWith(`HANDRAIL_MARK=${base}/`))
        if (stage === undefined || /^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${name}/stat`, 'latin1'))) return []
        return [{ pid: Number(name), words: readFileSync(`/proc/${name}/cmdline`, 'latin1').split('\0'), stage }]
      } catch {
        return []
      }
    })
}

/** The bubblewraps that wait to be told what to run, the first process of each: one that knows what to show has begun others. */
const waiting = (base: string): number[] => {
  const first = new Map<string, number>()
  for (const { pid, words, stage } of onStages(base))
    if (words[0]?.endsWith('bwrap')) first.set(stage, Math.min(pid, first.get(stage) ?? pid))
  return [...first.values()]
}

const run = (world: World, command: string) => world.call<{ stdout: string; confined: boolean }>('shell', { command })

/** One who has run two commands has a third stage ready. */
async function openReady(files: Record<string, string> = { 'a.txt': 'a\n' }): Promise<World> {
  const world = await openWorld({ files, flags: shownFirst })
  await run(world, 'true')
  expect(waiting(world.base)).toEqual([])
  await run(world, 'true')
  expect(await soon(() => waiting(world.base).length === 1)).toBe(true)
  return world
}

test('what happens to the project while a stage waits is there when it is used', async () => {
  await using world = await openReady({ 'a.txt': 'a\n', 'was/x.txt': 'x\n', 'turned/y.txt': 'y\n', '.gitignore': '' })
  const [pid] = waiting(world.base)
  world.write('a.txt', 'changed\n')
  world.write('new/b.txt', 'new\n')
  world.write('.env', 'KEY=secret\n')
  renameSync(world.path('was'), world.path('is'))
  rmSync(world.path('turned'), { recursive: true })
  symlinkSync('a.txt', world.path('turned'))
  const { stdout } = await run(world, 'cat a.txt new/b.txt is/x.txt turned; ls; cat .env')
  expect(stdout).toBe('changed\nnew\nx\nchanged\na.txt\nis\nnew\nturned\n')
  // It was that one.
  expect(waiting(world.base)).not.toContain(pid)
})

test('what a person agreed to is committed between, and the next one sees it; each finds only what it did itself', async () => {
  await using world = await openReady()
  for (const round of [1, 2, 3].slice(0, sweep(3, 2))) {
    await agreed(world, { command: `echo ${round} >> a.txt; echo ${round} > made-${round}.txt` })
    const { stdout } = await run(world, 'cat a.txt; ls')
    const so = Array.from({ length: round }, (_, index) => index + 1)
    expect(stdout).toBe(['a', ...so, 'a.txt', ...so.map((one) => `made-${one}.txt`), ''].join('\n'))
  }
  expect(stagesLeft(world.base)).toEqual([])
})

test('one that was ended, or stands over another folder or other permissions, is not used', async () => {
  await using world = await openReady()
  process.kill(waiting(world.base)[0] as number, 'SIGKILL')
  expect(await soon(() => waiting(world.base).length === 0)).toBe(true)
  expect(await run(world, 'cat a.txt')).toMatchObject({ stdout: 'a\n', confined: true })
  chmodSync(world.path('.'), 0o750)
  expect((await run(world, 'stat -c %a .')).stdout).toBe('750\n')
  // The project's folder is moved away and another put in its place, as some editors and tools do.
  renameSync(world.project, `${world.base}/moved`)
  mkdirSync(world.project)
  writeFileSync(world.path('other.txt'), 'other\n')
  const said = await run(world, 'ls').then(
    ({ stdout }) => stdout,
    (fault: Error) => fault.message,
  )
  expect(said).not.toContain('a.txt')
})

test('one that was cancelled takes no other with it, and nothing of either is left', async () => {
  await using world = await openReady()
  const [cancel, late] = [new AbortController(), new AbortController()]
  late.abort()
  const slow = world.fault('shell', { command: 'sleep 20' }, { signal: cancel.signal })
  expect(await soon(() => onStages(world.base).length > 2)).toBe(true)
  cancel.abort()
  await slow
  await world.fault('shell', { command: 'echo never > never.txt' }, { signal: late.signal })
  expect(await run(world, 'ls')).toMatchObject({ stdout: 'a.txt\n' })
  expect(stagesLeft(world.base)).toEqual([])
})

test('closing takes away the one that waits, and so does kill -9', async () => {
  await using world = await openReady()
  await world.reopen(shownFirst)
  expect(onStages(world.base)).toEqual([])
  expect(stagesLeft(world.base)).toEqual([])
  await using server = await openStdio(world.project, { args: ['--enable-shell'] })
  for (let times = 0; times < 3; times++) expect(await server.call('shell', { command: 'true' })).toMatchObject({ ok: true })
  expect(await soon(() => waiting(world.base).length === 1)).toBe(true)
  process.kill(server.pid, 'SIGKILL')
  expect(await soon(() => onStages(world.base).length === 0)).toBe(true)
})

test('killed at any moment while commands run, it leaves nothing that can still act', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' } })
  // In `npm test` one of those moments, another with every seed.
  const drawn = draws('killed while commands run')(10)
  for (let round = isSoak ? 0 : drawn; round < (isSoak ? 10 : drawn + 1); round++) {
    await using server = await openStdio(world.project, { args: ['--enable-shell'] })
    const busy = async (): Promise<void> => {
      for (;;) await server.call('shell', { command: `(setsid sleep 30733 &); sleep 0.0${round % 4}; cat a.txt` })
    }
    // They end when the connection does.
    const ends = Array.from({ length: 1 + (round % 2) }, () => busy().catch(() => undefined))
    await pause(200 + 23 * round)
    process.kill(server.pid, 'SIGKILL')
    await Promise.all(ends)
    expect(await soon(() => onStages(world.base).length + processesWith('30733').length === 0)).toBe(true)
  }
  expect(world.read('a.txt')).toBe('a\n')
})

test('many at once do not meet, whatever their words are', async () => {
  await using world = await openReady()
  const words = [`'`, `'\\''`, '"$(true)"', '`', '$x', '\n', '\\', '汉', '-n', ' ', '*', '#', `'; touch /tmp/x; '`]
  const said = await Promise.all(words.map((word) => run(world, `printf %s "${word.replace(/(["\\$`])/g, '\\$1')}"`)))
  expect(said.map(({ stdout }) => stdout)).toEqual(words)
})

test('a secret that appears, moves or goes between two commands is seen by none of them, and leaves no trace of its own', async () => {
  await using world = await openReady()
  const look = (): Promise<{ stdout: string }> => run(world, 'find . -name ".env*" -size +0; find . -name "*.txt"')
  for (const change of [
    () => world.write('deep/er/.env', 'KEY=1\n'),
    () => renameSync(world.path('deep'), world.path('other')),
    () => world.write('.env.local', 'KEY=2\n'),
    () => rmSync(world.path('other'), { recursive: true }),
    () => rmSync(world.path('.env.local')),
  ]) {
    change()
    expect((await look()).stdout).toBe('./a.txt\n')
  }
  expect(stagesLeft(world.base)).toEqual([])
  expect(readdirSync(world.project).sort()).toEqual(['a.txt'])
})

test('where secrets come without end, a command is answered with nothing of any of them, or not at all', async () => {
  await using world = await openReady()
  let count = 0
  const timer = setInterval(() => world.write(`.env.${count++}`, 'KEY=1\n'), 10)
  try {
    for (let times = 0; times < sweep(10, 2); times++) {
      const said = await run(world, 'find . -name ".env*" -size +0').catch((fault: Error) => fault)
      if (said instanceof Error) expect(said.message).toContain('its output is withheld')
      else expect(said.stdout).toBe('')
    }
  } finally {
    clearInterval(timer)
  }
})

test('more secrets than can be covered: nothing is run, and it is said why', async () => {
  const many = Object.fromEntries(Array.from({ length: 3_100 }, (_, index) => [`.env.${index}`, 'KEY=1\n']))
  await using world = await openWorld({ files: many, flags: shownFirst })
  const fault = await world.fault('shell', { command: 'cat .env.1' })
  expect(errorBodyOf(fault)).toMatchObject({
    error: { code: 'E_UNSUPPORTED', message: expect.stringMatching(/^310\d places/) as string },
  })
  expect(stagesLeft(world.base)).toEqual([])
})

test('whether programs can be confined is tried out early only where a tool that runs one is listed', async () => {
  await using without = await openWorld()
  await using listed = await openWorld({ flags: withShell })
  const triedIn = (world: World): string => `${world.base}/tried`
  for (const world of [without, listed]) {
    writeFileSync(`${world.base}/bwrap`, `#!/bin/sh\n: > ${triedIn(world)}\nexit 1\n`, { mode: 0o755 })
    await world.reopen({ bubblewrap: `${world.base}/bwrap` })
  }
  expect(await soon(() => existsSync(triedIn(listed)))).toBe(true)
  // It was opened first, so its time came first.
  expect(existsSync(triedIn(without))).toBe(false)
})
