// @stage
import { expect, test } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { openDatabase } from '../../src/host/database.ts'
import { schema, schemaVersion } from '../../src/stores/schema.ts'
import { serveInside } from '../support/inside.ts'
import { openServe, type Served } from '../support/serve.ts'
import { call, eventually, say, type Reply } from '../support/sockets.ts'
import { isSoak } from '../support/soak.ts'
import { approve } from '../support/stage.ts'
import { eventsIn, expectWhole, storiesOf } from '../support/stories.ts'
import { openWorld, type World } from '../support/world.ts'

const withShell = { env: { HANDRAIL_ENABLE_SHELL: 'true' } }

const rows = (world: World): number => {
  const db = openDatabase(world.state('handrail.db'), schema, schemaVersion)
  try {
    return db.get<{ n: number }>('SELECT count(*) AS n FROM suspended')?.n ?? -1
  } finally {
    db.close()
  }
}

/** The lines of every call that began. */
function begun(world: World): AuditLine[][] {
  const lines = [...world.runtime.audit.lines()]
  return lines.filter(({ event }) => event === 'call.start').map(({ call: id }) => lines.filter((line) => line.call === id))
}
const isAsked = (story: readonly AuditLine[]): boolean => eventsIn(story).includes('approval.requested')

for (const answer of isSoak ? (['none', 'yes', 'no'] as const) : (['none', 'no'] as const))
  test(`the same program twice, killed while both wait, answer before the next start: ${answer}; the one is whole and the other ends`, async () => {
    await using world = await openWorld({ files: { 'a.txt': 'old\n' }, config: { policies: { askFrom: 'R1' } } })
    const same = (served: Served): Promise<Reply | undefined> =>
      say(served, call('shell', { command: 'echo new > a.txt' })).catch(() => undefined)
    await using first = await openServe(world.project, withShell)
    const cut = Promise.all([same(first), same(first)])
    await eventually('two that wait', () => (rows(world) === 2 ? true : undefined))
    process.kill(first.pid, 'SIGKILL')
    await cut
    expect(
      begun(world)
        .map((story) => eventsIn(story).length)
        .toSorted(),
    ).toEqual([1, 2])
    const [question] = world.runtime.approvals.list('pending')
    const id = question?.id ?? ''
    if (answer !== 'none') world.runtime.approvals.decide(id, { approve: answer === 'yes', by: 'test' })
    await using second = await (isSoak ? openServe : serveInside)(world.project, withShell)
    const left = begun(world).find((story) => !isAsked(story))
    expect(eventsIn(left)).toEqual(['call.start', 'call.end'])
    expect(left?.at(-1)).toMatchObject({ outcome: 'error', message: expect.stringContaining('the same call') as string })
    expect(rows(world)).toBe(answer === 'no' ? 0 : 1)
    if (answer === 'none') approve(world, { id })
    await same(second)
    expect(world.read('a.txt')).toBe(answer === 'no' ? 'old\n' : 'new\n')
    for (const story of storiesOf(world).values()) expectWhole(story)
    for (const story of begun(world)) expect(eventsIn(story).filter((event) => event === 'call.end')).toHaveLength(1)
    expect(rows(world)).toBe(0)
  })
