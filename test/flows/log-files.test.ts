import {
  appendFileSync,
  copyFileSync,
  cpSync,
  linkSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { killedAt } from '../support/killed-at.ts'
import { draws } from '../support/seed.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { openInside, runInside } from '../support/inside.ts'
import { openStdio, openWorld, type World } from '../support/world.ts'

/** The log over several files: one chain, whoever writes, reads, verifies, drops or dies. */
const small = { limits: { auditFileBytes: 65_536 } }

const closedOf = (world: World): string[] =>
  readdirSync(world.state('.'))
    .filter((name) => /^audit\.\d+\.jsonl$/.test(name))
    .sort()

/** Entries until so many files are closed. */
function grow(world: World, files: number): void {
  const { audit } = world.runtime
  while (closedOf(world).length < files) {
    for (let n = 0; n < 100; n++) audit.note({ event: 'session.note', message: `entry ${n} ${'é'.repeat(n)}` })
    audit.head()
  }
}

const entriesIn = (world: World): AuditLine[] =>
  [...closedOf(world), 'audit.jsonl'].flatMap((name) =>
    readFileSync(world.state(name), 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line) as AuditLine),
  )

async function grown(files: number): Promise<World> {
  const world = await openWorld({ files: { 'a.txt': 'one\n' }, config: small })
  grow(world, files)
  return world
}

test('a full file is closed once it is on the disk, which is done beside the event loop; but it has an end in any case', async () => {
  const bytes = 2_097_152
  await using world = await openWorld({ files: {}, config: { limits: { auditFileBytes: bytes } } })
  const { audit } = world.runtime
  const size = (): number => statSync(world.state('audit.jsonl')).size
  const write = (): void => {
    audit.note({ event: 'session.note', message: 'x'.repeat(65_536) })
    audit.head()
  }
  // Nobody had a turn: nothing can have reached the disk but by holding everybody up.
  while (size() < 1.5 * bytes) write()
  expect(closedOf(world)).toHaveLength(0)
  while (closedOf(world).length === 0) {
    await new Promise(setImmediate)
    write()
  }
  expect(statSync(world.state(closedOf(world)[0] as string)).size).toBeLessThan(2 * bytes + 100_000)
  // Where the disk takes too long, it is waited for.
  for (let n = 0; closedOf(world).length === 1 && n < 100; n++) write()
  expect(closedOf(world)).toHaveLength(2)
  expect(await audit.check()).toMatchObject({ whole: true })
})

test('the log goes on in a new file with the same chain, and everything reads across the border', async () => {
  await using world = await grown(3)
  const all = entriesIn(world)
  expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1))
  for (const [index, { prev }] of all.slice(1).entries()) expect(prev).toBe(all[index]?.hash)
  const firsts = closedOf(world).map((name) => Number(name.split('.')[1]))
  const { audit } = world.runtime
  for (const first of firsts.slice(1)) {
    expect(all[first - 1]).toMatchObject({ event: 'audit.rotated', details: { last: first - 1, hash: all[first - 2]?.hash } })
    for (const seq of [first - 1, first, first + 1]) expect(audit.line(seq)).toEqual(all[seq - 1])
    expect([...audit.lines(first - 2)]).toEqual(all.slice(first - 3))
  }
  expect([...audit.lines()]).toEqual(all)
  expect(audit.last(all.length + 5)).toEqual(all)
  expect(audit.last(400)).toEqual(all.slice(-400))
  for (const name of closedOf(world)) expect(statSync(world.state(name)).mode & 0o777).toBe(0o600)
  expect(await audit.check()).toMatchObject({ whole: true, lines: all.length })
  expect(await audit.check()).toMatchObject({ whole: true, lines: all.length })
  expect(audit.verify()).toMatchObject({ whole: true, lines: all.length })
  await using peer = await openInside(world.project)
  const { contents } = await peer.client.readResource({ uri: `handrail://audit/${firsts[1]}` })
  expect(JSON.stringify(contents)).toContain(all[(firsts[1] as number) - 1]?.hash)
  const shown = await runInside(world.project, ['audit', 'export'])
  expect(
    shown.out
      .split('\n')
      .filter(Boolean)
      .slice(0, all.length)
      .map((line) => (JSON.parse(line) as AuditLine).seq),
  ).toEqual(all.map(({ seq }) => seq))
  expect(await runInside(world.project, ['audit', 'verify', '--anchor', all[5]?.hash ?? ''])).toMatchObject({ code: 0 })
})

