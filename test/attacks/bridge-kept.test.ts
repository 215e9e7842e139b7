import { randomBytes } from 'node:crypto'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterAll, beforeAll, expect } from 'vitest'
import { openRejectedRequests, type RejectedRequest } from '../../src/surfaces/rejected-requests.ts'
import { openBridgeWorld, openRawClient, protocol, token, type BridgeWorld } from '../support/bridge.ts'
import { proves } from '../support/proof.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { bytesOf, closing, eventually, openWire, type Ask } from '../support/sockets.ts'

// What attackers make the bridge keep, in bytes, and what the listener in front of it writes down. One server for all of them.

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void
/** What this process holds on to, the attackers' own bytes included: they send the same buffer over and over. */
const kept = (): number => {
  collect()
  const { heapUsed, arrayBuffers } = process.memoryUsage()
  return heapUsed + arrayBuffers
}
const mb = 1 << 20

let at: BridgeWorld
const sockets = new Set<Socket>()
beforeAll(async () => {
  at = await openBridgeWorld({ config: { limits: { requestsPerSecond: 10_000 } } })
})
afterAll(async () => {
  for (const socket of sockets) socket.destroy()
  await at[Symbol.asyncDispose]()
})

const shake = (): Record<string, string> => ({
  Connection: 'Upgrade',
  Upgrade: 'websocket',
  'Sec-WebSocket-Version': '13',
  'Sec-WebSocket-Key': randomBytes(16).toString('base64'),
})

/** A connection that was let in, whose answers nobody reads from here on. */
async function openSocket(): Promise<Socket> {
  const socket = connect(at.port, '127.0.0.1')
  sockets.add(socket)
  socket.on('error', () => undefined).once('close', () => sockets.delete(socket))
  socket.write(bytesOf({ port: at.port, token }, { path: '/', headers: shake() }))
  await new Promise((resolve) => socket.once('data', resolve))
  return socket.setMaxListeners(0).pause()
}
async function leave(): Promise<void> {
  for (const socket of sockets) socket.destroy()
  await eventually('the end of all of them', () => sockets.size === 0 || undefined)
}
/** It still answers whoever behaves. */
async function lives(): Promise<void> {
  const raw = await openRawClient(at.url)
  raw.ask('alive', 'dev.info')
  expect((await raw.response('alive')).ok).toBe(true)
  raw.socket.terminate()
  await raw.closed
}
/** All but a few megabytes, as soon as the server has heard that they are gone. */
const givenBack = (before: number, most = 8 * mb): Promise<unknown> =>
  eventually('the memory', async () => {
    if (kept() - before < most) return true
    await pause(200)
  })
const wrote = (socket: Socket, bytes: Buffer): Promise<void> =>
  new Promise((resolve) => {
    socket.once('close', () => resolve())
    socket.write(bytes, () => resolve())
  })

/** A text of which so much is said to follow, masked with zeros. */
function headOf(length: number): Buffer {
  const head = Buffer.alloc(14)
  head[0] = 0x81
  head[1] = 0xff
  head.writeBigUInt64BE(BigInt(length), 2)
  return head
}

proves(
  'bridge.incident.memory',
  'messages that never end: 96 MB are sent, and no more than the bound of 64 is kept',
  async () => {
    await lives()
    const before = kept()
    const most = Buffer.concat([headOf(1_000_000), Buffer.alloc(990_000, 'x')])
    let grown = 0
    for (let batch = 0; batch < 5; batch++) {
      const more = await Promise.all(Array.from({ length: 20 }, openSocket))
      await Promise.all(more.map((socket) => wrote(socket, most)))
      await lives()
      // To count is to collect first, which costs more than the attack; above the bound it is from the fourth on.
      if (isSoak || batch >= 3) grown = Math.max(grown, kept() - before)
    }
    // It was really kept, and not for ever: the heaviest went.
    expect([grown > 8 * mb, grown < 96 * mb]).toEqual([true, true])
    // Whoever reads again learns that it was let go.
    for (const socket of sockets) socket.resume()
    await eventually('the end of those above the bound', () => sockets.size <= 70 || undefined)
    await leave()
    await givenBack(before)
  },
)

