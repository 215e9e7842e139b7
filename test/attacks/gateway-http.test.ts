import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openGateway, turn } from '../support/gateway.ts'
import { openServe, type Served } from '../support/serve.ts'
import { type Ask, bytesOf, eventually, exchange, files, linesOf, nothingSecretSaid, openWire, say } from '../support/sockets.ts'
import { keyFor } from '../support/person.ts'
import { programKey } from '../../src/surfaces/person-auth.ts'
import { openWorld, type World } from '../support/world.ts'

// H01 to H12 against the routes of the gateway: an agent's, a person's, and both.

let world: World
let served: Served
let key: string
beforeAll(async () => {
  world = await openWorld({ files, onDisk: true })
  served = await openServe(world.project, { args: ['--approval-wait-ms', '0'] })
  const page = world.runtime.servedPages.list().find(({ url }) => url === served.url)
  key = programKey(world.runtime.token('person').token, page?.instance ?? '')
})
afterAll(async () => {
  await served[Symbol.asyncDispose]()
  await world[Symbol.asyncDispose]()
})

const write = (user: string, more: object = {}): string =>
  JSON.stringify(turn({ name: 'update_file', input: { path: 'a.txt', content: 'PWNED\n' } }, { user_id: user, ...more }))
const routes = ['/agent/process', '/api/agent/process', '/v1/responses']
const evil = (path = '/agent/process', headers: Ask['headers'] = {}): Ask => ({ path, body: write('evil'), headers })
const guarded = [
  ...routes,
  '/chats',
  '/chats/chat-1',
  '/chats/batch-delete',
  '/api/chats',
  '/api/approvals',
  '/api/approvals/appr_1',
  '/events',
]

/** Nothing of the attacker's was done; an honest call, made after it, was. */
async function nothingDone(): Promise<void> {
  const user = `honest${Math.random()}`
  const body = JSON.stringify(turn({ name: 'read_file', input: { path: 'a.txt' } }, { user_id: user }))
  expect((await say(served, { path: '/agent/process', body })).status).toBe(200)
  await eventually('the honest line', () => linesOf(world, user)[0])
  expect(linesOf(world, 'evil')).toEqual([])
  expect(world.read('a.txt')).toBe('a0\n')
}

test('the evil request is a good one: without the trick it lands', async () => {
  await using other = await openWorld({ files, onDisk: true })
  await using serving = await openServe(other.project)
  for (const path of routes) {
    other.write('a.txt', 'a0\n')
    expect((await say(serving, evil(path))).status).toBe(200)
    expect(other.read('a.txt')).toBe('PWNED\n')
  }
})

test('H01 H03 H04 a Host that is not ours, or none', async () => {
  for (const path of [...guarded, '/openapi.json', '/reference'])
    for (const Host of [
      'evil.example',
      'localhost.evil.com',
      '127.0.0.1.nip.io',
      `[::ffff:127.0.0.1]:${served.port}`,
      `0.0.0.0:${served.port}`,
      null,
    ])
      expect([400, 403], `${path} ${Host}`).toContain((await say(served, { ...evil(path), headers: { Host } })).status)
  await nothingDone()
})

test('H02 an Origin that is not ours', async () => {
  for (const path of guarded)
    for (const Origin of ['null', 'https://evil.example', 'http://localhost:3000', 'file://'])
      expect([path, Origin, (await say(served, evil(path, { Origin }))).status]).toEqual([path, Origin, 403])
  await nothingDone()
})

test('H05 no preflight is granted and nothing is reflected', async () => {
  for (const path of guarded)
    for (const Origin of ['https://evil.example', `http://127.0.0.1:${served.port}`]) {
      const asked = { Origin, 'Access-Control-Request-Method': 'POST', 'Access-Control-Request-Headers': 'x-api-key' }
      const { status, head } = await say(served, { method: 'OPTIONS', path, headers: asked })
      expect([401, 403, 405]).toContain(status)
      expect(head).not.toMatch(/^access-control-|evil/im)
    }
})

test('H06 no other method does anything', async () => {
  for (const path of routes)
    for (const method of ['GET', 'HEAD', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'QUERY'])
      expect([400, 405], `${method} ${path}`).toContain(
        (await say(served, { ...evil(path, { 'X-HTTP-Method-Override': 'POST' }), method })).status,
      )
  for (const query of [`?${encodeURIComponent(write('evil'))}`, '?stream=true'])
    expect((await say(served, { path: `/agent/process${query}`, method: 'GET' })).status).toBe(405)
  await nothingDone()
})

