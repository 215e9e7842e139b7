import { randomUUID } from 'node:crypto'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import type { AuditLine } from '../../src/contracts/audit.ts'
import type { Served } from './serve.ts'
import { runInside } from './inside.ts'
import { type World } from './world.ts'
import { patienceMs } from './patience.ts'

// Bytes on a socket, as no client library would send them, against the real program.

export const latest = '2026-07-28'
const prefix = 'io.modelcontextprotocol/'
export const before = '{ "name": "game" }\n'
export const paths = [
  '/',
  '/healthz',
  '/mcp',
  '/sse',
  '/messages?sessionId=1',
  '/sign-in',
  '/approvals',
  '/approvals/appr_1',
  '/none',
]

/** One request. A header that is `null` is left out, a list is sent once each. */
export interface Ask {
  method?: string
  path?: string
  version?: string
  headers?: Record<string, string | string[] | null>
  body?: string | Buffer
}

export interface Reply {
  status: number
  head: string
  body: string
}

/** The request as it goes over the wire: with everything a good client sends, unless it says otherwise. */
export function bytesOf(served: Pick<Served, 'port' | 'token'>, ask: Ask): Buffer {
  const { method = ask.body === undefined ? 'GET' : 'POST', path = '/mcp', version = 'HTTP/1.1', body } = ask
  const headers = {
    Host: `127.0.0.1:${served.port}`,
    Authorization: `Bearer ${served.token}`,
    Accept: 'application/json, text/event-stream',
    Connection: 'close',
    ...(body !== undefined && { 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) }),
    ...ask.headers,
  }
  const lines = Object.entries(headers).flatMap(([name, value]) => [value ?? []].flat().map((one) => `${name}: ${one}\r\n`))
  return Buffer.concat([Buffer.from(`${method} ${path} ${version}\r\n${lines.join('')}\r\n`, 'latin1'), Buffer.from(body ?? '')])
}

export interface Wire {
  readonly socket: Socket
  heard(): string
  /** Waits for the text to come. */
  until(pattern: RegExp): Promise<RegExpExecArray>
  /** Everything that came, once the other side has closed. */
  readonly ended: Promise<string>
  [Symbol.dispose](): void
}

export function openWire(port: number, bytes?: Buffer | string): Wire {
  const socket = connect(port, '127.0.0.1')
  let heard = ''
  socket.setEncoding('latin1').on('data', (text) => (heard += String(text)))
  socket.on('error', () => undefined)
  const ended = new Promise<string>((resolve) => socket.once('close', () => resolve(heard)))
  if (bytes !== undefined) socket.write(bytes)
  return {
    socket,
    heard: () => heard,
    ended,
    until: (pattern) => eventually(`${pattern} over the wire`, () => pattern.exec(heard) ?? undefined),
    [Symbol.dispose]: () => void socket.destroy(),
  }
}

export async function eventually<T>(
  what: string,
  look: () => T | undefined | Promise<T | undefined>,
  ms = patienceMs,
): Promise<T> {
  const until = Date.now() + ms
  for (let wait = 1; ; wait = Math.min(100, wait * 1.5)) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > until) throw new Error(`never came: ${what}`)
    await pause(wait)
  }
}

/** All that came back on a connection of its own until the server closed it. */
export async function exchange(port: number, bytes: Buffer | string): Promise<Reply[]> {
  using wire = openWire(port, bytes)
  return repliesIn(await closing(wire))
}

/** What came until the server closed the connection, which it must. */
export function closing(wire: Wire, ms = patienceMs): Promise<string> {
  const late = pause(ms, undefined, { ref: false }).then(() => {
    throw new Error(`the connection was left open after ${JSON.stringify(wire.heard().slice(0, 300))}`)
  })
  return Promise.race([wire.ended, late])
}

/** The first whole answer; a connection that was closed without one has status 0. */
export async function say(served: Served, ask: Ask): Promise<Reply> {
  using wire = openWire(served.port, bytesOf(served, ask))
  let over = false
  void wire.ended.then(() => (over = true))
  return await eventually(`an answer to ${ask.method ?? ''} ${ask.path ?? ask.body?.slice(0, 200)}`, () => {
    const [reply] = repliesIn(wire.heard(), over)
    return reply ?? (over ? { status: 0, head: '', body: '' } : undefined)
  })
}

