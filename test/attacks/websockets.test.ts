import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { createInterface } from 'node:readline'
import { afterEach, expect, test, vi } from 'vitest'
import { WebSocket, type ClientOptions } from 'ws'
import { openPeers } from '../../src/host/peer.ts'
import { answer, listen, type ListenOptions, type Route } from '../../src/surfaces/listen.ts'
import type { WebSocketPeer } from '../../src/surfaces/websockets.ts'
import { bytesOf, type Ask, closing, eventually, exchange, openWire, type Wire } from '../support/sockets.ts'
import { sweep } from '../support/soak.ts'

// Hostile ends of a WebSocket, against the one listener.

const token = randomBytes(32).toString('base64url')
const open: (() => Promise<unknown>)[] = []

afterEach(async () => {
  vi.useRealTimers()
  for (const close of open.splice(0).toReversed()) await close()
})

interface Ground {
  port: number
  token: string
  close(): Promise<void>
  /** Those who were let in, and what they said. */
  peers: WebSocketPeer[]
  heard: (string | Buffer)[]
}

/** The listener with a socket that says everything back, for an agent, for a person and for anyone. */
async function openGround(options: Partial<ListenOptions> = {}, longest?: number): Promise<Ground> {
  const peers: WebSocketPeer[] = []
  const heard: (string | Buffer)[] = []
  const echo = (whose: Route['for']): Route => ({
    for: whose,
    methods: ['GET'],
    handle: ({ response }) => answer(response, 200, { plain: true }),
    webSocket: {
      protocols: ['echo.v1'],
      ...(longest !== undefined && { longest }),
      open(peer) {
        peers.push(peer)
        return {
          message(data) {
            heard.push(data)
            if (data === 'throw') throw new Error('what a route should not do')
            void peer.send(String(data))
          },
        }
      },
    },
  })
  const listening = await listen({
    host: '127.0.0.1',
    port: 0,
    allowRemote: false,
    allowOrigins: ['https://studio.example'],
    requestsPerSecond: 5_000,
    peers: openPeers(),
    token,
    isPerson: (request) => request.headers.cookie === 'person=yes',
    isPersonKey: () => false,
    page: { name: 'own.localhost', basePath: '/p/room', detour: { ...echo('anyone'), webSocket: undefined } as never },
    routes: {
      '/agent': echo('agent'),
      '/person': echo('person'),
      '/anyone': echo('anyone'),
      '/plain': { for: 'agent', methods: ['GET'], handle: ({ response }) => answer(response, 200, {}) },
      '/never': { for: 'agent', methods: ['GET'], handle: () => undefined },
    },
    ...options,
  })
  open.push(() => listening.close())
  return { port: listening.port, token, close: () => listening.close(), peers, heard }
}

const shake = (): Record<string, string> => ({
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
})

const status = async (ground: Ground, path: string, headers: Ask['headers'] = {}, method = 'GET'): Promise<number> => {
  const wire = openWire(ground.port, bytesOf(ground, { method, path, headers: { ...shake(), ...headers } }))
  using _ = wire
  return Number((await wire.until(/^HTTP\/1\.1 (\d+)[^]*?\r\n\r\n/))[1])
}

/** A good client. */
async function openClient(ground: Ground, options: ClientOptions = {}): Promise<WebSocket> {
  const headers = { Authorization: `Bearer ${token}`, ...options.headers }
  const socket = new WebSocket(`ws://127.0.0.1:${ground.port}/agent`, { perMessageDeflate: false, ...options, headers })
  socket.on('error', () => undefined)
  open.push(async () => socket.terminate())
  await once(socket, 'open')
  return socket
}

async function says(socket: WebSocket, text: string): Promise<string> {
  const back = once(socket, 'message')
  socket.send(text)
  return String((await back)[0])
}

