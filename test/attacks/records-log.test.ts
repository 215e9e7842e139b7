import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, linkSync, readdirSync, readFileSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import type { AuditVerdict } from '../../src/contracts/audit.ts'
import { runInside } from '../support/inside.ts'
import { openStdio, openWorld, runCli, type World } from '../support/world.ts'
import { auditText, codeOf, noDiff, state, write } from '../support/records.ts'
import { sweep } from '../support/soak.ts'

/** The head of the log, kept apart from it. */
const apart = (world: World): string => {
  const folder = join(world.base, 'state', 'handrail', 'heads')
  return join(folder, readdirSync(folder)[0] ?? '')
}
// U: the log

/** A log of a dozen lines, closed; each way of tampering starts from the same bytes. */
async function openLog(): Promise<{ world: World; lines: string[]; [Symbol.asyncDispose](): Promise<void> }> {
  const world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  for (let round = 0; round < 4; round++) {
    await write(world, 'a.txt', `${round}\n`)
    await world.call('read_file', { path: 'a.txt' })
  }
  await world.runtime.close()
  const lines = readFileSync(state(world, 'audit.jsonl'), 'utf8').split('\n').slice(0, -1)
  expect(lines.length).toBeGreaterThanOrEqual(12)
  return {
    world,
    lines,
    async [Symbol.asyncDispose]() {
      writeFileSync(state(world, 'audit.jsonl'), whole(lines))
      await world.reopen()
      await world[Symbol.asyncDispose]()
    },
  }
}

const whole = (lines: readonly string[]): string => lines.map((line) => `${line}\n`).join('')

/** What a forger writes who knows how the chain is made. */
function forge(line: string, change: Record<string, unknown>): string {
  const { hash: _, prev, ...rest } = JSON.parse(line) as Record<string, unknown>
  const body = JSON.stringify({ ...rest, prev, ...change })
  return `${body.slice(0, -1)},"hash":"${createHash('sha256').update(body).digest('hex')}"}`
}

const hashOf = (line: string): string => (JSON.parse(line) as { hash: string }).hash
const prevOf = (line: string): string => (JSON.parse(line) as { prev: string }).prev

/** Every way of tampering, with the line that must be named. */
function tamperings(lines: readonly string[]): Record<string, [text: string | Buffer, line: number]> {
  const count = lines.length
  const middle = 6
  const at = lines[middle - 1] as string
  const last = lines.at(-1) as string
  const flipped = Buffer.from(whole(lines))
  const place = Buffer.byteLength(whole(lines.slice(0, middle - 1))) + 40
  flipped[place] = (flipped[place] as number) ^ 1
  const next = forge(last, { seq: count + 1, prev: hashOf(last) })
  let prev = prevOf(at)
  const rechained = lines.slice(middle - 1).map((line, index) => {
    const forged = forge(line, { prev, ...(index === 0 && { client: 'somebody else' }) })
    prev = hashOf(forged)
    return forged
  })
  return {
    'one byte changed': [flipped, middle],
    'a value changed, the line hashed anew': [whole(lines.with(middle - 1, forge(at, { client: 'somebody else' }))), middle + 1],
    'a line removed': [whole(lines.toSpliced(middle - 1, 1)), middle],
    'the first line removed': [whole(lines.slice(1)), 1],
    'a line inserted': [whole(lines.toSpliced(middle - 1, 0, '{"seq":6,"event":"call.end"}')), middle],
    'a line repeated': [whole(lines.toSpliced(middle - 1, 0, lines[middle - 2] as string)), middle],
    'a line inserted that follows from the one before': [
      whole(lines.toSpliced(middle - 1, 0, forge(at, { prev: prevOf(at), client: 'x' }))),
      middle + 1,
    ],
    'two lines swapped': [whole(lines.with(middle - 1, lines[middle] as string).with(middle, at)), middle],
    'a correctly hashed line at the end': [whole([...lines, next]), count + 1],
    'rubbish at the end': [`${whole(lines)}rubbish\n`, count + 1],
    'an empty line at the end': [`${whole(lines)}\n`, count + 1],
    'half a line at the end': [`${whole(lines)}${last.slice(0, 30)}`, count + 1],
    'zero bytes at the end': [`${whole(lines)}\0\0\0\0`, count + 1],
    'the tail cut by one line': [whole(lines.slice(0, -1)), count],
    'the tail cut by three lines': [whole(lines.slice(0, -3)), count - 2],
    'the tail cut inside the last line': [whole(lines).slice(0, -20), count],
    'the tail cut by the last newline': [whole(lines).slice(0, -1), count],
    'the tail cut inside an earlier line': [whole(lines.slice(0, middle)) + (lines[middle] as string).slice(0, 50), middle + 1],
    'everything cut': ['', 1],
    'the last line replaced by a correctly hashed one': [
      whole([...lines.slice(0, -1), forge(last, { client: 'somebody else' })]),
      count,
    ],
    'everything from a line on hashed anew': [whole([...lines.slice(0, middle - 1), ...rechained]), count],
  }
}