proves('bridge.incident.memory', 'answers that nobody reads: what waits is bounded, and goes with its connection', async () => {
  await lives()
  const before = kept()
  const body = Buffer.from(JSON.stringify({ protocol, type: 'request', requestId: 's'.repeat(128), method: 'dev.info' }))
  const one = Buffer.concat([Buffer.from([0x81, 0xfe, body.length >> 8, body.length & 0xff]), Buffer.alloc(4), body])
  const batch = Buffer.concat(Array<Buffer>(200).fill(one))
  const stalled = await Promise.all(Array.from({ length: 8 }, openSocket))
  let grown = 0
  // Half a megabyte of answers each time, until it is let go or has had six.
  for (let times = 0; times < 12; times++) {
    await Promise.all(stalled.filter(({ destroyed }) => !destroyed).map((socket) => wrote(socket, batch)))
    await lives()
    if (times % sweep(3, 6) === sweep(2, 5)) grown = Math.max(grown, kept() - before)
  }
  expect(grown).toBeLessThan(72 * mb)
  await leave()
  await givenBack(before)
})

proves(
  'bridge.incident.memory',
  'connections, ids in use and wrong tokens by the hundred (soak: by the thousand) leave nothing behind',
  async () => {
    const large = (): string => randomBytes(5_000).toString('hex')
    const round = async (): Promise<void> => {
      const known = await openRawClient(at.url)
      known.ask('dup', 'dev.run', { argv: ['wait'] })
      for (let n = 0; n < 100; n++) known.ask('dup', 'dev.run', { argv: ['wait', large()] })
      for (let n = 0; n < 100; n++) known.ask('none', large())
      for (let n = 0; n < 100; n++) expect((await known.response('dup')).error?.code).toBe('ERR_DUPLICATE_REQUEST_ID')
      for (let n = 0; n < 100; n++) expect((await known.response('none')).error?.code).toBe('ERR_METHOD_NOT_FOUND')
      known.socket.terminate()
      await known.closed
      const strangers = await Promise.all(Array.from({ length: 20 }, () => openRawClient(at.url, { own: null })))
      for (const one of strangers) for (let n = 0; n < 5; n++) one.ask(`${n}`, 'dev.info', {}, { auth: { token: large() } })
      for (const one of strangers) expect(await one.closed).toBe(1008)
    }
    await round()
    const before = kept()
    for (let times = 0; times < sweep(3, 1); times++) await round()
    // Three megabytes were said, and nine in a soak.
    await givenBack(before, 2 * mb)
  },
)

proves(
  'bridge.incident.headers',
  'very many headers, long ones and long lists of protocols end their request at most',
  async () => {
    const many = Object.fromEntries(Array.from({ length: 3_000 }, (_, n) => [`x${n}`, '1']))
    const asks: Ask['headers'][] = [
      many,
      { 'Sec-WebSocket-Protocol': `${'a'.repeat(8_000)}${' '.repeat(4_000)},` },
      { 'Sec-WebSocket-Protocol': Array.from({ length: 2_000 }, (_, n) => `p${n}`).join(',') },
      { 'Sec-WebSocket-Extensions': `permessage-deflate${'; x="'.repeat(2_000)}` },
      { 'Sec-WebSocket-Key': 'A'.repeat(12_000) },
      { Upgrade: 'websocket, '.repeat(1_000) },
      { Connection: 'Upgrade, '.repeat(1_000) },
      { Origin: `http://${'a'.repeat(12_000)}` },
    ]
    for (const headers of asks) {
      using wire = openWire(at.port, bytesOf({ port: at.port, token }, { path: '/', headers: { ...shake(), ...headers } }))
      const [name] = Object.keys(headers as object)
      const said = await Promise.race([closing(wire), wire.until(/^[^]*?\r\n\r\n/).then(([head]) => head)])
      expect([name, said]).toEqual([name, expect.stringMatching(/^(HTTP\/1\.1 (101|4\d\d) |$)/)])
      await lives()
    }
  },
)

