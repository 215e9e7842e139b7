import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { appendFileSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as pause } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { AuditLine, AuditListener, Subscription } from '../../src/contracts/audit.ts'
import { openConnection } from '../../src/host/database.ts'
import { watchFile } from '../../src/host/watch-file.ts'
import { openServe, openMcp } from '../support/serve.ts'
import { sweep } from '../support/soak.ts'
import { cleanEnv, openWorld, program, runCli, type World } from '../support/world.ts'

// The one stream over the audit log: who follows hears every line in order, whichever process wrote it, and loses its place only by being told.

const asks = { 'write-requires-diff': 'false', 'approval-wait-ms': '60000' }
const read = (world: World, path = 'a.txt'): Promise<unknown> => world.call('read_file', { path })
const write = (world: World, path: string): ReturnType<typeof runCli> =>
  runCli(world.project, [
    'call',
    'write_to_file',
    JSON.stringify({ path, content: `${path}\n`, dryRun: false }),
    '--write-requires-diff',
    'false',
  ])

const overwritePackage = [
  'call',
  'write_to_file',
  JSON.stringify({ path: 'package.json', content: '{"a":1}\n', dryRun: false }),
  '--write-requires-diff',
  'false',
]

interface Heard {
  lines: AuditLine[]
  upTo: number
  batches: number[]
  lost: string[]
  stop(): void
  /** Waits for an event, not for a time. */
  until(there: (heard: Heard) => boolean): Promise<void>
}

function follow(world: World, wanted: Subscription = {}, listener?: AuditListener): Heard {
  // What is about to be written is written: only what comes after is new.
  world.runtime.audit.head()
  let tell = (): void => undefined
  const heard: Heard = {
    lines: [],
    upTo: 0,
    batches: [],
    lost: [],
    stop: () => undefined,
    async until(there) {
      while (!there(heard)) await new Promise<void>((resolve) => (tell = resolve))
    },
  }
  const onLost = (why: string): void => {
    heard.lost.push(why)
    tell()
  }
  heard.stop = world.runtime.audit.subscribe({ ...wanted, onLost }, (lines, upTo) => {
    heard.lines.push(...lines)
    heard.upTo = upTo
    heard.batches.push(lines.length)
    tell()
    return listener?.(lines, upTo)
  })
  return heard
}

const events = ({ lines }: Heard): string[] => lines.map(({ event }) => event)
const numbers = ({ lines }: Heard): number[] => lines.map(({ seq }) => seq)
const upFrom = (first: number, count: number): number[] => Array.from({ length: count }, (_, index) => first + index)
/** Lines as reads leave them, without the time of reads. */
const readLines = (world: World, count: number): void => {
  for (let index = 0; index < count; index++) {
    world.runtime.audit.note({ event: 'call.read', tool: 'read_file', message: 'x'.repeat(300) })
    if (index % 5_000 === 4_999) world.runtime.audit.head()
  }
  world.runtime.audit.head()
}

test('who follows hears what another process does, in order and without a gap, and what was before from a cursor', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await read(world)
  const { seq } = world.runtime.audit.head()
  const now = follow(world)
  expect(await write(world, 'one.txt')).toMatchObject({ code: 0 })
  expect(await write(world, 'two.txt')).toMatchObject({ code: 0 })
  await now.until((heard) => events(heard).filter((event) => event === 'call.end').length === 2)
  expect(numbers(now)).toEqual(upFrom(seq + 1, now.lines.length))
  const before = follow(world, { from: 1 })
  await before.until(({ upTo }) => upTo === now.upTo)
  expect(numbers(before)).toEqual(upFrom(1, now.upTo))
  const later = follow(world, { from: now.upTo - 1 })
  await later.until(({ upTo }) => upTo === now.upTo)
  expect(numbers(later)).toEqual([now.upTo - 1, now.upTo])
  expect([...now.lost, ...before.lost, ...later.lost]).toEqual([])
})

test('a cursor that is not written yet is waited for', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await read(world)
  const { seq } = world.runtime.audit.head()
  const heard = follow(world, { from: seq + 3 })
  for (let index = 0; index < 4; index++) await read(world)
  await heard.until(({ upTo }) => upTo === seq + 4)
  expect([numbers(heard), heard.lost]).toEqual([[seq + 3, seq + 4], []])
})

test('reads are passed over and yet counted; who has unsubscribed hears no more', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: asks })
  const changes = follow(world, { events: (event) => event.startsWith('call.') && event !== 'call.read' })
  const gone = follow(world)
  const witness = follow(world)
  for (let index = 0; index < 20; index++) await read(world)
  await changes.until(({ upTo }) => upTo === world.runtime.audit.head().seq)
  expect(changes.lines).toEqual([])
  await gone.until(({ upTo }) => upTo === changes.upTo)
  gone.stop()
  gone.lines.splice(0)
  await world.call('write_to_file', { path: 'b.txt', content: 'b\n', dryRun: false })
  const last = world.runtime.audit.head().seq
  await witness.until(({ upTo }) => upTo === last)
  await changes.until(({ upTo }) => upTo === last)
  expect(events(changes)).toEqual(['call.start', 'call.end'])
  expect(gone.lines).toEqual([])
})

