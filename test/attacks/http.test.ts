import { spawn } from 'node:child_process'
import { randomBytes, randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { networkInterfaces } from 'node:os'
import { dirname } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApprovalHead } from '../../src/contracts/approval.ts'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { openServe, type Served } from '../support/serve.ts'
import { cleanEnv, openWorld, program, runCli, type World } from '../support/world.ts'

// Bytes on a socket, as no client library would send them, against the real program.

const latest = '2026-07-28'
const prefix = 'io.modelcontextprotocol/'
const before = '{ "name": "game" }\n'
const after = '{ "name": "evil" }\n'
const paths = ['/', '/healthz', '/mcp', '/sse', '/messages?sessionId=1', '/sign-in', '/approvals', '/approvals/appr_1', '/none']

/** One request. A header that is `null` is left out, a list is sent once each. */
interface Ask {
  method?: string
  path?: string
  version?: string
  headers?: Record<string, string | string[] | null>
  body?: string | Buffer
}

interface Reply {
  status: number
  head: string
  body: string
}

/** The request as it goes over the wire: with everything a good client sends, unless it says otherwise. */
function bytesOf(served: Pick<Served, 'port' | 'token'>, ask: Ask): Buffer {
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

interface Wire {
  readonly socket: Socket
  heard(): string
  /** Waits for the text to come. */
  until(pattern: RegExp): Promise<RegExpExecArray>
  /** Everything that came, once the other side has closed. */
  readonly ended: Promise<string>
  [Symbol.dispose](): void
}

function openWire(port: number, bytes?: Buffer | string): Wire {
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

async function eventually<T>(what: string, look: () => T | undefined | Promise<T | undefined>, ms = 30_000): Promise<T> {
  const until = Date.now() + ms
  for (let wait = 1; ; wait = Math.min(25, wait * 1.5)) {
    const found = await look()
    if (found !== undefined) return found
    if (Date.now() > until) throw new Error(`never came: ${what}`)
    await pause(wait)
  }
}

/** All that came back on a connection of its own until the server closed it. */
async function exchange(port: number, bytes: Buffer | string): Promise<Reply[]> {
  using wire = openWire(port, bytes)
  return repliesIn(await closing(wire))
}

/** What came until the server closed the connection, which it must. */
function closing(wire: Wire, ms = 30_000): Promise<string> {
  const late = pause(ms, undefined, { ref: false }).then(() => {
    throw new Error(`the connection was left open after ${JSON.stringify(wire.heard().slice(0, 300))}`)
  })
  return Promise.race([wire.ended, late])
}

/** The first whole answer; a connection that was closed without one has status 0. */
async function say(served: Served, ask: Ask): Promise<Reply> {
  using wire = openWire(served.port, bytesOf(served, ask))
  let over = false
  void wire.ended.then(() => (over = true))
  return await eventually(`an answer to ${ask.method ?? ''} ${ask.path ?? ask.body?.slice(0, 200)}`, () => {
    const [reply] = repliesIn(wire.heard(), over)
    return reply ?? (over ? { status: 0, head: '', body: '' } : undefined)
  })
}

/** The answers that came whole; an answer without a length is whole once the connection has closed. */
function repliesIn(text: string, over = true): Reply[] {
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

interface Client {
  name?: string
  capabilities?: object
}

/** A request of 2026. */
function modern(method: string, params: Record<string, unknown>, client: Client = {}, id: unknown = 1): Ask & { body: string } {
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

const call = (name: string, input: object, client?: Client, id?: unknown): Ask & { body: string } =>
  modern('tools/call', { name, arguments: input }, client, id)

/** What an attacker would like to have done; it would land at once if it were let in. */
const evil = call('write_to_file', { path: 'a.txt', content: 'PWNED\n', dryRun: false }, { name: 'evil' })
const lands = ['--write-requires-diff', 'false']

const hello = (client: Client = {}): object => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-11-25',
    capabilities: client.capabilities ?? {},
    clientInfo: { name: client.name ?? 'honest', version: '1' },
  },
})

interface Session {
  readonly id: string
  ask(message: unknown, more?: Ask): Ask & { body: string }
}

/** A session of 2025 over /mcp. */
async function beginSession(served: Served, client: Client = {}): Promise<Session> {
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

const toolCall = (id: unknown, name: string, input: object): object => ({
  jsonrpc: '2.0',
  id,
  method: 'tools/call',
  params: { name, arguments: input },
})

interface Stream extends Wire {
  /** Where its messages are posted. */
  readonly address: string
  post(message: unknown): Promise<Reply>
}

/** A stream of 2024: /sse, already greeted. */
async function openSse(served: Served, client: Client = {}): Promise<Stream> {
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

const listening = (id: unknown = 1): Ask & { body: string } =>
  modern('subscriptions/listen', { notifications: { toolsListChanged: true } }, {}, id)

/** The messages of an event stream or a plain answer. */
function messagesIn(text: string): { id?: unknown; method?: string; result?: Record<string, unknown>; error?: unknown }[] {
  const lines = text.startsWith('{') ? [text] : [...text.matchAll(/^data: (\{.*)$/gm)].map((found) => found[1] as string)
  return lines.map((line) => JSON.parse(line) as { id?: unknown })
}

/** The content that read_file answered with. */
function contentIn(reply: Reply): unknown {
  const message = messagesIn(reply.body).find((one) => one.result)
  return (message?.result?.['structuredContent'] as { content?: unknown } | undefined)?.content
}

/** An honest client is answered, although it may have to knock more than once. */
async function answersHonestly(served: Served): Promise<void> {
  await eventually(
    'an answer to an honest client',
    async () => {
      const reply = await say(served, call('read_file', { path: 'a.txt' })).catch(() => undefined)
      return reply && contentIn(reply) === 'a0\n' ? true : undefined
    },
    15_000,
  )
}

/** Nothing the attacker asked for has left a trace: not in the files, and not in the record. */
async function nothingDone(world: World, served: Served): Promise<void> {
  const name = `honest-${randomUUID()}`
  expect((await say(served, call('read_file', { path: 'a.txt' }, { name }))).status).toBe(200)
  // Lines are written in order: once the honest one is there, any of the attacker's would be.
  await eventually('the honest line', () => linesOf(world, name)[0])
  expect(linesOf(world, 'evil')).toEqual([])
  expect(world.read('a.txt')).toBe('a0\n')
  expect(existsSync(world.path('evil.txt'))).toBe(false)
}

function linesOf(world: World, client: string): AuditLine[] {
  return [...world.runtime.audit.lines()].filter((line) => line.client?.startsWith(client))
}

function megabytes(served: Served): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${served.pid}/status`, 'utf8'))?.[1]) / 1_024
}

/** Seconds of processor time it has used, which no other load on this machine can add to. */
function cpuSeconds(served: Served): number {
  const fields = readFileSync(`/proc/${served.pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

/** Connections it holds, the listening one among them; not the pipes to what it starts, which are sockets too. */
function socketsOf(served: Served): number {
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

async function asked(world: World): Promise<ApprovalHead> {
  return eventually('a question', () => world.runtime.approvals.list('pending')[0])
}

const files = { 'a.txt': 'a0\n', 'b.txt': 'b0\n', 'package.json': before }

/** Three megabytes of text; an answer with it is twice that. */
const large = `${'x'.repeat(79)}\n`.repeat(37_500)

/** Those who take their time: begun before all tests, looked at after them. */
interface Patience {
  readonly world: World
  readonly served: Served
  readonly stalling: Served
  readonly idle: number
  readonly bodies: Wire[]
  /** Those who say nothing, and those who say their headers a byte a second. */
  readonly silent: Wire[]
  /** One who reads a large answer, slowly, but all the time. */
  readonly reader: Wire
  [Symbol.asyncDispose](): Promise<void>
}

async function openPatience(): Promise<Patience> {
  const world = await openWorld({ files: { ...files, 'large.txt': large, 'larger.txt': large + large.slice(0, 800_000) } })
  const [served, stalling] = await Promise.all([openServe(world.project, { args: lands }), openServe(world.project)])
  const slow = (headers: Ask['headers']): Buffer =>
    bytesOf(served, { method: 'POST', headers: { ...evil.headers, 'Content-Type': 'application/json', ...headers } })
  const bodies = Array.from({ length: 20 }, (_, index) =>
    openWire(served.port, slow(index % 2 ? { 'Content-Length': String(evil.body.length) } : { 'Transfer-Encoding': 'chunked' })),
  )
  const whole = bytesOf(served, { path: '/healthz' })
  const silent = Array.from({ length: 90 }, (_, index) =>
    openWire(served.port, index % 3 === 0 ? undefined : whole.subarray(0, index % 3 === 1 ? 1 : 30)),
  )
  let at = 0
  const drip = setInterval(() => {
    const byte = evil.body.charAt(at)
    for (const [index, { socket }] of bodies.entries()) if (socket.writable) socket.write(index % 2 ? byte : `1\r\n${byte}\r\n`)
    for (const { socket } of silent) if (socket.writable) socket.write(whole.subarray(30 + at, 31 + at))
    at++
  }, 1_000)
  const reader = openWire(served.port, bytesOf(served, call('read_file', { path: 'larger.txt' })))
  reader.socket.on('data', () => {
    reader.socket.pause()
    setTimeout(() => reader.socket.resume(), 250)
  })
  const idle = socketsOf(stalling)
  const { body, headers } = call('read_file', { path: 'large.txt' })
  const again = bytesOf(stalling, { body, headers: { ...headers, Connection: 'keep-alive' } })
  const stalled = [bytesOf(stalling, { body, headers }), Buffer.concat(Array.from({ length: 90 }, () => again))].map((asks) => {
    const wire = openWire(stalling.port)
    wire.socket.pause()
    wire.socket.write(asks)
    return wire
  })
  await answersHonestly(served)
  await eventually('the connections of those who do not read', () => (socketsOf(stalling) >= idle + 2 ? true : undefined))
  return {
    world,
    served,
    stalling,
    idle,
    bodies,
    silent,
    reader,
    async [Symbol.asyncDispose]() {
      clearInterval(drip)
      for (const wire of [...bodies, ...silent, reader, ...stalled]) wire.socket.destroy()
      await Promise.all([served[Symbol.asyncDispose](), stalling[Symbol.asyncDispose]()])
      await world[Symbol.asyncDispose]()
    },
  }
}

let world: World
let served: Served
let patience: Patience

beforeAll(async () => {
  world = await openWorld({ files })
  served = await openServe(world.project, { args: lands })
  patience = await openPatience()
})

afterAll(async () => {
  await patience[Symbol.asyncDispose]()
  await served[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

async function statuses(asks: Ask[]): Promise<Set<number>> {
  const found = new Set<number>()
  for (const ask of asks) found.add((await say(served, ask)).status)
  return found
}

test('the requests of this file are good ones: without the trick, they are answered and do what they say', async () => {
  await using other = await openWorld({ files })
  await using serving = await openServe(other.project, { args: lands })
  expect((await say(serving, evil)).status).toBe(200)
  expect(other.read('a.txt')).toBe('PWNED\n')
  await eventually('its line', () => linesOf(other, 'evil')[0])
  using stream = await openSse(serving)
  expect((await stream.post(toolCall(2, 'read_file', { path: 'b.txt' }))).status).toBe(202)
  await stream.until(/b0/)
  const session = await beginSession(serving)
  expect(contentIn(await say(serving, session.ask(toolCall(2, 'read_file', { path: 'b.txt' }))))).toBe('b0\n')
  using listens = openWire(serving.port, bytesOf(serving, listening()))
  await listens.until(/subscriptions\/acknowledged/)
})

test('H01 a Host that is not ours is refused on every path, token or not', async () => {
  for (const host of [
    'evil.example',
    `evil.example:${served.port}`,
    'localhost',
    '127.0.0.1',
    'handrail',
    '*',
    `*:${served.port}`,
  ])
    for (const path of paths)
      expect([host, path, (await say(served, { path, headers: { Host: host } })).status]).toEqual([host, path, 403])
  expect(
    await statuses([{ ...evil, headers: { ...evil.headers, Host: 'evil.example', 'X-Forwarded-Host': 'localhost' } }]),
  ).toEqual(new Set([403]))
  await nothingDone(world, served)
})

const foreignOrigins = (port: number): string[] => [
  'null',
  'NULL',
  '',
  'https://evil.example',
  'http://evil.example',
  `https://127.0.0.1:${port}`,
  'http://127.0.0.1',
  'http://127.0.0.1:3000',
  'http://localhost',
  'http://localhost:3000',
  'http://[::1]:3000',
  `http://localhost:${port}.evil.example`,
  `http://localhost:${port}@evil.example`,
  `http://evil.example/http://127.0.0.1:${port}`,
  `http://127.0.0.1:${port}/`,
  `http://127.0.0.1:${port}, https://evil.example`,
  `http://127.0.0.1:${port} https://evil.example`,
  `ws://127.0.0.1:${port}`,
  'file://',
  'chrome-extension://abcdefghijklmnop',
  '*',
]

test('H02 an Origin that is not ours, null among them, is refused on every path, token or not', async () => {
  for (const origin of foreignOrigins(served.port))
    expect([origin, (await say(served, { ...evil, headers: { ...evil.headers, Origin: origin } })).status]).toEqual([origin, 403])
  for (const path of paths)
    for (const origin of ['null', 'https://evil.example'])
      expect([path, (await say(served, { path, headers: { Origin: origin, Authorization: null } })).status]).toEqual([path, 403])
  const twice = [`http://127.0.0.1:${served.port}`, 'https://evil.example']
  expect((await say(served, { ...evil, headers: { ...evil.headers, Origin: twice } })).status).toBe(403)
  expect((await say(served, { ...evil, headers: { ...evil.headers, Origin: twice.toReversed() } })).status).toBe(403)
  await nothingDone(world, served)
})

test('H02 no Origin is no reason for trust, and our own Origin is none either: the token is needed', async () => {
  for (const origin of [null, `http://127.0.0.1:${served.port}`, `http://localhost:${served.port}`])
    expect((await say(served, { ...evil, headers: { ...evil.headers, Origin: origin, Authorization: null } })).status).toBe(401)
  await nothingDone(world, served)
})

test('H02 a page that was allowed by name opens the door to itself only, and never to null or to all', async () => {
  await using other = await openWorld({ files })
  await using serving = await openServe(other.project, { args: [...lands, '--allow-origin', 'https://good.example,null,*'] })
  const status = async (origin: string): Promise<number> =>
    (
      await say(serving, {
        ...call('read_file', { path: 'a.txt' }),
        headers: { ...evil.headers, 'Mcp-Name': 'read_file', Origin: origin },
      })
    ).status
  expect(await status('https://good.example')).toBe(200)
  for (const origin of [
    ...foreignOrigins(serving.port),
    'http://good.example',
    'https://good.example:444',
    'https://good.example.evil.example',
    'https://evil.example?https://good.example',
    'https://a.good.example',
    'https://good.exampl',
    'https://good.example,null',
  ])
    if (origin !== '*') expect([origin, await status(origin)]).toEqual([origin, 403])
})

test('H03 no Host, two of them, or one in the address: never let in', async () => {
  for (const version of ['HTTP/1.0', 'HTTP/1.1'])
    for (const path of paths)
      expect([400, 403], `${version} ${path}`).toContain((await say(served, { path, version, headers: { Host: null } })).status)
  const ours = `127.0.0.1:${served.port}`
  for (const hosts of [
    [ours, ours],
    [ours, 'evil.example'],
    ['evil.example', ours],
    [ours, `localhost:${served.port}`],
  ])
    expect([400, 403], hosts.join()).toContain((await say(served, { ...evil, headers: { ...evil.headers, Host: hosts } })).status)
  const spelled: Ask['headers'][] = [{ host: ours }, { HOST: 'evil.example' }, { hOsT: ours }]
  for (const more of spelled)
    expect([400, 403]).toContain((await say(served, { ...evil, headers: { ...evil.headers, ...more } })).status)
  for (const target of [
    `http://${ours}/mcp`,
    'http://evil.example/mcp',
    `//${ours}/mcp`,
    `/${ours}/../mcp`,
    `https://evil.example:443/mcp`,
    `http://evil.example@${ours}/mcp`,
    '*',
    'mcp',
    '/./mcp',
    '/x/../mcp',
    '/%6dcp',
    '/mcp/',
    '//mcp',
    '/mcp%00',
    '/MCP',
    '/mcp;a=b',
    '\\mcp',
    '/approvals/../mcp',
  ])
    expect([400, 401, 403, 404, 405], target).toContain((await say(served, { ...evil, path: target })).status)
  expect([400, 403]).toContain((await exchange(served.port, `GET /healthz\r\n\r\n`))[0]?.status)
  expect((await exchange(served.port, `PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n`)).map((reply) => reply.status)).toEqual([400])
  await nothingDone(world, served)
})

test('H04 what only looks like this machine is refused', async () => {
  const port = String(served.port)
  for (const host of [
    `localhost.evil.com:${port}`,
    `127.0.0.1.nip.io:${port}`,
    `[::ffff:127.0.0.1]:${port}`,
    `[::ffff:7f00:1]:${port}`,
    `[0:0:0:0:0:0:0:1]:${port}`,
    `0.0.0.0:${port}`,
    `[::]:${port}`,
    `127.1:${port}`,
    `0127.0.0.1:${port}`,
    `0x7f.0.0.1:${port}`,
    `2130706433:${port}`,
    `127.0.0.2:${port}`,
    `localhost.:${port}`,
    `127.0.0.1.:${port}`,
    `localhost:${Number(port) + 1}`,
    `127.0.0.1:80`,
    `127.0.0.1:0${port}`,
    `127.0.0.1:${port}0`,
    `127.0.0.1:`,
    `user@127.0.0.1:${port}`,
    `user:secret@localhost:${port}`,
    `evil.example#127.0.0.1:${port}`,
    `evil.example,127.0.0.1:${port}`,
    `127.0.0.1:${port},evil.example`,
    `127.0.0.1:${port}/evil.example`,
    `http://127.0.0.1:${port}`,
    `127.0.0.1 :${port}`,
    `ⓛocalhost:${port}`,
    `sub.localhost:${port}`,
    `::1:${port}`,
    `[::1%25lo]:${port}`,
  ])
    expect([400, 403], host).toContain((await say(served, { ...evil, headers: { ...evil.headers, Host: host } })).status)
  for (const host of [`localhost:${port}`, `127.0.0.1:${port}`, `[::1]:${port}`])
    expect([host, (await say(served, { path: '/healthz', headers: { Host: host } })).status]).toEqual([host, 200])
  await nothingDone(world, served)
})

test('H05 no preflight is granted, nothing is reflected, and no answer at all lets another page read it', async () => {
  await using other = await openWorld({ files })
  await using serving = await openServe(other.project, { args: ['--allow-origin', 'https://good.example'] })
  for (const origin of ['https://evil.example', 'null', `http://127.0.0.1:${serving.port}`, 'https://good.example'])
    for (const path of paths) {
      const preflight = {
        Origin: origin,
        'Access-Control-Request-Method': 'POST',
        'Access-Control-Request-Headers': 'authorization,content-type,x-evil',
        'Access-Control-Request-Private-Network': 'true',
      }
      const asks: Ask[] = [
        { method: 'OPTIONS', path, headers: { ...preflight, Authorization: null } },
        { method: 'OPTIONS', path, headers: preflight },
        { path, headers: { Origin: origin, Accept: 'application/json' } },
        { path, headers: { Origin: origin, Authorization: null } },
      ]
      for (const ask of asks.slice(0, path === '/sse' ? 2 : 4)) {
        const { head, status } = await say(serving, ask)
        expect(head).not.toMatch(/^access-control-|^allow:|evil|x-evil/im)
        if (ask.method === 'OPTIONS') expect([401, 403, 404, 405]).toContain(status)
      }
    }
  const { head } = await say(serving, {
    ...call('read_file', { path: 'a.txt' }),
    headers: { ...evil.headers, 'Mcp-Name': 'read_file', Origin: 'https://good.example' },
  })
  expect(head).not.toMatch(/^access-control-/im)
  expect(head).toMatch(/^x-content-type-options: nosniff/im)
})

test('H06 no other method does anything, also with the token, also where a header asks for another method', async () => {
  const override = { 'X-HTTP-Method-Override': 'POST', 'X-HTTP-Method': 'POST', 'X-Method-Override': 'POST' }
  for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'TRACE', 'PROPFIND', 'QUERY', 'SEARCH', 'post'])
    for (const path of ['/mcp', `/mcp?${encodeURIComponent(evil.body)}`, '/messages?sessionId=1', '/none']) {
      const reply = await say(served, { ...evil, method, path, headers: { ...evil.headers, ...override } })
      expect([400, 404, 405], `${method} ${path}`).toContain(reply.status)
      expect(reply.head + reply.body).not.toContain(served.token)
    }
  for (const path of ['/sse', '/messages', '/sign-in', '/approvals', '/healthz', '/'])
    for (const method of ['PUT', 'PATCH', 'DELETE', 'TRACE', 'POST'])
      expect([401, 403, 404, 405], `${method} ${path}`).toContain((await say(served, { ...evil, method, path })).status)
  expect((await say(served, { path: '/sse', method: 'HEAD' })).status).toBe(405)
  // Nobody is taken through to anywhere.
  for (const target of ['127.0.0.1:22', 'evil.example:443', '/mcp'])
    expect(
      (await exchange(served.port, bytesOf(served, { method: 'CONNECT', path: target }))).map((reply) => reply.status),
    ).not.toContain(200)
  const expecting = await say(served, { ...evil, headers: { ...evil.headers, Authorization: null, Expect: 'miracles' } })
  expect([401, 417]).toContain(expecting.status)
  await nothingDone(world, served)
})

describe('H07', () => {
  const bad = (token: string): Record<string, string | string[] | null> => {
    const changed = `${token.slice(0, -1)}${token.endsWith('A') ? 'B' : 'A'}`
    return {
      none: null,
      empty: '',
      'scheme only': 'Bearer',
      'scheme and space': 'Bearer ',
      'no scheme': token,
      'other scheme': `Basic ${Buffer.from(`:${token}`).toString('base64')}`,
      Token: `Token ${token}`,
      short: `Bearer ${token.slice(0, -1)}`,
      'one letter': `Bearer ${token.slice(0, 1)}`,
      long: `Bearer ${token}A`,
      wrong: `Bearer ${changed}`,
      'wrong at the start': `Bearer ${changed.split('').toReversed().join('')}`,
      'other case': `Bearer ${token.toUpperCase() === token ? token.toLowerCase() : token.toUpperCase()}`,
      'not ASCII': `Bearer ${token.slice(0, -1)}\xe9`,
      'not ASCII after it': `Bearer ${token}\xff`,
      'padded as base64': `Bearer ${token}=`,
      'in quotes': `Bearer "${token}"`,
      'two spaces': `Bearer  ${token}`,
      doubled: `Bearer ${token} ${token}`,
      'doubled in a list': `Bearer ${token}, Bearer ${token}`,
      glued: `Bearer ${token}${token}`,
      'the wrong one first': [`Bearer ${changed}`, `Bearer ${token}`],
      undefined: 'Bearer undefined',
      star: 'Bearer *',
      'very long': `Bearer ${'A'.repeat(12_000)}`,
      'two hundred': `Bearer ${'A'.repeat(200)}`,
    }
  }

  test('H07 no token but the whole and only one opens anything', async () => {
    await using other = await openWorld({ files })
    await using serving = await openServe(other.project, { args: lands })
    const all = bad(serving.token)
    const refused = async (what: string, path: string): Promise<void> => {
      const body = path === '/sse' ? {} : { body: evil.body }
      const { status, head } = await say(serving, {
        ...body,
        path,
        headers: { ...evil.headers, Authorization: all[what] ?? null },
      })
      expect([what, path, status]).toEqual([what, path, 401])
      expect(head).toMatch(/^www-authenticate: bearer\r?$/im)
    }
    for (const what of Object.keys(all)) await refused(what, '/mcp')
    for (const path of ['/sse', '/messages?sessionId=1', '/none'])
      for (const what of ['none', 'short', 'wrong', 'doubled']) await refused(what, path)
    await nothingDone(other, serving)
  })

  test('H07 the token counts nowhere but in its header', async () => {
    const { token } = served
    const none = { ...evil.headers, Authorization: null }
    const asks: Ask[] = [
      ...['token', 'access_token', 'auth', 'bearer', 'key', 'api_key'].map((name) => ({
        ...evil,
        path: `/mcp?${name}=${token}`,
        headers: none,
      })),
      { ...evil, headers: { ...none, Cookie: `token=${token}; handrail_token=${token}; handrail_person=${token}` } },
      { ...evil, headers: { ...none, 'X-Api-Key': token, 'X-Auth-Token': token, 'Proxy-Authorization': `Bearer ${token}` } },
      { ...evil, headers: { ...none, 'Sec-WebSocket-Protocol': `bearer, ${token}` } },
      { ...evil, path: `/mcp#${token}`, headers: none },
      { body: JSON.stringify({ ...(JSON.parse(evil.body) as object), auth: { token } }), headers: none },
    ]
    for (const ask of asks) expect([401, 429], String(ask.path)).toContain((await say(served, ask)).status)
    await nothingDone(world, served)
  })

  test("H07 the person's secret is not the agent's, and the agent's is not the person's", async () => {
    const secret = world.runtime.token('person').token
    expect(secret).not.toBe(served.token)
    expect((await say(served, { ...evil, headers: { ...evil.headers, Authorization: `Bearer ${secret}` } })).status).toBe(401)
    const shown: Record<string, string>[] = [
      { Authorization: `Bearer ${served.token}` },
      { Authorization: `Bearer ${secret}` },
      { Cookie: `handrail_person=${served.token}` },
      { Cookie: `handrail_person=${secret}` },
    ]
    for (const ask of shown)
      for (const path of ['/approvals', '/approvals/appr_1'])
        expect([401, 429]).toContain((await say(served, { path, headers: { Authorization: null, ...ask } })).status)
    expect((await say(served, { path: `/sign-in?key=${served.token}` })).status).toBe(403)
    expect((await say(served, { path: `/sign-in?key=${secret}` })).status).toBe(403)
    await nothingDone(world, served)
  })

  test('H07 guessing is slowed down, and whoever has the token is not', async () => {
    await using other = await openWorld({ files })
    await using serving = await openServe(other.project)
    const guess = (): Buffer =>
      bytesOf(serving, {
        ...evil,
        headers: { ...evil.headers, Connection: 'keep-alive', Authorization: `Bearer ${randomBytes(32).toString('base64url')}` },
      })
    const counts: Record<number, number> = {}
    for (let round = 0; round < 5; round++) {
      const found = await Promise.all(Array.from({ length: 60 }, () => exchangeOne(serving.port, guess())))
      for (const status of found) counts[status] = (counts[status] ?? 0) + 1
      expect(contentIn(await say(serving, call('read_file', { path: 'a.txt' })))).toBe('a0\n')
    }
    expect(Object.keys(counts).toSorted()).toEqual(['401', '429'])
    expect(counts[429]).toBeGreaterThan(100)
  })

  test('H07 tokens of every length are compared alike: no length makes it fail', async () => {
    await using other = await openWorld({ files })
    await using serving = await openServe(other.project)
    for (const length of [1, 2, 31, 32, 33, 42, 43, 44, 64, 199, 200, 201, 1_000, 15_000])
      expect([401, 429]).toContain(
        (await say(serving, { ...evil, headers: { ...evil.headers, Authorization: `Bearer ${'a'.repeat(length)}` } })).status,
      )
    expect(serving.stderr()).toBe('')
  })

  /** The status of the first answer on a connection that would stay open. */
  async function exchangeOne(port: number, bytes: Buffer): Promise<number> {
    using wire = openWire(port, bytes)
    return Number((await wire.until(/^HTTP\/1\.1 (\d+)/))[1])
  }
})

test('H08 what a form or a plain text of another page can send is not read as a message, with or without the token', async () => {
  using stream = await openSse(served, { name: 'evil-but-quiet' })
  const { body } = evil
  const form = `a=${encodeURIComponent(body)}`
  const parts = `--x\r\nContent-Disposition: form-data; name="a"\r\n\r\n${body}\r\n--x--\r\n`
  const sent: [string | string[] | null, string][] = [
    [null, body],
    ['', body],
    ['text/plain', body],
    ['text/plain;charset=UTF-8', body],
    ['text/plain; application/json', body],
    ['text/plain;a="application/json"', body],
    ['application/x-www-form-urlencoded', form],
    ['application/x-www-form-urlencoded', body],
    ['multipart/form-data; boundary=x', parts],
    ['multipart/form-data; boundary="application/json"', parts],
    ['application/jsonp', body],
    ['application/json-seq', body],
    ['application/csp-report', body],
    ['text/json', body],
    ['json', body],
    ['*/*', body],
    [['text/plain', 'application/json'], body],
  ]
  for (const [type, text] of sent)
    for (const path of ['/mcp', stream.address, '/messages?sessionId=1'])
      for (const authorization of [`Bearer ${served.token}`, null]) {
        const headers = { ...evil.headers, 'Content-Type': type, Authorization: authorization }
        const { status } = await say(served, { path, body: text, headers })
        expect(authorization === null ? [401, 429] : [404, 415], `${String(type)} at ${path}`).toContain(status)
      }
  for (const [type, text] of sent)
    expect([401, 429]).toContain(
      (await say(served, { path: '/approvals/appr_1', body: text, headers: { 'Content-Type': type } })).status,
    )
  await nothingDone(world, served)
})

test('H09 a body of a gigabyte is refused before it is read, however its length is said', async () => {
  await using other = await openWorld({ files })
  await using serving = await openServe(other.project)
  const json = { ...evil.headers, 'Content-Type': 'application/json' }
  for (const [path, authorization, status] of [
    ['/mcp', `Bearer ${serving.token}`, 413],
    ['/mcp', null, 401],
    ['/messages?sessionId=1', `Bearer ${serving.token}`, 404],
    ['/approvals/appr_1', null, 401],
  ] as const) {
    const headers = { ...json, Authorization: authorization, 'Content-Length': String(1 << 30) }
    const [reply] = await exchange(serving.port, bytesOf(serving, { method: 'POST', path, headers }))
    expect([path, reply?.status]).toEqual([path, status])
  }
  for (const length of ['9'.repeat(15), '9'.repeat(30), '-1', '1e9', '0x10', ' ', '1 1', '+5', '5,5']) {
    const [reply] = await exchange(
      serving.port,
      bytesOf(serving, { method: 'POST', headers: { ...json, 'Content-Length': length } }),
    )
    expect([400, 413], length).toContain(reply?.status)
  }
  // Chunk after chunk, for as long as it is taken.
  using wire = openWire(serving.port, bytesOf(serving, { method: 'POST', headers: { ...json, 'Transfer-Encoding': 'chunked' } }))
  const chunk = Buffer.concat([Buffer.from('100000\r\n'), Buffer.alloc(1 << 20, 0x20), Buffer.from('\r\n')])
  let taken = 0
  while (taken < 1_024 && !wire.socket.destroyed && wire.socket.writable) {
    taken++
    if (!wire.socket.write(chunk))
      await Promise.race([once(wire.socket, 'drain').catch(() => undefined), wire.ended, pause(10_000)])
  }
  expect(taken).toBeLessThan(200)
  expect(repliesIn(await closing(wire)).map((reply) => reply.status)).toEqual([413])
  expect(megabytes(serving)).toBeLessThan(500)
  await answersHonestly(serving)
})

test('H09 a bomb in a compressed body is not unpacked', async () => {
  await using other = await openWorld({ files })
  await using serving = await openServe(other.project)
  const bomb = gzipSync(Buffer.alloc(100 << 20, 0x20))
  for (const encoding of ['gzip', 'x-gzip', 'deflate', 'br', 'zstd', 'gzip, gzip', 'GZIP'])
    expect((await say(serving, { body: bomb, headers: { ...evil.headers, 'Content-Encoding': encoding } })).status).toBe(415)
  const coded = { ...evil.headers, 'Content-Length': null, 'Transfer-Encoding': 'gzip, chunked' }
  const chunked = Buffer.concat([Buffer.from(`${bomb.length.toString(16)}\r\n`), bomb, Buffer.from('\r\n0\r\n\r\n')])
  expect([400, 501]).toContain((await say(serving, { body: chunked, headers: coded })).status)
  expect(megabytes(serving)).toBeLessThan(400)
  await answersHonestly(serving)
})

test('H09 headers without end, chunks of one byte, endless chunk extensions and trailers', async () => {
  await using other = await openWorld({ files })
  await using serving = await openServe(other.project, { args: lands })
  const many = (count: number, value: string): Record<string, string> =>
    Object.fromEntries(Array.from({ length: count }, (_, index) => [`x-${index}`, value]))
  for (const headers of [
    many(10_000, 'a'),
    many(5, 'a'.repeat(10_000)),
    { Cookie: 'a=b; '.repeat(100_000) },
    { ['x'.repeat(1 << 20)]: 'a' },
  ])
    expect([400, 431]).toContain(
      (await exchange(serving.port, bytesOf(serving, { ...evil, headers: { ...evil.headers, ...headers } })))[0]?.status,
    )
  const chunked = { ...evil.headers, 'Content-Length': null, 'Transfer-Encoding': 'chunked' }
  const dust = '1\r\n \r\n'.repeat(1 << 20)
  expect([400, 413]).toContain((await say(serving, { body: `${dust}0\r\n\r\n`, headers: chunked })).status)
  for (const endless of [
    `1;${'a=b;'.repeat(100_000)}\r\n \r\n0\r\n\r\n`,
    `0\r\n${'x: y\r\n'.repeat(100_000)}\r\n`,
    `${'0'.repeat(1 << 20)}1\r\n \r\n0\r\n\r\n`,
  ]) {
    const [reply] = await exchange(serving.port, bytesOf(serving, { body: endless, headers: chunked }))
    expect([undefined, 400, 413, 431]).toContain(reply?.status)
  }
  expect(megabytes(serving)).toBeLessThan(400)
  await nothingDone(other, serving)
})

/** As many attempts as it says, at most so many at a time; each is closed by whoever has enough of it. */
async function knock(
  port: number,
  attempts: number,
  atOnce: number,
  bytes: () => Buffer,
  meanwhile: () => Promise<void>,
): Promise<void> {
  const open = new Set<Socket>()
  let left = attempts
  let stop = false
  const next = (): void => {
    if (stop || left-- <= 0) return
    const socket = connect(port, '127.0.0.1')
    open.add(socket)
    socket.on('error', () => undefined).resume()
    socket.once('close', () => {
      open.delete(socket)
      setTimeout(next, 5)
    })
    socket.write(bytes())
  }
  for (let index = 0; index < atOnce; index++) next()
  try {
    await eventually('most of the attempts', () => (left <= 0 ? true : undefined), 2_000).catch(() => undefined)
    await meanwhile()
  } finally {
    stop = true
    for (const socket of open) socket.destroy()
  }
}

describe('H09 up to 10,000 attempts', () => {
  const kinds: Record<string, (serving: Served, session: Session) => Buffer> = {
    'streams at /sse': (serving) => bytesOf(serving, { path: '/sse' }),
    'streams at /mcp': (serving, session) => bytesOf(serving, { headers: { 'Mcp-Session-Id': session.id } }),
    'streams by subscriptions/listen': (serving) => bytesOf(serving, listening(randomUUID())),
    'connections that say nothing': () => Buffer.alloc(0),
  }
  for (const [kind, open] of Object.entries(kinds))
    test(`H09 10,000 ${kind}: an honest client is answered during and after`, async () => {
      await using other = await openWorld({ files })
      await using serving = await openServe(other.project)
      const session = await beginSession(serving)
      await knock(
        serving.port,
        10_000,
        300,
        () => open(serving, session),
        () => answersHonestly(serving),
      )
      await answersHonestly(serving)
      expect(megabytes(serving)).toBeLessThan(400)
    })
})

test('H09 10,000 sessions begun: those who have one keep it, the era without sessions goes on, and one ended makes room', async () => {
  await using other = await openWorld({ files })
  await using serving = await openServe(other.project)
  const mine = await beginSession(serving)
  const last = await beginSession(serving)
  const opening = bytesOf(serving, { body: JSON.stringify(hello({ name: 'evil' })), headers: { Connection: 'keep-alive' } })
  const counts: Record<number, number> = {}
  for (let round = 0; round < 10; round++) {
    using wire = openWire(serving.port, Buffer.concat(Array.from({ length: 1_000 }, () => opening)))
    const heard = await eventually('1,000 answers', () => {
      const found = [...wire.heard().matchAll(/^HTTP\/1\.1 (\d+)/gm)]
      return found.length >= 1_000 ? found : undefined
    })
    for (const [, status] of heard) counts[Number(status)] = (counts[Number(status)] ?? 0) + 1
    await answersHonestly(serving)
    expect(contentIn(await say(serving, mine.ask(toolCall(round, 'read_file', { path: 'b.txt' }))))).toBe('b0\n')
  }
  expect(counts[200]).toBeLessThan(200)
  expect(Object.keys(counts).every((status) => ['200', '429', '503'].includes(status))).toBe(true)
  expect((await say(serving, last.ask(undefined, { method: 'DELETE' }))).status).toBe(200)
  await beginSession(serving)
  expect(megabytes(serving)).toBeLessThan(500)
})

test('H09 a greeting that is refused does not take the place of a session', async () => {
  await using other = await openWorld({ files })
  await using serving = await openServe(other.project)
  const broken: Ask[] = [
    { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize' }) },
    { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} }) },
    { body: JSON.stringify([hello(), hello()]) },
    { body: JSON.stringify(hello()), headers: { Accept: 'application/json' } },
  ]
  for (const ask of broken)
    for (let times = 0; times < 30; times++) expect([400, 406]).toContain((await say(serving, ask)).status)
  await beginSession(serving)
})

test('H09 a flood down one connection is answered in order or told to wait, and nobody else waits for it', async () => {
  await using other = await openWorld({ files })
  await using serving = await openServe(other.project)
  const keep = { Connection: 'keep-alive' }
  const health = bytesOf(serving, { path: '/healthz', headers: keep })
  const reads = Array.from({ length: 1_000 }, (_, id) => {
    const { body, headers } = call('read_file', { path: 'a.txt' }, {}, id)
    return bytesOf(serving, { body, headers: { ...headers, ...keep } })
  })
  using one = openWire(serving.port, Buffer.concat(Array.from({ length: 10_000 }, () => health)))
  using two = openWire(serving.port, Buffer.concat(reads))
  await answersHonestly(serving)
  const counted = await eventually('all answers, or the end of the connection', () => {
    const found = [one, two].map((wire) => [...wire.heard().matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]))
    const all = [10_000, 1_000].every((count, index) => found[index]?.length === count || [one, two][index]?.socket.destroyed)
    return all ? found : undefined
  })
  expect(counted.flat().every((status) => status === '200' || status === '429')).toBe(true)
  const ids = [...two.heard().matchAll(/"jsonrpc":"2\.0","id":(\d+)\}/g)].map((match) => Number(match[1]))
  expect(ids.length).toBeGreaterThan(5)
  expect(ids).toEqual(ids.toSorted((a, b) => a - b))
  expect(megabytes(serving)).toBeLessThan(500)
  await answersHonestly(serving)
})

test('H09 many clients that ask and never read are let go too: what waits for all of them together is bounded', async () => {
  await using other = await openWorld({ files: { ...files, 'large.txt': large } })
  await using serving = await openServe(other.project)
  const idle = socketsOf(serving)
  const ask = bytesOf(serving, call('read_file', { path: 'large.txt' }))
  const wires = Array.from({ length: 90 }, () => openWire(serving.port))
  for (const { socket } of wires) {
    socket.pause()
    socket.write(ask)
  }
  try {
    await Promise.all(wires.map(({ socket }) => eventually('its connection', () => (socket.connecting ? undefined : true))))
    await settled(serving)
    // Six megabytes each.
    await eventually('the end of half of them', () => (socketsOf(serving) <= idle + 45 ? true : undefined), 50_000)
    await answersHonestly(serving)
    // 320 where this was written, 360 at most on the way.
    expect(megabytes(serving)).toBeLessThan(600)
  } finally {
    for (const wire of wires) wire.socket.destroy()
  }
})

test('H09 those who read are not cut off for those who do not', async () => {
  await using other = await openWorld({ files: { ...files, 'large.txt': large } })
  await using serving = await openServe(other.project)
  const ask = bytesOf(serving, call('read_file', { path: 'large.txt' }))
  const wires = Array.from({ length: 16 }, () => openWire(serving.port))
  for (const { socket } of wires) {
    socket.pause()
    socket.write(ask)
  }
  try {
    await settled(serving)
    const whole: boolean[] = []
    for (let times = 0; times < 12; times++) {
      using wire = openWire(serving.port, ask)
      // Reads all the time, and takes a moment over each piece.
      wire.socket.on('data', () => {
        wire.socket.pause()
        setTimeout(() => wire.socket.resume(), 3)
      })
      whole.push(repliesIn(await closing(wire), false).length === 1)
    }
    expect(whole).toEqual(whole.map(() => true))
  } finally {
    for (const wire of wires) wire.socket.destroy()
  }
})

test('H09 requests without end behind a stream that never ends are not piled up', async () => {
  await using other = await openWorld({ files })
  await using serving = await openServe(other.project)
  using wire = openWire(serving.port, bytesOf(serving, { path: '/sse', headers: { Connection: 'keep-alive' } }))
  await wire.until(/event: endpoint/)
  const one = bytesOf(serving, { path: '/healthz', headers: { Connection: 'keep-alive', 'X-Long': 'x'.repeat(15_000) } })
  const many = Buffer.concat(Array.from({ length: 64 }, () => one))
  for (let sent = 0; sent < 40_000 && wire.socket.writable; sent += 64)
    if (!wire.socket.write(many)) await Promise.race([once(wire.socket, 'drain').catch(() => undefined), wire.ended, pause(500)])
  expect(megabytes(serving)).toBeLessThan(400)
  await answersHonestly(serving)
})

test('H09 a stream of 2024 that is never read is let go before its answers fill our memory', async () => {
  await using other = await openWorld({ files: { ...files, 'large.txt': large } })
  await using serving = await openServe(other.project)
  using stream = await openSse(serving)
  stream.socket.pause()
  const found = new Set<number>()
  for (let id = 0; id < 60; id++) found.add((await stream.post(toolCall(`r${id}`, 'read_file', { path: 'large.txt' }))).status)
  expect([...found].every((status) => status === 202 || status === 404)).toBe(true)
  await eventually('the end of the stream', async () =>
    (await stream.post(toolCall('last', 'read_file', { path: 'a.txt' }))).status === 404 ? true : undefined,
  )
  await settled(serving)
  expect(megabytes(serving)).toBeLessThan(700)
  await answersHonestly(serving)
})

/** Waits until it has nothing more to do: a whole second of hardly any work. */
async function settled(serving: Served): Promise<void> {
  let used = cpuSeconds(serving)
  await eventually(
    'rest',
    async () => {
      await pause(700)
      const now = cpuSeconds(serving)
      const rests = now - used < 0.1
      used = now
      return rests ? true : undefined
    },
    50_000,
  )
}

describe('H09 what is asked once and kept', () => {
  /** The message with something very long in it, made once; each time it goes out, it is a little different. */
  function swollen(message: object): () => Buffer {
    const [head = '', tail = ''] = JSON.stringify(message).split('HUGE')
    const bytes = Buffer.concat([Buffer.from(`${head}000000`), Buffer.alloc(33_000_000, 'x'), Buffer.from(tail)])
    let times = 0
    return () => {
      bytes.write(String(times++).padStart(6, '0'), head.length)
      return bytes
    }
  }

  test('H09 addresses to follow that are very long are not kept', async () => {
    await using other = await openWorld({ files })
    await using serving = await openServe(other.project)
    const { headers } = (await beginSession(serving)).ask({})
    const next = swollen({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'handrail://HUGE' } })
    for (let times = 0; times < 18; times++) await say(serving, { body: next(), headers: headers ?? {} })
    expect(megabytes(serving)).toBeLessThan(650)
    await answersHonestly(serving)
  })

  test('H09 names of clients that are very long are not kept', async () => {
    await using other = await openWorld({ files })
    await using serving = await openServe(other.project)
    const next = swollen(hello({ name: 'HUGE' }))
    for (let times = 0; times < 18; times++) await say(serving, { body: next() })
    expect(megabytes(serving)).toBeLessThan(650)
    await answersHonestly(serving)
  })

  test('H09 questions that are very long are not kept while they wait for an answer that never comes', async () => {
    await using other = await openWorld({ files })
    await using serving = await openServe(other.project)
    using stream = await openSse(serving, { capabilities: { elicitation: { form: {} } } })
    const ask = swollen(toolCall(1, 'ask_followup_question', { question: 'HUGE' }))
    for (let times = 0; times < 14; times++) await say(serving, { path: stream.address, body: ask() })
    expect(megabytes(serving)).toBeLessThan(650)
    await answersHonestly(serving)
  })

  test('H09 six hundred calls that wait for a person hold nobody up', async () => {
    await using other = await openWorld({ files })
    await using serving = await openServe(other.project)
    using stream = await openSse(serving)
    const ask = toolCall(0, 'replace_in_file', { path: 'package.json', find: 'game', replace: 'evil' })
    for (let id = 10; id < 610; id += 50)
      await Promise.all(Array.from({ length: 50 }, (_, index) => stream.post({ ...ask, id: id + index })))
    await answersHonestly(serving)
    expect(megabytes(serving)).toBeLessThan(500)
    expect(other.read('package.json')).toBe(before)
  })
})

describe('H09 one message that costs much', () => {
  const values = `[${'{},'.repeat(6_000_000)}{}]`
  const keys = `{${Array.from({ length: 1_000_000 }, (_, index) => `"k${index}":1`).join()}}`
  const abilities = `{"experimental":{"x":{"a":[${'{},'.repeat(1_000_000)}{}]}}}`
  const into = ({ body, headers }: Ask & { body: string }, mark: string, text: string): Ask => ({
    headers: headers ?? {},
    body: body.replace(mark, text),
  })
  const greeting = { body: JSON.stringify(hello({ capabilities: { MARK: 1 } })) }
  const messages: Record<string, Ask> = {
    'values in a batch': { body: values },
    'values in the abilities of a greeting': into(greeting, '{"MARK":1}', abilities),
    'values in the abilities in a call of 2026': into(
      call('read_file', { path: 'a.txt' }, { capabilities: { MARK: 1 } }),
      '{"MARK":1}',
      abilities,
    ),
    'values in the arguments of a call': into(call('read_file', { path: 'MARK' }), '"MARK"', values),
    'names in the arguments of a call': into(call('read_file', { MARK: 1 }), '{"MARK":1}', keys),
    'values in an answer nobody asked for': { body: `{"jsonrpc":"2.0","id":1,"result":{"a":${values}}}` },
    'names in an answer nobody asked for': { body: `{"jsonrpc":"2.0","id":1,"result":${keys}}` },
  }
  for (const [what, ask] of Object.entries(messages))
    test(`H09 millions of ${what} cost seconds of nobody's time`, async () => {
      await using other = await openWorld({ files })
      await using serving = await openServe(other.project)
      const session = await beginSession(serving)
      await answersHonestly(serving)
      const began = cpuSeconds(serving)
      const headers = what.includes('answer') ? session.ask({}).headers : ask.headers
      await say(serving, { ...ask, headers: headers ?? {} })
      expect(cpuSeconds(serving) - began).toBeLessThan(2.5)
      expect(megabytes(serving)).toBeLessThan(700)
      await answersHonestly(serving)
    })
})

test('H10 a name, method or version in the headers that is not the one in the body: refused, and nothing is done', async () => {
  const base = evil.headers ?? {}
  const coded = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`
  const lies: Record<string, Ask['headers']> = {
    'another tool': { 'Mcp-Name': 'read_file' },
    'no tool': { 'Mcp-Name': null },
    'an empty tool': { 'Mcp-Name': '' },
    'both tools': { 'Mcp-Name': 'read_file, write_to_file' },
    'one after the other': { 'Mcp-Name': ['read_file', 'write_to_file'] },
    'one before the other': { 'Mcp-Name': ['write_to_file', 'read_file'] },
    'other case': { 'Mcp-Name': 'Write_To_File' },
    'another tool, coded': { 'Mcp-Name': coded('read_file') },
    'broken code': { 'Mcp-Name': '=?base64?!!!?=' },
    'coded twice': { 'Mcp-Name': coded(coded('write_to_file')) },
    'another method': { 'Mcp-Method': 'tools/list' },
    'no method': { 'Mcp-Method': null },
    'both methods': { 'Mcp-Method': ['tools/list', 'tools/call'] },
    'no version': { 'MCP-Protocol-Version': null },
    'an old version': { 'MCP-Protocol-Version': '2025-11-25' },
    'no such version': { 'MCP-Protocol-Version': '2099-01-01' },
    'both versions': { 'MCP-Protocol-Version': [latest, '2025-11-25'] },
  }
  for (const [what, headers] of Object.entries(lies))
    expect([what, (await say(served, { ...evil, headers: { ...base, ...headers } })).status]).toEqual([what, 400])
  const uri = modern('resources/read', { uri: 'handrail://audit' }, { name: 'evil' })
  expect((await say(served, { ...uri, headers: { ...uri.headers, 'Mcp-Name': 'handrail://snapshots' } })).status).toBe(400)
  const many = { body: `[${evil.body},${evil.body}]`, headers: base }
  expect([400, 404]).toContain((await say(served, many)).status)
  const { id } = await beginSession(served, { name: 'quiet' })
  expect([400, 404]).toContain(
    (await say(served, { ...evil, headers: { ...base, 'Mcp-Session-Id': id, 'Mcp-Name': 'read_file' } })).status,
  )
  const old = JSON.stringify(toolCall(1, 'write_to_file', { path: 'a.txt', content: 'PWNED\n', dryRun: false }))
  for (const headers of [base, {}, { 'MCP-Protocol-Version': latest }, { 'MCP-Protocol-Version': '2025-11-25' }])
    expect([400, 404]).toContain((await say(served, { body: old, headers })).status)
  await nothingDone(world, served)
  const read = call('read_file', { path: 'a.txt' })
  const good = { ...read.headers, 'Mcp-Name': coded('read_file') }
  expect((await say(served, { ...read, headers: good })).status).toBe(200)
})

describe("H11 another one's ids", () => {
  test('H11 a session that is guessed, or has ended, is not there', async () => {
    const session = await beginSession(served)
    const read = toolCall(1, 'read_file', { path: 'a.txt' })
    const guesses = [
      randomUUID(),
      session.id.toUpperCase() === session.id ? session.id.slice(1) : session.id.toUpperCase(),
      session.id.slice(0, -1),
      `${session.id}0`,
      `${session.id}, ${session.id}`,
      '__proto__',
      'constructor',
      '',
      '0',
      '*',
      'undefined',
      'a'.repeat(10_000),
    ]
    for (const guess of guesses)
      for (const method of ['POST', 'GET', 'DELETE']) {
        const ask = session.ask(read, { method, headers: { 'Mcp-Session-Id': guess } })
        expect([guess, method, (await say(served, ask)).status]).toEqual([guess, method, 404])
      }
    using stream = openWire(served.port, bytesOf(served, session.ask(undefined, { method: 'GET' })))
    await stream.until(/text\/event-stream/)
    expect((await say(served, session.ask(undefined, { method: 'GET' }))).status, 'a second one listens in').toBe(409)
    expect((await say(served, session.ask(undefined, { method: 'DELETE' }))).status).toBe(200)
    for (const method of ['POST', 'GET', 'DELETE'])
      expect([method, (await say(served, session.ask(read, { method }))).status]).toEqual([method, 404])
    expect((await say(served, session.ask(hello()))).status, 'an ended session is not begun again').toBe(404)
  })

  test('H11 a stream of 2024 that is guessed, or has ended, takes no messages', async () => {
    const stream = await openSse(served)
    const read = JSON.stringify(toolCall(1, 'read_file', { path: 'a.txt' }))
    const id = stream.address.split('=')[1] as string
    for (const query of [
      '',
      '?',
      '?sessionId',
      '?sessionId=',
      `?sessionId=${randomUUID()}`,
      '?sessionId=__proto__',
      `?sessionid=${id}`,
      `?sessionId=${id}0`,
      `?sessionId=x&sessionId=${id}`,
      `?sessionId[]=${id}`,
    ])
      expect([query, (await say(served, { path: `/messages${query}`, body: read })).status]).toEqual([query, 404])
    stream.socket.destroy()
    await eventually('the end of the stream', async () => ((await stream.post(read)).status === 404 ? true : undefined))
  })

  test('H11 equal request ids in many sessions at once never cross', async () => {
    const names = Array.from({ length: 6 }, (_, index) => `owner-${index}.txt`)
    await using other = await openWorld({
      files: { ...files, ...Object.fromEntries(names.map((name) => [name, `of ${name} ${name.repeat(200)}\n`])) },
    })
    await using serving = await openServe(other.project)
    const sessions = await Promise.all(names.map((name) => beginSession(serving, { name })))
    const streams = await Promise.all(names.map((name) => openSse(serving, { name })))
    const owners = async (index: number, id: number): Promise<void> => {
      const path = names[index] as string
      const message = toolCall(id, 'read_file', { path })
      const [old, now] = await Promise.all([
        say(serving, (sessions[index] as Session).ask(message)),
        say(serving, call('read_file', { path }, { name: path }, id)),
        (streams[index] as Stream).post(message),
      ])
      for (const reply of [old, now]) expect(contentIn(reply)).toBe(other.read(path))
    }
    for (let id = 1; id <= 8; id++) await Promise.all(names.map((_, index) => owners(index, id)))
    for (const [index, stream] of streams.entries()) {
      await eventually('all its answers', () =>
        [...stream.heard().matchAll(/"structuredContent"/g)].length === 8 ? true : undefined,
      )
      const paths = new Set([...stream.heard().matchAll(/"path":"([^"]+)"/g)].map((match) => match[1]))
      expect([...paths]).toEqual([names[index]])
      stream.socket.destroy()
    }
  })

  test('H11 one session used over two connections: whoever asks gets the answer to what it asked', async () => {
    const session = await beginSession(served)
    const read = (id: number, path: string): Promise<Reply> => say(served, session.ask(toolCall(id, 'read_file', { path })))
    for (let round = 0; round < 10; round++) {
      const [one, two] = await Promise.all([read(2 * round, 'a.txt'), read(2 * round + 1, 'b.txt')])
      expect([contentIn(one), contentIn(two)]).toEqual(['a0\n', 'b0\n'])
    }
  })

  test('H11 an answer or a cancellation sent in another session, stream or name does nothing to mine', async () => {
    await using other = await openWorld({ files })
    await using serving = await openServe(other.project, { args: [...lands, '--ask-over-http'] })
    const can = { capabilities: { elicitation: { form: {} } } }
    const mine = await beginSession(serving, { name: 'mine', ...can })
    const theirs = await beginSession(serving, { name: 'theirs', ...can })
    using stream = await openSse(serving, { name: 'theirs', ...can })
    const write = { path: 'package.json', content: after, dryRun: false }
    using waiting = openWire(serving.port, bytesOf(serving, mine.ask(toolCall(7, 'write_to_file', write))))
    const [, question] = await waiting.until(/data: (\{.*"elicitation\/create".*\})/)
    const { id } = JSON.parse(question as string) as { id: number }
    const yes = { jsonrpc: '2.0', id, result: { action: 'accept', content: { decision: 'approve' } } }
    const stop = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 7 } }
    for (const message of [yes, { ...yes, id: String(id) }, stop]) {
      await say(serving, theirs.ask(message))
      await stream.post(message)
      await say(serving, { body: JSON.stringify(message) })
      await say(serving, {
        body: JSON.stringify(message),
        headers: { 'MCP-Protocol-Version': latest, 'Mcp-Method': 'notifications/cancelled' },
      })
    }
    const { id: approval } = await asked(other)
    expect(other.runtime.approvals.get(approval)?.state).toBe('pending')
    expect(other.read('package.json')).toBe(before)
    // And mine still counts.
    expect((await say(serving, mine.ask(yes))).status).toBe(202)
    await waiting.until(/"applied":true/)
    expect(other.read('package.json')).toBe(after)
  })

  test("H11 what was sealed for one client's call of 2026 does not answer another's, another call's, or the same one twice", async () => {
    await using other = await openWorld({ files: { ...files, 'sub/package.json': before } })
    await using serving = await openServe(other.project, { args: [...lands, '--ask-over-http'] })
    const client = { name: 'mine', capabilities: { elicitation: { form: {} } } }
    const write = { path: 'package.json', content: after, dryRun: false }
    const opened = messagesIn((await say(serving, call('write_to_file', write, client))).body)[0]?.result
    const requestState = opened?.['requestState'] as string
    expect([opened?.['resultType'], typeof requestState]).toEqual(['input_required', 'string'])
    const inputResponses = { person: { action: 'accept', content: { decision: 'approve' } } }
    const again = (input: object, who: Client, state: unknown = requestState): Promise<Reply> =>
      say(serving, modern('tools/call', { name: 'write_to_file', arguments: input, inputResponses, requestState: state }, who))
    const refused = async (reply: Promise<Reply>): Promise<void> => {
      expect(messagesIn((await reply).body)[0]?.error).toMatchObject({ code: -32602 })
      expect(other.read('package.json') + other.read('sub/package.json')).toBe(before + before)
    }
    await refused(again(write, { ...client, name: 'theirs' }))
    await refused(again({ ...write, path: 'sub/package.json' }, client))
    await refused(again({ ...write, content: 'PWNED' }, client))
    for (const forged of [
      '',
      'x',
      `${requestState}x`,
      `x${requestState}`,
      requestState.slice(0, -2),
      requestState.replace(/[A-Z]/, 'z'),
      'a.b.c',
      'x'.repeat(10_000),
    ])
      await refused(again(write, client, forged))
    expect((await again(write, client)).body).toContain('"applied":true')
    other.write('package.json', before)
    expect((await again(write, client)).body).not.toContain('"applied":true')
    expect(other.read('package.json')).toBe(before)
  })
})

describe('H12 one request inside another', () => {
  /** A whole request that would do harm, were it ever taken for one. */
  const inner = (): Buffer => bytesOf(served, evil)

  test('H12 two lengths, or a length and chunks, in every spelling: the second request is never taken for one', async () => {
    const poison = inner()
    const hidden = Buffer.concat([Buffer.from('0\r\n\r\n'), poison])
    const whole = String(hidden.length)
    const chunked: (string | string[])[] = [
      'chunked',
      'Chunked',
      'xchunked',
      'chunkedx',
      'chunked, identity',
      'identity, chunked',
      'chunked, chunked',
      'chunked,',
      ',chunked',
      '"chunked"',
      'chunked;a=b',
      '\tchunked',
      'chunked\t',
      '\x0bchunked',
      'chunked\x0b',
      'chunked\0',
      'ch\runked',
      '\r\n chunked',
      '\n chunked',
      'gzip, chunked',
      ['chunked', 'identity'],
      ['identity', 'chunked'],
      ['chunked', 'chunked'],
    ]
    const heads: Record<string, string | string[]>[] = [
      ...chunked.flatMap((value): Record<string, string | string[]>[] => [
        { 'Content-Length': whole, 'Transfer-Encoding': value },
        { 'Transfer-Encoding': value, 'Content-Length': whole },
        { 'Content-Length': whole, 'transfer-encoding': value },
      ]),
      ...[
        'Transfer-Encoding ',
        'Transfer-Encoding\t',
        ' Transfer-Encoding',
        'Transfer_Encoding',
        'Transfer-Encoding\0',
        'X: y\nTransfer-Encoding',
        'X: y\rTransfer-Encoding',
        'X:\r\n y\r\nTransfer-Encoding',
      ].map((name) => ({
        'Content-Length': whole,
        [name]: 'chunked',
      })),
      { 'Content-Length': ['0', whole] },
      { 'Content-Length': [whole, '0'] },
      { 'Content-Length': ['5', whole] },
      { 'Content-Length': `0, ${whole}` },
      { 'Content-Length': `${whole}, 0` },
      { 'Content-Length': `0\r\nContent-Length: ${whole}` },
      { 'Content-Length': whole, 'content-length': '0' },
      { 'Content-Length': whole, 'Content-Length ': '0' },
      { 'Content-Length': whole, ' Content-Length': '0' },
    ]
    for (const path of ['/mcp', '/healthz'])
      for (const headers of heads) {
        using wire = openWire(
          served.port,
          Buffer.concat([
            bytesOf(served, {
              method: 'POST',
              path,
              headers: { Connection: 'keep-alive', 'Content-Type': 'application/json', ...headers },
            }),
            hidden,
          ]),
        )
        const found = await eventually('an answer', async () => {
          const replies = repliesIn(wire.heard(), wire.socket.destroyed)
          return replies.length > 0 || wire.socket.destroyed ? replies : undefined
        })
        expect(
          found.map((reply) => reply.status).filter((status) => status < 400),
          JSON.stringify(headers),
        ).toEqual([])
      }
    await nothingDone(world, served)
  })

  test('H12 sizes of chunks that others read differently are refused', async () => {
    const size = evil.body.length.toString(16)
    const sizes = [
      `0x${size}`,
      `+${size}`,
      `-${size}`,
      ` ${size}`,
      `${size} `,
      `${size}\t`,
      `\t${size}`,
      `${size}x`,
      'f'.repeat(17),
      '',
      `${size}\x0b`,
      `${size},${size}`,
    ]
    for (const one of sizes) {
      const body = `${one}\r\n${evil.body}\r\n0\r\n\r\n`
      using wire = openWire(
        served.port,
        bytesOf(served, { body, headers: { ...evil.headers, 'Content-Length': null, 'Transfer-Encoding': 'chunked' } }),
      )
      expect([400, 413], JSON.stringify(one)).toContain(repliesIn(await closing(wire))[0]?.status)
    }
    await nothingDone(world, served)
  })

  test('H12 what follows a refused request on the same connection is its body, not a request', async () => {
    const poison = inner()
    const length = { 'Content-Length': String(poison.length), Connection: 'keep-alive', 'Content-Type': 'application/json' }
    const outer: Ask[] = [
      { method: 'POST', headers: { ...length, Host: 'evil.example' } },
      { method: 'POST', headers: { ...length, Origin: 'https://evil.example' } },
      { method: 'POST', headers: { ...length, Authorization: null } },
      { method: 'POST', headers: { ...length, 'Content-Type': 'text/plain' } },
      { method: 'POST', headers: { ...length, 'Content-Encoding': 'gzip' } },
      { method: 'PUT', headers: length },
      { method: 'HEAD', headers: length },
      { method: 'GET', headers: length },
      { method: 'GET', path: '/healthz', headers: length },
      { method: 'GET', path: '/none', headers: length },
      { method: 'POST', path: '/approvals/appr_1', headers: length },
      { method: 'GET', path: '/', headers: { ...length, Connection: 'Upgrade', Upgrade: 'websocket' } },
      {
        method: 'GET',
        path: '/mcp',
        headers: { ...length, Connection: 'Upgrade, HTTP2-Settings', Upgrade: 'h2c', 'HTTP2-Settings': '' },
      },
      { method: 'CONNECT', path: '127.0.0.1:1', headers: length },
    ]
    for (const ask of outer) {
      using wire = openWire(served.port, Buffer.concat([bytesOf(served, ask), poison]))
      await eventually('an answer or the end', () =>
        wire.socket.destroyed || repliesIn(wire.heard(), false).length > 0 || /^HTTP\/1\.1 \d+[^]*\r\n\r\n/.test(wire.heard())
          ? true
          : undefined,
      )
    }
    // A second, honest pair on one connection: each is judged for itself.
    const keep = { Connection: 'keep-alive' }
    using wire = openWire(
      served.port,
      Buffer.concat([
        bytesOf(served, { path: '/healthz', headers: keep }),
        bytesOf(served, { ...evil, headers: { ...evil.headers, Authorization: null } }),
      ]),
    )
    expect(repliesIn(await closing(wire)).map((reply) => reply.status)).toEqual([200, 401])
    await nothingDone(world, served)
  })

  test('H12 a client that asks for the connection to be closed is not told that it stays', async () => {
    const replies = [
      await say(served, call('read_file', { path: 'a.txt' })),
      await say(served, { body: JSON.stringify(hello()) }),
      await say(served, { body: JSON.stringify(hello()), version: 'HTTP/1.0' }),
    ]
    for (const { status, head } of replies) {
      expect(status).toBe(200)
      expect(head).not.toMatch(/^connection: keep-alive/im)
    }
  })
})

test('H12 noise on a connection that is being answered is not answered into the middle of that', async () => {
  using stream = await openSse(served)
  using call = openWire(served.port, bytesOf(served, { path: '/healthz', headers: { Connection: 'keep-alive' } }))
  await call.until(/"ok":true/)
  for (const wire of [stream, call]) {
    wire.socket.write('\r\n\r\nNOISE \0\0\r\n\r\n')
    await closing(wire)
  }
  expect(repliesIn(call.heard()).map((reply) => reply.status)[0]).toBe(200)
  expect([...stream.heard().matchAll(/HTTP\/1\.1/g)]).toHaveLength(1)
  using closed = openWire(served.port, Buffer.concat([bytesOf(served, { method: 'PUT' }), Buffer.from('NOISE \0\r\n\r\n')]))
  expect(repliesIn(await closing(closed)).map((reply) => reply.status)).toEqual([405])
})

test('upgrades: nobody gets one, and who may not come in is not told more', async () => {
  const shake = {
    Connection: 'Upgrade',
    Upgrade: 'websocket',
    'Sec-WebSocket-Version': '13',
    'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
  }
  const status = async (path: string, headers: Ask['headers'], method = 'GET'): Promise<number | undefined> =>
    (await exchange(served.port, bytesOf(served, { method, path, headers: { ...shake, ...headers } })))[0]?.status
  for (const path of ['/', '/mcp', '/sse', '/healthz', '/ws'])
    for (const method of ['GET', 'POST']) {
      expect([426, 404, 405], path).toContain(await status(path, {}, method))
      expect([401, 426, 429, 405], path).toContain(await status(path, { Authorization: null }, method))
      expect(await status(path, { Origin: 'https://evil.example' }, method)).toBe(403)
      expect(await status(path, { Origin: 'null' }, method)).toBe(403)
      expect(await status(path, { Host: 'evil.example' }, method)).toBe(403)
    }
  expect(await status('/mcp', { Authorization: null })).toBe(401)
  expect(await status('/mcp', { Upgrade: 'h2c', 'HTTP2-Settings': 'AAMAAABkAAQAAP__' })).not.toBe(101)
  await nothingDone(world, served)
})

describe('addresses to listen on', () => {
  /** Starts it and tells what it said; where it runs, it is stopped. */
  async function start(args: string[]): Promise<{ out: string; err: string; code: number | null }> {
    const child = spawn(process.execPath, [program, 'serve', '--project', world.project, '--port', '0', '--json', ...args], {
      env: cleanEnv(dirname(world.project)),
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let [out, err] = ['', '']
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      out += text
      child.kill('SIGTERM')
    })
    child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
    const [code] = (await once(child, 'close')) as [number | null]
    return { out, err, code }
  }

  const every = ['0.0.0.0', '0:0:0:0:0:0:0:0', '::0.0.0.0', '::ffff:0.0.0.0', '::ffff:0:0', '::%lo']

  test('every address at once is refused in every spelling, also where others may be reached', async () => {
    const ends = await Promise.all(every.map(async (host) => ({ host, ...(await start(['--host', host, '--allow-remote'])) })))
    expect(ends.filter(({ out }) => out !== '').map(({ host }) => host)).toEqual([])
    for (const { err } of ends) expect(err).toContain('E_BAD_ARGS')
  })

  test('an address that others can reach is refused unless it was asked for in so many words', async () => {
    const own = Object.values(networkInterfaces())
      .flatMap((one) => one ?? [])
      .filter((one) => !one.internal && !one.address.startsWith('fe80'))
      .map((one) => one.address)
    const names = ['0.0.0.0', '::', '127.0.0.1.nip.io', '127.1', '', '::ffff:127.0.0.1']
    const ends = await Promise.all([...own, ...names].map(async (host) => ({ host, ...(await start(['--host', host])) })))
    for (const { host, out, err, code } of ends)
      expect([host, out, code !== 0, err.includes('E_BAD_ARGS')]).toEqual([host, '', true, true])
  })
})

describe('calls whose connection is dropped', () => {
  const write = { path: 'package.json', content: after, dryRun: false }
  const ends = (other: World, client: string): AuditLine[] =>
    linesOf(other, client).filter((line) => line.event === 'call.end' || line.event === 'call.read')

  /** Every way to have a call under way, and to go away. */
  const ways: Record<string, (serving: Served, message: Ask & { body: string }, client: string) => Promise<Wire>> = {
    'http 2026': async (serving, message) => openWire(serving.port, bytesOf(serving, message)),
    'http 2025': async (serving, message, name) => {
      const { params, method } = JSON.parse(message.body) as { method: string; params: { name: string; arguments: object } }
      const session = await beginSession(serving, { name })
      return openWire(
        serving.port,
        bytesOf(
          serving,
          session.ask({ jsonrpc: '2.0', id: 5, method, params: { name: params.name, arguments: params.arguments } }),
        ),
      )
    },
    sse: async (serving, message, name) => {
      const { params, method } = JSON.parse(message.body) as { method: string; params: { name: string; arguments: object } }
      const stream = await openSse(serving, { name })
      await stream.post({ jsonrpc: '2.0', id: 5, method, params: { name: params.name, arguments: params.arguments } })
      return stream
    },
  }

  for (const [way, begin] of Object.entries(ways)) {
    test(`${way}: dropped while it waits for a person, it is over, and a yes that comes later writes nothing`, async () => {
      await using other = await openWorld({ files })
      await using serving = await openServe(other.project, { args: lands })
      using wire = await begin(serving, call('write_to_file', write, { name: 'gone' }), 'gone')
      const { id } = await asked(other)
      wire.socket.destroy()
      const [end] = await eventually('its end', () => (ends(other, 'gone').length > 0 ? ends(other, 'gone') : undefined))
      expect(end).toMatchObject({ outcome: 'cancelled', tool: 'write_to_file' })
      other.runtime.approvals.decide(id, { approve: true, by: 'test' })
      await answersHonestly(serving)
      await pause(300)
      expect(other.read('package.json')).toBe(before)
      expect(other.runtime.approvals.get(id)?.state).toBe('approved')
      expect(linesOf(other, 'gone').filter((line) => line.event === 'call.start')).toEqual([])
    })

    test(`${way}: dropped at the very moment of the yes, it is done whole or not at all`, async () => {
      await using other = await openWorld({ files })
      await using serving = await openServe(other.project, { args: lands })
      for (let round = 0; round < 4; round++) {
        const client = `gone-${round}`
        using wire = await begin(serving, call('write_to_file', write, { name: client }), client)
        const { id } = await asked(other)
        setTimeout(() => wire.socket.destroy(), round * 40)
        other.runtime.approvals.decide(id, { approve: true, by: 'test' })
        const [end] = await eventually('its end', () => (ends(other, client).length > 0 ? ends(other, client) : undefined))
        const done = end?.outcome === 'ok'
        expect(other.read('package.json')).toBe(done ? after : before)
        expect(end?.snapshots?.length ?? 0).toBe(done ? 1 : 0)
        other.write('package.json', before)
        // A yes nobody used answers nobody else: the next round asks anew.
      }
      expect(other.runtime.audit.verify()).toMatchObject({ whole: true })
    })

    test(`${way}: a long search ends with the one who asked for it, and does not stand in the way of others`, async () => {
      const trap = `${'a'.repeat(5_000)}!\n`.repeat(50)
      const traps = Array.from({ length: 20 }, (_, index) => [`trap/${index}.txt`, trap])
      await using other = await openWorld({ files: { ...files, ...Object.fromEntries(traps) } })
      await using serving = await openServe(other.project)
      // Only JavaScript knows this pattern, and it would be at it until the time for searching is over.
      const search = call('search_files', { path: 'trap', regex: '^(?=(a+)+$)' }, { name: 'gone' })
      const began = cpuSeconds(serving)
      const wires = [await begin(serving, search, 'gone'), await begin(serving, search, 'gone')]
      await eventually('the search under way', () => (cpuSeconds(serving) - began > 1 ? true : undefined))
      for (const { socket } of wires) socket.destroy()
      const [end] = await eventually('its end', () => (ends(other, 'gone').length > 1 ? ends(other, 'gone') : undefined))
      expect(end).toMatchObject({ tool: 'search_files', outcome: 'cancelled' })
      using next = openWire(serving.port, bytesOf(serving, call('search_files', { path: 'b.txt', regex: '(?=b)b0' })))
      await eventually('the answer to another search', () => (next.heard().includes('"line":1') ? true : undefined), 8_000)
    })
  }

  test('a session that is ended takes its waiting calls with it', async () => {
    await using other = await openWorld({ files })
    await using serving = await openServe(other.project, { args: lands })
    const session = await beginSession(serving, { name: 'gone' })
    using _ = openWire(serving.port, bytesOf(serving, session.ask(toolCall(3, 'write_to_file', write))))
    const { id } = await asked(other)
    expect((await say(serving, session.ask(undefined, { method: 'DELETE' }))).status).toBe(200)
    await eventually('its end', () => ends(other, 'gone')[0])
    other.runtime.approvals.decide(id, { approve: true, by: 'test' })
    await pause(300)
    expect(other.read('package.json')).toBe(before)
  })
})

describe('messages that are none', () => {
  const broken: [string, Buffer | string][] = [
    ['nothing', ''],
    ['a space', ' '],
    ['half', '{"jsonrpc":"2.0","id":1,"method":"tools/list"'],
    ['a comma too many', '{"jsonrpc":"2.0","id":1,"method":"ping",}'],
    ['single quotes', "{'jsonrpc':'2.0'}"],
    ['two messages', '{"jsonrpc":"2.0","id":1,"method":"ping"}{"jsonrpc":"2.0","id":2,"method":"ping"}'],
    ['a number', '7'],
    ['a text', '"ping"'],
    ['null', 'null'],
    ['true', 'true'],
    ['an empty batch', '[]'],
    ['an empty object', '{}'],
    ['a batch of numbers', '[1,2,3]'],
    ['a batch in a batch', '[[{"jsonrpc":"2.0","id":1,"method":"ping"}]]'],
    ['NaN', '{"jsonrpc":"2.0","id":NaN,"method":"ping"}'],
    ['not UTF-8', Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ['UTF-8 cut short', Buffer.from('{"a":"é"}').subarray(0, 7)],
    ['too long UTF-8', Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xc0, 0xaf]), Buffer.from('"}')])],
    ['a surrogate in UTF-8', Buffer.concat([Buffer.from('{"a":"'), Buffer.from([0xed, 0xa0, 0x80]), Buffer.from('"}')])],
    ['UTF-16', Buffer.from('{"jsonrpc":"2.0","id":1,"method":"ping"}', 'utf16le')],
    ['zeros', Buffer.alloc(1_000)],
    ['noise', randomBytes(100_000)],
    [
      'a batch of 100,000',
      `[${'{"jsonrpc":"2.0","id":1,"method":"ping"},'.repeat(99_999)}{"jsonrpc":"2.0","id":1,"method":"ping"}]`,
    ],
    ['deep lists', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['deep objects', `${'{"a":'.repeat(100_000)}1${'}'.repeat(100_000)}`],
    ['deep lists without an end', '['.repeat(1_000_000)],
    [
      'a deep argument',
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_file","arguments":${'['.repeat(10_000)}${']'.repeat(10_000)}}}`,
    ],
    ['another version', '{"jsonrpc":"1.0","id":1,"method":"ping"}'],
    ['no version', '{"id":1,"method":"ping"}'],
    ['a method that is none', '{"jsonrpc":"2.0","id":1,"method":7}'],
    ['params that are none', '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":"x"}'],
    ['an id that is an object', '{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}'],
    ['an id that is a list', '{"jsonrpc":"2.0","id":[1],"method":"ping"}'],
    ['an id that is true', '{"jsonrpc":"2.0","id":true,"method":"ping"}'],
    ['a result and an error', '{"jsonrpc":"2.0","id":1,"result":{},"error":{"code":1,"message":"x"}}'],
  ]

  test('broken JSON, bytes that are no text, and what is no message: refused, over /mcp and /messages, and the next is answered', async () => {
    const session = await beginSession(served)
    using stream = await openSse(served)
    for (const [what, body] of broken)
      for (const path of ['/mcp', '/mcp with a session', stream.address]) {
        const headers = path.endsWith('session') ? (session.ask({}).headers ?? {}) : {}
        const { status } = await say(served, { path: path.split(' ')[0] as string, body, headers })
        expect(status, `${what} at ${path}`).toBeGreaterThanOrEqual(400)
        expect(status, `${what} at ${path}`).toBeLessThan(500)
      }
    expect(served.stderr()).not.toMatch(/unexpected fault|at .*\.cjs/)
    await stream.post(toolCall('still', 'read_file', { path: 'b.txt' }))
    await stream.until(/"id":"still"/)
    expect(contentIn(await say(served, session.ask(toolCall(9, 'read_file', { path: 'b.txt' }))))).toBe('b0\n')
    await answersHonestly(served)
  })

  test('strange ids come back as they are, or are refused; none breaks anything', async () => {
    const session = await beginSession(served)
    using stream = await openSse(served)
    const ids = [
      'null',
      '0',
      '-1',
      '1.5',
      '1e3',
      '9007199254740993',
      '1e400',
      '""',
      '"__proto__"',
      '"constructor"',
      '"\\u0000"',
      '"\\ud800"',
      JSON.stringify('i'.repeat(100_000)),
    ]
    for (const id of ids) {
      const body = `{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":{"name":"read_file","arguments":{"path":"b.txt"}}}`
      const read = call('read_file', { path: 'b.txt' })
      const replies = [
        await say(served, { body, headers: session.ask({}).headers ?? {} }),
        await say(served, { ...read, body: read.body.replace('"id":1', `"id":${id}`) }),
      ]
      for (const reply of replies) {
        expect([200, 202, 400], id.slice(0, 30)).toContain(reply.status)
        if (reply.status === 200) expect([JSON.parse(id), null, undefined]).toContainEqual(messagesIn(reply.body)[0]?.id)
      }
      expect([202, 400], id.slice(0, 30)).toContain((await say(served, { path: stream.address, body })).status)
    }
    await answersHonestly(served)
  })

  test('CVE-2026-0621: addresses of 50 kB that take others for ever cost nothing here', async () => {
    await using other = await openWorld({ files })
    await using serving = await openServe(other.project)
    const session = await beginSession(serving)
    using stream = await openSse(serving)
    const uris = [
      ',',
      '/',
      '{',
      '}',
      '{/id*}',
      '{?a,b*}',
      '%',
      '%2c',
      '..',
      '\\',
      ':',
      '@',
      '[',
      'é',
      '\u202e',
      '\0',
      'snap_',
    ].flatMap((unit) => {
      const many = unit.repeat(Math.ceil(50_000 / unit.length))
      return [many, `handrail://audit/${many}`, `handrail://snapshots/${many}`]
    })
    await answersHonestly(serving)
    const began = cpuSeconds(serving)
    for (const [id, uri] of uris.entries()) {
      const params = { uri }
      const refused = [
        await say(serving, session.ask({ jsonrpc: '2.0', id: id + 10, method: 'resources/read', params })),
        await say(serving, modern('resources/read', params)),
      ]
      for (const reply of refused) expect(messagesIn(reply.body)[0]?.result).toBeUndefined()
      expect([202, 413]).toContain((await stream.post({ jsonrpc: '2.0', id: id + 10, method: 'resources/read', params })).status)
      const completing = { ref: { type: 'ref/resource', uri }, argument: { name: 'id', value: uri } }
      await stream.post({ jsonrpc: '2.0', id: `c${id}`, method: 'completion/complete', params: completing })
    }
    await stream.post({ jsonrpc: '2.0', id: 'last', method: 'ping' })
    await stream.until(/"id":"last"/)
    expect(stream.heard()).not.toMatch(/"contents"/)
    expect(cpuSeconds(serving) - began).toBeLessThan(uris.length * 0.2)
    await answersHonestly(serving)
  })
})

