import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openModel, type ModelSettings } from '../../src/agent/models/open-model.ts'
import { Fault } from '../../src/contracts/faults/fault.ts'
import type { ModelRequest } from '../../src/contracts/model.ts'
import { scriptedModel, type Script, type ScriptedModel } from '../support/scripted-model.ts'

const key = 'sk-planted-0123456789abcdefghij'
let open: { close(): Promise<void> }[] = []
afterEach(async () => {
  for (const one of open) await one.close()
  open = []
})

async function serving(script: Script): Promise<ScriptedModel> {
  const server = await scriptedModel(script)
  open.push(server)
  return server
}

const waits: number[] = []
const modelAt = (baseUrl: string, more: Partial<ModelSettings> = {}) =>
  openModel({ provider: 'compatible', model: 'm', baseUrl, silenceMs: 60_000, key, ...more }, (ms) => {
    waits.push(ms)
    return Promise.resolve()
  })
const ask = (more: Partial<ModelRequest> = {}): ModelRequest => ({
  system: 'Be brief.',
  messages: [{ role: 'user', text: '写一个场景' }],
  signal: new AbortController().signal,
  ...more,
})
const faultOf = (work: Promise<unknown>): Promise<Fault> =>
  work.then(
    () => expect.fail('it went well'),
    (thrown: Fault) => thrown,
  )

