import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, watch } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { sweep } from '../support/soak.ts'
import { cleanEnv, openWorld, program, runCli, type World } from '../support/world.ts'
import { type Answer, done, filesUnder, type Moment, sha256, startStdio, tally } from '../support/writers.ts'

/** Kills a process the moment a name in a folder is made, moved or changed. */
function killWhen(pid: number, folder: string, fits: (name: string) => boolean): Disposable {
  const watcher = watch(folder, (_, name) => {
    if (name === null || !fits(name)) return
    watcher.close()
    process.kill(pid, 'SIGKILL')
  })
  return { [Symbol.dispose]: () => watcher.close() }
}

const plainly = ['--write-requires-diff', 'false']

/** Makes a write and kills its server the moment a name appears in the project. */
async function writeKilledAt(world: World, fits: (name: string) => boolean, input: Record<string, unknown>): Promise<Answer> {
  const server = await startStdio(world.project, plainly)
  // The first write of a process is slower than the rest; the second one is the one to hit.
  await server.call('write_to_file', { path: 'warm.txt', content: `${server.pid}\n`, dryRun: false })
  using _ = killWhen(server.pid, world.project, fits)
  const answer = await server.call('write_to_file', { dryRun: false, ...input })
  if (answer.kind !== 'unknown') await server.stop()
  await server.gone
  return answer
}

/** A write by a new process, which takes the lock and so puts right what a killed one left. */
async function writeAnew(world: World, input: Record<string, unknown>): Promise<Answer> {
  const server = await startStdio(world.project, plainly)
  try {
    return await server.call('write_to_file', { dryRun: false, ...input })
  } finally {
    await server.stop()
    await server.gone
  }
}

/** As many rounds as it takes for the kills to hit, and a hit or two more. */
const rounds = 10
const enough = sweep(5, 2)

/** Where a kill hits a write: while its temporary file is written, and when it has been moved into place. */
const half: Moment = { when: 'before it landed', at: (name) => name.startsWith('.handrail-'), landed: false }
/** Large enough that it takes a while to write it again. */
const longLog = `${'x'.repeat(1_000_000)}\n`.repeat(3)

/** Appends with a key by a server that is killed on the way, and asks again: each chunk must be there once. */
async function appendOverKills(
  world: World,
  moment: Moment,
  between: () => Promise<void> = async () => undefined,
): Promise<void> {
  let hits = 0
  for (let round = 0; round < rounds && hits < enough; round++) {
    const input = { path: 'log.txt', content: `chunk ${round}\n`, mode: 'append', idempotencyKey: `round-${round}` }
    const first = await writeKilledAt(world, moment.at, input)
    if (first.kind === 'unknown' && world.read('log.txt').includes(input.content) === moment.landed) hits++
    await between()
    expect(await writeAnew(world, input)).toMatchObject({ kind: 'done', output: { applied: true } })
    expect(world.read('log.txt').split(input.content), `chunk ${round} is there once`).toHaveLength(2)
  }
  expect(hits, `some kill came ${moment.when}`).toBeGreaterThan(0)
}

test.for([half, done])(
  'a keyed append whose server was killed $when is there once when it is asked again',
  { timeout: 300_000 },
  async (moment) => {
    await using world = await openWorld({ files: { 'log.txt': longLog } })
    await appendOverKills(world, moment)
  },
)

test('what a killed write left is put right alike by a process with narrower rules', { timeout: 300_000 }, async () => {
  await using world = await openWorld({ files: { 'log.txt': longLog, 'game/a.txt': '' } })
  const narrow = [...plainly, '--sandbox-root', 'game', '--forbidden-dirs', 'log.txt', '--max-read-bytes', '100']
  const input = JSON.stringify({ path: 'game/a.txt', content: 'narrow\n', dryRun: false })
  await appendOverKills(world, done, async () => {
    expect(await runCli(world.project, ['call', 'write_to_file', input, ...narrow])).toMatchObject({ code: 0 })
  })
  const [newest] = world.runtime.snapshots(1, 'log.txt')
  expect(newest?.sha256).toBe(sha256(world.read('log.txt')))
})

/** Large enough that writing it takes a while, in few lines. */
const large = (word: string): string => `${word.repeat(100_000).slice(0, 400_000)}\n`.repeat(8)

