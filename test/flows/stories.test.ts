import { describe, expect, test } from 'vitest'
import { eventually, call, messagesIn, say, type Reply } from '../support/sockets.ts'
import { openMcp, openServe, someWays } from '../support/serve.ts'
import { eventsIn, expectWhole, storiesOf } from '../support/stories.ts'
import { lapseNow } from '../support/approve.ts'
import { killedAt, moments } from '../support/killed-at.ts'
import { approve, soon } from '../support/stage.ts'
import { runInside, serveInside } from '../support/inside.ts'
import { openWorld, runCli, type World } from '../support/world.ts'

// One call, one story: one start, one question, one answer, one end in the log, however many requests and processes it takes.

const config = { policies: { askFrom: 'R1', writeRequiresDiff: false } }
const input = (path = 'a.txt', content = 'new\n') => ({ path, content, dryRun: false })
const old = { files: { 'a.txt': 'old\n' }, config }
const noWait = { approvalWaitMs: 0 }

const onlyStory = (world: World) => {
  const [story, ...more] = [...storiesOf(world).values()]
  expect(more).toEqual([])
  return story
}
/** A promise and how to keep it. */
function signal(): { promise: Promise<string>; resolve: (id: string) => void } {
  let resolve: (id: string) => void = () => undefined
  const promise = new Promise<string>((one) => (resolve = one))
  return { promise, resolve }
}
const pending = (world: World): string[] => world.runtime.approvals.list('pending').map(({ id }) => id)
const rows = async (world: World): Promise<number> => {
  const { openDatabase } = await import('../../src/host/database.ts')
  const { schema, schemaVersion } = await import('../../src/stores/schema.ts')
  const db = openDatabase(world.state('handrail.db'), schema, schemaVersion)
  try {
    return db.get<{ n: number }>('SELECT count(*) AS n FROM suspended')?.n ?? -1
  } finally {
    db.close()
  }
}

test('twenty calls wait for a person at once, the server is killed in the middle, and each is one whole story', async () => {
  await using world = await openWorld({ config })
  const names = Array.from({ length: 20 }, (_, n) => `n${n}.txt`)
  const calls = (served: { port: number }): Promise<(Reply | undefined)[]> =>
    Promise.all(names.map((name) => say(served as never, call('write_to_file', input(name))).catch(() => undefined)))
  const first = await openServe(world.project)
  const cut = calls(first)
  // In the log, which comes after the store: one killed between the two was never asked about, and says so at the next start.
  await eventually('twenty questions', () => (storiesOf(world).size === 20 ? true : undefined))
  process.kill(first.pid, 'SIGKILL')
  await cut
  const stories = storiesOf(world)
  expect(stories.size).toBe(20)
  for (const story of stories.values()) expect(eventsIn(story)).toEqual(['call.start', 'approval.requested'])
  // Five are answered with yes and five with no while nobody is there to hear it.
  const questions = [...stories.values()].map((story) => story[1]?.approval as string)
  for (const [at, id] of questions.slice(0, 10).entries()) world.runtime.approvals.decide(id, { approve: at < 5, by: 'test' })
  await using second = await serveInside(world.project)
  const again = calls(second)
  const stand = new Set(questions.slice(10))
  await eventually('those that have an answer', () =>
    [...storiesOf(world).values()].filter((story) => eventsIn(story).at(-1) === 'call.end').length === 10 ? true : undefined,
  )
  expect(new Set(pending(world)), 'nobody is asked twice').toEqual(stand)
  for (const id of stand) world.runtime.approvals.decide(id, { approve: true, by: 'test' })
  const replies = await again
  const done = replies.filter((reply) => messagesIn(reply?.body ?? '')[0]?.result?.['isError'] !== true)
  expect(done).toHaveLength(15)
  const whole = [...storiesOf(world).values()]
  expect(whole).toHaveLength(20)
  for (const story of whole) expectWhole(story)
  expect(whole.filter((story) => story.at(-1)?.outcome === 'ok')).toHaveLength(15)
  expect(new Set(whole.map((story) => story[0]?.call))).toEqual(new Set(stories.keys()))
  expect(names.filter((name) => world.runtime.snapshots(1_000, name).length > 0)).toHaveLength(15)
  expect(await rows(world)).toBe(0)
  expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
})