test('a slow listener is not run ahead of: it gets a bounded batch, then reads on from where it stood', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await read(world)
  const { seq } = world.runtime.audit.head()
  let release = (): void => undefined
  const slow = new Promise<void>((resolve) => (release = resolve))
  const heard = follow(world, {}, () => slow)
  const quick = follow(world)
  await read(world)
  await heard.until(({ lines }) => lines.length === 1)
  readLines(world, 3_000)
  await quick.until(({ upTo }) => upTo === seq + 3_001)
  expect(heard.lines).toHaveLength(1)
  release()
  await heard.until(({ upTo }) => upTo === seq + 3_001)
  expect(numbers(heard)).toEqual(upFrom(seq + 1, 3_001))
  expect(Math.max(...heard.batches)).toBeLessThan(500)
})

test('one listener that throws does not keep the others from hearing', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  const bad = follow(world, {}, () => {
    throw new Error('of its own making')
  })
  const good = follow(world)
  await read(world)
  await read(world)
  await good.until(({ upTo }) => upTo === world.runtime.audit.head().seq)
  await bad.until(({ upTo }) => upTo === good.upTo)
  expect(numbers(bad)).toEqual(numbers(good))
})

test('a log that a person renews: who follows is told, and hears the new one from its first line', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await read(world)
  const heard = follow(world)
  await read(world)
  await heard.until(({ lines }) => lines.length === 1)
  world.runtime.audit.verify()
  writeFileSync(world.state('audit.jsonl'), readFileSync(world.state('audit.jsonl'), 'utf8').replace('read_file', 'reed_file'))
  expect(await runCli(world.project, ['audit', 'renew', '--yes'])).toMatchObject({ code: 0 })
  await heard.until(({ lines }) => lines.some(({ event }) => event === 'audit.renewed'))
  expect(heard.lost).toEqual(['a new log was started'])
  expect(heard.lines[1]).toMatchObject({ event: 'audit.renewed', seq: 1 })
  await read(world)
  await heard.until(({ lines }) => lines.length === 3)
  expect(heard.lines[2]).toMatchObject({ event: 'call.read', seq: 2 })
})

test('a log that is cut, or grown again to another one: who follows is told, and hears what comes after', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  for (let index = 0; index < 5; index++) await read(world)
  const heard = follow(world)
  const file = world.state('audit.jsonl')
  truncateSync(file, 100)
  await heard.until(({ lost }) => lost.length === 1)
  expect(heard.lines).toEqual([])
  // What Handrail writes behind the damage is heard again.
  await read(world)
  await heard.until(({ lines }) => lines.some(({ event }) => event === 'call.read'))
  // Changed into something else of more than the same length, between two looks: the place is in the middle of nowhere.
  truncateSync(file, 0)
  appendFileSync(file, `${'x'.repeat(50_000)}\n`)
  await heard.until(({ lost }) => lost.length > 1)
})

test('a line that is being written is not told before it is whole', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await read(world)
  const { seq } = world.runtime.audit.head()
  const heard = follow(world)
  const file = world.state('audit.jsonl')
  const text = JSON.stringify({ seq: seq + 1, event: 'call.end', message: 'forged, but a line' })
  appendFileSync(file, text.slice(0, 20))
  const other = follow(world, { from: 1 })
  await other.until(({ upTo }) => upTo === seq)
  expect(heard.lines).toEqual([])
  appendFileSync(file, `${text.slice(20)}\n`)
  await heard.until(({ lines }) => lines.length === 1)
  expect(heard.lines[0]).toMatchObject({ message: 'forged, but a line' })
})

test('a line about a decision decides nothing: the store does', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n' }, flags: asks })
  const asked = follow(world, { events: (event) => event === 'approval.requested' })
  const doing = world.call('write_to_file', { path: 'package.json', content: '{"a":1}\n', dryRun: false })
  await asked.until(({ lines }) => lines.length === 1)
  const id = asked.lines[0]?.approval as string
  const heard = follow(world, { events: (event) => event === 'approval.decided' })
  world.runtime.audit.note({ event: 'approval.decided', approval: id, approved: true, by: 'nobody' })
  await heard.until(({ lines }) => lines.length === 1)
  expect(world.runtime.approvals.state(id)).toBe('pending')
  expect(world.read('package.json')).toBe('{}\n')
  const denied = expect(doing).rejects.toThrow('not that')
  expect(await runCli(world.project, ['approvals', 'deny', id, '--note', 'not that'])).toMatchObject({ code: 0 })
  await denied
})

