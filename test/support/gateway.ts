import type { AuditLine } from '../../src/contracts/audit.ts'
import { serveHttp } from '../../src/runtime/serve.ts'
import { programKey } from '../../src/surfaces/person-auth.ts'
import { openWorld, type World } from './world.ts'

/** What `/agent/process` answers. */
export interface Answered {
  status: number
  headers: Headers
  body: {
    reply?: string
    events?: ({ type: string } & Record<string, unknown>)[]
    tool_result?: Record<string, unknown> & { ok: boolean; text: string }
    error?: { code: string; message: string; details?: Record<string, unknown> }
  } & Record<string, unknown>
}

export interface Gateway {
  readonly world: World
  readonly url: string
  readonly port: number
  readonly token: string
  /** A key of the person's for their programs. */
  key(): string
  send(
    path: string,
    options?: { method?: string; body?: unknown; headers?: Record<string, string>; signal?: AbortSignal },
  ): Promise<Response>
  /** One tool call as the guide has it. */
  tool(name: string, input?: unknown, more?: Record<string, unknown>): Promise<Answered>
  /** The same as a stream: its frames, parsed, the last being [DONE]. */
  stream(name: string, input?: unknown, more?: Record<string, unknown>): Promise<unknown[]>
  /** The log, with what is written in groups. */
  log(): Promise<AuditLine[]>
  [Symbol.asyncDispose](): Promise<void>
}

export const turn = (tool: unknown, more: Record<string, unknown> = {}): Record<string, unknown> => ({
  input: [{ role: 'user', type: 'message', content: [{ type: 'text', text: '请读取 docs/contracts.md' }] }],
  session_id: 's1',
  user_id: 'u1',
  channel: 'console',
  stream: false,
  biz_params: { tool },
  ...more,
})

/** The gateway on a project, inside the test process; on the disk, since nothing below /dev is in its reach. */
export async function openGateway(options: Parameters<typeof openWorld>[0] = {}): Promise<Gateway> {
  const world = await openWorld({ onDisk: true, ...options, flags: { 'approval-wait-ms': '0', ...options?.flags } })
  const served = await serveHttp(world.runtime, { host: '127.0.0.1', port: 0, allowRemote: false, allowOrigins: [] })
  const token = world.runtime.token().token
  const send: Gateway['send'] = (path, { method, body, headers = {}, signal } = {}) =>
    fetch(served.url + path, {
      method: method ?? (body === undefined ? 'GET' : 'POST'),
      headers: {
        Authorization: `Bearer ${token}`,
        ...(body !== undefined && { 'Content-Type': 'application/json' }),
        ...headers,
      },
      ...(body !== undefined && { body: typeof body === 'string' ? body : JSON.stringify(body) }),
      ...(signal && { signal }),
    })
  return {
    world,
    url: served.url,
    port: served.port,
    token,
    key() {
      const page = world.runtime.servedPages.list().find(({ url }) => url === served.url)
      return programKey(world.runtime.token('person').token, page?.instance ?? '')
    },
    send,
    async tool(name, input = {}, more = {}) {
      const response = await send('/agent/process', { body: turn({ name, input }, more) })
      return { status: response.status, headers: response.headers, body: (await response.json()) as Answered['body'] }
    },
    async stream(name, input = {}, more = {}) {
      const response = await send('/agent/process', { body: turn({ name, input }, { stream: true, ...more }) })
      if (response.status !== 200) throw new Error(`${response.status} ${await response.text()}`)
      return framesOf(await response.text())
    },
    async log() {
      // What this process adds comes after what waits to be written.
      await new Promise((resolve) => setTimeout(resolve, 0))
      world.runtime.audit.note({ event: 'session.note', message: 'the end of what is looked at' })
      return [...world.runtime.audit.lines()]
    },
    async [Symbol.asyncDispose]() {
      await served.close()
      await world[Symbol.asyncDispose]()
    },
  }
}

/** The data of each frame of a stream, parsed where it is JSON; comments are passed over. */
export function framesOf(text: string): unknown[] {
  return text
    .split('\n\n')
    .flatMap((frame) => frame.split('\n').filter((line) => line.startsWith('data: ')))
    .map((line) => line.slice('data: '.length))
    .map((data) => (data === '[DONE]' ? data : (JSON.parse(data) as unknown)))
}

/** Reads a stream as it comes, frame by frame. */
export async function* readFrames(response: Response): AsyncGenerator {
  let text = ''
  const decoder = new TextDecoder()
  for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
    text += decoder.decode(piece, { stream: true })
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      yield* framesOf(text.slice(0, end + 2))
      text = text.slice(end + 2)
    }
  }
}