describe('each end of a call that a person is asked about', () => {
  test('a yes while it waits: it goes on in the same request', async () => {
    await using world = await openWorld(old)
    const doing = world.runtime.call('write_to_file', input(), agent, {
      onApproval: (id) => void world.runtime.approvals.decide(id, { approve: true, by: 'test' }),
    })
    const { callId } = await doing
    const story = onlyStory(world)
    expectWhole(story)
    expect(story?.at(-1)).toMatchObject({ call: callId, outcome: 'ok' })
    expect(await rows(world)).toBe(0)
  })

  test('a no while it waits', async () => {
    await using world = await openWorld(old)
    const onApproval = (id: string): void => void world.runtime.approvals.decide(id, { approve: false, by: 'test', note: 'no' })
    expect((await world.fault('write_to_file', input(), { onApproval })).details).toMatchObject({ declined: true })
    expectWhole(onlyStory(world))
    expect(await rows(world)).toBe(0)
  })

  test('a yes after the request has gone: the same call goes on under its id', async () => {
    await using world = await openWorld(old)
    const fault = await world.fault('write_to_file', input(), noWait)
    expect(await rows(world)).toBe(1)
    await world.fault('write_to_file', input(), noWait)
    world.runtime.approvals.decide(String(fault.details?.['approvalId']), { approve: true, by: 'test' })
    await world.reopen()
    const { callId } = await world.runtime.call('write_to_file', input(), agent)
    const story = onlyStory(world)
    expectWhole(story)
    expect(story?.filter(({ event }) => event === 'call.suspended')).toHaveLength(2)
    expect(story?.[0]?.call).toBe(callId)
    expect(world.runtime.snapshots(10, 'a.txt').length).toBeGreaterThan(0)
    expect(await rows(world)).toBe(0)
  })

  test('a no after the request has gone: whoever says it writes the end', async () => {
    await using world = await openWorld(old)
    const fault = await world.fault('write_to_file', input(), noWait)
    const id = String(fault.details?.['approvalId'])
    expect(await runCli(world.project, ['approvals', 'deny', id, '--note', 'never'])).toMatchObject({ code: 0 })
    const story = onlyStory(world)
    expectWhole(story)
    expect(story?.at(-1)).toMatchObject({ outcome: 'error', approval: id, message: expect.stringContaining('never') as string })
    expect(await rows(world)).toBe(0)
    expect((await world.fault('write_to_file', input(), noWait)).details).toMatchObject({ declined: true })
    expect(storiesOf(world).size).toBe(1)
  })

  test('nobody answers: it lapses, with somebody waiting or without', async () => {
    for (const wait of [noWait, { approvalWaitMs: Number.POSITIVE_INFINITY }]) {
      await using world = await openWorld({ ...old, config: { ...config, limits: { approvalTtlMs: 1_000 } } })
      await world.fault('write_to_file', input(), wait)
      await eventually('its lapse', () => (world.runtime.approvals.list('expired').length ? true : undefined))
      const story = onlyStory(world)
      expectWhole(story)
      expect(story?.find(({ event }) => event === 'approval.decided')).toMatchObject({ approved: false, by: 'time' })
      expect(await rows(world)).toBe(0)
    }
  })

  test('a yes that nobody uses lapses', async () => {
    await using world = await openWorld(old)
    const fault = await world.fault('write_to_file', input(), noWait)
    const id = String(fault.details?.['approvalId'])
    world.runtime.approvals.decide(id, { approve: true, by: 'test' })
    lapseNow(world, id)
    expect(world.runtime.approvals.list('expired')).toHaveLength(1)
    const events = eventsIn(onlyStory(world))
    expect(events.filter((event) => event === 'call.end')).toHaveLength(1)
    expect(events.filter((event) => event === 'call.start')).toHaveLength(1)
    expect(world.read('a.txt')).toBe('old\n')
    expect(await rows(world)).toBe(0)
  })

  test('the world moved under the yes: it ends with a conflict', async () => {
    await using world = await openWorld(old)
    const fault = await world.fault('write_to_file', input(), noWait)
    world.runtime.approvals.decide(String(fault.details?.['approvalId']), { approve: true, by: 'test' })
    world.write('a.txt', 'theirs\n')
    expect((await world.fault('write_to_file', input(), noWait)).code).toBe('E_CONFLICT')
    const story = onlyStory(world)
    expect(eventsIn(story)).toEqual(['call.start', 'approval.requested', 'approval.decided', 'call.end'])
    expect(world.read('a.txt')).toBe('theirs\n')
    expect(await rows(world)).toBe(0)
  })

  test('the world moved under the question: it is withdrawn, and the second one belongs to the same story', async () => {
    await using world = await openWorld(old)
    await world.fault('write_to_file', input(), noWait)
    world.write('a.txt', 'theirs\n')
    await world.fault('write_to_file', input(), noWait)
    world.runtime.approvals.decide(pending(world)[0] ?? '', { approve: true, by: 'test' })
    await world.call('write_to_file', input(), noWait)
    const story = onlyStory(world)
    expect(eventsIn(story)).toEqual([
      'call.start',
      'approval.requested',
      'approval.decided',
      'approval.requested',
      'approval.decided',
      'call.resumed',
      'call.end',
    ])
    expect(story?.find(({ event }) => event === 'approval.decided')).toMatchObject({ approved: false, by: 'withdrawn' })
    expect(await rows(world)).toBe(0)
  })

  test('cancelled while it waits: it waits on without its caller, who may come again', async () => {
    await using world = await openWorld(old)
    const stop = new AbortController()
    const fault = await world.fault('write_to_file', input(), { signal: stop.signal, onApproval: () => stop.abort() })
    expect(fault).toMatchObject({ code: 'E_TIMEOUT', details: { cancelled: true } })
    expect(onlyStory(world)?.at(-1)).toMatchObject({ event: 'call.suspended', outcome: 'cancelled' })
    world.runtime.approvals.decide(pending(world)[0] ?? '', { approve: true, by: 'test' })
    await world.call('write_to_file', input())
    expectWhole(onlyStory(world))
  })

  for (const when of ['then', 'in that very moment'] as const)
    test(`the surface does not wait any longer, and a yes comes ${when}: it is not lost`, async () => {
      await using world = await openWorld(old)
      const patience = new AbortController()
      const asked = signal()
      const doing = world.call('write_to_file', input(), {
        onApproval(id) {
          asked.resolve(id)
          return patience.signal
        },
      })
      const ended = doing.catch((fault: unknown) => fault)
      const id = await asked.promise
      patience.abort()
      if (when === 'then') expect(await ended).toMatchObject({ details: { approvalId: id } })
      world.runtime.approvals.decide(id, { approve: true, by: 'test' })
      if (when === 'then') await world.call('write_to_file', input(), noWait)
      else expect(await ended).toMatchObject({ applied: true })
      expectWhole(onlyStory(world))
    })

  test('Handrail is closed while it waits: it waits on, and says so', async () => {
    await using world = await openWorld(old)
    const asked = signal()
    const doing = world.fault('write_to_file', input(), { onApproval: asked.resolve })
    await asked.promise
    await world.reopen()
    expect((await doing).code).toBe('E_IO')
    const story = onlyStory(world)
    expect(story?.map(({ event }) => event)).toEqual(['call.start', 'approval.requested', 'call.suspended'])
    approve(world, { id: pending(world)[0] ?? '' })
    await world.call('write_to_file', input())
    expectWhole(onlyStory(world))
  })

  test('others made more of it after the yes: it asks anew, as a second question of the same story', async () => {
    await using world = await openWorld({ config })
    const { openLock } = await import('../../src/host/lock.ts')
    const lock = openLock(world.state('locks/project.db'))
    let release: () => void = () => undefined
    const held = lock.hold(() => new Promise<void>((resolve) => (release = resolve)))
    const asked: string[] = []
    const doing = world.call('write_to_file', input('d/HEAD', 'x\n'), { onApproval: (id) => void asked.push(id) })
    expect(await soon(() => asked.length === 1)).toBe(true)
    approve(world, { id: asked[0] ?? '' })
    expect(await soon(() => world.runtime.approvals.get(asked[0] ?? '')?.state === 'used')).toBe(true)
    world.write('d/objects/x', '')
    world.write('d/refs/x', '')
    release()
    await held
    expect(await soon(() => asked.length === 2)).toBe(true)
    approve(world, { id: asked[1] ?? '' })
    await doing
    lock.close()
    const once = ['approval.requested', 'approval.decided', 'call.resumed']
    expect(eventsIn(onlyStory(world))).toEqual(['call.start', ...once, ...once, 'call.end'])
  })
})

