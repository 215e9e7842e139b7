import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, symlinkSync } from 'node:fs'
import { availableParallelism, getPriority } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { backBy, openPriority } from '../../src/host/stage/priority.ts'
import { sweep } from '../support/soak.ts'
import { approve, ask, theStage, shownFirst, withShell } from '../support/stage.ts'
import { countingTurns, untilTurn } from '../support/turns.ts'
import { openWorld, type World } from '../support/world.ts'

const many = sweep(2_000, 1_200)
const makingSome = (count: number): string =>
  `mkdir many; i=0; while [ $i -lt ${count} ]; do echo $i > many/f$i; i=$((i+1)); done`
const making = makingSome(many)
const person = { role: 'person' as const }
const large = 50_331_648

/** Far more than what four milliseconds hold, on any machine, and far less than all of it. */
const few = (all: number): number => all / 4

const filesIn = (world: World, folder: string): number =>
  existsSync(world.path(folder)) ? readdirSync(world.path(folder)).length : 0

test('what a program did is read, shown, committed and undone in small steps', async () => {
  await using world = await openWorld({ flags: shownFirst })
  const asked = await countingTurns(() => ask(world, { command: making }))
  expect(asked.calls.all, 'it looked at every file').toBeGreaterThan(many * 3)
  expect(asked.calls.most).toBeLessThan(few(asked.calls.all))
  approve(world, asked.result)
  const committed = await countingTurns(() => world.call('shell', { command: making }, { approvalWaitMs: 0 }))
  expect(filesIn(world, 'many')).toBe(many)
  expect(committed.calls.all).toBeGreaterThan(many * 10)
  expect(committed.calls.most).toBeLessThan(few(committed.calls.all))
  const undone = await countingTurns(() => world.call('undo', { last: true, dryRun: false }, person))
  expect(filesIn(world, 'many')).toBe(0)
  expect(undone.calls.all).toBeGreaterThan(many * 10)
  expect(undone.calls.most).toBeLessThan(few(undone.calls.all))
  // Nor does it go through all files once in one go: that is two calls for each at least.
  for (const { calls } of [asked, committed, undone]) expect(calls.most).toBeLessThan(many * 2)
})

test('a large file is hashed, committed and undone piece by piece', async () => {
  await using world = await openWorld({ flags: shownFirst })
  const command = `truncate -s ${large} big`
  const asked = await countingTurns(() => ask(world, { command }))
  expect(asked.hashed.all).toBeGreaterThanOrEqual(large)
  expect(asked.hashed.most).toBeLessThan(few(large))
  approve(world, asked.result)
  const committed = await countingTurns(() => world.call('shell', { command }, { approvalWaitMs: 0 }))
  expect(statSync(world.path('big')).size).toBe(large)
  expect(committed.hashed.all, 'its bytes are verified again').toBeGreaterThanOrEqual(large)
  expect(committed.hashed.most).toBeLessThan(few(large))
  const undone = await countingTurns(() => world.call('undo', { last: true, dryRun: false }, person))
  expect(existsSync(world.path('big'))).toBe(false)
  expect(undone.hashed.most).toBeLessThan(few(large))
  // And back: the content comes from where it is kept.
  const again = await countingTurns(() => world.call('undo', { last: true, dryRun: false }, person).catch((fault) => fault))
  expect(again.hashed.most).toBeLessThan(few(large))
})

test('reads are answered while many files are committed', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'a\n' }, flags: shownFirst })
  const all = sweep(2_000, 100)
  let over = false
  let answered = 0
  const committing = countingTurns(
    () => world.call('shell', { command: makingSome(all) }, person).finally(() => (over = true)),
    // A slow disk: each file takes longer to come to its place than one turn of the loop may take.
    (name) => void (name === 'renameSync' && Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5)),
  )
  while (!over) {
    const standing = existsSync(world.path('many'))
      ? readdirSync(world.path('many')).filter((name) => /^f\d/.test(name)).length
      : 0
    expect(await world.call('read_file', { path: 'a.txt' })).toMatchObject({ content: 'a\n' })
    // Asked between the first file and the last, and answered before the commit was.
    if (standing > 0 && standing < all && !over) answered++
    await new Promise((resolve) => setImmediate(resolve))
  }
  await committing
  expect(answered).toBeGreaterThan(2)
})

test('a call that is cancelled in the middle of its commit says what became of it', async () => {
  await using world = await openWorld({ flags: withShell })
  await world.call('shell', { command: makingSome(sweep(2_000, 100)) }, person)
  const stop = new AbortController()
  let gone = 0
  const { result } = await countingTurns(
    () => world.call('undo', { last: true, dryRun: false }, { ...person, signal: stop.signal }),
    (name, path) => {
      if (name === 'unlinkSync' && String(path).endsWith('/f7') && gone++ === 0) stop.abort()
    },
  )
  expect(gone, 'it was cancelled while files went').toBeGreaterThan(0)
  expect(result).toMatchObject({ applied: true })
  expect(filesIn(world, 'many')).toBe(0)
  // The lock is free again, and nothing is left to be put right.
  await world.put('b.txt', 'b\n')
  expect([...world.runtime.audit.lines()].filter((line) => line.event === 'recovered')).toEqual([])
})