test('answers to a form that are none approve nothing, and the call still ends', async () => {
  await using other = await openWorld({ files })
  await using serving = await openServe(other.project, { args: [...lands, '--ask-over-http'] })
  const session = await beginSession(serving, { capabilities: { elicitation: { form: {} } } })
  const answers: object[] = [
    { result: {} },
    { result: { action: 'approve' } },
    { result: { action: 'accept' } },
    { result: { action: 'accept', content: null } },
    { result: { action: 'accept', content: [] } },
    { result: { action: 'accept', content: 'approve' } },
    { result: { action: 'accept', content: { decision: ['approve'] } } },
    { result: { action: 'accept', content: { decision: 'APPROVE' } } },
    { result: { action: 'accept', content: { decision: 'decline', Decision: 'approve' } } },
    { result: { action: 'accept', content: { ['__proto__']: { decision: 'approve' } } } },
    { result: { action: 'decline', content: { decision: 'approve' } } },
    { result: { action: 'cancel', content: { decision: 'approve' } } },
    { error: { code: 0, message: 'approve' } },
    { error: 'approve' },
  ]
  for (const [index, answer] of answers.entries()) {
    const write = { path: 'package.json', content: `{ "name": "evil ${index}" }\n`, dryRun: false }
    using waiting = openWire(serving.port, bytesOf(serving, session.ask(toolCall(index, 'write_to_file', write))))
    const [, question] = await waiting.until(/data: (\{.*"elicitation\/create".*\})/)
    const { id } = JSON.parse(question as string) as { id: number }
    const { status } = await say(serving, session.ask({ jsonrpc: '2.0', id, ...answer }))
    // What is not even a message is refused, and the form stays open.
    if (status === 202) await waiting.until(/E_POLICY_VIOLATION/)
    else expect(status).toBe(400)
    expect([JSON.stringify(answer), other.read('package.json')]).toEqual([JSON.stringify(answer), before])
  }
  expect(other.runtime.approvals.list('approved')).toEqual([])
  expect(other.runtime.approvals.list('used')).toEqual([])
})