proves(
  ['bridge.incident.token', 'bridge.incident.others'],
  'without the token no method does anything, and nobody else’s work is cancelled or ended',
  async () => {
    const known = await openRawClient(at.url)
    const ran = at.ran.length
    known.ask('mine', 'dev.run', { argv: ['wait'] })
    await eventually('the command', () => at.ran[ran])
    const asked: [string, object][] = [
      ['dev.run', { argv: ['read', '.'] }],
      ['dev.runChecks', { checks: ['lint'] }],
      ['dev.cancel', { targetRequestId: 'mine' }],
      ['dev.stop', {}],
      ['dev.workspace.snapshot', {}],
    ]
    const stranger = await openRawClient(at.url, { own: null })
    for (const [method, params] of asked) stranger.ask(method, method, params)
    expect(await stranger.closed).toBe(1008)
    expect(stranger.heard.map(({ requestId, error }) => [requestId, error?.code])).toEqual(
      asked.map(([method]) => [method, 'ERR_UNAUTHORIZED']),
    )
    expect(at.ran).toHaveLength(ran + 1)
    // It was not cancelled: who asked for it still can.
    known.ask('c', 'dev.cancel', { targetRequestId: 'mine' })
    expect((await known.response('c')).ok).toBe(true)
    expect((await known.response('mine')).error?.code).toBe('ERR_CANCELLED')
    known.socket.terminate()
    await known.closed
  },
)

proves(
  'bridge.incident.log',
  'whom the listener shuts out is in the log, once for each reason, without what they said',
  async () => {
    const said = async (headers: Ask['headers']): Promise<number> => {
      using wire = openWire(at.port, bytesOf({ port: at.port, token }, { path: '/', headers: { ...shake(), ...headers } }))
      return Number((await wire.until(/^HTTP\/1\.1 (\d+)[^]*?\r\n\r\n/))[1])
    }
    for (let times = 0; times < 20; times++) {
      expect(await said({ Origin: 'https://stranger-said-this.example' })).toBe(403)
      expect(await said({ Host: 'stranger-said-this.example' })).toBe(403)
      expect(await said({ Authorization: 'Bearer stranger-said-this' })).toBe(401)
    }
    const lines = at.world.runtime.audit.last(1_000, ({ event, details }) => {
      return event === 'request.refused' && (details as { listener?: string }).listener !== undefined
    })
    expect(
      lines.map(({ surface, reason, details }) => [surface, reason, (details as { listener: string }).listener]).toSorted(),
    ).toEqual([
      ['bridge', 'policy', 'Host'],
      ['bridge', 'policy', 'Origin'],
      ['bridge', 'unauthorized', 'token'],
    ])
    // In words, too, for whoever looks through the log.
    for (const { message } of lines) expect(message).toMatch(/^Shut out: /)
    expect(JSON.stringify([...at.world.runtime.audit.lines()])).not.toContain('stranger-said-this')
  },
)

proves('bridge.incident.log', 'who is shut out all day leaves a line in ten minutes, which counts the others', () => {
  let time = 0
  const told: RejectedRequest[] = []
  const rejected = openRejectedRequests(
    (one) => told.push(one),
    () => time,
  )
  for (; time < 3_600_000; time += 1_000) {
    rejected('token')
    if (time === 0) rejected('Origin')
  }
  expect(told).toHaveLength(7)
  expect(told.slice(0, 3)).toEqual([{ by: 'token' }, { by: 'Origin' }, { by: 'token', untold: 599 }])
})
