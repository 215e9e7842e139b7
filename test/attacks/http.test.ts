import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { serveInside } from '../support/inside.ts'
import { openServe, type Served } from '../support/serve.ts'
import { openWorld, type World } from '../support/world.ts'
import {
  type Ask,
  beginSession,
  bytesOf,
  call,
  contentIn,
  eventually,
  evil,
  exchange,
  files,
  lands,
  latest,
  linesOf,
  listening,
  modern,
  nothingDone,
  nothingSecretSaid,
  openSse,
  openWire,
  paths,
  say,
  toolCall,
} from '../support/sockets.ts'

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

async function statuses(asks: Ask[]): Promise<Set<number>> {
  const found = new Set<number>()
  for (const ask of asks) found.add((await say(served, ask)).status)
  return found
}

test('the requests of this file are good ones: without the trick, they are answered and do what they say', async () => {
  await using other = await openWorld({ files })
  await using serving = await serveInside(other.project, { args: lands })
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
  await using serving = await serveInside(other.project, { allowOrigins: ['https://good.example'] })
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

  // The second after the first, which is too short for anybody to be told to wait.
  describe('H07 by those who have none', () => {
    let other: World
    let serving: Served
    beforeAll(async () => {
      other = await openWorld({ files })
      serving = await openServe(other.project)
    })
    afterAll(async () => {
      await serving[Symbol.asyncDispose]()
      await other[Symbol.asyncDispose]()
    })

    test('H07 tokens of every length are compared alike: no length makes it fail', async () => {
      for (const length of [1, 2, 31, 32, 33, 42, 43, 44, 64, 199, 200, 201, 1_000, 15_000])
        expect([401, 429]).toContain(
          (await say(serving, { ...evil, headers: { ...evil.headers, Authorization: `Bearer ${'a'.repeat(length)}` } })).status,
        )
      expect(serving.stderr()).toBe('')
    })

    test('H07 guessing is slowed down, and whoever has the token is not', async () => {
      const guess = (): Buffer =>
        bytesOf(serving, {
          ...evil,
          headers: {
            ...evil.headers,
            Connection: 'keep-alive',
            Authorization: `Bearer ${randomBytes(32).toString('base64url')}`,
          },
        })
      const counts: Record<number, number> = {}
      for (let round = 0; round < 5; round++) {
        const found = await Promise.all(Array.from({ length: 60 }, () => exchangeOne(serving.port, guess())))
        for (const status of found) counts[status] = (counts[status] ?? 0) + 1
        expect(contentIn(await say(serving, call('read_file', { path: 'a.txt' })))).toBe('a0\n')
      }
      expect(Object.keys(counts).toSorted()).toEqual(['401', '429'])
      // How many depends on how long it took.
      expect(counts[429]).toBeGreaterThan(30)
    })
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

test('H07 no secret was ever said or written down, whatever came in', () => nothingSecretSaid(world, served))
