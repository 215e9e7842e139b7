import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { openModel } from '../../src/agent/models/open-model.ts'
import type { Provider } from '../../src/contracts/config-agent.ts'
import type { ModelMessage, ModelRequest } from '../../src/contracts/model.ts'

const key = 'sk-planted-0123456789abcdefghij'

interface Asked {
  url: string
  headers: IncomingHttpHeaders
  body: Record<string, unknown>
}

let close: (() => Promise<void>) | undefined
afterEach(() => close?.())

/** A server on loopback that answers each request with the next of these streams, in pieces that end anywhere. */
async function streaming(answers: readonly string[]): Promise<{ url: string; asked: Asked[] }> {
  const asked: Asked[] = []
  const server = createServer((request, response) => {
    let body = ''
    request.setEncoding('utf8').on('data', (piece: string) => (body += piece))
    request.on('end', () => {
      const stream = Buffer.from(answers[asked.length] ?? '')
      asked.push({ url: request.url ?? '', headers: request.headers, body: JSON.parse(body) as Asked['body'] })
      response.writeHead(200, { 'content-type': 'text/event-stream' })
      for (let at = 0; at < stream.length; at += 37) response.write(stream.subarray(at, at + 37))
      response.end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  close = () =>
    new Promise((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, asked }
}

const events = (list: readonly ({ type: string } & Record<string, unknown>)[]): string =>
  list.map((one) => `event: ${one.type}\ndata: ${JSON.stringify(one)}\n\n`).join('')
const frames = (list: readonly object[]): string => list.map((one) => `data: ${JSON.stringify(one)}\r\n\r\n`).join('')

const tools = [{ name: 'list_files', description: 'Lists.', input: { type: 'object', properties: { path: { type: 'string' } } } }]
const user: ModelMessage = { role: 'user', text: '写一个场景' }
const modelAt = (provider: Exclude<Provider, 'none'>, baseUrl: string) =>
  openModel({ provider, model: 'm', baseUrl, silenceMs: 60_000, key }, () => Promise.resolve())
const request = (messages: ModelMessage[], pieces: string[] = []): ModelRequest => ({
  system: 'Be brief.',
  messages,
  tools,
  maxTokens: 500,
  signal: new AbortController().signal,
  onText: (piece) => void pieces.push(piece),
})

const anthropicCall = events([
  {
    type: 'message_start',
    message: {
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      model: 'm',
      content: [],
      stop_reason: null,
      stop_sequence: null,
      usage: { input_tokens: 25, cache_creation_input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 1 },
    },
  },
  { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
  { type: 'ping' },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '我先看' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: '看。' } },
  { type: 'content_block_stop', index: 0 },
  { type: 'content_block_start', index: 1, content_block: { type: 'tool_use', id: 'toolu_1', name: 'list_files', input: {} } },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: '{"path": "ga' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'input_json_delta', partial_json: 'me"}' } },
  { type: 'content_block_stop', index: 1 },
  { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: { output_tokens: 15 } },
  { type: 'message_stop' },
])

test('Anthropic’s own stream: text and calls in pieces, what it cost, and the whole conversation in its shapes', async () => {
  const broken = events([{ type: 'error', error: { type: 'overloaded_error', message: 'Overloaded' } }])
  const { url, asked } = await streaming([
    anthropicCall,
    anthropicCall.replace('"tool_use","stop', '"max_tokens","stop'),
    broken,
    broken,
    broken,
    broken,
  ])
  const pieces: string[] = []
  const model = modelAt('anthropic', url)
  const reply = await model.complete(request([user], pieces))
  expect(reply).toMatchObject({
    text: '我先看看。',
    calls: [{ id: 'toolu_1', name: 'list_files', input: { path: 'game' } }],
    usage: { input: 25, output: 15 },
    end: 'calls',
  })
  expect(pieces.join('')).toBe(reply.text)
  // Cut off: no call of it is handed on. And what was said and done goes with the next question.
  const messages: ModelMessage[] = [
    user,
    { role: 'assistant', text: reply.text, calls: reply.calls },
    { role: 'tool', id: 'toolu_1', name: 'list_files', text: 'start.txt' },
  ]
  expect(await model.complete(request(messages))).toMatchObject({ calls: [], end: 'cut' })
  expect(asked[0]).toMatchObject({
    url: '/v1/messages',
    headers: { 'x-api-key': key, 'anthropic-version': '2023-06-01' },
    body: { model: 'm', max_tokens: 500, stream: true, tools: [{ name: 'list_files', input_schema: tools[0]?.input }] },
  })
  expect(asked[0]?.body['system']).toMatchObject([{ type: 'text', text: 'Be brief.' }])
  expect(asked[1]?.body['messages']).toMatchObject([
    { role: 'user', content: [{ type: 'text', text: user.text }] },
    {
      role: 'assistant',
      content: [{ type: 'text' }, { type: 'tool_use', id: 'toolu_1', name: 'list_files', input: { path: 'game' } }],
    },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: expect.anything() }] },
  ])
  await expect(model.complete(request([user]))).rejects.toMatchObject({ reason: 'model-failed' })
})

const googleCall = frames([
  { candidates: [{ content: { parts: [{ text: '我先看' }], role: 'model' }, index: 0 }], modelVersion: 'm', responseId: 'r' },
  {
    candidates: [
      {
        content: {
          parts: [{ text: '看。' }, { functionCall: { name: 'list_files', args: { path: 'game' } }, thoughtSignature: 'c2ln' }],
          role: 'model',
        },
        index: 0,
      },
    ],
  },
  {
    candidates: [{ content: { parts: [{ text: '' }], role: 'model' }, finishReason: 'STOP', index: 0 }],
    usageMetadata: { promptTokenCount: 30, candidatesTokenCount: 12, totalTokenCount: 42 },
  },
])

test('Google’s own stream: the same, and the signature of a call goes back with it', async () => {
  const blocked = frames([{ candidates: [{ content: { parts: [], role: 'model' }, finishReason: 'SAFETY', index: 0 }] }])
  const { url, asked } = await streaming([googleCall, googleCall, blocked])
  const pieces: string[] = []
  const model = modelAt('google', url)
  const reply = await model.complete(request([user], pieces))
  expect(reply).toMatchObject({
    text: '我先看看。',
    calls: [{ name: 'list_files', input: { path: 'game' } }],
    usage: { input: 30, output: 12 },
    end: 'calls',
  })
  expect(pieces.join('')).toBe(reply.text)
  const [call] = reply.calls
  await model.complete(
    request([
      user,
      { role: 'assistant', text: reply.text, calls: reply.calls },
      { role: 'tool', id: call?.id ?? '', name: 'list_files', text: 'start.txt' },
    ]),
  )
  expect(asked[0]).toMatchObject({
    url: '/v1/models/m:streamGenerateContent?alt=sse',
    headers: { 'x-goog-api-key': key },
    body: { systemInstruction: { parts: [{ text: 'Be brief.' }] }, generationConfig: { maxOutputTokens: 500 } },
  })
  expect(JSON.stringify(asked[0]?.body['tools'])).toContain('"name":"list_files"')
  expect(asked[1]?.body['contents']).toMatchObject([
    { role: 'user', parts: [{ text: user.text }] },
    {
      role: 'model',
      parts: [{ text: '我先看看。' }, { functionCall: { name: 'list_files', args: { path: 'game' } }, thoughtSignature: 'c2ln' }],
    },
    { role: 'user', parts: [{ functionResponse: { name: 'list_files' } }] },
  ])
  expect(await model.complete(request([user]))).toMatchObject({ end: 'refused', calls: [] })
})