test('who follows the log hears every entry once and in order, from any entry on, while files are closed under it', async () => {
  await using world = await openWorld({ config: small })
  const heard: number[] = []
  const lost: string[] = []
  const { audit } = world.runtime
  const stop = audit.subscribe(
    { from: 1, onLost: (why) => lost.push(why) },
    (lines) => void heard.push(...lines.map(({ seq }) => seq)),
  )
  grow(world, 2)
  const { seq: last } = audit.head()
  const middle: number[] = []
  const from = Math.floor(last / 2)
  await new Promise<void>((resolve) => {
    const stopMiddle = audit.subscribe({ from }, (lines, upTo) => {
      middle.push(...lines.map(({ seq }) => seq))
      if (upTo >= last) {
        stopMiddle()
        resolve()
      }
    })
  })
  await new Promise<void>((resolve) => {
    const look = (): unknown => (heard.length >= last ? resolve() : setImmediate(look))
    look()
  })
  stop()
  expect(heard).toEqual(Array.from({ length: last }, (_, index) => index + 1))
  expect(middle).toEqual(Array.from({ length: last - from + 1 }, (_, index) => from + index))
  expect(lost).toEqual([])
})

test('three processes that write at once close files one after the other, and the chain is whole', async () => {
  // A long name makes long entries, so that files are full after few calls.
  const path = `${'long-'.repeat(40)}.txt`
  await using world = await openWorld({ files: { [path]: 'x'.repeat(300) }, config: small })
  const peers = await Promise.all([1, 2, 3].map(() => openStdio(world.project)))
  const calls = sweep(3_000, 130)
  const files = peers.map(async (peer) => {
    for (let n = 0; n < calls; n += 10)
      for (const answer of await Promise.all(Array.from({ length: 10 }, () => peer.call('read_file', { path }))))
        expect(answer.error).toBeUndefined()
  })
  await Promise.all(files)
  await Promise.all(peers.map((peer) => peer.client.close()))
  // A file may grow to twice its size while it reaches the disk.
  expect(closedOf(world).length).toBeGreaterThan(1)
  const all = entriesIn(world)
  expect(all.filter(({ event }) => event === 'call.read')).toHaveLength(3 * calls)
  expect(all.filter(({ event }) => event === 'recovered')).toEqual([])
  expect(await world.runtime.audit.check()).toMatchObject({ whole: true, lines: all.length })
})

/** A copy of all state below the base, to be put back. */
function keptState(world: World): () => void {
  const [state, copy] = [join(world.base, 'state'), join(world.base, 'state-copy')]
  cpSync(state, copy, { recursive: true })
  return () => {
    rmSync(state, { recursive: true })
    cpSync(copy, state, { recursive: true })
  }
}

test('killed at any write while a file is closed, the log is whole and goes on', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, config: small })
  const { audit } = world.runtime
  while (statSync(world.state('audit.jsonl')).size < 65_536) {
    for (let n = 0; n < 50; n++) audit.note({ event: 'session.note', message: 'x'.repeat(300) })
    audit.head()
  }
  await world.runtime.close()
  const { seq: last } = entriesIn(world).at(-1) as AuditLine
  const putBack = keptState(world)
  let closed = 0
  let killed = 0
  const step = sweep(1, 2)
  for (let moment = 1; ; moment += step) {
    const end = await killedAt(world.base, world.project, ['call', 'read_file', '{"path":"a.txt"}'], moment, '')
    if (end.code === 0) break
    killed++
    closed += closedOf(world).length
    const verdict = await runInside(world.project, ['audit', 'verify', '--json'])
    expect(JSON.parse(verdict.out), `killed before write ${moment}`).toMatchObject({ whole: true })
    expect(await runInside(world.project, ['call', 'read_file', '{"path":"a.txt"}'])).toMatchObject({ code: 0 })
    const after = await runInside(world.project, ['audit', 'verify', '--full', '--json'])
    expect(JSON.parse(after.out), `after the write ${moment}`).toMatchObject({ whole: true })
    const all = entriesIn(world)
    expect(all.map(({ seq }) => seq)).toEqual(all.map((_, index) => index + 1))
    expect(all.length).toBeGreaterThan(last)
    expect(closedOf(world)).toHaveLength(1)
    putBack()
  }
  expect(killed).toBeGreaterThan(3)
  expect(closed).toBeGreaterThan(0)
})