/** Bytes on a connection that was upgraded. */
async function openRaw(ground: Ground, path = '/agent', headers: Ask['headers'] = {}): Promise<Wire> {
  const wire = openWire(ground.port, bytesOf(ground, { path, headers: { ...shake(), ...headers } }))
  open.push(async () => wire.socket.destroy())
  await wire.until(/^HTTP\/1\.1 101 [^]*?\r\n\r\n/)
  return wire
}

/** One frame, as a client must mask it; `claims` is the length it says it has. */
function frame(first: number, body: Buffer = Buffer.alloc(0), claims = body.length): Buffer {
  const head = claims < 126 ? Buffer.from([first, 0x80 | claims]) : Buffer.alloc(10)
  if (claims >= 126) {
    head[0] = first
    head[1] = 0xff
    head.writeBigUInt64BE(BigInt(claims), 2)
  }
  // A mask of zeros changes nothing.
  return Buffer.concat([head, Buffer.alloc(4), body])
}
const text = 0x81
const [firstPart, nextPart, ping, pong] = [0x01, 0x00, 0x89, 0x8a]

/** The code it was closed with; 0 where the connection ended without one. */
async function codeOf(wire: Wire): Promise<number> {
  const bytes = Buffer.from((await closing(wire)).replace(/^[^]*?\r\n\r\n/, ''), 'latin1')
  // What came before the last frame is not looked at: the closing one has a short reason.
  for (let at = 0; at < bytes.length - 3; at++)
    if (bytes[at] === 0x88 && (bytes[at + 1] as number) >= 2 && at + 2 + (bytes[at + 1] as number) === bytes.length)
      return bytes.readUInt16BE(at + 2)
  return 0
}

test('an upgrade is judged like any request, before anybody sees it: Host, Origin, credential, method, route', async () => {
  const ground = await openGround()
  for (const path of ['/agent', '/person', '/anyone', '/plain', '/none']) {
    for (const Host of ['evil.example', `evil.example:${ground.port}`, `127.0.0.1:${ground.port + 1}`, ''])
      expect([path, Host, await status(ground, path, { Host })]).toEqual([path, Host, 403])
    expect(await status(ground, path, { Host: [`127.0.0.1:${ground.port}`, 'evil.example'] })).toBeGreaterThanOrEqual(400)
    for (const Origin of ['https://evil.example', 'null', `http://127.0.0.1:${ground.port + 1}`, 'http://127.0.0.1'])
      expect([path, Origin, await status(ground, path, { Origin })]).toEqual([path, Origin, 403])
  }
  const strangers: Ask['headers'][] = [
    { Authorization: null },
    { Authorization: `Bearer ${token}x` },
    { Authorization: null, 'Sec-WebSocket-Protocol': `bearer, ${token}` },
    { Authorization: null, Cookie: `token=${token}` },
    { Authorization: null, Cookie: 'person=yes' },
  ]
  for (const headers of strangers) expect([headers, await status(ground, '/agent', headers)]).toEqual([headers, 401])
  expect(await status(ground, `/agent?token=${token}`, { Authorization: null })).toBe(401)
  expect(await status(ground, '/agent', {}, 'POST')).toBe(405)
  expect(await status(ground, '/plain')).toBe(426)
  expect(await status(ground, '/none')).toBe(404)
  expect(await status(ground, '/agent', { Upgrade: 'h2c' })).toBe(400)
  expect(await status(ground, '/agent', { 'Sec-WebSocket-Version': '12' })).toBe(400)
  expect(await status(ground, '/agent', { 'Sec-WebSocket-Key': 'short' })).toBe(400)
  expect(ground.peers).toEqual([])
  expect(await status(ground, '/agent')).toBe(101)
  expect(await status(ground, '/agent', { Origin: 'https://studio.example' })).toBe(101)
  expect(await status(ground, '/anyone', { Authorization: null })).toBe(101)
  expect((await exchange(ground.port, bytesOf(ground, { path: '/agent' })))[0]).toMatchObject({ status: 200 })
  expect(ground.peers).toHaveLength(3)
})

