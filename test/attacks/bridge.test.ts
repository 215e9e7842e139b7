import { randomBytes } from 'node:crypto'
import { connect } from 'node:net'
import { afterEach, expect, vi } from 'vitest'
import { openRefusals, type Refused } from '../../src/surfaces/bridge/refusals.ts'
import { openBridgeWorld, openRawClient, protocol, token, type BridgeWorld, type RawClient } from '../support/bridge.ts'
import { proves } from '../support/proof.ts'
import { bytesOf, closing, eventually, openWire, type Ask } from '../support/sockets.ts'

// What pages and programs did to bridges like this one (the incidents of the facts, 5.2), against ours.

const open: AsyncDisposable[] = []
afterEach(async () => {
  vi.useRealTimers()
  for (const one of open.splice(0).toReversed()) await one[Symbol.asyncDispose]()
})

async function ground(options: Parameters<typeof openBridgeWorld>[0] = {}): Promise<BridgeWorld> {
  const one = await openBridgeWorld(options)
  open.push(one)
  return one
}
async function client({ url }: BridgeWorld, options: Parameters<typeof openRawClient>[1] = {}): Promise<RawClient> {
  const one = await openRawClient(url, options)
  open.push({ [Symbol.asyncDispose]: async () => one.socket.terminate() })
  return one
}
/** It still answers whoever behaves. */
async function lives(at: BridgeWorld): Promise<void> {
  const raw = await client(at)
  raw.ask('alive', 'dev.info')
  expect((await raw.response('alive')).ok).toBe(true)
}

const shake = (): Record<string, string> => ({
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
})

async function statusOf(at: BridgeWorld, ask: Ask): Promise<[number, string]> {
  using wire = openWire(at.port, bytesOf({ port: at.port, token }, ask))
  const [head, status] = await wire.until(/^HTTP\/1\.1 (\d+)[^]*?\r\n\r\n/)
  return [Number(status), head]
}

proves(
  ['bridge.untested.names', 'bridge.incident.origin', 'bridge.incident.host'],
  'a foreign Origin, "null", an address as Origin and a foreign Host are refused before anything is said',
  async () => {
    const at = await ground({ allowOrigins: ['https://studio.example'] })
    const upgrade = async (headers: Ask['headers']): Promise<number> =>
      (await statusOf(at, { path: '/', headers: { ...shake(), ...headers } }))[0]
    for (const Origin of [
      'https://evil.example',
      'null',
      'file://',
      'http://127.0.0.1',
      'http://10.0.0.1',
      'https://studio.example.evil',
      'http://studio.example',
    ])
      expect([Origin, await upgrade({ Origin })]).toEqual([Origin, 403])
    for (const Host of [
      'evil.example',
      `evil.example:${at.port}`,
      `127.0.0.1:${at.port + 1}`,
      `0127.1:${at.port}`,
      `localhost.:${at.port}`,
      '',
    ])
      expect([Host, await upgrade({ Host })]).toEqual([Host, 403])
    expect(await upgrade({ Host: null })).toBeGreaterThanOrEqual(400)
    expect(await upgrade({ Origin: 'https://studio.example' })).toBe(101)
    expect(await upgrade({})).toBe(101)
    expect(await upgrade({ Authorization: 'Bearer wrong' })).toBe(401)
    expect(await upgrade({ Authorization: null })).toBe(101)
    for (const path of ['/dev', '/x', '//']) expect((await statusOf(at, { path, headers: shake() }))[0]).toBe(404)
  },
)

proves(
  'bridge.incident.cors',
  'what is no WebSocket is told 426, with nothing of the request in the answer and nothing for other origins',
  async () => {
    const at = await ground()
    for (const Authorization of [null, `Bearer ${token}`]) {
      const [status, head] = await statusOf(at, { path: '/?reflect=me', headers: { Authorization } })
      expect(status).toBe(426)
      expect(head).toMatch(/x-content-type-options: nosniff/i)
      expect(head).not.toMatch(/access-control|reflect/i)
    }
    expect((await statusOf(at, { path: '/', method: 'POST', headers: { 'Content-Length': '0' } }))[0]).toBe(405)
    await lives(at)
  },
)

