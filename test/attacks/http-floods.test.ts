import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import { setTimeout as pause } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serveInside } from '../support/inside.ts'
import { openServe, type Served } from '../support/serve.ts'
import { openWorld, type World } from '../support/world.ts'
import {
  answersHonestly,
  type Ask,
  before,
  beginSession,
  bytesOf,
  call,
  closing,
  contentIn,
  cpuSeconds,
  eventually,
  evil,
  exchange,
  files,
  hello,
  lands,
  large,
  listening,
  nothingDone,
  openSse,
  openWire,
  repliesIn,
  say,
  type Session,
  socketsOf,
  toolCall,
  type Wire,
  nothingSecretSaid,
} from '../support/sockets.ts'
import { isSoak, sweep } from '../support/soak.ts'
import { ceiling } from '../support/ceiling.ts'

function megabytes(served: Served): number {
  return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${served.pid}/status`, 'utf8'))?.[1]) / 1_024
}

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

let common: Place
let library: Place
let patience: Patience

beforeAll(async () => {
  common = await openPlace({}, lands)
  library = await openPlace({ 'large.txt': large })
  patience = await openPatience()
})

afterAll(async () => {
  for (const one of [patience, library, common]) await one[Symbol.asyncDispose]()
})

interface Place {
  other: World
  serving: Served
  /** The connections it has while nobody has asked for anything. */
  idle: number
  [Symbol.asyncDispose](): Promise<void>
}

async function openPlace(more: Record<string, string>, args: string[] = []): Promise<Place> {
  const other = await openWorld({ files: { ...files, ...more } })
  const serving = await openServe(other.project, { args })
  return {
    other,
    serving,
    idle: socketsOf(serving),
    async [Symbol.asyncDispose]() {
      await serving[Symbol.asyncDispose]()
      await other[Symbol.asyncDispose]()
    },
  }
}

const shared = (place: Place): Place => ({ ...place, [Symbol.asyncDispose]: () => Promise.resolve() })

/** The server that whoever leaves nothing open shares; one of its own in a soak, where what each attack makes it hold is measured. */
const opened = async (): Promise<Place> => (isSoak ? openPlace({}, lands) : shared(common))
/** Likewise for those who ask for much. */
const enterLibrary = async (): Promise<Place> => (isSoak ? openPlace({ 'large.txt': large }) : shared(library))

test('H09 a body of a gigabyte is refused before it is read, however its length is said', async () => {
  await using at = await opened()
  const { serving } = at
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
  ceiling('MB', megabytes(serving), 500)
  await answersHonestly(serving)
})

test('H09 those who break off in the middle of a body, in one way or another, leave it unharmed', async () => {
  await using at = await opened()
  const { serving } = at
  const said = serving.stderr()
  for (const leave of ['end', 'destroy', 'resetAndDestroy'] as const)
    for (const [name, value] of [
      ['Transfer-Encoding', 'chunked'],
      ['Content-Length', '50000'],
      ['Content-Length', '50000000'],
    ] as const) {
      const headers = { ...evil.headers, 'Content-Type': 'application/json', [name]: value }
      using wire = openWire(serving.port, bytesOf(serving, { method: 'POST', headers }))
      await once(wire.socket, 'connect')
      await new Promise<void>((sent) => wire.socket.write('5\r\nhalf', () => sent()))
      wire.socket[leave]()
      await wire.ended
    }
  await answersHonestly(serving)
  expect(serving.stderr()).toBe(said)
})

test('H09 a bomb in a compressed body is not unpacked', async () => {
  await using at = await opened()
  const { serving } = at
  const bomb = gzipSync(Buffer.alloc(sweep(100, 40) << 20, 0x20))
  for (const encoding of ['gzip', 'x-gzip', 'deflate', 'br', 'zstd', 'gzip, gzip', 'GZIP'])
    expect((await say(serving, { body: bomb, headers: { ...evil.headers, 'Content-Encoding': encoding } })).status).toBe(415)
  const coded = { ...evil.headers, 'Content-Length': null, 'Transfer-Encoding': 'gzip, chunked' }
  const chunked = Buffer.concat([Buffer.from(`${bomb.length.toString(16)}\r\n`), bomb, Buffer.from('\r\n0\r\n\r\n')])
  expect([400, 501]).toContain((await say(serving, { body: chunked, headers: coded })).status)
  ceiling('MB', megabytes(serving), 400)
  await answersHonestly(serving)
})

test('H09 headers without end, chunks of one byte, endless chunk extensions and trailers', async () => {
  await using at = await opened()
  const { other, serving } = at
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
  const dust = '1\r\n \r\n'.repeat(sweep(1 << 20, 1 << 17))
  expect([400, 413]).toContain((await say(serving, { body: `${dust}0\r\n\r\n`, headers: chunked })).status)
  for (const endless of [
    `1;${'a=b;'.repeat(100_000)}\r\n \r\n0\r\n\r\n`,
    `0\r\n${'x: y\r\n'.repeat(100_000)}\r\n`,
    `${'0'.repeat(1 << 20)}1\r\n \r\n0\r\n\r\n`,
  ]) {
    const [reply] = await exchange(serving.port, bytesOf(serving, { body: endless, headers: chunked }))
    expect([undefined, 400, 413, 431]).toContain(reply?.status)
  }
  ceiling('MB', megabytes(serving), 400)
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
    test(`H09 very many ${kind}: an honest client is answered during and after (soak: 10,000)`, async () => {
      await using other = await openWorld({ files })
      await using serving = await (isSoak ? openServe : serveInside)(other.project)
      const session = await beginSession(serving)
      await knock(
        serving.port,
        // More streams than there are places for, which are 64.
        sweep(10_000, kind.startsWith('streams') ? 130 : 400),
        sweep(300, kind.startsWith('streams') ? 110 : 300),
        () => open(serving, session),
        () => answersHonestly(serving),
      )
      await answersHonestly(serving)
      ceiling('MB', megabytes(serving), 400)
    })
})

test('H09 very many sessions begun: those who have one keep it, the era without sessions goes on, and one ended makes room (soak: 10,000)', async () => {
  await using other = await openWorld({ files })
  await using serving = await (isSoak ? openServe : serveInside)(other.project)
  const mine = await beginSession(serving)
  const last = await beginSession(serving)
  const opening = bytesOf(serving, { body: JSON.stringify(hello({ name: 'evil' })), headers: { Connection: 'keep-alive' } })
  const counts: Record<number, number> = {}
  for (let round = 0; round < sweep(10, 1); round++) {
    const times = sweep(1_000, 300)
    using wire = openWire(serving.port, Buffer.concat(Array.from({ length: times }, () => opening)))
    const heard = await eventually(`${times} answers`, () => {
      const found = [...wire.heard().matchAll(/^HTTP\/1\.1 (\d+)/gm)]
      return found.length >= times ? found : undefined
    })
    for (const [, status] of heard) counts[Number(status)] = (counts[Number(status)] ?? 0) + 1
    await answersHonestly(serving)
    expect(contentIn(await say(serving, mine.ask(toolCall(round, 'read_file', { path: 'b.txt' }))))).toBe('b0\n')
  }
  expect(counts[200]).toBeLessThan(200)
  expect(Object.keys(counts).every((status) => ['200', '429', '503'].includes(status))).toBe(true)
  expect((await say(serving, last.ask(undefined, { method: 'DELETE' }))).status).toBe(200)
  await beginSession(serving)
  ceiling('MB', megabytes(serving), 500)
})

test('H09 a greeting that is refused does not take the place of a session', async () => {
  await using at = await opened()
  const { serving } = at
  const broken: Ask[] = [
    { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize' }) },
    { body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params: {} }) },
    { body: JSON.stringify([hello(), hello()]) },
    { body: JSON.stringify(hello()), headers: { Accept: 'application/json' } },
  ]
  for (const ask of broken)
    for (let times = 0; times < sweep(30, 5); times++) expect([400, 406]).toContain((await say(serving, ask)).status)
  await beginSession(serving)
})

test('H09 a flood down one connection is answered in order or told to wait, and nobody else waits for it', async () => {
  await using other = await openWorld({ files })
  await using serving = await (isSoak ? openServe : serveInside)(other.project)
  const keep = { Connection: 'keep-alive' }
  const health = bytesOf(serving, { path: '/healthz', headers: keep })
  const reads = Array.from({ length: sweep(1_000, 100) }, (_, id) => {
    const { body, headers } = call('read_file', { path: 'a.txt' }, {}, id)
    return bytesOf(serving, { body, headers: { ...headers, ...keep } })
  })
  const most = sweep(10_000, 150)
  using one = openWire(serving.port, Buffer.concat(Array.from({ length: most }, () => health)))
  using two = openWire(serving.port, Buffer.concat(reads))
  await answersHonestly(serving)
  const counted = await eventually('all answers, or the end of the connection', () => {
    const found = [one, two].map((wire) => [...wire.heard().matchAll(/HTTP\/1\.1 (\d+)/g)].map((match) => match[1]))
    const all = [most, reads.length].every(
      (count, index) => found[index]?.length === count || [one, two][index]?.socket.destroyed,
    )
    return all ? found : undefined
  })
  expect(counted.flat().every((status) => status === '200' || status === '429')).toBe(true)
  const ids = [...two.heard().matchAll(/"jsonrpc":"2\.0","id":(\d+)\}/g)].map((match) => Number(match[1]))
  expect(ids.length).toBeGreaterThan(5)
  expect(ids).toEqual(ids.toSorted((a, b) => a - b))
  ceiling('MB', megabytes(serving), 500)
  await answersHonestly(serving)
})

test('H09 many clients that ask and never read are let go too: what waits for all of them together is bounded', async () => {
  await using at = await enterLibrary()
  const { serving, idle } = at
  const ask = bytesOf(serving, call('read_file', { path: 'large.txt' }))
  const clients = sweep(90, 20)
  const wires = Array.from({ length: clients }, () => openWire(serving.port))
  for (const { socket } of wires) {
    socket.pause()
    socket.write(ask)
  }
  try {
    await Promise.all(wires.map(({ socket }) => eventually('its connection', () => (socket.connecting ? undefined : true))))
    await settled(serving)
    // Six megabytes each, and 64 for all of them.
    await eventually('the end of half of them', () => (socketsOf(serving) <= idle + clients / 2 ? true : undefined), 50_000)
    await answersHonestly(serving)
    ceiling('MB', megabytes(serving), 1_000)
  } finally {
    for (const wire of wires) wire.socket.destroy()
  }
})

test('H09 those who read are not cut off for those who do not', async () => {
  await using at = await enterLibrary()
  const { serving } = at
  const ask = bytesOf(serving, call('read_file', { path: 'large.txt' }))
  const wires = Array.from({ length: sweep(16, 12) }, () => openWire(serving.port))
  for (const { socket } of wires) {
    socket.pause()
    socket.write(ask)
  }
  try {
    await settled(serving)
    const whole: boolean[] = []
    for (let times = 0; times < sweep(12, 2); times++) {
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
  await using at = await opened()
  const { serving } = at
  using wire = openWire(serving.port, bytesOf(serving, { path: '/sse', headers: { Connection: 'keep-alive' } }))
  await wire.until(/event: endpoint/)
  const one = bytesOf(serving, { path: '/healthz', headers: { Connection: 'keep-alive', 'X-Long': 'x'.repeat(15_000) } })
  const many = Buffer.concat(Array.from({ length: 64 }, () => one))
  for (let sent = 0; sent < sweep(40_000, 1_500) && wire.socket.writable; sent += 64)
    if (!wire.socket.write(many)) await Promise.race([once(wire.socket, 'drain').catch(() => undefined), wire.ended, pause(500)])
  ceiling('MB', megabytes(serving), 400)
  await answersHonestly(serving)
})

test('H09 a stream of 2024 that is never read is let go before its answers fill our memory', async () => {
  await using at = await enterLibrary()
  const { serving } = at
  using stream = await openSse(serving)
  stream.socket.pause()
  const found = new Set<number>()
  for (let id = 0; id < sweep(60, 16); id++)
    found.add((await stream.post(toolCall(`r${id}`, 'read_file', { path: 'large.txt' }))).status)
  expect([...found].every((status) => status === 202 || status === 404)).toBe(true)
  await eventually('the end of the stream', async () =>
    (await stream.post(toolCall('last', 'read_file', { path: 'a.txt' }))).status === 404 ? true : undefined,
  )
  await settled(serving)
  ceiling('MB', megabytes(serving), 700)
  await answersHonestly(serving)
})

/** Waits until it has nothing more to do: a whole second of hardly any work. */
async function settled(serving: Served): Promise<void> {
  let used = cpuSeconds(serving)
  await eventually('rest', async () => {
    await pause(700)
    const now = cpuSeconds(serving)
    const rests = now - used < 0.1
    used = now
    return rests ? true : undefined
  })
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
    await using at = await opened()
    const { serving } = at
    const { headers } = (await beginSession(serving)).ask({})
    const next = swollen({ jsonrpc: '2.0', id: 1, method: 'resources/subscribe', params: { uri: 'handrail://HUGE' } })
    for (let times = 0; times < sweep(18, 1); times++)
      expect((await say(serving, { body: next(), headers: headers ?? {} })).status).toBe(413)
    ceiling('MB', megabytes(serving), 650)
    await answersHonestly(serving)
  })

  test('H09 names of clients that are very long are not kept', async () => {
    await using at = await opened()
    const { other, serving } = at
    const known = other.runtime.sessions().length
    const next = swollen(hello({ name: 'HUGE' }))
    for (let times = 0; times < sweep(18, 1); times++) expect((await say(serving, { body: next() })).status).toBe(413)
    expect(other.runtime.sessions()).toHaveLength(known)
    ceiling('MB', megabytes(serving), 650)
    await answersHonestly(serving)
  })

  test('H09 questions that are very long are not kept while they wait for an answer that never comes', async () => {
    await using at = await opened()
    const { serving } = at
    using stream = await openSse(serving, { capabilities: { elicitation: { form: {} } } })
    const ask = swollen(toolCall(1, 'ask_followup_question', { question: 'HUGE' }))
    const times = sweep(14, 1)
    for (let time = 0; time < times; time++) await say(serving, { path: stream.address, body: ask() })
    // None of them waits: each is refused.
    await eventually('a refusal of each', () => (stream.heard().split('E_TOO_LARGE').length > times ? true : undefined))
    ceiling('MB', megabytes(serving), 650)
    await answersHonestly(serving)
  })

  test('H09 a hundred calls (soak: six hundred) that wait for a person hold nobody up', async () => {
    await using at = await opened()
    const { other, serving } = at
    using stream = await openSse(serving)
    const ask = toolCall(0, 'replace_in_file', { path: 'package.json', find: 'game', replace: 'evil' })
    for (let id = 10; id < sweep(610, 110); id += 50)
      await Promise.all(Array.from({ length: 50 }, (_, index) => stream.post({ ...ask, id: id + index })))
    await answersHonestly(serving)
    ceiling('MB', megabytes(serving), 500)
    expect(other.read('package.json')).toBe(before)
  })
})

describe('H09 one message that costs much', () => {
  // A hundred thousand values are the most that is read.
  const values = `[${'{},'.repeat(sweep(6_000_000, 150_000))}{}]`
  const keys = `{${Array.from({ length: sweep(1_000_000, 150_000) }, (_, index) => `"k${index}":1`).join()}}`
  const abilities = `{"experimental":{"x":{"a":[${'{},'.repeat(sweep(1_000_000, 150_000))}{}]}}}`
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
  let at: Place
  beforeAll(async () => void (at = await enterLibrary()))
  afterAll(() => at[Symbol.asyncDispose]())

  for (const [what, ask] of Object.entries(messages))
    test(`H09 very many ${what} cost seconds of nobody's time (soak: millions)`, async () => {
      const { serving } = at
      const session = await beginSession(serving)
      await answersHonestly(serving)
      const began = cpuSeconds(serving)
      const headers = what.includes('answer') ? session.ask({}).headers : ask.headers
      await say(serving, { ...ask, headers: headers ?? {} })
      ceiling('s', cpuSeconds(serving) - began, 2.5)
      ceiling('MB', megabytes(serving), 700)
      await answersHonestly(serving)
    })
})

test('H07 no secret was ever said or written down, whatever came in', () => nothingSecretSaid(common.other, common.serving))

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
    const text = await closing(patience.reader)
    expect(repliesIn(text, false).map((reply) => reply.status)).toEqual([200])
  })

  test('H09 clients that ask once, or again and again, and never read are let go in the end', async () => {
    await eventually('the end of their connections', async () => {
      if (socketsOf(patience.stalling) <= patience.idle) return true
      // To look costs more than all that it waits for, and it may wait for half a minute.
      await pause(700)
    })
    await answersHonestly(patience.stalling)
    ceiling('MB', megabytes(patience.stalling), 1_200)
  })
})