test('U01 every way of tampering is found, and the right line is named', async () => {
  await using log = await openLog()
  const { world, lines } = log
  for (const [what, [text, line]] of Object.entries(tamperings(lines))) {
    writeFileSync(state(world, 'audit.jsonl'), text)
    await world.reopen()
    const verdict = world.runtime.audit.verify()
    await world.runtime.close()
    expect([what, verdict]).toMatchObject([what, { whole: false, line }])
  }
  writeFileSync(state(world, 'audit.jsonl'), whole(lines))
  await world.reopen()
  expect(world.runtime.audit.verify()).toMatchObject({ whole: true, lines: lines.length })
})

test('U01 the command line names the line and ends with 1; a whole log ends with 0', async () => {
  await using log = await openLog()
  const { world, lines } = log
  expect(await runInside(world.project, ['audit', 'verify'])).toMatchObject({
    code: 0,
    out: expect.stringMatching(/^Log intact: \d+ entries/) as unknown,
  })
  const ways = tamperings(lines)
  for (const what of [
    'one byte changed',
    'a line removed',
    'a line inserted',
    'a correctly hashed line at the end',
    'the tail cut by one line',
    'the tail cut by three lines',
    'the tail cut inside the last line',
  ]) {
    const [text, line] = ways[what] as [string | Buffer, number]
    writeFileSync(state(world, 'audit.jsonl'), text)
    const { code, out } = await runInside(world.project, ['audit', 'verify'])
    expect([what, code, out.split(':')[0]]).toEqual([what, 1, `Broken at line ${line}`])
  }
  const { code, out } = await runInside(world.project, ['audit', 'verify', '--json'])
  expect([code, (JSON.parse(out) as AuditVerdict).whole]).toEqual([1, false])
})

test('U01 what is written after the tampering does not heal it: the same line is named', async () => {
  await using log = await openLog()
  const { world, lines } = log
  const ways = tamperings(lines)
  const head = readFileSync(state(world, 'audit.head'))
  const headApart = readFileSync(apart(world))
  for (const what of [
    'one byte changed',
    'a line removed',
    'a correctly hashed line at the end',
    'rubbish at the end',
    'half a line at the end',
    'the tail cut by one line',
    'the tail cut by three lines',
    'the tail cut inside the last line',
  ]) {
    const [text, line] = ways[what] as [string | Buffer, number]
    writeFileSync(state(world, 'audit.jsonl'), text)
    await world.reopen()
    await world.call('read_file', { path: 'a.txt' })
    await write(world, 'a.txt', `after ${what}\n`)
    const verdict = world.runtime.audit.verify()
    await world.runtime.close()
    writeFileSync(state(world, 'audit.head'), head)
    writeFileSync(apart(world), headApart)
    // A forged line that follows from the one before shows in the next one.
    const named = what === 'a correctly hashed line at the end' ? [line, line + 1] : [line]
    expect([what, verdict.whole]).toEqual([what, false])
    expect([what, named]).toEqual([what, expect.arrayContaining([(verdict as { line?: number }).line])])
  }
})