test('H07 no credential, a wrong one, one in the address, one in a cookie, or two of them', async () => {
  const bearer = `Bearer ${served.token}`
  // Not all of them: wrong tokens are counted, and after fifty everybody waits.
  for (const path of ['/agent/process', '/api/approvals', '/events'])
    for (const headers of [
      { Authorization: null },
      { Authorization: `Bearer ${served.token.slice(0, -1)}` },
      { Authorization: null, 'X-API-Key': served.token.slice(0, -1) },
      { Authorization: null, 'X-API-Key': [served.token, served.token] },
      { Authorization: [`Bearer ${served.token}`, `Bearer ${served.token}`] },
      { Authorization: [`Bearer ${served.token}`, 'Bearer another'] },
      { Authorization: null, Cookie: `token=${served.token}` },
      { Authorization: bearer, 'X-API-Key': 'other' },
    ] as NonNullable<Ask['headers']>[])
      expect([path, headers, (await say(served, evil(path, headers))).status]).toEqual([path, headers, 401])
  for (const name of ['token', 'api_key', 'access_token'])
    expect((await say(served, evil(`/agent/process?${name}=${served.token}`, { Authorization: null }))).status).toBe(401)
  const { body, head } = await say(served, evil('/agent/process', { Authorization: null }))
  expect(JSON.parse(body)).toMatchObject({ error: { code: 'unauthorized' } })
  expect(head).toMatch(/^x-request-id: [0-9a-f]{16}\r?$/im)
  await nothingDone()
})

test('H07 the two credentials are apart: an agent’s opens nothing of the person’s, and the other way round', async () => {
  const [agent, person] = [{ Authorization: `Bearer ${served.token}` }, { Authorization: `Bearer ${key}` }]
  for (const path of ['/api/approvals', '/api/approvals/appr_1'])
    for (const headers of [agent, { Authorization: null, 'X-API-Key': served.token }] as NonNullable<Ask['headers']>[])
      expect((await say(served, { path, headers })).status).toBe(401)
  expect((await say(served, { path: '/api/approvals', headers: person })).status).toBe(200)
  for (const path of [...routes, '/chats', '/mcp'])
    expect([path, (await say(served, { ...evil(path), headers: person })).status]).toEqual([path, 401])
  // Neither the secret that keys are made of, nor a key of a sign-in, nor one for another server, is one.
  const wrong = [
    world.runtime.token('person').token,
    keyFor(served, world.runtime),
    programKey(world.runtime.token('person').token, 'another'),
  ]
  for (const one of [...wrong, `${key}x`, key.replace(/^hpk_[0-9a-z]+/, 'hpk_zzzzzzzzz'), 'hpk_'])
    expect((await say(served, { path: '/api/approvals', headers: { Authorization: `Bearer ${one}` } })).status).toBe(401)
  await nothingDone()
})

test('H08 what a form of another page can send is not taken', async () => {
  for (const path of [...routes, '/chats', '/chats/batch-delete'])
    for (const type of [
      'text/plain',
      'application/x-www-form-urlencoded',
      'multipart/form-data; boundary=x',
      'application/jsonp',
      '',
    ])
      expect([path, type, (await say(served, evil(path, { 'Content-Type': type }))).status]).toEqual([path, type, 415])
  await nothingDone()
})

test('H09 bodies that are too large, packed, nested or broken are refused, and the next request is answered', async () => {
  const statusOf = async (ask: Ask): Promise<number> => (await say(served, ask)).status
  expect(await statusOf(evil('/agent/process', { 'Content-Length': String(1 << 30) }))).toBe(413)
  expect(await statusOf(evil('/agent/process', { 'Content-Encoding': 'gzip' }))).toBe(415)
  expect(await statusOf({ path: '/agent/process', body: `{"a":${'['.repeat(20_000)}${']'.repeat(20_000)}}` })).toBe(400)
  expect(await statusOf({ path: '/agent/process', body: `{"input":[${'1,'.repeat(150_000)}1]}` })).toBe(400)
  expect(await statusOf({ path: '/agent/process', body: Buffer.from([0x7b, 0xff, 0x7d]) })).toBe(400)
  for (const path of routes) expect(await statusOf({ path, body: '{"session_id":' })).toBe(400)
  await nothingDone()
})

test('H09 streams that nobody reads have a place of their own, and others are served', async () => {
  const wires: ReturnType<typeof openWire>[] = []
  try {
    const ask = { path: '/events', headers: { Authorization: `Bearer ${key}`, Connection: 'keep-alive' } }
    while (wires.length < 300) {
      const some = Array.from({ length: 50 }, () => openWire(served.port, bytesOf(served, ask)))
      wires.push(...some)
      for (const wire of some) await wire.until(/retry: 2000/)
    }
    await nothingDone()
    expect(wires.filter(({ socket }) => socket.destroyed)).toEqual([])
  } finally {
    for (const wire of wires) wire[Symbol.dispose]()
  }
})

test('H10 names in headers, and keys that only a language has, change nothing', async () => {
  const headers = { 'X-Agent-Id': 'root', 'Mcp-Name': 'shell', 'X-Forwarded-For': '10.0.0.1', 'X-Role': 'person' }
  const body = `{"__proto__":{"stream":true,"role":"person"},"constructor":{"prototype":{"by":"person"}},${JSON.stringify(
    turn({ name: 'read_file', input: { path: 'a.txt' } }),
  ).slice(1)}`
  const { status, body: told } = await say(served, { path: '/agent/process', body, headers })
  expect([status, (JSON.parse(told) as { reply: string }).reply]).toEqual([200, 'a0\n'])
  expect(({} as Record<string, unknown>)['stream']).toBeUndefined()
  for (const field of ['role', 'peer', 'surface', 'approve'])
    expect(
      (
        await say(served, {
          path: '/agent/process',
          body: write('odd', {
            stream: 'yes',
            biz_params: { tool: { name: 'update_file', input: { path: 'a.txt', content: 'PWNED\n', [field]: 'person' } } },
          }),
        })
      ).status,
    ).toBe(400)
  await nothingDone()
})