test('a decision whose line was there before anybody listened, and that is in the store only after, is found', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n' } })
  const asked = follow(world, { events: (event) => event === 'approval.requested' })
  const doing = runCli(world.project, [...overwritePackage, '--approval-wait-ms', '60000'])
  await asked.until(({ lines }) => lines.length === 1)
  // As the store is between the two: decided by a transaction that is not done, and no line comes any more.
  const store = openConnection(world.state('handrail.db'))
  store.exec('BEGIN IMMEDIATE')
  store.exec(`UPDATE approvals SET state = 'approved', decided_by = 'test'`)
  await pause(200)
  store.exec('COMMIT')
  store.close()
  expect(await doing).toMatchObject({ code: 0 })
  expect(world.read('package.json')).toBe('{"a":1}\n')
})

test('a call that waits for an answer ends where Handrail is closed, and the question stands', async () => {
  await using world = await openWorld({ files: { 'package.json': '{}\n' }, flags: asks })
  const asked = follow(world, { events: (event) => event === 'approval.requested' })
  const doing = world.call('write_to_file', { path: 'package.json', content: '{"a":1}\n', dryRun: false })
  const ended = expect(doing).rejects.toMatchObject({ reason: 'io', message: expect.stringContaining('closed') as string })
  await asked.until(({ lines }) => lines.length === 1)
  await world.reopen()
  await ended
  expect(world.runtime.approvals.list('pending')).toHaveLength(1)
})

const noWatches = ['-Ur', 'sh', '-c', 'echo 0 > /proc/sys/user/max_inotify_instances && exec "$@"', 'sh']
const canTakeWatches = spawnSync('unshare', [...noWatches, 'true'], { stdio: 'ignore' }).status === 0

test.skipIf(!canTakeWatches)(
  'where the system gives no watches, an answer from another process still wakes the call',
  async () => {
    await using world = await openWorld({ files: { 'package.json': '{}\n' } })
    const flags = ['--approval-wait-ms', '60000', '--project', world.project]
    const child = spawn('unshare', [...noWatches, process.execPath, program, ...overwritePackage, ...flags], {
      env: cleanEnv(dirname(world.project)),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = once(child, 'close')
    const asked = follow(world, { from: 1, events: (event) => event === 'approval.requested' })
    await asked.until(({ lines }) => lines.length === 1)
    world.runtime.approvals.decide(asked.lines[0]?.approval as string, { approve: true, by: 'test' })
    expect((await ended)[0]).toBe(0)
    expect(world.read('package.json')).toBe('{"a":1}\n')
  },
)

test('a file that is not there yet is looked for, and watched once it is', async () => {
  await using world = await openWorld()
  const path = join(world.base, 'later')
  let tell = (): void => undefined
  const told = (): Promise<void> => new Promise((resolve) => (tell = resolve))
  const stop = watchFile(path, () => tell())
  // Nothing is there: it tells by the second.
  await told()
  writeFileSync(path, 'one')
  // The next look finds it. From here on the system tells.
  await told()
  const changed = told()
  appendFileSync(path, 'two')
  await changed
  const removed = told()
  rmSync(path)
  await removed
  await told()
  stop()
})

test('audit tail follows across processes, and ends when it is told to', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await read(world)
  world.runtime.audit.head()
  const child = spawn(process.execPath, [program, 'audit', 'tail', '--json', '--tool', 'read_file', '--project', world.project], {
    env: cleanEnv(dirname(world.project)),
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]()
  const next = async (): Promise<AuditLine> => JSON.parse((await lines.next()).value as string) as AuditLine
  expect(await next()).toMatchObject({ event: 'call.read' })
  await world.call('list_files', { path: '.' })
  await read(world)
  expect(await next()).toMatchObject({ event: 'call.read', tool: 'read_file' })
  child.kill('SIGINT')
  expect((await ended)[0]).toBe(0)
})

/** Bytes a process has read so far, by any call. */
const readBytes = (pid: number): number => Number(/^rchar: (\d+)/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1])

test.skipIf(process.platform !== 'linux')(
  'very many reads since the last change are read once, not searched again and again, while clients are connected',
  async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
    await using served = await openServe(world.project)
    await using peer = await openMcp('http 2025', world.project, served)
    await peer.call('read_file', { path: 'a.txt' })
    const before = readBytes(served.pid)
    readLines(world, sweep(30_000, 10_000))
    // Longer than it took to look some times.
    await pause(2_500)
    await peer.call('read_file', { path: 'a.txt' })
    // Once, beside what a process reads anyway. Searched every half second it would be five times and more.
    expect(readBytes(served.pid) - before).toBeLessThan(2 * statSync(world.state('audit.jsonl')).size)
  },
)