test('U01 any single flipped bit is found, in the line it is in', async () => {
  await using log = await openLog()
  const { world, lines } = log
  const good = Buffer.from(whole(lines))
  await world.reopen()
  const rounds = sweep(300, 100)
  for (let round = 0; round < rounds; round++) {
    const place = Math.floor((round / rounds) * good.length)
    const bad = Buffer.from(good)
    bad[place] = (bad[place] as number) ^ (1 << (round % 8))
    writeFileSync(state(world, 'audit.jsonl'), bad)
    const line = good.subarray(0, place).toString('latin1').split('\n').length
    expect([place, world.runtime.audit.verify()]).toMatchObject([place, { whole: false, line }])
  }
  writeFileSync(state(world, 'audit.jsonl'), good)
  await world.runtime.close()
})

test('U01 bytes that decode to the same text are still other bytes', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' } })
  await world.call('search_files', { path: '.', regex: 'x\ufffdy' })
  await world.call('read_file', { path: 'a.txt' })
  const good = Buffer.from(auditText(world))
  const place = good.indexOf(Buffer.from('\ufffd'))
  writeFileSync(
    state(world, 'audit.jsonl'),
    Buffer.concat([good.subarray(0, place), Buffer.from([0xff]), good.subarray(place + 3)]),
  )
  expect(world.runtime.audit.verify()).toMatchObject({ whole: false, line: 1 })
  writeFileSync(state(world, 'audit.jsonl'), good)
})

test('U01 a missing or broken seal, or a missing log, is not taken for a fresh start', async () => {
  await using log = await openLog()
  const { world, lines } = log
  const head = readFileSync(state(world, 'audit.head'))
  const verify = async (): Promise<boolean> => {
    await world.reopen()
    const verdict = world.runtime.audit.verify()
    await world.runtime.close()
    return verdict.whole
  }
  rmSync(state(world, 'audit.head'))
  expect(await verify()).toBe(false)
  writeFileSync(state(world, 'audit.head'), 'rubbish')
  expect(await verify()).toBe(false)
  for (const rubbish of ['{}', 'null', '[]', '{"sealed":null,"intended":null}', '{"sealed":{"seq":"x"},"intended":{}}']) {
    writeFileSync(state(world, 'audit.head'), rubbish.padEnd(511) + '\n')
    expect([rubbish, await verify().catch((thrown: Error) => `threw ${thrown.message}`)]).toEqual([rubbish, false])
  }
  writeFileSync(state(world, 'audit.head'), head)
  rmSync(state(world, 'audit.jsonl'))
  expect(await verify()).toBe(false)
  writeFileSync(state(world, 'audit.jsonl'), whole(lines))
  expect(await verify()).toBe(true)
})

test('U01 four processes that write at once leave one whole chain', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  await using first = await openStdio(world.project)
  await using second = await openStdio(world.project)
  const reads = sweep(100, 20)
  await Promise.all([
    ...Array.from({ length: reads }, () => first.call('read_file', { path: 'a.txt' })),
    ...Array.from({ length: reads }, () => second.call('list_files', { path: '.' })),
    ...Array.from({ length: 20 }, (_, index) => write(world, `f${index}.txt`, 'x\n')),
    runCli(world.project, ['call', 'read_file', '{"path":"a.txt"}']),
  ])
  // Reads are written down within a few milliseconds; asking for more of each makes sure that they are.
  await first.call('write_to_file', { path: 'b.txt', content: '', dryRun: true })
  await second.call('write_to_file', { path: 'b.txt', content: '', dryRun: true })
  await first[Symbol.asyncDispose]()
  await second[Symbol.asyncDispose]()
  expect(world.runtime.audit.verify().whole).toBe(true)
  const seqs = auditText(world)
    .split('\n')
    .slice(0, -1)
    .map((line) => (JSON.parse(line) as { seq: number }).seq)
  expect(seqs).toEqual(seqs.map((_, index) => index + 1))
  expect(seqs.length).toBeGreaterThanOrEqual(reads + reads + 40 + 1)
})