test('a model answers in pieces, with calls, and says what that cost', async () => {
  const server = await serving([{ text: 'I look at the files first.', calls: [{ name: 'list_files', input: { path: '.' } }] }])
  const pieces: string[] = []
  const tools = [
    { name: 'list_files', description: 'Lists.', input: { type: 'object', properties: { path: { type: 'string' } } } },
  ]
  const model = modelAt(server.url)
  const reply = await model.complete(ask({ tools, maxTokens: 50, onText: (piece) => void pieces.push(piece) }))
  expect(reply).toEqual({
    text: 'I look at the files first.',
    calls: [{ id: 'call_0_0', name: 'list_files', input: { path: '.' } }],
    usage: { input: 100, output: 10 },
    end: 'calls',
  })
  expect([pieces.length > 1, pieces.join('')]).toEqual([true, reply.text])
  expect([model.name, model.endpoint]).toEqual(['compatible/m', server.url])
  expect(server.asked[0]).toMatchObject({
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${key}` },
    body: {
      model: 'm',
      max_tokens: 50,
      messages: [
        { role: 'system', content: 'Be brief.' },
        { role: 'user', content: '写一个场景' },
      ],
    },
  })
})

test('what was said and done before goes with the next question', async () => {
  const server = await serving([{ text: 'Done.' }])
  const call = { id: 'a', name: 'read_file', input: { path: 'x' } }
  const messages = [
    ...ask().messages,
    { role: 'assistant' as const, text: '', calls: [call] },
    { role: 'tool' as const, id: 'a', name: 'read_file', text: 'content' },
  ]
  await modelAt(server.url).complete(ask({ messages }))
  expect(server.asked[0]?.body.messages.slice(2)).toMatchObject([
    { role: 'assistant', tool_calls: [{ id: 'a', function: { name: 'read_file', arguments: '{"path":"x"}' } }] },
    { role: 'tool', tool_call_id: 'a', content: 'content' },
  ])
})

test('broken JSON is a call that says so; of an answer that was cut, no call is handed on', async () => {
  const calls = [{ name: 'write_to_file', input: '{"path": "a' }]
  const server = await serving([{ calls }, { calls: [{ name: 'x', input: '[1]' }] }, { calls, finish: 'length' }])
  const model = modelAt(server.url)
  expect((await model.complete(ask())).calls).toMatchObject([{ name: 'write_to_file', input: {}, broken: 'it is no JSON' }])
  expect((await model.complete(ask())).calls).toMatchObject([{ input: {}, broken: 'it is no JSON object' }])
  expect(await model.complete(ask())).toMatchObject({ end: 'cut', calls: [] })
})

test('an endpoint that is busy is asked again; one that refuses is not, and the key does not stand in what it says', async () => {
  waits.length = 0
  const refuse = (status: number, headers: Record<string, string> = {}) => ({
    raw: (response: import('node:http').ServerResponse) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers })
      response.end(JSON.stringify({ error: { message: `no: ${key} ${'x'.repeat(5_000)}` } }))
    },
  })
  const server = await serving([
    refuse(503),
    refuse(429, { 'retry-after': '2' }),
    { text: 'yes' },
    refuse(401),
    refuse(429, { 'retry-after': '3600' }),
  ])
  const model = modelAt(server.url)
  expect((await model.complete(ask())).text).toBe('yes')
  expect(waits).toEqual([1_000, 2_000])
  const refused = await faultOf(model.complete(ask()))
  expect(refused).toMatchObject({
    reason: 'model-failed',
    details: { status: 401 },
    hint: expect.stringContaining('handrail keys set'),
  })
  expect(refused.message.length).toBeLessThan(400)
  expect(`${refused.message}${JSON.stringify(refused.details)}${String(refused.cause)}`).not.toContain(key)
  expect(await faultOf(model.complete(ask()))).toMatchObject({ details: { status: 429 } })
  expect([server.asked.length, waits.length]).toEqual([5, 2])
})

test('a redirect is an error and carries no key anywhere', async () => {
  const reached: unknown[] = []
  const other = createServer((request, response) => {
    reached.push(request.headers)
    response.end()
  })
  await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve))
  open.push({ close: () => new Promise((resolve) => void other.close(() => resolve())) })
  const to = `http://localhost:${(other.address() as AddressInfo).port}/v1/messages`
  const away = {
    raw: (response: import('node:http').ServerResponse) => void response.writeHead(307, { location: to }).end(),
  }
  const server = await serving(() => away)
  for (const provider of ['compatible', 'anthropic', 'google'] as const)
    expect(await faultOf(modelAt(server.url, { provider }).complete(ask()))).toMatchObject({ reason: 'model-failed' })
  expect(reached).toEqual([])
})

test('a model that says nothing is given up, one that is cancelled stops at once, one without end is cut off', async () => {
  const silent = {
    raw: (response: import('node:http').ServerResponse) =>
      response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders(),
  }
  const flood = {
    raw(response: import('node:http').ServerResponse) {
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      const chunk = `data: ${JSON.stringify({ id: 'c', choices: [{ index: 0, delta: { content: 'x'.repeat(100_000) } }] })}\n\n`
      const pour = (): void => {
        while (!response.destroyed && response.write(chunk));
        if (!response.destroyed) response.once('drain', pour)
      }
      pour()
    },
  }
  const server = await serving([silent, silent, flood])
  expect(await faultOf(modelAt(server.url, { silenceMs: 20 }).complete(ask()))).toMatchObject({ reason: 'timeout' })
  const gone = new AbortController()
  const asking = faultOf(modelAt(server.url).complete(ask({ signal: gone.signal })))
  await server.reached(2)
  gone.abort()
  expect(await asking).toMatchObject({ reason: 'cancelled' })
  expect(await faultOf(modelAt(server.url).complete(ask()))).toMatchObject({ reason: 'model-failed' })
})

test('what cannot be asked says so before anything is sent', async () => {
  const server = await serving([])
  const refused = (more: Partial<ModelSettings>): string => {
    try {
      modelAt(server.url, more)
      return 'opened'
    } catch (thrown) {
      return (thrown as Fault).reason
    }
  }
  expect(refused({ model: '' })).toBe('bad-input')
  expect(refused({ provider: 'anthropic', key: undefined })).toBe('unauthorized')
  expect(refused({ baseUrl: 'http://models.example/v1' })).toBe('policy')
  expect(refused({ baseUrl: 'http://models.example/v1', key: undefined })).toBe('opened')
  expect(refused({ baseUrl: 'https://user:pw@models.example/v1' })).toBe('bad-input')
  expect(refused({ baseUrl: 'https://models.example/v1?x=1' })).toBe('bad-input')
  expect(refused({ baseUrl: '' })).toBe('bad-input')
  expect(await modelAt(server.url).list(new AbortController().signal)).toEqual(['scripted-a', 'scripted-b'])
  expect(server.asked).toEqual([])
})

test('every dialect asks below its endpoint, with the key in its own place, whatever the environment says', async () => {
  const before = { ...process.env }
  Object.assign(process.env, {
    ANTHROPIC_BASE_URL: 'http://127.0.0.1:1',
    ANTHROPIC_API_KEY: 'env',
    GOOGLE_GENERATIVE_AI_API_KEY: 'env',
  })
  try {
    const server = await serving(() => ({ raw: (response) => void response.writeHead(400).end() }))
    for (const provider of ['openai', 'anthropic', 'google', 'ollama'] as const)
      await faultOf(modelAt(server.url, { provider }).complete(ask({ maxTokens: 9 })))
    expect(
      server.asked.map(({ path, headers, body }) => [
        path,
        headers['authorization'] ?? headers['x-api-key'] ?? headers['x-goog-api-key'],
        body['max_completion_tokens'] ?? body['max_tokens'],
      ]),
    ).toEqual([
      ['/v1/chat/completions', `Bearer ${key}`, 9],
      ['/v1/messages', key, 9],
      ['/v1/models/m:streamGenerateContent?alt=sse', key, undefined],
      ['/v1/chat/completions', `Bearer ${key}`, 9],
    ])
  } finally {
    for (const name of Object.keys(process.env)) if (!(name in before)) delete process.env[name]
    Object.assign(process.env, before)
  }
})