const agent = { surface: 'mcp-stdio', client: 'test/1', session: 'sess_test', role: 'agent' } as const

test('the same call twice at once is one story and one act; the other hears what became of it', async () => {
  await using world = await openWorld(old)
  const asked: string[] = []
  const calls = [1, 2].map(() =>
    world
      .call('write_to_file', { ...input(), mode: 'append' }, { onApproval: (id) => void asked.push(id) })
      .catch((fault: unknown) => fault),
  )
  expect(await soon(() => asked.length === 2)).toBe(true)
  expect(new Set(asked).size).toBe(1)
  approve(world, { id: asked[0] ?? '' })
  const ends = (await Promise.all(calls)) as { applied?: boolean; reason?: string }[]
  expect(ends.filter(({ applied }) => applied)).toHaveLength(1)
  expect(ends.filter(({ reason }) => reason === 'conflict')).toHaveLength(1)
  expectWhole(onlyStory(world))
  expect(world.read('a.txt')).toBe('old\nnew\n')
  expect(await rows(world)).toBe(0)
})

test('a yes of one session is not used by another, and each has a story of its own', async () => {
  await using world = await openWorld(old)
  const fault = await world.fault('write_to_file', input(), noWait)
  approve(world, { id: String(fault.details?.['approvalId']) })
  const other = await world.fault('write_to_file', input(), { ...noWait, session: 'sess_other' })
  expect(other.details?.['approvalId']).not.toBe(fault.details?.['approvalId'])
  expect(storiesOf(world).size).toBe(2)
})

