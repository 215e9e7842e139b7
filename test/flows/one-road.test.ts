import { EventEmitter, once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openServe, transportFor, type Served } from '../support/serve.ts'
import { openWorld, type World } from '../support/world.ts'

// Connections from before 2026: over whichever transport, `tools/call` takes the same road, and so does what is wrong with one.

type Message = Record<string, unknown>

let world: World
let served: Served

beforeAll(async () => {
  world = await openWorld({ files: { 'a.txt': 'one\n', 'redos.txt': `${'a'.repeat(40)}!\n` } })
  served = await openServe(world.project)
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

/** A client that says exactly what it is told to say. */
async function openTalk(way: 'stdio 2025' | 'http 2025' | 'sse') {
  const transport = transportFor(way, world.project, served, {})
  const heard = new EventEmitter()
  const all: Message[] = []
  // oxlint-disable-next-line unicorn/prefer-add-event-listener -- a transport of the SDK has no other way to be heard
  transport.onmessage = (message) => {
    all.push(message as unknown as Message)
    heard.emit('message')
  }
  await transport.start()
  const until = async (wanted: (message: Message) => boolean): Promise<Message> => {
    for (;;) {
      const found = all.find(wanted)
      if (found) return found
      await once(heard, 'message')
    }
  }
  const say = (message: Message): Promise<void> => transport.send({ jsonrpc: '2.0', ...message } as never)
  const ask = async (id: number, method: string, params: unknown): Promise<Message> => {
    const answer = until((message) => message['id'] === id && !('method' in message))
    return await Promise.race([answer, say({ id, method, params }).then(() => answer)])
  }
  const clientInfo = { name: 'by-hand', version: '1' }
  await ask(1, 'initialize', { protocolVersion: '2025-06-18', capabilities: {}, clientInfo })
  await say({ method: 'notifications/initialized' })
  return { all, ask, say, until, [Symbol.asyncDispose]: () => transport.close() }
}

describe.each(['stdio 2025', 'http 2025', 'sse'] as const)('%s', (way) => {
  test('a call that is none is refused in the same words, and the next one is answered', async () => {
    await using talk = await openTalk(way)
    const wrong: [unknown, string][] = [
      [{ arguments: {} }, 'name must be a string'],
      [{ name: 7 }, 'name must be a string'],
      [{ name: 'read_file', arguments: [] }, 'arguments must be an object'],
      [{ name: 'read_file', arguments: 'a.txt' }, 'arguments must be an object'],
    ]
    // Over HTTP these are no messages at all, and never get so far.
    if (way === 'stdio 2025')
      wrong.push(
        [{ name: 'read_file', arguments: {}, _meta: [] }, '_meta must be an object'],
        [{ name: 'read_file', arguments: {}, _meta: { progressToken: {} } }, 'progressToken must be a string or a whole number'],
      )
    let id = 10
    for (const [params, words] of wrong)
      expect(await talk.ask(++id, 'tools/call', params)).toEqual({
        jsonrpc: '2.0',
        id,
        error: { code: -32602, message: `Invalid tools/call request: ${words}` },
      })
    const fromAnother = { name: 'read_file', arguments: { path: 'a.txt' }, requestState: 'v1.a.b' }
    expect(await talk.ask(++id, 'tools/call', fromAnother), 'a sealed state is of 2026, and somebody else’s').toEqual({
      jsonrpc: '2.0',
      id,
      error: { code: -32602, message: 'Invalid or expired requestState', data: { reason: 'invalid_request_state' } },
    })
    expect(await talk.ask(++id, 'tools/call', { name: 'read_file', arguments: { path: 'a.txt' } })).toMatchObject({
      result: { structuredContent: { content: 'one\n' } },
    })
  })

  test('a cancelled call gets no answer, and others do', async () => {
    await using talk = await openTalk(way)
    const slow = { path: 'redos.txt', regex: '(?=^(a+)+$)' }
    const params = { name: 'search_files', arguments: slow, _meta: { progressToken: 'slow' } }
    void talk.say({ id: 20, method: 'tools/call', params }).catch(() => undefined)
    await talk.ask(21, 'tools/call', { name: 'read_file', arguments: { path: 'a.txt' } })
    await talk.say({ method: 'notifications/cancelled', params: { requestId: 20 } })
    await talk.ask(22, 'tools/call', { name: 'search_files', arguments: { path: 'a.txt', regex: 'one' } })
    expect(talk.all.filter(({ id }) => id === 20)).toEqual([])
  })
})