test(
  'what a write left that was killed half way is swept by the next process, and the file is as before',
  { timeout: 300_000 },
  async () => {
    await using world = await openWorld({ files: { 'big.txt': 'before\n' } })
    let left = 0
    for (let round = 0; round < rounds && left < enough; round++) {
      const before = world.read('big.txt')
      const content = large(`round ${round} `)
      const answer = await writeKilledAt(world, (name) => name.startsWith('.handrail-'), { path: 'big.txt', content })
      left += readdirSync(world.project).filter((name) => name.endsWith('.tmp')).length
      expect([before, content].includes(world.read('big.txt')), 'the old content or the new one').toBe(true)
      if (answer.kind === 'done') expect(world.read('big.txt')).toBe(content)
      expect((await writeAnew(world, { path: 'after.txt', content: `${round}\n` })).kind).toBe('done')
      expect(filesUnder(world.project).filter((name) => name.endsWith('.tmp'))).toEqual([])
      const [newest] = world.runtime.snapshots(1, 'big.txt')
      if (newest) expect(newest.sha256).toBe(sha256(world.read('big.txt')))
    }
    expect(left, 'some kill left a temporary file').toBeGreaterThan(0)
    const recovered = [...world.runtime.audit.lines()].filter((line) => line.event === 'recovered' && line.snapshots)
    expect(recovered.length, 'what was put right is in the audit').toBeGreaterThan(0)
    expect(world.runtime.audit.verify().whole).toBe(true)
  },
)

test.for(['a folder', 'a link', 'a larger file'])(
  'a write killed half way to a file that is %s by then does not stop all other writes',
  { timeout: 300_000 },
  async (became) => {
    await using world = await openWorld({ files: { 'big.txt': 'before\n' } })
    let left = 0
    for (let round = 0; round < rounds && left === 0; round++) {
      await writeKilledAt(world, (name) => name.startsWith('.handrail-'), { path: 'big.txt', content: large(`round ${round} `) })
      left += readdirSync(world.project).filter((name) => name.endsWith('.tmp')).length
    }
    expect(left, 'some kill left a write half way').toBeGreaterThan(0)
    rmSync(world.path('big.txt'))
    if (became === 'a folder') mkdirSync(world.path('big.txt'))
    else if (became === 'a link') symlinkSync(world.base, world.path('big.txt'))
    else world.write('big.txt', Buffer.alloc(6_000_000, 'x'))
    const answer = await writeAnew(world, { path: 'other.txt', content: 'other\n' })
    expect(answer).toMatchObject({ kind: 'done', output: { applied: true } })
    expect(world.read('other.txt')).toBe('other\n')
  },
)

test(
  'an undo of many files that is killed in the middle is finished or taken back, and counts as what it became',
  { timeout: 300_000 },
  async () => {
    const names = Array.from({ length: 16 }, (_, index) => `f-${String(index).padStart(2, '0')}.txt`)
    await using world = await openWorld({ files: Object.fromEntries(names.map((name) => [name, `old ${name}\n`])) })
    const contents = (): string[] => names.map((name) => world.read(name))
    let hits = 0
    for (let round = 0; round < rounds && hits < enough; round++) {
      const session = `sess_round${round}`
      const olds = contents()
      for (const path of names) {
        await world.call('write_to_file', { path, content: `round ${round} ${path}\n`, dryRun: true }, { session })
        await world.call('write_to_file', { path, content: `round ${round} ${path}\n`, dryRun: false }, { session })
      }
      const news = contents()
      const child = spawn(process.execPath, [program, 'undo', '--session', session, '--yes', '--project', world.project], {
        env: cleanEnv(world.base),
        stdio: 'ignore',
      })
      using _ = killWhen(child.pid ?? 0, world.project, (name) => name === names[3])
      await once(child, 'close')
      const mixed = contents().some((text) => olds.includes(text)) && contents().some((text) => news.includes(text))
      if (mixed) hits++
      expect((await writeAnew(world, { path: 'after.txt', content: `${round}\n` })).kind).toBe('done')
      const now = contents()
      expect([olds, news], 'all files or none').toContainEqual(now)
      const again = await runCli(world.project, ['undo', '--session', session, '--yes'])
      if (now[0] === olds[0])
        expect(again, 'it is undone, so there is nothing left to undo').toMatchObject({
          code: 1,
          err: expect.stringContaining('Nothing to undo') as string,
        })
      else expect(again).toMatchObject({ code: 0 })
      expect(contents()).toEqual(olds)
    }
    expect(hits, 'some kill came between two files').toBeGreaterThan(0)
  },
)

test('processes that start at once on a new project all work', { timeout: 300_000 }, async () => {
  for (let round = 0; round < sweep(3, 1); round++) {
    await using world = await openWorld()
    const project = world.path(`fresh-${round}`)
    mkdirSync(project)
    const write = (name: string) =>
      runCli(project, ['call', 'write_to_file', JSON.stringify({ path: name, content: `${name}\n`, dryRun: false }), ...plainly])
    const names = Array.from({ length: 8 }, (_, index) => `f${index}.txt`)
    const ends = await Promise.all(names.map(write))
    expect(tally(ends.filter((end) => end.code !== 0).map((end) => end.err))).toEqual([])
    expect(names.map((name) => readFileSync(join(project, name), 'utf8'))).toEqual(names.map((name) => `${name}\n`))
    expect(await runCli(project, ['audit', 'verify'])).toMatchObject({ code: 0 })
  }
})
