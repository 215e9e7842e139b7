import { createHash } from 'node:crypto'
import { appendFileSync, readFileSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { openWorld, type World } from '../support/world.ts'

/**
 * Who can write the state of one project can cut its log and forge its seal so that the cut looks like a process that died.
 * The head kept apart says otherwise, and nothing may be added that would make it forget.
 */
interface End {
  seq: number
  hash: string
  end: number
}

async function grownLog(): Promise<{ world: World; ends: End[]; text: Buffer }> {
  const world = await openWorld({ files: { 'a.txt': 'one\n' } })
  for (let round = 0; round < 6; round++) await world.put('a.txt', `round ${round}\n`)
  await world.runtime.close()
  const text = readFileSync(world.state('audit.jsonl'))
  const ends: End[] = [{ seq: 0, hash: '0'.repeat(64), end: 0 }]
  for (const line of text.toString('utf8').split('\n').filter(Boolean)) {
    const { seq, hash } = JSON.parse(line) as End
    ends.push({ seq, hash, end: (ends.at(-1) as End).end + Buffer.byteLength(line) + 1 })
  }
  return { world, ends, text }
}

const seal = (world: World, sealed: End, intended: End): void =>
  writeFileSync(world.state('audit.head'), `${JSON.stringify({ sealed, intended }).padEnd(511)}\n`)
const at = (ends: End[], fromEnd: number): End => ends.at(-1 - fromEnd) as End

/** Each leaves a log that is a whole chain by itself. */
const forgeries: Record<string, (world: World, ends: End[]) => void> = {
  'cut, and sealed a line before its end': (world, ends) => {
    truncateSync(world.state('audit.jsonl'), at(ends, 3).end)
    seal(world, at(ends, 4), at(ends, 3))
  },
  'cut, and sealed at its very beginning': (world, ends) => {
    truncateSync(world.state('audit.jsonl'), at(ends, 3).end)
    seal(world, at(ends, ends.length - 1), at(ends, 0))
  },
  'cut inside a line that was intended': (world, ends) => {
    truncateSync(world.state('audit.jsonl'), at(ends, 3).end + 20)
    seal(world, at(ends, 3), at(ends, 0))
  },
  'cut, and sealed behind its end': (world, ends) => {
    truncateSync(world.state('audit.jsonl'), at(ends, 3).end)
    seal(world, { ...at(ends, 3), end: at(ends, 3).end + 1_000 }, { ...at(ends, 3), end: at(ends, 3).end + 1_000 })
  },
  'cut, and sealed long before its end': (world, ends) => {
    truncateSync(world.state('audit.jsonl'), at(ends, 3).end)
    seal(world, { ...at(ends, 3), end: 0 }, { ...at(ends, 3), end: 0 })
  },
}

for (const [what, forge] of Object.entries(forgeries)) {
  test(`a log that was ${what} is a break, before and after the next act`, async () => {
    const { world, ends } = await grownLog()
    await using _ = world
    forge(world, ends)
    await world.reopen()
    expect(world.runtime.audit.verify()).toMatchObject({ whole: false })
    const acted = await world.put('a.txt', 'after\n').catch((fault: Error) => fault.message)
    expect(world.runtime.audit.verify(), String(acted)).toMatchObject({ whole: false })
    await world.runtime.close().catch(() => undefined)
    await world.reopen()
    expect(world.runtime.audit.verify()).toMatchObject({ whole: false })
    // A person goes on, and the new log says how long the old one was.
    world.runtime.audit.renew()
    expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
    expect(JSON.stringify(world.runtime.audit.last(1))).toContain(`"entries":${at(ends, 0).seq}`)
  })
}

test('under a running server too', async () => {
  for (const forge of Object.values(forgeries)) {
    const { world, ends } = await grownLog()
    await using _ = world
    await world.reopen()
    await world.call('read_file', { path: 'a.txt' })
    world.runtime.audit.last(1)
    forge(world, ends)
    await world.put('a.txt', 'after\n').catch(() => undefined)
    expect(world.runtime.audit.verify()).toMatchObject({ whole: false })
    await world.runtime.close().catch(() => undefined)
  }
})

/** Lines with hashes that fit, behind the last one. */
function added(world: World, ends: End[], count: number): End {
  let last = at(ends, 0)
  for (let made = 0; made < count; made++) {
    const body = `{"seq":${last.seq + 1},"event":"approval.decided","by":"person@terminal","prev":"${last.hash}"`
    const hash = createHash('sha256').update(`${body}}`).digest('hex')
    const text = `${body},"hash":"${hash}"}\n`
    appendFileSync(world.state('audit.jsonl'), text)
    last = { seq: last.seq + 1, hash, end: last.end + text.length }
  }
  return last
}

const additions: Record<string, (world: World, ends: End[], end: End) => void> = {
  'sealed as its own': (world, _, end) => seal(world, end, end),
  'sealed as if a process had died over them': (world, ends, end) => seal(world, at(ends, 0), end),
  'sealed as if a process had died over the next': (world, _, end) =>
    seal(world, end, { ...end, seq: end.seq + 1, end: end.end + 9 }),
}

for (const [what, forge] of Object.entries(additions)) {
  test(`lines added behind the last one while no server runs, ${what}, are a break, before and after the next act`, async () => {
    const { world, ends } = await grownLog()
    await using _ = world
    forge(world, ends, added(world, ends, 2))
    await world.reopen()
    expect(world.runtime.audit.verify()).toMatchObject({ whole: false, line: at(ends, 0).seq + 1 })
    await expect(world.put('a.txt', 'after\n')).rejects.toThrow(/added to it behind/)
    expect(world.runtime.audit.verify()).toMatchObject({ whole: false })
    world.runtime.audit.renew()
    expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
  })
  test(`the same under a running server: ${what}`, async () => {
    const { world, ends } = await grownLog()
    await using _ = world
    await world.reopen()
    forge(world, ends, added(world, ends, 2))
    await world.put('a.txt', 'after\n').catch(() => undefined)
    expect(world.runtime.audit.verify()).toMatchObject({ whole: false })
    await world.runtime.close().catch(() => undefined)
  })
}

test('after a halt of the system lines may be on the disk of which the head was not: that is said, by the log too; a log that was closed has none', async () => {
  for (const closed of [false, true]) {
    const { world, ends } = await grownLog()
    await using _ = world
    const { closed: isClosed, ...apart } = JSON.parse(readFileSync(headOf(world), 'utf8')) as { closed?: boolean }
    expect(isClosed).toBe(true)
    const end = added(world, ends, 2)
    seal(world, end, end)
    const halted = { ...apart, ...(closed && { closed }), boot: 'another' }
    writeFileSync(headOf(world), `${JSON.stringify(halted).padEnd(511)}\n`)
    await world.reopen()
    const { whole, note } = world.runtime.audit.verify() as { whole: boolean; note?: string }
    expect(whole).toBe(!closed)
    if (closed) continue
    expect(note).toMatch(/stand behind the head kept apart: the system stopped .* or somebody added them/)
    await world.put('a.txt', 'after\n')
    expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
    const said = world.runtime.audit.last(20, ({ event }) => event === 'recovered')
    expect(said).toMatchObject([{ details: { from: at(ends, 0).seq + 1, to: end.seq } }])
  }
})

function headOf(world: World): string {
  const folder = join(world.base, 'state', 'handrail', 'heads')
  return join(folder, readdirSync(folder)[0] as string)
}

test('what a killed process leaves is put right as before: torn, or whole and not sealed', async () => {
  for (const torn of [0, 20]) {
    const { world, ends, text } = await grownLog()
    await using _ = world
    const head = headOf(world)
    const apart = JSON.parse(readFileSync(head, 'utf8')) as { last: object; durable: object }
    const { seq, hash } = at(ends, 2)
    // It had sealed and told the head apart up to here, and died while it wrote the rest.
    writeFileSync(head, `${JSON.stringify({ ...apart, last: { seq, hash }, durable: { seq, hash } }).padEnd(511)}\n`)
    writeFileSync(world.state('audit.jsonl'), text.subarray(0, text.length - torn))
    seal(world, at(ends, 2), at(ends, 0))
    await world.reopen()
    expect(world.runtime.audit.verify(), `torn ${torn}`).toMatchObject({ whole: true })
    await world.put('a.txt', 'after\n')
    expect(world.runtime.audit.verify(), `torn ${torn}`).toMatchObject({ whole: true })
    expect(world.runtime.audit.last(20, ({ event }) => event === 'recovered')).toHaveLength(1)
  }
})