test("a person's socket is opened by our own pages alone, whoever has the cookie", async () => {
  const ground = await openGround()
  const Cookie = 'person=yes'
  const own = { Cookie, Origin: `http://127.0.0.1:${ground.port}`, Authorization: null }
  const path = '/p/room/person'
  expect(await status(ground, '/person')).toBe(401)
  expect(await status(ground, path, { Origin: own.Origin })).toBe(401)
  expect(await status(ground, '/person', own)).toBe(401)
  expect(await status(ground, path, { ...own, Origin: null })).toBe(403)
  expect(await status(ground, path, { ...own, Origin: 'https://studio.example' })).toBe(403)
  expect(await status(ground, path, { ...own, 'Sec-Fetch-Site': 'same-site' })).toBe(403)
  expect(await status(ground, path, { ...own, 'Sec-Fetch-Dest': 'document' })).toBe(403)
  // No agent's route is found in the person's room.
  expect(await status(ground, '/p/room/agent', { ...own, Authorization: `Bearer ${token}` })).toBe(401)
  expect(ground.peers).toEqual([])
  expect(await status(ground, path, { ...own, 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Dest': 'websocket' })).toBe(101)
})

test('upgrades beyond the rate are told to wait, and messages beyond it end the connection', async () => {
  const ground = await openGround({ requestsPerSecond: 20 })
  const wire = await openRaw(ground)
  wire.socket.write(Buffer.concat(Array.from({ length: 500 }, () => frame(text, Buffer.from('x')))))
  expect(await codeOf(wire)).toBe(1008)
  expect(ground.heard.length).toBeLessThan(200)
  const seen = await Promise.all(Array.from({ length: sweep(300, 150) }, () => status(ground, '/agent')))
  expect(seen).toContain(429)
})

test('a good client: sub-protocol, text and bytes, pings, the end of the listener', async () => {
  const ground = await openGround()
  const socket = new WebSocket(`ws://127.0.0.1:${ground.port}/agent`, ['other', 'echo.v1'], {
    headers: { Authorization: `Bearer ${token}` },
  })
  await once(socket, 'open')
  expect([socket.protocol, socket.extensions]).toEqual(['echo.v1', ''])
  expect(await says(socket, 'hé')).toBe('hé')
  expect(await says(socket, 'x'.repeat(500_000))).toHaveLength(500_000)
  socket.send(Buffer.from([1, 2]))
  await eventually('bytes', () => ground.heard.find((one) => Buffer.isBuffer(one)))
  const answered = once(socket, 'pong')
  socket.ping('are you there')
  expect(String((await answered)[0])).toBe('are you there')
  const over = once(socket, 'close')
  open.pop()
  await ground.close()
  expect((await over)[0]).toBe(1001)
})

test('a message beyond the bound is refused by its length, in one frame or in many, before it is there', async () => {
  const ground = await openGround()
  const whole = await openRaw(ground)
  whole.socket.write(frame(text, Buffer.from('x'), 2 << 20))
  expect(await codeOf(whole)).toBe(1009)
  const huge = await openRaw(ground)
  huge.socket.write(frame(text, Buffer.from('x'), 2 ** 52))
  expect(await codeOf(huge)).toBe(1009)
  const parts = await openRaw(ground)
  parts.socket.write(frame(firstPart, Buffer.alloc(600_000, 'x')))
  parts.socket.write(frame(nextPart, Buffer.alloc(600_000, 'x')))
  expect(await codeOf(parts)).toBe(1009)
  expect(ground.heard).toEqual([])
})

test('fragments without an end are not gathered for ever', async () => {
  const ground = await openGround()
  const wire = await openRaw(ground)
  wire.socket.write(frame(firstPart))
  wire.socket.write(Buffer.concat(Array.from({ length: 20_000 }, () => frame(nextPart))))
  expect(await codeOf(wire)).toBe(1008)
  expect(ground.heard).toEqual([])
})

test('frames that are none: reserved bits and kinds, no mask, half a letter, a fragment that nothing begins', async () => {
  const ground = await openGround()
  const bad: [string, Buffer, number][] = [
    // Compressed, as nobody agreed to: what it would unfold to is never known.
    ['compressed', frame(0xc1, Buffer.from([0xab, 0x00])), 1002],
    ['a kind that is none', frame(0x83), 1002],
    ['no mask', Buffer.from([text, 1, 0x78]), 1002],
    ['not UTF-8', frame(text, Buffer.from([0xc0, 0xaf])), 1007],
    ['a part of nothing', frame(0x80), 1002],
    ['a ping in parts', frame(0x09), 1002],
    ['a long ping', frame(ping, Buffer.alloc(200)), 1002],
    ['another request', bytesOf(ground, { path: '/agent', headers: shake() }), 1002],
  ]
  for (const [what, bytes, code] of bad) {
    const wire = await openRaw(ground)
    wire.socket.write(bytes)
    expect([what, await codeOf(wire)]).toEqual([what, code])
    expect(wire.heard().match(/HTTP\/1\.1/g)).toHaveLength(1)
  }
  expect(ground.heard).toEqual([])
})

test('compression is not agreed to, whatever is offered: a small frame cannot become a large message', async () => {
  const ground = await openGround()
  const socket = await openClient(ground, { perMessageDeflate: true })
  expect(socket.extensions).toBe('')
  const offers = 'permessage-deflate; client_max_window_bits; server_no_context_takeover, x-webkit-deflate-frame'
  const wire = await openRaw(ground, '/agent', { 'Sec-WebSocket-Extensions': offers })
  expect(wire.heard()).not.toMatch(/extensions/i)
})

for (const [what, kind] of [
  ['pings', ping],
  ['pongs nobody asked for', pong],
] as const)
  test(`a flood of ${what} ends the connection it comes on, and nobody else's`, async () => {
    const ground = await openGround()
    const other = await openClient(ground)
    const wire = await openRaw(ground)
    wire.socket.write(Buffer.concat(Array.from({ length: 50_000 }, () => frame(kind, Buffer.from('x')))))
    expect(await codeOf(wire)).toBe(1008)
    // Each of those that were answered is three bytes.
    expect(wire.heard().length).toBeLessThan(1_000)
    expect(await says(other, 'still here')).toBe('still here')
  })

test('who does not read is let go before much waits for it, and whoever sends is told', async () => {
  const ground = await openGround()
  const wire = await openRaw(ground)
  wire.socket.pause()
  const peer = ground.peers[0] as WebSocketPeer
  const piece = 'x'.repeat(1 << 18)
  let sent = true
  for (let times = 0; times < 400 && sent; times++) {
    const taken = peer.send(piece)
    expect(peer.unread()).toBeLessThan(5 << 20)
    // Not waited for: as a route would that tells of events.
    sent = await Promise.race([taken, new Promise<true>((resolve) => setImmediate(resolve, true))])
  }
  expect(sent).toBe(false)
  expect(await peer.send('one more')).toBe(false)
  const other = await openClient(ground)
  expect(await says(other, 'still here')).toBe('still here')
})

test('messages that are never finished are held for all connections together only so far', async () => {
  const ground = await openGround({}, 16 << 20)
  const wires: Wire[] = []
  for (let count = 0; count < 8; count++) {
    const wire = await openRaw(ground)
    wires.push(wire)
    wire.socket.write(Buffer.concat([frame(text, Buffer.alloc(0), 12 << 20), Buffer.alloc(11 << 20)]))
  }
  await Promise.race(wires.map((wire) => wire.ended))
  const other = await openClient(ground)
  expect(await says(other, 'still here')).toBe('still here')
  const staying = wires.filter(({ socket }) => !socket.destroyed)
  expect(staying.length).toBeGreaterThan(0)
  expect(staying.length).toBeLessThan(8)
})

test('an end that answers no heartbeat is gone, one that does stays', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const ground = await openGround({ heartbeatMs: 1_000 })
  const silent = await openRaw(ground)
  const halfOpen = await openRaw(ground)
  const alive = await openClient(ground)
  // It has hung up in one direction only.
  halfOpen.socket.end()
  for (let beat = 0; beat < 6; beat++) {
    const asked = once(alive, 'ping')
    vi.advanceTimersByTime(1_000)
    await asked
    // Its answer to the heartbeat is before this on the wire.
    expect(await says(alive, 'still here')).toBe('still here')
  }
  await closing(silent)
  await closing(halfOpen)
  expect(alive.readyState).toBe(WebSocket.OPEN)
})

test('an upgrade behind an answer that is under way is refused, not mixed with it', async () => {
  const ground = await openGround()
  const waits = bytesOf(ground, { path: '/never', headers: { Connection: 'keep-alive' } })
  const wire = openWire(ground.port, Buffer.concat([waits, bytesOf(ground, { path: '/agent', headers: shake() })]))
  using _ = wire
  expect(await closing(wire)).not.toContain('101 ')
  expect(ground.peers).toEqual([])
})

test('a route that breaks ends its connection, says so, and nothing else ends', async () => {
  const ground = await openGround()
  const logged = vi.spyOn(console, 'error').mockImplementation(() => undefined)
  const socket = await openClient(ground)
  const other = await openClient(ground)
  const over = once(socket, 'close')
  socket.send('throw')
  expect((await over)[0]).toBe(1011)
  expect(logged).toHaveBeenCalled()
  logged.mockRestore()
  expect(await says(other, 'still here')).toBe('still here')
})

test('a stranger, where a route takes any, stays only once it has shown a credential', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'setTimeout', 'clearTimeout'] })
  const ground = await openGround()
  const connected = async (): Promise<Socket> => {
    const socket = connect(ground.port, '127.0.0.1')
    socket.on('error', () => undefined)
    open.push(async () => socket.destroy())
    socket.write(bytesOf(ground, { path: '/anyone', headers: { ...shake(), Authorization: null } }))
    await once(socket, 'data')
    return socket
  }
  const stays = await connected()
  expect(ground.peers[0]?.admit(`${token}x`)).toBe(false)
  expect(ground.peers[0]?.admit(token)).toBe(true)
  const goes = await connected()
  const gone = once(goes, 'close')
  vi.advanceTimersByTime(16_000)
  await gone
  expect(stays.destroyed).toBe(false)
})

