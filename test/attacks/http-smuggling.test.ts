import { drawBytes } from '../support/seed.ts'
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { networkInterfaces } from 'node:os'
import { dirname } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Fault } from '../../src/contracts/faults/fault.ts'
import { checkHost } from '../../src/surfaces/address.ts'
import { serveInside } from '../support/inside.ts'
import { openServe, type Served } from '../support/serve.ts'
import { cleanEnv, openWorld, program, type World } from '../support/world.ts'
import {
  answersHonestly,
  type Ask,
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
  messagesIn,
  modern,
  nothingDone,
  openSse,
  openWire,
  repliesIn,
  say,
  toolCall,
  nothingSecretSaid,
} from '../support/sockets.ts'
import { ceiling } from '../support/ceiling.ts'
import { isSoak, sweep } from '../support/soak.ts'

let world: World
let served: Served

beforeAll(async () => {
  world = await openWorld({ files })
  served = await openServe(world.project, { args: lands })
})

afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
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
    for (const host of every) expect(() => checkHost({ host, port: 0, allowRemote: true }), host).toThrow('every address')
    const started = every.slice(0, sweep(every.length, 1))
    const ends = await Promise.all(started.map(async (host) => ({ host, ...(await start(['--host', host, '--allow-remote'])) })))
    expect(ends.filter(({ out }) => out !== '').map(({ host }) => host)).toEqual([])
    for (const { err } of ends) expect(err).toContain('E_BAD_ARGS')
  })

  test('an address that others can reach is refused unless it was asked for in so many words', async () => {
    const own = Object.values(networkInterfaces())
      .flatMap((one) => one ?? [])
      .filter((one) => !one.internal && !one.address.startsWith('fe80'))
      .map((one) => one.address)
    const names = ['0.0.0.0', '::', '127.0.0.1.nip.io', '127.1', '', '::ffff:127.0.0.1']
    for (const host of [...own, ...names]) expect(() => checkHost({ host, port: 0, allowRemote: false }), host).toThrow(Fault)
    // One of its own, and one that is no address.
    const started = isSoak ? [...own, ...names] : [...own.slice(0, 1), '127.0.0.1.nip.io']
    const ends = await Promise.all(started.map(async (host) => ({ host, ...(await start(['--host', host])) })))
    for (const { host, out, err, code } of ends)
      expect([host, out, code !== 0, err.includes('E_BAD_ARGS')]).toEqual([host, '', true, true])
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
    ['noise', drawBytes('no message', 100_000)],
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
        expect([200, 202, 400, 413], id.slice(0, 30)).toContain(reply.status)
        if (reply.status === 200) expect([JSON.parse(id), null, undefined]).toContainEqual(messagesIn(reply.body)[0]?.id)
      }
      expect([202, 400, 413], id.slice(0, 30)).toContain((await say(served, { path: stream.address, body })).status)
    }
    await answersHonestly(served)
  })

  test('CVE-2026-0621: addresses of 50 kB that take others for ever cost nothing here', async () => {
    await using other = await openWorld({ files })
    await using serving = await (isSoak ? openServe : serveInside)(other.project)
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
    ].flatMap((unit, index) => {
      const many = unit.repeat(Math.ceil(50_000 / unit.length))
      return [many, `handrail://audit/${many}`, `handrail://snapshots/${many}`].filter((_, at) => isSoak || at === index % 3)
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
    ceiling('s', cpuSeconds(serving) - began, uris.length * 0.2)
    await answersHonestly(serving)
  })
})

test('H07 no secret was ever said or written down, whatever came in', () => nothingSecretSaid(world, served))