/** The answers that came whole; an answer without a length is whole once the connection has closed. */
export function repliesIn(text: string, over = true): Reply[] {
  const replies: Reply[] = []
  let rest = text
  for (;;) {
    const end = rest.indexOf('\r\n\r\n')
    if (end < 0 || !rest.startsWith('HTTP/1.1 ')) return replies
    const head = rest.slice(0, end)
    rest = rest.slice(end + 4)
    const length = /^content-length: (\d+)/im.exec(head)?.[1]
    let body = ''
    if (/^transfer-encoding: chunked/im.test(head)) {
      const first = /^[0-9a-f]+\r\n/i
      for (let size = -1; size !== 0;) {
        const line = first.exec(rest)?.[0] ?? ''
        size = Number.parseInt(line, 16)
        if (!line || rest.length < line.length + size + 2) return replies
        body += rest.slice(line.length, line.length + size)
        rest = rest.slice(line.length + size + 2)
      }
    } else {
      if (length === undefined ? !over : rest.length < Number(length)) return replies
      body = rest.slice(0, Number(length ?? 0))
      rest = rest.slice(body.length)
    }
    replies.push({ status: Number(head.slice(9, 12)), head, body })
  }
}

export interface Client {
  name?: string
  capabilities?: object
}

/** A request of 2026. */
export function modern(
  method: string,
  params: Record<string, unknown>,
  client: Client = {},
  id: unknown = 1,
): Ask & { body: string } {
  const { name = 'honest', capabilities = {} } = client
  const _meta = {
    [`${prefix}protocolVersion`]: latest,
    [`${prefix}clientInfo`]: { name, version: '1' },
    [`${prefix}clientCapabilities`]: capabilities,
  }
  const named = params['name'] ?? params['uri']
  return {
    body: JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta } }),
    headers: {
      'MCP-Protocol-Version': latest,
      'Mcp-Method': method,
      ...(typeof named === 'string' && named.length < 1_000 && { 'Mcp-Name': named }),
    },
  }
}

export const call = (name: string, input: object, client?: Client, id?: unknown): Ask & { body: string } =>
  modern('tools/call', { name, arguments: input }, client, id)

/** What an attacker would like to have done; it would land at once if it were let in. */
export const evil = call('write_to_file', { path: 'a.txt', content: 'PWNED\n', dryRun: false }, { name: 'evil' })
export const lands = ['--write-requires-diff', 'false']

export const hello = (client: Client = {}): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: client.capabilities ?? {},
    clientInfo: { name: client.name ?? 'honest', version: '1' },
  },
})

export interface Session {
  readonly id: string
  ask(message: unknown, more?: Ask): Ask & { body: string }
}

/** A session of 2025 over /mcp. */
export async function beginSession(served: Served, client: Client = {}): Promise<Session> {
  const opened = await say(served, { body: JSON.stringify(hello(client)) })
  const id = /^mcp-session-id: (\S+)/im.exec(opened.head)?.[1] ?? ''
  expect([opened.status, id]).toEqual([200, expect.stringMatching(/^[0-9a-f-]{36}$/)])
  const session: Session = {
    id,
    ask: (message, more = {}) => ({
      ...more,
      body: JSON.stringify(message),
      headers: { 'Mcp-Session-Id': id, 'MCP-Protocol-Version': '2025-11-25', ...more.headers },
    }),
  }
  expect((await say(served, session.ask({ jsonrpc: '2.0', method: 'notifications/initialized' }))).status).toBe(202)
  return session
}

export const toolCall = (id: unknown, name: string, input: object): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: input },
})

export interface Stream extends Wire {
  /** Where its messages are posted. */
  readonly address: string
  post(message: unknown): Promise<Reply>
}

