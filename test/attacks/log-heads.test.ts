import { readFileSync, readdirSync, truncateSync, writeFileSync } from 'node:fs'
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

test('what a killed process leaves is put right as before: torn, or whole and not sealed', async () => {
  for (const torn of [0, 20]) {
    const { world, ends, text } = await grownLog()
    await using _ = world
    const folder = join(world.base, 'state', 'handrail', 'heads')
    const head = join(folder, readdirSync(folder)[0] as string)
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
