import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { dyingWhen } from '../support/killed-at.ts'
import { openInside, runInside } from '../support/inside.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { cleanEnv, openStdio, openWorld, program, runCli, type Peer, type World } from '../support/world.ts'
import { filesUnder, sha256, startStdio, tally } from '../support/writers.ts'

const plainly = ['--write-requires-diff', 'false']

/** Makes a write whose server dies in this moment of it. */
async function writeKilledAt(world: World, when: Dying, input: Record<string, unknown>): Promise<void> {
  const server = await startStdio(world.project, plainly, dyingWhen(world.base, when))
  expect(await server.call('write_to_file', { dryRun: false, ...input })).toEqual({ kind: 'unknown' })
  await server.gone
}

/** The same of a command: it takes less to start. In `npm run soak` a server all the same. */
async function commandKilledAt(world: World, when: Dying, input: Record<string, unknown>): Promise<void> {
  if (isSoak) return writeKilledAt(world, when, input)
  const words = ['call', 'write_to_file', JSON.stringify({ dryRun: false, ...input }), ...plainly]
  expect(await runCli(world.project, words, { env: dyingWhen(world.base, when) })).toMatchObject({ code: null })
}

/**
 * A write by whoever comes next, takes the lock and so puts right what a killed one left: a new process in `npm run soak`, else a new runtime
 * in this one. (`crash` has processes do so in every run.)
 */
async function writeAnew(world: World, input: Record<string, unknown>): ReturnType<Peer['call']> {
  await using next = await (isSoak ? openStdio : openInside)(world.project, { args: plainly })
  return await next.call('write_to_file', { dryRun: false, ...input })
}

/** A command, likewise. */
const runAnew = isSoak ? runCli : runInside

type Dying = Parameters<typeof dyingWhen>[1]

/** Where a kill hits a write: when its temporary file is there, when that is written, and when it has been moved into place. */
interface Moment {
  when: string
  dying: Dying
  landed: boolean
}

const done: Moment = { when: 'after it landed', dying: 'after log.txt', landed: true }
const early: Moment = { when: 'before anything was written', dying: 'made', landed: false }
const moments: Moment[] = [
  // A write without a key that is killed in that moment is below, in every run.
  ...(isSoak ? [early] : []),
  { when: 'before it landed', dying: 'before log.txt', landed: false },
  done,
]
const longLog = `${'x'.repeat(sweep(1_000_000, 1_000))}\n`.repeat(3)
const rounds = sweep(5, 1)

/** Appends with a key by a server that is killed on the way, and asks again: each chunk must be there once. */
async function appendOverKills(
  world: World,
  { dying, landed }: Moment,
  between: () => Promise<void> = async () => undefined,
): Promise<void> {
  for (let round = 0; round < rounds; round++) {
    const input = { path: 'log.txt', content: `chunk ${round}\n`, mode: 'append', idempotencyKey: `round-${round}` }
    await writeKilledAt(world, dying, input)
    expect(world.read('log.txt').includes(input.content)).toBe(landed)
    await between()
    expect(await writeAnew(world, input)).toMatchObject({ applied: true })
    expect(world.read('log.txt').split(input.content), `chunk ${round} is there once`).toHaveLength(2)
  }
}

test.for(moments)('a keyed append whose server was killed $when is there once when it is asked again', async (moment) => {
  await using world = await openWorld({ files: { 'log.txt': longLog } })
  await appendOverKills(world, moment)
})

test('what a killed write left is put right alike by a process with narrower rules', async () => {
  await using world = await openWorld({ files: { 'log.txt': longLog, 'game/a.txt': '' } })
  const narrow = [...plainly, '--sandbox-root', 'game', '--forbidden-dirs', 'log.txt', '--max-read-bytes', '100']
  const input = JSON.stringify({ path: 'game/a.txt', content: 'narrow\n', dryRun: false })
  await appendOverKills(world, done, async () => {
    expect(await runAnew(world.project, ['call', 'write_to_file', input, ...narrow])).toMatchObject({ code: 0 })
  })
  const [newest] = world.runtime.snapshots(1, 'log.txt')
  expect(newest?.sha256).toBe(sha256(world.read('log.txt')))
})

/** More than a line, and in `npm run soak` so much that writing it takes a while. */
const large = (word: string): string => `${word.repeat(100_000).slice(0, sweep(400_000, 4_000))}\n`.repeat(8)