proves(
  'bridge.incident.token',
  'no token: nothing is said of the workspace, and the connection goes after five wrong messages or five seconds',
  async () => {
    const at = await ground()
    const guesser = await client(at, { own: null })
    for (let n = 0; n < 5; n++) guesser.ask(`${n}`, 'dev.workspace.snapshot', {}, { auth: { token: `guess ${n}` } })
    expect(await guesser.closed).toBe(1008)
    expect(guesser.heard.map(({ error }) => error?.code)).toEqual(Array(5).fill('ERR_UNAUTHORIZED'))
    expect(JSON.stringify(guesser.heard)).not.toContain(at.world.project)
    const babbler = await client(at, { own: null })
    for (let n = 0; n < 5; n++) babbler.say('nonsense')
    expect(await babbler.closed).toBe(1008)
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
    const silent = await client(at, { own: null })
    const known = await client(at)
    known.ask('k', 'dev.info')
    await known.response('k')
    vi.advanceTimersByTime(5_001)
    // It has read why; so long it is not cut off.
    while (silent.socket.readyState === silent.socket.OPEN) await new Promise((resolve) => setImmediate(resolve))
    vi.advanceTimersByTime(1_000)
    expect(await silent.closed).toBe(1008)
    known.ask('k', 'dev.info')
    expect((await known.response('k')).ok).toBe(true)
  },
)

proves(
  'bridge.untested.frames',
  'oversize, binary, half a letter and deep JSON end at most the connection they come on',
  async () => {
    const at = await ground({ maxMessageBytes: 100_000 })
    const other = await client(at)
    const large = await client(at)
    large.say('x'.repeat(100_001))
    expect(await large.closed).toBe(1009)
    const binary = await client(at)
    binary.socket.send(
      Buffer.from(JSON.stringify({ protocol, type: 'request', requestId: 'b', method: 'dev.info', auth: { token } })),
    )
    expect(await binary.closed).toBe(1003)
    expect(binary.heard).toEqual([])
    const letters = openWire(at.port, bytesOf({ port: at.port, token }, { path: '/', headers: shake() }))
    using _ = letters
    await letters.until(/\r\n\r\n/)
    letters.socket.write(Buffer.from([0x81, 0x82, 0, 0, 0, 0, 0xc0, 0xaf]))
    await closing(letters)
    const deep = await client(at)
    for (const text of ['['.repeat(90_000), `${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}`]) {
      deep.say(`{"protocol":"${protocol}","type":"request","requestId":"d","method":"dev.run","params":${text}`)
      expect((await deep.response('unknown')).error?.code).toBe('ERR_INVALID_REQUEST')
    }
    other.ask('o', 'dev.info')
    expect((await other.response('o')).ok).toBe(true)
    await lives(at)
  },
)

proves(
  'bridge.untested.slow',
  'slow headers: whoever never finishes a request is let go, and others are served meanwhile',
  async () => {
    const at = await ground()
    const wires = ['', 'GET / HT', `GET / HTTP/1.1\r\nHost: 127.0.0.1:${at.port}\r\nX: `].map((bytes) => openWire(at.port, bytes))
    open.push({ [Symbol.asyncDispose]: async () => wires.forEach(({ socket }) => socket.destroy()) })
    await lives(at)
    // The listener's own limit of five seconds.
    for (const wire of wires) expect(await closing(wire)).toMatch(/^(HTTP\/1\.1 408 |$)/)
    await lives(at)
  },
)

proves('bridge.untested.slow', 'a reader that stalls is let go before much waits for it', async () => {
  const at = await ground()
  const { port } = at
  const socket = connect(port, '127.0.0.1')
  socket.on('error', () => undefined)
  const gone = new Promise((resolve) => socket.once('close', resolve))
  open.push({ [Symbol.asyncDispose]: async () => void socket.destroy() })
  socket.write(bytesOf({ port, token }, { path: '/', headers: shake() }))
  await new Promise((resolve) => socket.once('data', resolve))
  socket.pause()
  const body = Buffer.from(JSON.stringify({ protocol, type: 'request', requestId: 's', method: 'dev.info' }))
  const frame = Buffer.concat([Buffer.from([0x81, 0x80 | 126, body.length >> 8, body.length & 0xff]), Buffer.alloc(4), body])
  const short = Buffer.concat([Buffer.from([0x81, 0x80 | body.length]), Buffer.alloc(4), body])
  const one = body.length < 126 ? short : frame
  const batch = Buffer.concat(Array(500).fill(one) as Buffer[])
  // Nobody reads what comes back. It ends by the bound on what waits, or by the rate, whichever it meets first.
  const flood = (): void => {
    if (!socket.destroyed && socket.writable) socket.write(batch, () => setImmediate(flood))
  }
  flood()
  await gone
  await lives(at)
})