/** Opens as many sockets as it gets, and says so once it has them. */
const greedy = `
  const net = require('node:net')
  const [port, token] = process.argv.slice(1)
  let open = 0
  const more = () => {
    const socket = net.connect(port, '127.0.0.1')
    socket.on('error', () => {})
    socket.write('GET /agent HTTP/1.1\\r\\nHost: 127.0.0.1:' + port + '\\r\\nAuthorization: Bearer ' + token +
      '\\r\\nConnection: Upgrade\\r\\nUpgrade: websocket\\r\\nSec-WebSocket-Version: 13\\r\\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\\r\\n\\r\\n')
    socket.once('data', () => { if (++open === 300) process.stdout.write('full\\n') })
    socket.once('close', () => setTimeout(more, 20))
  }
  for (let i = 0; i < 300; i++) more()`

test.runIf(process.platform === 'linux')('one process takes all connections for sockets, and another is let in', async () => {
  const ground = await openGround()
  const child = spawn(process.execPath, ['-e', greedy, String(ground.port), token], { stdio: ['ignore', 'pipe', 'inherit'] })
  try {
    await once(createInterface(child.stdout), 'line')
    for (let times = 0; times < sweep(10, 5); times++) {
      const socket = await openClient(ground)
      expect(await says(socket, `let in ${times}`)).toBe(`let in ${times}`)
    }
  } finally {
    child.kill('SIGKILL')
  }
})