for (const way of someWays)
  test(`${way}: a call answered in the client's form is one story`, async () => {
    await using world = await openWorld(old)
    await using served = await serveInside(world.project, { env: { HANDRAIL_ASK_OVER_HTTP: '1' } })
    await using peer = await openMcp(way, world.project, served, {
      onAsked: () => ({ action: 'accept', content: { decision: 'approve' } }),
    })
    expect(await peer.call('write_to_file', input())).toMatchObject({ applied: true })
    const story = onlyStory(world)
    expectWhole(story)
    const isLive = !way.endsWith('2026')
    expect(
      story?.some(({ event }) => event === 'call.suspended'),
      'only who cannot be asked back is let go',
    ).toBe(!isLive)
  })

test('whenever the process that asks is killed, no story is told twice or left without its end', async () => {
  await using world = await openWorld({ ...old, files: { 'a.txt': '' } })
  const one = (n: number): string[] => ['call', 'write_to_file', JSON.stringify(input('a.txt', `${n}\n`)), '--wait', '0']
  for (const moment of moments('a story', 12)) {
    const end = await killedAt(world.base, world.project, one(moment), moment, 'FROM suspended WHERE input_digest')
    // Whatever is opened next puts it right; the same call goes on with what is left, or begins anew.
    const again = await runInside(world.project, one(moment))
    const at = `killed before write ${moment}: ${end.err} ${again.err}`
    expect(again.code, at).toBe(1)
    expect(pending(world), at).toHaveLength(1)
    const id = pending(world)[0] ?? ''
    const isAgreed = moment % 2 === 0
    world.runtime.approvals.decide(id, { approve: isAgreed, by: 'test' })
    if (isAgreed) expect((await runInside(world.project, one(moment))).code, at).toBe(0)
    const stories = storiesOf(world)
    const asking = [...stories.values()].filter((story) => story.some(({ approval }) => approval === id))
    expect(asking, at).toHaveLength(1)
    expectWhole(asking[0])
    expect(await rows(world), at).toBe(0)
    if (end.code !== null && end.code === 1) break
  }
  for (const story of storiesOf(world).values()) expectWhole(story)
  const lines = [...world.runtime.audit.lines()]
  const open = lines.filter(
    ({ event, call: id }) => event === 'call.start' && !lines.some((line) => line.call === id && line.event === 'call.end'),
  )
  expect(open).toEqual([])
})