proves(
  ['bridge.untested.duplicates', 'bridge.untested.at-once'],
  'two hundred at once, and a flood of ids that are in use: one answer each, nothing is lost or left',
  async () => {
    const at = await ground()
    const crowd = await Promise.all(Array.from({ length: 40 }, () => client(at)))
    for (const [n, raw] of crowd.entries())
      for (let m = 0; m < 5; m++) raw.ask(`${n}-${m}`, m === 0 ? 'dev.workspace.snapshot' : 'dev.info')
    for (const [n, raw] of crowd.entries()) for (let m = 0; m < 5; m++) expect((await raw.response(`${n}-${m}`)).ok).toBe(true)
    const [first] = crowd as [RawClient]
    first.ask('dup', 'dev.run', { argv: ['wait'] })
    for (let n = 0; n < 900; n++) first.ask('dup', 'dev.run', { argv: ['wait'] })
    for (let n = 0; n < 900; n++) expect((await first.response('dup')).error?.code).toBe('ERR_DUPLICATE_REQUEST_ID')
    expect(at.ran.length).toBeLessThanOrEqual(1)
    // On another connection the same id is free.
    crowd[1]?.ask('dup', 'dev.info')
    expect((await crowd[1]?.response('dup'))?.ok).toBe(true)
    first.ask('c', 'dev.cancel', { targetRequestId: 'dup' })
    expect((await first.response('dup')).error?.code).toBe('ERR_CANCELLED')
  },
)

proves(
  'bridge.incident.log',
  'who is refused is in the log: once a connection and reason, without what a stranger said',
  async () => {
    const at = await ground()
    const known = await client(at)
    for (let n = 0; n < 3; n++) known.ask(`w${n}`, 'dev.run', { argv: ['write', 'a.txt', 'b', '--mode', 'write'] })
    for (let n = 0; n < 3; n++) await known.response(`w${n}`)
    const stranger = await client(at, { own: null })
    stranger.ask('stranger-said-this', 'dev.info', {}, { auth: { token: 'a-guess' } })
    stranger.ask('stranger-said-this', 'stranger-said-this')
    for (let n = 0; n < 2; n++) expect((await stranger.response('stranger-said-this')).error?.code).toBe('ERR_UNAUTHORIZED')
    const lines = await eventually('the lines', () => {
      const found = at.world.runtime.audit.last(100, ({ event }) => event === 'request.refused')
      return found.length > 1 ? found : undefined
    })
    expect(lines).toHaveLength(2)
    expect(lines).toMatchObject([
      { surface: 'bridge', reason: 'read-only', details: { requestId: 'w0', method: 'dev.run', connection: 'connection 1' } },
      { surface: 'bridge', reason: 'unauthorized', details: { connection: 'connection 2', untold: 2 } },
    ])
    expect(JSON.stringify(lines)).not.toMatch(/stranger-said-this|a-guess/)
  },
)

proves('bridge.incident.log', 'being refused over and over fills no log', () => {
  let time = 0
  const told: Refused[] = []
  const refusals = openRefusals(
    (one) => told.push(one),
    () => time,
  )
  for (let n = 0; n < 1_000; n++) {
    refusals.refuse({ connection: `${n}`, reason: 'unauthorized' })
    refusals.forget(`${n}`)
  }
  expect(told).toHaveLength(30)
  time = 60_001
  refusals.refuse({ connection: 'later', reason: 'unauthorized' })
  expect(told.at(-1)).toEqual({ connection: 'later', reason: 'unauthorized', untold: 970 })
})

proves('bridge.incident.argv', 'the token is in no answer, no log and no line of the audit', async () => {
  const at = await ground()
  const raw = await client(at)
  raw.ask('1', 'dev.info')
  raw.ask('2', 'dev.workspace.snapshot')
  raw.ask('3', 'dev.run', { argv: ['read', '.'] })
  raw.ask('4', 'dev.info', {}, { auth: { token: `${token}x` } })
  await Promise.all(['1', '2', '3', '4'].map((id) => raw.response(id)))
  expect(JSON.stringify(raw.heard)).not.toContain(token)
  expect(JSON.stringify([...at.world.runtime.audit.lines()])).not.toContain(token)
  expect(JSON.stringify(at.server.state)).not.toContain(token)
})
