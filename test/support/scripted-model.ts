import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

export interface AskedMessage {
  role: string
  content?: string | null | { type: string; text?: string }[]
  tool_calls?: { id: string; function: { name: string; arguments: string } }[]
  tool_call_id?: string
}

/** One request as the server got it. */
export interface Asked {
  path: string
  headers: IncomingHttpHeaders
  body: {
    model: string
    messages: AskedMessage[]
    tools?: { function: { name: string; description?: string; parameters?: object } }[]
  } & Record<string, unknown>
}

/** What the model says to one request: words, calls, or whatever the answer shall be on the wire. */
export interface Line {
  text?: string
  /** Given as text, the arguments go out as they are. */
  calls?: { name: string; input: object | string }[]
  finish?: string
  usage?: { prompt_tokens: number; completion_tokens: number }
  /** An answer of its own making, in the place of all that. */
  raw?: (response: ServerResponse) => void
}

/** Answers the n-th request, beginning with 0. */
export type Script = readonly Line[] | ((asked: Asked, at: number) => Line)

export interface ScriptedModel {
  url: string
  asked: Asked[]
  /** Requests of the router, which are not part of the script. */
  routed: Asked[]
  /** Resolves when so many requests have come in. */
  reached(count: number): Promise<void>
  close(): Promise<void>
}

/** What the router is told unless a test says otherwise: straight to the tools. */
const anyTool = { route_type: 'tool', tool_ids: ['read_file'], confidence: 0.9, reason: 'it needs a tool' }

const isRouting = ({ body }: Asked): boolean => JSON.stringify(body.messages[0] ?? '').includes('You choose the road')

/** A server on loopback that speaks OpenAI's chat completions, as a stream, and says what the script says. Real HTTP, no model. */
export async function scriptedModel(script: Script, route: object = anyTool): Promise<ScriptedModel> {
  const asked: Asked[] = []
  const routed: Asked[] = []
  const waiting: { count: number; resolve: () => void }[] = []
  const server = createServer((request, response) => {
    const chunks: Buffer[] = []
    request.on('data', (chunk: Buffer) => chunks.push(chunk))
    request.on('end', () => {
      const text = Buffer.concat(chunks).toString()
      if (request.method === 'GET') {
        response.writeHead(200, { 'content-type': 'application/json' })
        return response.end(JSON.stringify({ data: [{ id: 'scripted-b' }, { id: 'scripted-a' }] }))
      }
      const one: Asked = { path: request.url ?? '', headers: request.headers, body: JSON.parse(text) as Asked['body'] }
      if (isRouting(one)) {
        routed.push(one)
        return speak(response, { text: JSON.stringify(route) }, routed.length)
      }
      const at = asked.push(one) - 1
      const line = typeof script === 'function' ? script(one, at) : script[at]
      speak(response, line ?? { text: 'The script has ended.' }, at)
      for (const { count, resolve } of waiting) if (asked.length >= count) resolve()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/v1`,
    asked,
    routed,
    reached: (count) =>
      asked.length >= count ? Promise.resolve() : new Promise((resolve) => void waiting.push({ count, resolve })),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

function speak(response: ServerResponse, { text, calls = [], finish, usage, raw }: Line, at: number): void {
  if (raw) return raw(response)
  response.writeHead(200, { 'content-type': 'text/event-stream' })
  const send = (choice: object, more: object = {}): void => {
    const chunk = { id: `c${at}`, object: 'chat.completion.chunk', created: 1, model: 'scripted', choices: [choice], ...more }
    response.write(`data: ${JSON.stringify(chunk)}\n\n`)
  }
  // In pieces, as models do.
  for (const piece of text?.match(/[\s\S]{1,16}/gu) ?? []) send({ index: 0, delta: { role: 'assistant', content: piece } })
  calls.forEach(({ name, input }, index) => {
    const whole = typeof input === 'string' ? input : JSON.stringify(input)
    const half = Math.ceil(whole.length / 2)
    const start = { index, id: `call_${at}_${index}`, type: 'function', function: { name, arguments: whole.slice(0, half) } }
    send({ index: 0, delta: { tool_calls: [start] } })
    send({ index: 0, delta: { tool_calls: [{ index, function: { arguments: whole.slice(half) } }] } })
  })
  send({ index: 0, delta: {}, finish_reason: finish ?? (calls.length > 0 ? 'tool_calls' : 'stop') })
  const { prompt_tokens, completion_tokens } = usage ?? { prompt_tokens: 100, completion_tokens: 10 }
  const counted = { usage: { prompt_tokens, completion_tokens, total_tokens: prompt_tokens + completion_tokens } }
  response.write(`data: ${JSON.stringify({ id: `c${at}`, object: 'chat.completion.chunk', choices: [], ...counted })}\n\n`)
  response.end('data: [DONE]\n\n')
}