/** What must not be believed of a log that was swapped, removed or put back: the act is refused, and who looks is told. */
const swaps: Record<string, (world: World, old: Record<string, Buffer>) => void> = {
  'another log renamed over it': (world) => {
    writeFileSync(state(world, 'other'), readFileSync(state(world, 'audit.jsonl')))
    renameSync(state(world, 'other'), state(world, 'audit.jsonl'))
  },
  'the log removed': (world) => rmSync(state(world, 'audit.jsonl')),
  'the log moved away': (world) => renameSync(state(world, 'audit.jsonl'), join(world.base, 'away.jsonl')),
  'a second name for the log': (world) => linkSync(state(world, 'audit.jsonl'), join(world.base, 'second.jsonl')),
  'a second name for the seal': (world) => linkSync(state(world, 'audit.head'), join(world.base, 'second.head')),
  'the seal removed': (world) => rmSync(state(world, 'audit.head')),
  'the head kept apart removed': (world) => rmSync(apart(world)),
  'a pipe in its place': (world) => {
    rmSync(state(world, 'audit.jsonl'))
    execFileSync('mkfifo', [state(world, 'audit.jsonl')])
  },
  'a link in its place': (world) => {
    renameSync(state(world, 'audit.jsonl'), join(world.base, 'linked.jsonl'))
    symlinkSync(join(world.base, 'linked.jsonl'), state(world, 'audit.jsonl'))
  },
  'log and seal of yesterday renamed over them': (world, old) => {
    for (const name of ['audit.jsonl', 'audit.head']) {
      writeFileSync(state(world, 'old'), old[name] as Buffer)
      renameSync(state(world, 'old'), state(world, name))
    }
  },
  'log and seal of yesterday written into them': (world, old) => {
    for (const name of ['audit.jsonl', 'audit.head']) writeFileSync(state(world, name), old[name] as Buffer)
  },
}

/** Where another process looks and renews, and the one that was running takes up the new log. */
/** Seen and put right by the real program, too; in a soak these three. */
const byCommand = ['the log removed', 'a second name for the log', 'log and seal of yesterday renamed over them'].slice(
  -sweep(3, 1),
)

for (const [what, swap] of Object.entries(swaps))
  test(`U08 under a running server, ${what}: the next act is refused, nothing is lost in silence, and renew goes on`, async () => {
    await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
    await write(world, 'a.txt', 'two\n')
    world.runtime.audit.verify()
    const old = Object.fromEntries(['audit.jsonl', 'audit.head'].map((name) => [name, readFileSync(state(world, name))]))
    await write(world, 'a.txt', 'three\n')
    world.runtime.audit.verify()
    swap(world, old)
    expect([what, await codeOf(write(world, 'a.txt', 'unseen\n'))]).toEqual([what, 'E_IO'])
    expect(world.read('a.txt')).toBe('three\n')
    expect([what, world.runtime.audit.verify()]).toMatchObject([what, { whole: false }])
    // A link is refused at the start of any process; the person removes it first.
    if (what === 'a link in its place') rmSync(state(world, 'audit.jsonl'))
    if (byCommand.includes(what)) {
      const looks = [['doctor'], ['audit', 'verify']].map((command) => runCli(world.project, command))
      expect([what, ...(await Promise.all(looks)).map(({ code }) => code)]).toEqual([what, 1, 1])
      // Nobody at the terminal, and nobody said yes.
      expect(await runCli(world.project, ['audit', 'renew'])).toMatchObject({ code: 2 })
      expect([what, await runCli(world.project, ['audit', 'renew', '--yes'])]).toMatchObject([what, { code: 0 }])
    } else world.runtime.audit.renew()
    // The server that was running takes up the new log.
    expect([what, await codeOf(write(world, 'a.txt', 'four\n'))]).toEqual([what, 'ok'])
    expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
    expect(world.runtime.audit.last(100)[0]).toMatchObject({ event: 'audit.renewed', seq: 1 })
  })