/** A client in a process of its own: a stream of each kind and a call that waits. It says when it has them. */
function killable(): void {
  const { connect } = process.getBuiltinModule('node:net')
  const [port = '', ...requests] = process.argv.slice(1)
  let open = 0
  for (const request of requests) {
    const socket = connect(Number(port), '127.0.0.1', () => socket.write(Buffer.from(request, 'base64')))
    socket.once('data', () => ++open === requests.length - 1 && process.stdout.write('open\n'))
  }
}

test('a client that is killed mid stream leaves nothing open and nothing half done', async () => {
  await using other = await openWorld({ files })
  await using serving = await openServe(other.project, { args: lands })
  const idle = socketsOf(serving)
  const session = await beginSession(serving)
  const requests = [
    { path: '/sse' },
    session.ask(undefined, { method: 'GET' }),
    listening(),
    call('write_to_file', { path: 'package.json', content: after, dryRun: false }, { name: 'gone' }),
  ].map((ask) => bytesOf(serving, ask).toString('base64'))
  const child = spawn(process.execPath, ['-e', `(${killable.toString()})()`, String(serving.port), ...requests], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const gone = once(child, 'close')
  try {
    await once(child.stdout, 'data')
    const { id } = await asked(other)
    child.kill('SIGKILL')
    await gone
    await eventually('the end of its connections', () => (socketsOf(serving) <= idle ? true : undefined))
    await eventually('the end of its call', () => linesOf(other, 'gone').find((line) => line.outcome === 'cancelled'))
    other.runtime.approvals.decide(id, { approve: true, by: 'test' })
    await answersHonestly(serving)
    await pause(300)
    expect(other.read('package.json')).toBe(before)
  } finally {
    child.kill('SIGKILL')
    await gone
  }
})

test('SIGTERM with streams, waiting calls, half a body and a reader who does not read: gone at once, cleanly, and nothing secret was said', async () => {
  await using other = await openWorld({ files: { ...files, 'large.txt': large } })
  const child = spawn(process.execPath, [program, 'serve', '--project', other.project, '--port', '0', '--json', ...lands], {
    env: cleanEnv(other.base),
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const gone = once(child, 'close') as Promise<[number | null, string | null]>
  let [out, err] = ['', '']
  child.stdout.setEncoding('utf8').on('data', (text: string) => (out += text))
  child.stderr.setEncoding('utf8').on('data', (text: string) => (err += text))
  const wires: Wire[] = []
  try {
    const { url, pid } = await eventually('its first line', () =>
      out.includes('\n') ? (JSON.parse(out) as { url: string; pid: number }) : undefined,
    )
    const { token } = other.runtime.token()
    const serving = { url, pid, port: Number(new URL(url).port), token, stderr: () => err } as Served
    const session = await beginSession(serving)
    const stream = await openSse(serving)
    const open = (ask: Ask): Wire => {
      const wire = openWire(serving.port, bytesOf(serving, ask))
      wires.push(wire)
      return wire
    }
    wires.push(stream)
    await Promise.all([
      open(session.ask(undefined, { method: 'GET' })).until(/event-stream/),
      open(listening()).until(/acknowledged/),
    ])
    open(call('write_to_file', { path: 'package.json', content: after, dryRun: false }, { name: 'gone' }))
    open({ method: 'POST', headers: { 'Content-Type': 'application/json', 'Content-Length': '1000' } })
    const stalled = open({ path: '/healthz' })
    stalled.socket.pause()
    stalled.socket.write(bytesOf(serving, call('read_file', { path: 'large.txt' })))
    await say(serving, { ...evil, headers: { ...evil.headers, Authorization: `Bearer ${token}x` } })
    const { id } = await asked(other)
    child.kill('SIGTERM')
    // What is still sent does not keep it.
    for (const { socket } of wires) if (socket.writable) socket.write(' ')
    const late = pause(20_000, undefined, { ref: false }).then(() => {
      throw new Error('it did not go')
    })
    expect(await Promise.race([gone, late])).toEqual([0, null])
    other.runtime.approvals.decide(id, { approve: true, by: 'test' })
    expect(other.read('package.json')).toBe(before)
    expect(err).toBe('')
    expect(out.trim().split('\n')).toHaveLength(1)
    for (const secret of [token, other.runtime.token('person').token, session.id, stream.address.split('=')[1] as string])
      for (const [what, text] of Object.entries({ out, err, audit: JSON.stringify([...other.runtime.audit.lines()]) }))
        expect([what, text.includes(secret)]).toEqual([what, false])
    expect(other.runtime.audit.verify()).toMatchObject({ whole: true })
  } finally {
    for (const { socket } of wires) socket.destroy()
    child.kill('SIGKILL')
    await gone
  }
})

test('H07 no secret was ever said or written down, whatever came in', async () => {
  const { stdout } = { stdout: served.stderr() }
  const text = stdout + JSON.stringify([...world.runtime.audit.lines()]) + JSON.stringify(world.runtime.sessions())
  for (const secret of [served.token, world.runtime.token('person').token]) expect(text.includes(secret)).toBe(false)
  const shown = await runCli(world.project, ['audit', 'show'])
  expect(shown.out.includes(served.token)).toBe(false)
  expect(world.runtime.audit.verify()).toMatchObject({ whole: true })
})

describe('H09 those who took their time all along', () => {
  test('H09 silent connections, and headers that come a byte a second, are closed', async () => {
    const ends = await Promise.all(patience.silent.map((wire) => closing(wire)))
    for (const end of ends) expect(end).not.toMatch(/^HTTP\/1\.1 2/)
  })

  test('H09 a body that comes a byte a second is given up, and held nobody up', async () => {
    const ends = await Promise.all(patience.bodies.map((wire) => closing(wire, 50_000)))
    for (const end of ends) expect(end).not.toMatch(/^HTTP\/1\.1 2/)
    await nothingDone(patience.world, patience.served)
  })

  test('H09 a client that reads slowly, but all the time, gets the whole of its answer', async () => {
    const text = await closing(patience.reader, 50_000)
    expect(repliesIn(text, false).map((reply) => reply.status)).toEqual([200])
  })

  test('H09 clients that ask once, or again and again, and never read are let go in the end', { timeout: 150_000 }, async () => {
    await eventually(
      'the end of their connections',
      () => (socketsOf(patience.stalling) <= patience.idle ? true : undefined),
      120_000,
    )
    await answersHonestly(patience.stalling)
    expect(megabytes(patience.stalling)).toBeLessThan(1_200)
  })
})