test('what a write left that was killed half way is swept by the next process, and the file is as before', async () => {
  await using world = await openWorld({ files: { 'big.txt': 'before\n' } })
  const temporary = (): string[] => filesUnder(world.project).filter((name) => name.endsWith('.tmp'))
  for (let round = 0; round < 2 * rounds; round++) {
    const before = world.read('big.txt')
    const input = { path: 'big.txt', content: large(`round ${round} `) }
    await commandKilledAt(world, round % 2 ? 'made' : 'before big.txt', input)
    expect(temporary()).toHaveLength(1)
    expect(world.read('big.txt')).toBe(before)
    expect(await writeAnew(world, { path: 'after.txt', content: `${round}\n` })).toMatchObject({ applied: true })
    expect(temporary()).toEqual([])
    const [newest] = world.runtime.snapshots(1, 'big.txt')
    if (newest) expect(newest.sha256).toBe(sha256(world.read('big.txt')))
  }
  const recovered = [...world.runtime.audit.lines()].filter((line) => line.event === 'recovered' && line.snapshots)
  expect(recovered.length, 'what was put right is in the audit').toBeGreaterThan(0)
  expect(world.runtime.audit.verify().whole).toBe(true)
})

test.for(['a folder', 'a link', 'a larger file'])(
  'a write killed half way to a file that is %s by then does not stop all other writes',
  async (became) => {
    await using world = await openWorld({ files: { 'big.txt': 'before\n' } })
    await commandKilledAt(world, 'before big.txt', { path: 'big.txt', content: large('round 0 ') })
    rmSync(world.path('big.txt'))
    if (became === 'a folder') mkdirSync(world.path('big.txt'))
    else if (became === 'a link') symlinkSync(world.base, world.path('big.txt'))
    else world.write('big.txt', Buffer.alloc(6_000_000, 'x'))
    const answer = await writeAnew(world, { path: 'other.txt', content: 'other\n' })
    expect(answer).toMatchObject({ applied: true })
    expect(world.read('other.txt')).toBe('other\n')
  },
)

test('an undo of many files that is killed in the middle is finished or taken back, and counts as what it became', async () => {
  const names = Array.from({ length: sweep(16, 8) }, (_, index) => `f-${String(index).padStart(2, '0')}.txt`)
  await using world = await openWorld({ files: Object.fromEntries(names.map((name) => [name, `old ${name}\n`])) })
  const contents = (): string[] => names.map((name) => world.read(name))
  for (let round = 0; round < rounds; round++) {
    const session = `sess_round${round}`
    const olds = contents()
    for (const path of names) {
      await world.call('write_to_file', { path, content: `round ${round} ${path}\n`, dryRun: true }, { session })
      await world.call('write_to_file', { path, content: `round ${round} ${path}\n`, dryRun: false }, { session })
    }
    const news = contents()
    const child = spawn(process.execPath, [program, 'undo', '--session', session, '--yes', '--project', world.project], {
      env: cleanEnv(world.base, dyingWhen(world.base, `after ${names[3]}`)),
      stdio: 'ignore',
    })
    await once(child, 'close')
    const isIn = (texts: string[]): boolean => contents().some((text) => texts.includes(text))
    expect([isIn(olds), isIn(news)], 'the kill came between two files').toEqual([true, true])
    expect(await writeAnew(world, { path: 'after.txt', content: `${round}\n` })).toMatchObject({ applied: true })
    const now = contents()
    expect([olds, news], 'all files or none').toContainEqual(now)
    const again = await runAnew(world.project, ['undo', '--session', session, '--yes'])
    if (now[0] === olds[0])
      expect(again, 'it is undone, so there is nothing left to undo').toMatchObject({
        code: 1,
        err: expect.stringContaining('Nothing to undo') as string,
      })
    else expect(again).toMatchObject({ code: 0 })
    expect(contents()).toEqual(olds)
  }
})

test('processes that start at once on a new project all work', async () => {
  for (let round = 0; round < sweep(3, 1); round++) {
    await using world = await openWorld()
    const project = world.path(`fresh-${round}`)
    mkdirSync(project)
    const write = (name: string) =>
      runCli(project, ['call', 'write_to_file', JSON.stringify({ path: name, content: `${name}\n`, dryRun: false }), ...plainly])
    const names = Array.from({ length: sweep(8, 4) }, (_, index) => `f${index}.txt`)
    const ends = await Promise.all(names.map(write))
    expect(tally(ends.filter((end) => end.code !== 0).map((end) => end.err))).toEqual([])
    expect(names.map((name) => readFileSync(join(project, name), 'utf8'))).toEqual(names.map((name) => `${name}\n`))
    expect(await runAnew(project, ['audit', 'verify'])).toMatchObject({ code: 0 })
  }
})