/** Each is a break that is named with the file it lies in. */
const tamperings: Record<string, { tamper(world: World, files: string[]): void; line(firsts: number[]): number; file: number }> =
  {
    'the first file removed': {
      tamper: (world, [first = '']) => rmSync(world.state(first)),
      line: () => 1,
      file: 1,
    },
    'a file in the middle removed': {
      tamper: (world, [, second = '']) => rmSync(world.state(second)),
      line: ([, second = 0]) => second,
      file: 2,
    },
    'two files that changed places': {
      tamper(world, [first = '', second = '']) {
        renameSync(world.state(first), world.state('other'))
        renameSync(world.state(second), world.state(first))
        renameSync(world.state('other'), world.state(second))
      },
      line: () => 1,
      file: 0,
    },
    'the last entry of a file cut off': {
      tamper(world, [first = '']) {
        const text = readFileSync(world.state(first))
        truncateSync(world.state(first), text.lastIndexOf(0x0a, text.length - 2) + 1)
      },
      line: ([, second = 0]) => second - 1,
      file: 1,
    },
    'an entry added to a file': {
      tamper(world, [first = '']) {
        appendFileSync(world.state(first), '{"seq":1,"event":"session.note"}\n')
      },
      line: ([, second = 0]) => second,
      file: 0,
    },
    'a byte of a file changed': {
      tamper(world, [, second = '']) {
        const text = readFileSync(world.state(second))
        text[text.length - 100] = 0x23
        writeFileSync(world.state(second), text)
      },
      line: ([, , third = 0]) => third - 1,
      file: 1,
    },
    'a copy of another file put between': {
      tamper: (world, [first = '']) => copyFileSync(world.state(first), world.state('audit.000000000000002.jsonl')),
      line: ([, second = 0]) => second,
      file: -1,
    },
  }

/** Whether it was verified before it was tampered with: both in a soak, else one of them, another with every seed. */
const either = draws('verified before')
const verifiedBefore = (): string[] => (isSoak ? ['never', 'before'] : [either(2) ? 'never' : 'before'])

for (const [what, { tamper, line, file }] of Object.entries(tamperings))
  test.for(verifiedBefore())(`${what}, verified %s: a break, and verify names it`, async (verified) => {
    await using world = await grown(3)
    if (verified === 'before') expect(await world.runtime.audit.check()).toMatchObject({ whole: true })
    await world.runtime.close()
    const files = closedOf(world)
    const firsts = files.map((name) => Number(name.split('.')[1]))
    tamper(world, files)
    const end = await runInside(world.project, ['audit', 'verify', '--json'])
    expect(end.code).toBe(1)
    const verdict = JSON.parse(end.out) as { line: number; why: string }
    expect(verdict).toMatchObject({ whole: false, line: line(firsts) })
    expect(verdict.why).toContain(file < 0 ? 'audit.000000000000002.jsonl' : (files[file] as string))
    expect(await runInside(world.project, ['doctor'])).toMatchObject({ code: 1 })
  })

test('a closed file that is swapped, cut or gets a second name while Handrail runs: nothing more is done until a person looks', async () => {
  for (const [what, act] of Object.entries<(path: string) => void>({
    removed: (path) => rmSync(path),
    cut: (path) => truncateSync(path, 10),
    'another file': (path) => {
      copyFileSync(path, `${path}.new`)
      renameSync(`${path}.new`, path)
    },
    'a second name': (path) => linkSync(path, `${path}.second`),
  })) {
    await using world = await grown(2)
    const [first = ''] = closedOf(world)
    await world.call('write_to_file', { path: 'a.txt', content: 'two\n', dryRun: true })
    act(world.state(first))
    const fault = await world.fault('write_to_file', { path: 'a.txt', content: 'two\n', dryRun: false })
    expect(fault, what).toMatchObject({ code: 'E_IO', details: { audit: 'broken' } })
    expect(fault.message).toContain(first)
    expect(world.read('a.txt')).toBe('one\n')
    expect(await world.runtime.audit.check()).toMatchObject({ whole: false })
    // It says once more that it cannot write.
    await world.runtime.close().catch(() => undefined)
  }
})