test('what no commit takes over is named up to a bound, and counted', async () => {
  await using world = await openWorld({ flags: shownFirst })
  const command = 'echo x > x; mkdir s; seq -f s/p%.0f 3000 | xargs mkfifo'
  const approval = await ask(world, { command })
  const { folder, record } = theStage(world.base)
  expect(record.ran).toMatchObject({ leftoverMore: 2_000 })
  expect(record.ran?.leftover).toHaveLength(1_000)
  expect(approval.card.notes?.join('\n')).toContain('Not applied: 2000 more that are not named here.')
  // The record that is looked at to find a stage stays small, whatever its program did and printed.
  expect(readFileSync(join(folder, 'stage.json')).length).toBeLessThan(1_000)
  approve(world, approval)
  const { left } = await world.call<{ left: { path: string; why: string }[] }>('shell', { command }, { approvalWaitMs: 0 })
  expect(left).toHaveLength(1_001)
  expect(left.at(-1)).toEqual({ path: '…', why: 'and 2000 more, not named here' })
})

test('thousands of links to a folder of files that run are followed in small steps', async () => {
  const hooks = Object.fromEntries(Array.from({ length: 4 }, (_, index) => [`hooks/h${index}`, 'echo\n']))
  await using world = await openWorld({ files: { ...hooks, 'b.txt': 'b\n' } })
  const links = 1_000
  for (let at = 0; at < links; at++) {
    mkdirSync(world.path(`d${at}`))
    symlinkSync('../hooks', world.path(`d${at}/.husky`))
  }
  await world.put('b.txt', 'c\n')
  // They are looked behind each time: nobody tells of changes there.
  let opened = { all: 0, inTurn: 0, most: 0 }
  const isCounted = untilTurn(() => (opened.inTurn = 0))
  await countingTurns(
    () => world.put('b.txt', 'd\n'),
    (name) => {
      if (name !== 'opendirSync' && name !== 'readdirSync') return
      isCounted()
      opened = { all: opened.all + 1, inTurn: opened.inTurn + 1, most: Math.max(opened.most, opened.inTurn + 1) }
    },
  )
  expect(opened.all, 'it looked behind every link').toBeGreaterThanOrEqual(links)
  expect(opened.most).toBeLessThan(few(opened.all))
})

test('programs that are sent together are started one after the other, others in between', async () => {
  await using world = await openWorld({ flags: withShell })
  await world.call('shell', { command: 'true' })
  let [inTurn, most] = [0, 0]
  const isCounted = untilTurn(() => (inTurn = 0))
  const together = 8
  const one = (_: unknown, at: number): Promise<unknown> => world.call('shell', { command: 'true' }, { session: `s${at}` })
  const { calls } = await countingTurns(
    () => Promise.all(Array.from({ length: together }, one)),
    (name, path) => {
      if (name !== 'mkdirSync' || !String(path).endsWith('/upper')) return
      isCounted()
      most = Math.max(most, ++inTurn)
    },
  )
  expect(calls.all).toBeGreaterThan(together)
  // One that is called for, and one that is set up ahead.
  expect(most).toBeLessThanOrEqual(2)
})

test('programs that are more than the processors step back behind whoever else wants them', async () => {
  await using world = await openWorld({ flags: withShell })
  const others = Array.from({ length: availableParallelism() * 2 }, () => openPriority())
  try {
    const nice = Math.min(19, getPriority() + backBy(others.length + 1, others.length / 2))
    // Where the system shares the processor between sessions, one that it begins itself counts as well.
    const until = `until [ "$(cut -d ' ' -f 19 /proc/self/stat)" -ge ${nice} ]; do sleep 0.02; done
      [ ! -e /proc/self/autogroup ] || until grep -q 'nice ${nice}' /proc/self/autogroup; do sleep 0.02; done`
    const command = `${until}\nsetsid -w sh -c '${until.replaceAll("'", `'"'"'`)}'`
    expect(await world.call('shell', { command, timeout_seconds: 60 })).toMatchObject({ ok: true })
  } finally {
    for (const one of others) one.close()
  }
})

test('hundreds of processes of a program are looked at in small steps', async () => {
  await using world = await openWorld({ flags: withShell })
  const processes = 400
  const command = `i=0; while [ $i -lt ${processes} ]; do sleep 60 & i=$((i+1)); done; sleep 2`
  const ran = await countingTurns(() => world.call('shell', { command }))
  // For each: its threads are listed, the children of one and what the process takes are opened, read and closed.
  const oneLook = processes * 9
  expect(ran.calls.all, 'it looked at all of them').toBeGreaterThan(4 * oneLook)
  expect(ran.calls.most).toBeLessThan((oneLook * 3) / 4)
})