test('H11 another session’s question is not answered, and its grant is not had', async () => {
  const ask = async (user: string, name: string, input: object): Promise<Record<string, unknown>> => {
    const { body } = await say(served, { path: '/agent/process', body: JSON.stringify(turn({ name, input }, { user_id: user })) })
    return (JSON.parse(body) as { tool_result: Record<string, unknown> }).tool_result
  }
  const change = { path: 'package.json', content: '{ "name": "mine" }\n' }
  const { approval_id: id } = await ask('mine', 'update_file', change)
  world.runtime.approvals.decide(String(id), { approve: true, by: 'somebody@test' })
  expect(await ask('other', 'update_file', change)).toMatchObject({ ok: false })
  expect(await ask('mine', 'update_file', change)).toMatchObject({ ok: true })
  expect((await say(served, { path: '/events?session_id=s&user_id=u&channel=c', method: 'HEAD' })).status).toBe(405)
})

test('H12 a request inside another is never taken for one', async () => {
  const inner = bytesOf(served, evil())
  for (const [name, value] of [
    ['Transfer-Encoding', 'chunked'],
    ['Transfer-Encoding', 'xchunked'],
    ['Transfer-Encoding', 'chunked, identity'],
    ['Content-Length', '5'],
  ] as const) {
    const hidden = Buffer.concat([Buffer.from('0\r\n\r\n'), inner])
    const head = `POST /agent/process HTTP/1.1\r\nHost: 127.0.0.1:${served.port}\r\nAuthorization: Bearer ${served.token}\r\nContent-Type: application/json\r\nContent-Length: ${hidden.length}\r\n${name}: ${value}\r\n\r\n`
    const replies = await exchange(served.port, Buffer.concat([Buffer.from(head), hidden]))
    expect([name, value, replies.every(({ status }) => status >= 400)]).toEqual([name, value, true])
  }
  await nothingDone()
})

test('no token and no key was ever said or written down', async () => {
  await nothingSecretSaid(world, served)
  const text = served.stderr() + JSON.stringify([...world.runtime.audit.lines()])
  expect(text.includes(key)).toBe(false)
})

test('H11 two processes that say the same words have a session each, while both run; the next one goes on after it', async () => {
  const change = { path: 'package.json', content: '{ "name": "theirs" }\n' }
  const body = JSON.stringify(turn({ name: 'update_file', input: change }, { session_id: 'shared' }))
  const script = `
    const ask = async () => (await (await fetch(process.argv[1], { method: 'POST', headers: { Authorization: 'Bearer ' + process.argv[2], 'Content-Type': 'application/json' }, body: process.argv[3] })).json()).tool_result
    process.stdin.on('data', async () => process.stdout.write(JSON.stringify(await ask()) + '\\n'))`
  const start = () => {
    const child = spawn(process.execPath, ['-e', script, `${served.url}/agent/process`, served.token, body], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
    const lines = createInterface(child.stdout)
    return {
      async ask(): Promise<Record<string, unknown>> {
        child.stdin.write('go\n')
        return JSON.parse(String((await once(lines, 'line'))[0])) as Record<string, unknown>
      },
      async end(): Promise<void> {
        child.stdin.end()
        child.kill()
        await once(child, 'exit')
      },
    }
  }
  const [first, second] = [start(), start()]
  const asked = await first.ask()
  expect(asked).toMatchObject({ ok: false, effects: 'waiting' })
  world.runtime.approvals.decide(String(asked['approval_id']), { approve: true, by: 'somebody@test' })
  const others = await second.ask()
  expect(others).toMatchObject({ ok: false, effects: 'waiting' })
  expect(others['approval_id']).not.toBe(asked['approval_id'])
  await first.end()
  const third = start()
  expect(await third.ask()).toMatchObject({ ok: true })
  await second.end()
  await third.end()
})

test('H11 a secret that the person let a session read is not read here: other agents would find it in the chat', async () => {
  await using gateway = await openGateway({ files: { '.env': 'KEY=SECRET-1\n' } })
  const { world: own, tool } = gateway
  await tool('read_file', { path: '.env' })
  const [session] = own.runtime.sessions()
  await own.runtime.grants.give({ kind: 'secret', subject: '.env', session: session?.id ?? '', by: 'somebody@test' })
  const { status, body } = await tool('read_file', { path: '.env' })
  expect([status, body.error?.code]).toEqual([403, 'tool_forbidden_path'])
  expect(JSON.stringify(body)).not.toContain('SECRET-1')
})