test('U08 the database, a lock or a folder of the state swapped under a running server: the next act is refused', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  await write(world, 'a.txt', 'two\n')
  for (const name of ['handrail.db', 'locks/audit.db', 'locks/project.db', 'locks', 'snapshots']) {
    renameSync(state(world, name), join(world.base, 'kept'))
    cpSync(join(world.base, 'kept'), state(world, name), { recursive: true })
    expect([name, await codeOf(write(world, 'a.txt', 'unseen\n'))]).toEqual([name, 'E_IO'])
    expect([name, world.read('a.txt')]).toEqual([name, 'two\n'])
    rmSync(state(world, name), { recursive: true })
    renameSync(join(world.base, 'kept'), state(world, name))
  }
  expect(await codeOf(write(world, 'a.txt', 'three\n'))).toBe('ok')
  expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
})

test('U08 a log that is put back to an older state while nobody runs is a break, with the database too, and nothing is added to it', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  await write(world, 'a.txt', 'two\n')
  await world.runtime.close()
  cpSync(state(world, ''), join(world.base, 'yesterday'), { recursive: true })
  await world.reopen()
  await write(world, 'a.txt', 'three\n')
  await world.runtime.close()
  const broken = async (): Promise<void> => {
    const { code, out } = await runInside(world.project, ['audit', 'verify'])
    expect([code, out.slice(0, 14)]).toEqual([1, 'Broken at line'])
    await world.reopen()
    expect(await codeOf(write(world, 'a.txt', 'unseen\n'))).toBe('E_IO')
    // That it was refused could not be written down either, and whoever closes is told.
    await expect(world.runtime.close()).rejects.toThrow('audit log')
  }
  rmSync(state(world, ''), { recursive: true })
  cpSync(join(world.base, 'yesterday'), state(world, ''), { recursive: true })
  await broken()
  rmSync(state(world, ''), { recursive: true })
  await broken()
  await world.reopen()
  world.runtime.audit.renew()
  expect(await codeOf(write(world, 'a.txt', 'four\n'))).toBe('ok')
  expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
})

test('U08 an anchor proves later that nothing was taken away, also against who rewrites log, seal and head together', async () => {
  await using world = await openWorld({ files: { 'a.txt': 'one\n' }, flags: noDiff })
  await write(world, 'a.txt', 'two\n')
  const anchors = join(world.base, 'anchors.jsonl')
  const cli = (...args: string[]): ReturnType<typeof runInside> => runInside(world.project, ['audit', ...args])
  expect(await cli('anchor', '--to', anchors)).toMatchObject({ code: 0 })
  await write(world, 'a.txt', 'three\n')
  expect(await cli('anchor', '--to', anchors)).toMatchObject({ code: 0 })
  const { hash, seq } = JSON.parse((await cli('anchor', '--json')).out) as { hash: string; seq: number }
  expect(seq).toBe(world.runtime.audit.head().seq)
  expect(await cli('verify', '--anchor', anchors)).toMatchObject({ code: 0 })
  expect(await cli('verify', '--anchor', hash)).toMatchObject({ code: 0 })
  expect(await cli('verify', '--anchor', 'f'.repeat(64))).toMatchObject({ code: 1 })
  await world.runtime.close()
  rmSync(state(world, ''), { recursive: true })
  rmSync(apart(world))
  await world.reopen()
  await write(world, 'a.txt', 'forged\n')
  expect(await cli('verify')).toMatchObject({ code: 0 })
  expect(await cli('verify', '--anchor', anchors)).toMatchObject({ code: 1 })
})
