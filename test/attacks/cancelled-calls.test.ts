import { afterAll, beforeAll, expect, test } from 'vitest'
import { openWire as openClient } from '../support/raw-client.ts'
import { openServe, type Served } from '../support/serve.ts'
import {
  answersHonestly,
  beginSession,
  bytesOf,
  closing,
  contentIn,
  eventually,
  files,
  latest,
  messagesIn,
  openSse,
  openWire,
  repliesIn,
  say,
  toolCall,
} from '../support/sockets.ts'
import { openWorld, type World } from '../support/world.ts'

// What is cancelled is over everywhere, and an id stands for one call.

let world: World
let served: Served

beforeAll(async () => {
  world = await openWorld({ files })
  served = await openServe(world.project)
})

afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

/** It asks a person, so it waits. */
const waits = (id: unknown): object =>
  toolCall(id, 'replace_in_file', { path: 'package.json', find: 'game', replace: 'evil', dryRun: false })
const dry = (id: unknown): object =>
  toolCall(id, 'replace_in_file', { path: 'package.json', find: 'game', replace: 'evil', dryRun: true })
const cancelled = (requestId: unknown): object => ({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
const pending = (): Promise<unknown> => eventually('a question', () => world.runtime.approvals.list('pending')[0])

test('http 2025: the stream of a call that is cancelled ends, without an answer', async () => {
  const session = await beginSession(served)
  expect((await say(served, session.ask(dry('d')))).status).toBe(200)
  using wire = openWire(served.port, bytesOf(served, session.ask(waits('w'))))
  await wire.until(/text\/event-stream/)
  await pending()
  expect((await say(served, session.ask(cancelled('w')))).status).toBe(202)
  const [reply] = repliesIn(await closing(wire))
  expect(messagesIn(reply?.body ?? '').filter(({ id }) => id === 'w')).toEqual([])
  // The id is free again.
  expect(contentIn(await say(served, session.ask(toolCall('w', 'read_file', { path: 'a.txt' }))))).toBe('a0\n')
})

test('http 2025: of several that came together one is cancelled, and the others are answered', async () => {
  const session = await beginSession(served)
  await say(served, session.ask(dry('d')))
  using wire = openWire(served.port, bytesOf(served, session.ask([waits('w'), toolCall('r', 'read_file', { path: 'a.txt' })])))
  await wire.until(/"id":"r"/)
  expect((await say(served, session.ask(cancelled('w')))).status).toBe(202)
  const [reply] = repliesIn(await closing(wire))
  expect(contentIn(reply as never)).toBe('a0\n')
})

test('http 2025: an id that is in use is refused, and the call that has it goes on', async () => {
  const session = await beginSession(served)
  await say(served, session.ask(dry('d')))
  using wire = openWire(served.port, bytesOf(served, session.ask(waits('w'))))
  await wire.until(/text\/event-stream/)
  await pending()
  const again = await say(served, session.ask(toolCall('w', 'read_file', { path: 'a.txt' })))
  expect([again.status, again.body]).toEqual([400, expect.stringContaining('in use')])
  const twice = [1, 1].map((id) => toolCall(id, 'read_file', { path: 'a.txt' }))
  expect((await say(served, session.ask(twice))).status).toBe(400)
  expect((await say(served, session.ask(cancelled('w')))).status).toBe(202)
  expect(repliesIn(await closing(wire))).toHaveLength(1)
})

test('sse: an id that is in use is refused, and the call that has it can still be cancelled', async () => {
  using stream = await openSse(served)
  await stream.post(dry('d'))
  await stream.until(/"id":"d"/)
  await stream.post(waits('w'))
  await pending()
  await stream.post(toolCall('w', 'read_file', { path: 'a.txt' }))
  await stream.until(/"id":"w","error":\{"code":-32600/)
  await stream.post(cancelled('w'))
  await stream.post(toolCall('r', 'read_file', { path: 'a.txt' }))
  await stream.until(/"id":"r"/)
  expect(stream.heard()).not.toContain('"id":"w","result"')
})

for (const way of ['stdio 2025', 'stdio 2026'] as const)
  test(`${way}: a hundred requests with one id are one request, and the others are refused`, async () => {
    await using wire = await openClient(way, world.project, undefined)
    const read = toolCall('same', 'read_file', { path: 'a.txt' }) as { params: object }
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': latest,
      'io.modelcontextprotocol/clientInfo': { name: 'x', version: '1' },
      'io.modelcontextprotocol/clientCapabilities': {},
    }
    const line = JSON.stringify(wire.modern ? { ...read, params: { ...read.params, _meta } } : read)
    await wire.send(Array.from({ length: 100 }, () => line).join('\n'))
    await eventually('all answers', () => (wire.heard.filter(({ id }) => id === 'same').length === 100 ? true : undefined))
    const answers = wire.heard.filter(({ id }) => id === 'same')
    expect(answers.filter(({ result }) => result)).toHaveLength(1)
    expect(answers.filter(({ error }) => error?.code === -32600)).toHaveLength(99)
  })

test('an id without end is not kept', async () => {
  const session = await beginSession(served)
  const read = toolCall('x'.repeat(1_000_000), 'read_file', { path: 'a.txt' })
  expect((await say(served, session.ask(read))).status).toBe(413)
  using stream = await openSse(served)
  expect((await stream.post(read)).status).toBe(413)
  await answersHonestly(served)
})