/** A stream of 2024: /sse, already greeted. */
export async function openSse(served: Served, client: Client = {}): Promise<Stream> {
  const wire = openWire(served.port, bytesOf(served, { path: '/sse' }))
  const address = (await wire.until(/data: (\/messages\?sessionId=[0-9a-f-]{36})/))[1] as string
  const stream: Stream = {
    ...wire,
    address,
    post: (message) => say(served, { path: address, body: typeof message === 'string' ? message : JSON.stringify(message) }),
  }
  expect((await stream.post(hello(client))).status).toBe(202)
  await wire.until(/"serverInfo"/)
  await stream.post({ jsonrpc: '2.0', method: 'notifications/initialized' })
  return stream
}

export const listening = (id: unknown = 1): Ask & { body: string } =>
  modern('subscriptions/listen', { notifications: { toolsListChanged: true } }, {}, id)

/** The messages of an event stream or a plain answer. */
export function messagesIn(text: string): { id?: unknown; method?: string; result?: Record<string, unknown>; error?: unknown }[] {
  const lines = text.startsWith('{') ? [text] : [...text.matchAll(/^data: (\{.*)$/gm)].map((found) => found[1] as string)
  return lines.map((line) => JSON.parse(line) as { id?: unknown })
}

/** The content that read_file answered with. */
export function contentIn(reply: Reply): unknown {
  const message = messagesIn(reply.body).find((one) => one.result)
  return (message?.result?.['structuredContent'] as { content?: unknown } | undefined)?.content
}

/** An honest client is answered, although it may have to knock more than once. */
export async function answersHonestly(served: Served): Promise<void> {
  await eventually(
    'an answer to an honest client',
    async () => {
      const reply = await say(served, call('read_file', { path: 'a.txt' })).catch(() => undefined)
      return reply && contentIn(reply) === 'a0\n' ? true : undefined
    },
    patienceMs,
  )
}

/** Nothing the attacker asked for has left a trace: not in the files, and not in the record. */
export async function nothingDone(world: World, served: Served): Promise<void> {
  const name = `honest-${randomUUID()}`
  expect((await say(served, call('read_file', { path: 'a.txt' }, { name }))).status).toBe(200)
  // Lines are written in order: once the honest one is there, any of the attacker's would be.
  await eventually('the honest line', () => linesOf(world, name)[0])
  expect(linesOf(world, 'evil')).toEqual([])
  expect(world.read('a.txt')).toBe('a0\n')
  expect(existsSync(world.path('evil.txt'))).toBe(false)
}

/** No token was ever said or written down, whatever came in. */
export async function nothingSecretSaid(world: World, served: Served): Promise<void> {
  const text = served.stderr() + JSON.stringify([...world.runtime.audit.lines()]) + JSON.stringify(world.runtime.sessions())
  for (const secret of [served.token, world.runtime.token('person').token]) expect(text.includes(secret)).toBe(false)
  const shown = await runInside(world.project, ['audit', 'show'])
  expect(shown.out.includes(served.token)).toBe(false)
  expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
}

export function linesOf(world: World, client: string): AuditLine[] {
  return [...world.runtime.audit.lines()].filter((line) => line.client?.startsWith(client))
}

/** Seconds of processor time it has used, which no other load on this machine can add to. */
export function cpuSeconds(served: Served): number {
  const fields = readFileSync(`/proc/${served.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Connections it holds, the listening one among them; not the pipes to what it starts, which are sockets too. */
export function socketsOf(served: Served): number {
  const folder = `/proc/${served.pid}/fd`
  const network = ['tcp', 'tcp6'].flatMap((name) => readFileSync(`/proc/${served.pid}/net/${name}`, 'utf8').split('\n'))
  const inodes = new Set(network.map((line) => line.trim().split(/ +/)[9]))
  return readdirSync(folder).filter((fd) => {
    try {
      return inodes.has(/^socket:\[(\d+)\]$/.exec(readlinkSync(`${folder}/${fd}`))?.[1] ?? '')
    } catch {
      return false
    }
  }).length
}

export const files = { 'a.txt': 'a0\n', 'b.txt': 'b0\n', 'package.json': before }

/** Three megabytes of text; an answer with it is twice that. */
export const large = `${'x'.repeat(79)}\n`.repeat(37_500)
