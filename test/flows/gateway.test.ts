import { once } from 'node:events'
import { connect } from 'node:net'
import { expect, test } from 'vitest'
import type { TurnTaker } from '../../src/contracts/turn.ts'
import { gatewayProfile } from '../../src/surfaces/gateway/dialect.ts'
import { openGatewaySessions } from '../../src/surfaces/gateway/sessions.ts'
import { openTurns } from '../../src/surfaces/gateway/turn.ts'
import { until } from '../support/everywhere.ts'
import { runInside } from '../support/inside.ts'
import { framesOf, openGateway, readFrames, turn, type Gateway } from '../support/gateway.ts'

const files = { 'a.txt': 'one\n', 'package.json': '{ "name": "x" }\n' }
const person = { surface: 'cli', client: 'person', session: 'sess_person', role: 'person' } as const

test('without a stream: reply, events in their order, and the result', async () => {
  await using gateway = await openGateway({ files })
  const { status, headers, body } = await gateway.tool('read_file', { path: 'a.txt' })
  expect(status).toBe(200)
  expect(headers.get('content-type')).toMatch(/^application\/json/)
  expect(body.reply).toBe('one\n')
  expect(body.events).toEqual([
    { type: 'step_started', step: 1 },
    { type: 'tool_call', step: 1, tool_call: { name: 'read_file', input: { path: 'a.txt' } } },
    { type: 'tool_result', step: 1, tool_result: { name: 'read_file', ok: true, summary: 'one\n' } },
    { type: 'assistant_delta', step: 1, delta: 'one\n' },
    { type: 'completed', step: 1, reply: 'one\n' },
  ])
})

test('with a stream: the very same events, and [DONE]', async () => {
  await using gateway = await openGateway({ files })
  const { body } = await gateway.tool('read_file', { path: 'a.txt' })
  expect(await gateway.stream('read_file', { path: 'a.txt' })).toEqual([...(body.events ?? []), '[DONE]'])
})

test('the reply of an empty file is its result; what does not fit is said in the caller’s own names', async () => {
  await using gateway = await openGateway({ files: { 'empty.txt': '' } })
  const { body } = await gateway.tool('read_file', { path: 'empty.txt' })
  expect(body.tool_result).toMatchObject({ ok: true, content: '', text: '', size: 0 })
  expect(JSON.parse(body.reply ?? '')).toEqual(body.tool_result)
  const { error } = (await gateway.tool('update_file', { path: 7, content: '' })).body
  expect(error).toMatchObject({
    message: 'Bad arguments for update_file: path must be string',
    details: { hint: 'It has path, content, mode.' },
  })
  const { error: number } = (await gateway.tool('read_file', { path: 'empty.txt', max_bytes: 'many' })).body
  expect(number?.message).toMatch(/^Bad arguments for read_file: max_bytes /)
  expect(number?.details?.['fields']).toMatchObject([{ field: 'max_bytes' }])
})

test('a summary has 160 characters at most, and no half of one', async () => {
  await using gateway = await openGateway({ files: { 'emoji.txt': '😀'.repeat(200) } })
  const { body } = await gateway.tool('read_file', { path: 'emoji.txt' })
  expect(body.events?.find(({ type }) => type === 'tool_result')).toMatchObject({
    tool_result: { summary: `${'😀'.repeat(160)}...` },
  })
})

test('what fails in the stream is an event, with the code and the status it has without one; what cannot begin is answered plainly', async () => {
  await using gateway = await openGateway({ files })
  for (const [name, input, code, status] of [
    ['read_file', { path: 7 }, 'invalid_tool_input', 400],
    ['read_file', { path: '/etc/passwd' }, 'tool_forbidden_path', 403],
    ['read_file', { path: 'none.txt' }, 'tool_not_found', 404],
    ['create_file', { path: 'a.txt', content: '' }, 'tool_conflict', 409],
    ['read_file', { path: '.' }, 'tool_error', 500],
    ['shell', { command: 'pwd' }, 'tool_disabled', 403],
  ] as const) {
    const frames = (await gateway.stream(name, input)) as { type: string; meta?: Record<string, unknown> }[]
    expect([name, frames.map((frame) => frame.type ?? frame)]).toEqual([name, ['step_started', 'tool_call', 'error', '[DONE]']])
    expect(frames[2]?.meta).toMatchObject({ code, status })
    const plain = await gateway.tool(name, input)
    expect([name, plain.status, plain.body.error?.code]).toEqual([name, status, code])
    expect(frames[2]?.meta?.['message']).toBe(plain.body.error?.message)
  }
  const response = await gateway.send('/agent/process', { body: turn({ name: 'no_such' }, { stream: true }) })
  expect([response.status, response.headers.get('content-type')]).toEqual([404, 'application/json; charset=utf-8'])
})

test('an id of a request is given back, and made where there is none or a bad one', async () => {
  await using gateway = await openGateway({ files })
  const idOf = async (
    headers: Record<string, string>,
    path = '/agent/process',
    body: unknown = turn({ name: 'read_file', input: { path: 'a.txt' } }),
  ) => (await gateway.send(path, { body, headers })).headers.get('x-request-id')
  expect(await idOf({ 'X-Request-Id': 'mine-1' })).toBe('mine-1')
  expect(await idOf({})).toMatch(/^[0-9a-f]{16}$/)
  expect(await idOf({ 'X-Request-Id': 'two words' })).toMatch(/^[0-9a-f]{16}$/)
  expect(await idOf({ 'X-Request-Id': 'mine-2', Authorization: 'Bearer wrong' })).toBe('mine-2')
  expect(await idOf({ 'X-Request-Id': 'mine-3' }, '/agent/process', '{')).toBe('mine-3')
})

test('what is no request is told with a code of its own', async () => {
  await using gateway = await openGateway({ files })
  const told = async (body: unknown, options: { method?: string; headers?: Record<string, string>; path?: string } = {}) => {
    const response = await gateway.send(options.path ?? '/agent/process', { body, ...options })
    const { error } = (await response.json()) as { error: { code: string; message: string } }
    expect(error.message).not.toBe('')
    return [response.status, error.code]
  }
  const tool = { name: 'read_file', input: { path: 'a.txt' } }
  expect(await told('{')).toEqual([400, 'invalid_json'])
  expect(await told(`${'['.repeat(500)}${']'.repeat(500)}`)).toEqual([400, 'invalid_json'])
  expect(await told('[]')).toEqual([400, 'invalid_request'])
  expect(await told(turn(tool, { input: 7 }))).toEqual([400, 'invalid_request'])
  expect(await told(turn(tool, { stream: 'yes' }))).toEqual([400, 'invalid_request'])
  expect(await told(turn(tool, { input: [{ role: 'wizard' }] }))).toEqual([400, 'invalid_request'])
  expect(await told(turn(tool, { biz_params: 'tool' }))).toEqual([400, 'invalid_request'])
  expect(await told(turn(tool), { headers: { 'Content-Type': 'text/plain' } })).toEqual([415, 'invalid_request'])
  expect(await told(turn(tool), { headers: { Authorization: 'Bearer no' } })).toEqual([401, 'unauthorized'])
  expect(await told(turn(tool), { method: 'PUT' })).toEqual([405, 'method_not_allowed'])
  expect(await told(turn(undefined))).toEqual([400, 'provider_not_configured'])
  expect(await told(turn(undefined, { stream: true }))).toEqual([400, 'provider_not_configured'])
  expect(await told(turn(undefined), { path: '/api/agent/process' })).toEqual([400, 'provider_not_configured'])
  expect(await told(turn(undefined, { input: undefined }))).toEqual([400, 'invalid_request'])
})

test('the token goes as a bearer or as X-API-Key; two credentials are none', async () => {
  await using gateway = await openGateway({ files })
  const body = turn({ name: 'read_file', input: { path: 'a.txt' } })
  const status = async (headers: Record<string, string>): Promise<number> =>
    (
      await fetch(`${gateway.url}/agent/process`, {
        method: 'POST',
        headers: { 'Content-Type': 'application/json', ...headers },
        body: JSON.stringify(body),
      })
    ).status
  expect(await status({ Authorization: `Bearer ${gateway.token}` })).toBe(200)
  expect(await status({ 'X-API-Key': gateway.token })).toBe(200)
  for (const headers of [
    {},
    { 'X-API-Key': '' },
    { 'X-API-Key': `${gateway.token}x` },
    { 'X-API-Key': gateway.token, Authorization: 'Bearer wrong' },
    { 'X-API-Key': 'wrong', Authorization: `Bearer ${gateway.token}` },
    { Authorization: `Bearer ${gateway.key()}` },
    { Authorization: `Basic ${gateway.token}` },
  ] as Record<string, string>[])
    expect([headers, await status(headers)]).toEqual([headers, 401])
})

test('every write is kept for undo, by call, and the log says who it was', async () => {
  await using gateway = await openGateway({ files })
  const { world } = gateway
  await gateway.tool('update_file', { path: 'a.txt', content: 'two\n' })
  await gateway.tool('create_file', { path: 'new.txt', content: 'new\n' })
  const ends = (await gateway.log()).filter(({ event, tool }) => event === 'call.end' && tool === 'write_to_file')
  expect(ends).toMatchObject([
    { surface: 'gateway', client: 'u1@console', outcome: 'ok' },
    { surface: 'gateway', client: 'u1@console', outcome: 'ok' },
  ])
  for (const { call } of ends.toReversed()) await world.runtime.call('undo', { call, dryRun: false }, person)
  expect(world.read('a.txt')).toBe('one\n')
  expect(() => world.read('new.txt')).toThrow()
})

test('a call that needs a person is answered with ok: false and the question; after the yes, the same call goes through', async () => {
  await using gateway = await openGateway({ files })
  const { world } = gateway
  const change = { path: 'package.json', content: '{ "name": "y" }\n' }
  const asked = await gateway.tool('update_file', change)
  expect([asked.status, asked.body.tool_result]).toMatchObject([200, { ok: false, effects: 'waiting' }])
  const id = String(asked.body.tool_result?.['approval_id'])
  expect(asked.body.events?.map(({ type }) => type)).toEqual([
    'step_started',
    'tool_call',
    'approval_requested',
    'tool_result',
    'assistant_delta',
    'completed',
  ])
  expect(asked.body.events?.[2]).toMatchObject({ meta: { approval_id: id } })
  expect(world.read('package.json')).toBe(files['package.json'])
  // Another session's call is not the one that was agreed to.
  world.runtime.approvals.decide(id, { approve: true, by: 'somebody@test', note: 'go on' })
  const other = await gateway.tool('update_file', change, { session_id: 's2' })
  expect(other.body.tool_result).toMatchObject({ ok: false })
  expect((await gateway.tool('update_file', change)).body.tool_result).toMatchObject({ ok: true, approval_note: 'go on' })
  expect(world.read('package.json')).toBe(change.content)
})

test('a no is an answer, too, with the words of the person', async () => {
  await using gateway = await openGateway({ files })
  const change = { path: 'package.json', content: '{}\n' }
  const id = String((await gateway.tool('update_file', change)).body.tool_result?.['approval_id'])
  gateway.world.runtime.approvals.decide(id, { approve: false, by: 'somebody@test', note: 'leave it' })
  const { status, body } = await gateway.tool('update_file', change)
  expect([status, body.tool_result]).toMatchObject([200, { ok: false, effects: 'declined' }])
  expect(body.tool_result?.text).toContain('leave it')
  expect(gateway.world.read('package.json')).toBe(files['package.json'])
})

test('events come as they happen: the question is there while the call still waits', async () => {
  await using gateway = await openGateway({ files, flags: { 'approval-wait-ms': '40000' } })
  const response = await gateway.send('/agent/process', {
    body: turn({ name: 'update_file', input: { path: 'package.json', content: '{}\n' } }, { stream: true }),
  })
  const seen: string[] = []
  for await (const frame of readFrames(response)) {
    const { type = String(frame), meta } = frame as { type?: string; meta?: { approval_id: string } }
    seen.push(type)
    if (type === 'approval_requested')
      gateway.world.runtime.approvals.decide(meta?.approval_id ?? '', { approve: true, by: 'somebody@test' })
  }
  expect(seen).toEqual([
    'step_started',
    'tool_call',
    'approval_requested',
    'tool_result',
    'assistant_delta',
    'completed',
    '[DONE]',
  ])
  expect(gateway.world.read('package.json')).toBe('{}\n')
})

test('a client that goes away cancels its call; nothing is half done, and the history has both halves', async () => {
  for (const stream of [false, true]) {
    await using gateway = await openGateway({ files, flags: { 'approval-wait-ms': '40000' } })
    const { runtime } = gateway.world
    const body = JSON.stringify(turn({ name: 'update_file', input: { path: 'package.json', content: '{}\n' } }, { stream }))
    const socket = connect(gateway.port, '127.0.0.1')
    socket.write(
      `POST /agent/process HTTP/1.1\r\nHost: 127.0.0.1:${gateway.port}\r\nAuthorization: Bearer ${gateway.token}\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    )
    await until(() => runtime.approvals.count('pending') === 1, 'the question')
    socket.destroy()
    await once(socket, 'close')
    await until(
      () => runtime.audit.last(5, ({ event }) => event === 'call.suspended' || event === 'call.end').length > 0,
      'that it stopped',
    )
    expect(gateway.world.read('package.json')).toBe(files['package.json'])
    await until(() => runtime.chats.list({ limit: 1 }).length === 1, 'its history')
    const [chat] = runtime.chats.list({ limit: 1 })
    expect(runtime.chats.messages(chat?.id ?? '').map(({ role }) => role)).toEqual(['user', 'assistant'])
  }
})

test('a turn without a tool goes to the agent, where there is one: in each stream its events are told in the same way', async () => {
  await using gateway = await openGateway({ files })
  const { runtime } = gateway.world
  const agent: TurnTaker = {
    async take({ messages }, tell) {
      tell({ type: 'step', step: 1 })
      tell({ type: 'delta', step: 1, delta: 'You said: ' })
      tell({ type: 'delta', step: 1, delta: messages[0]?.text ?? '' })
      tell({ type: 'completed', step: 1, reply: `You said: ${messages[0]?.text}` })
    },
  }
  const turns = openTurns({
    gate: runtime.gateFor(gatewayProfile),
    sessions: openGatewaySessions(() => true),
    chats: runtime.chats,
    forms: runtime.forms,
    agent,
  })
  const told: string[] = []
  const said = {
    speaker: { session_id: 's', user_id: 'u', channel: 'c' },
    messages: [{ role: 'user', type: 'message', text: 'hi' }],
  }
  turns.mayBegin(said)
  await turns.take(said, 'peer', ({ type }) => void told.push(type), new AbortController().signal)
  expect(told).toEqual(['step', 'delta', 'delta', 'completed'])
  const [chat] = runtime.chats.list({ limit: 1 })
  expect(runtime.chats.messages(chat?.id ?? '').map(({ content }) => content[0]?.text)).toEqual(['hi', 'You said: hi'])
})

const chatsOf = async (gateway: Gateway, query = ''): Promise<Record<string, string>[]> =>
  (await (await gateway.send(`/chats${query}`)).json()) as Record<string, string>[]

test('chats: one for each session, user and channel; listed, read, renamed, deleted', async () => {
  await using gateway = await openGateway({ files })
  await gateway.tool('read_file', { path: 'a.txt' })
  await gateway.tool('read_file', { path: 'none.txt' })
  await gateway.tool('read_file', { path: 'a.txt' }, { user_id: 'u2' })
  await gateway.tool('read_file', { path: 'a.txt' }, { user_id: 'u2', channel: 'Web' })
  const all = await chatsOf(gateway)
  expect(all.map(({ user_id, channel }) => `${user_id} ${channel}`).toSorted()).toEqual(['u1 console', 'u2 console', 'u2 web'])
  const [mine] = await chatsOf(gateway, '?user_id=u1')
  expect(mine).toMatchObject({ name: '请读取 docs/contracts.md'.slice(0, 20), session_id: 's1' })
  expect(await chatsOf(gateway, '?user_id=u2&channel=WEB')).toHaveLength(1)
  for (const base of ['/chats', '/api/chats']) {
    const { messages } = (await (await gateway.send(`${base}/${mine?.['id']}`)).json()) as {
      messages: { role: string; content: { text: string }[]; metadata?: object }[]
    }
    expect(messages.map(({ role, content, metadata }) => [role, content[0]?.text, metadata])).toEqual([
      ['user', '请读取 docs/contracts.md', undefined],
      ['assistant', 'one\n', { tool: 'read_file', ok: true }],
      ['user', '请读取 docs/contracts.md', undefined],
      ['assistant', 'File not found: none.txt', { tool: 'read_file', error: 'tool_not_found' }],
    ])
  }
  const id = mine?.['id'] ?? ''
  const rename = (body: unknown) => gateway.send(`/chats/${id}`, { method: 'PUT', body })
  expect(await (await rename({ id, name: ' 新的 ' })).json()).toMatchObject({ id, name: '新的' })
  expect((await rename({ id: 'other', name: 'x' })).status).toBe(400)
  expect((await rename({ name: '' })).status).toBe(400)
  expect((await gateway.send(`/chats/${id}`, { method: 'DELETE' })).status).toBe(200)
  for (const method of ['GET', 'DELETE']) expect((await gateway.send(`/chats/${id}`, { method })).status).toBe(404)
  const ids = (await chatsOf(gateway)).map((chat) => chat['id'])
  expect(await (await gateway.send('/chats/batch-delete', { body: [...ids, 'no-such'] })).json()).toEqual({
    deleted: true,
    count: 2,
  })
  expect(await chatsOf(gateway)).toEqual([])
  // What was done is in the log, whatever becomes of the chat.
  expect((await gateway.log()).filter(({ surface }) => surface === 'gateway').length).toBeGreaterThan(3)
})

test('the person answers with their key, and with nothing that an agent has', async () => {
  await using gateway = await openGateway({ files })
  const change = { path: 'package.json', content: '{}\n' }
  const id = String((await gateway.tool('update_file', change)).body.tool_result?.['approval_id'])
  const Authorization = `Bearer ${gateway.key()}`
  const answer = (body: unknown, headers: Record<string, string> = { Authorization }) =>
    gateway.send(`/api/approvals/${id}`, { body, headers })
  for (const path of ['/api/approvals', `/api/approvals/${id}`]) expect((await gateway.send(path)).status).toBe(401)
  expect((await answer({ approve: true }, {})).status).toBe(401)
  expect((await answer({ approve: true }, { Authorization: '', 'X-API-Key': gateway.token })).status).toBe(401)
  expect(gateway.world.runtime.approvals.state(id)).toBe('pending')
  const list = (await (await gateway.send('/api/approvals', { headers: { Authorization } })).json()) as Record<string, unknown>
  expect(list).toMatchObject({ approvals: [{ id, tool: 'write_to_file', client: 'u1@console' }], pending: 1 })
  expect(await (await gateway.send(`/api/approvals/${id}`, { headers: { Authorization } })).json()).toMatchObject({
    id,
    card: { changes: [{ path: 'package.json' }] },
  })
  for (const body of [{}, { approve: 'yes' }, { approve: true, note: 7 }, { approve: true, note: 'x'.repeat(1_001) }])
    expect([body, (await answer(body)).status]).toEqual([body, 400])
  expect((await answer({ approve: true }, { Authorization, 'Content-Type': 'text/plain' })).status).toBe(415)
  expect(await (await answer({ approve: true, note: 'fine' })).json()).toMatchObject({
    id,
    state: 'approved',
    decidedBy: 'person@http',
  })
  expect((await answer({ approve: false })).status).toBe(409)
  expect((await gateway.send('/api/approvals/appr_none', { headers: { Authorization } })).status).toBe(404)
  expect((await gateway.tool('update_file', change)).body.tool_result).toMatchObject({ ok: true, approval_note: 'fine' })
})

test('`handrail approvals key` prints a key for that server; it opens no other', async () => {
  await using gateway = await openGateway({ files })
  const { code, out } = await runInside(gateway.world.project, ['approvals', 'key', '--port', String(gateway.port)])
  expect([code, out]).toEqual([0, expect.stringMatching(/^hpk_\S+\n$/)])
  const Authorization = `Bearer ${out.trim()}`
  expect((await gateway.send('/api/approvals', { headers: { Authorization } })).status).toBe(200)
  await using other = await openGateway({ files })
  expect((await other.send('/api/approvals', { headers: { Authorization } })).status).toBe(401)
  expect((await runInside(gateway.world.project, ['approvals', 'key', '--port', '1'])).code).toBe(1)
})

test('events: the person follows everything, an agent its own session, both from a cursor on', async () => {
  await using gateway = await openGateway({ files })
  const Authorization = `Bearer ${gateway.key()}`
  await gateway.tool('update_file', { path: 'a.txt', content: 'two\n' })
  await gateway.tool('update_file', { path: 'a.txt', content: 'three\n' }, { session_id: 's2' })
  const follow = async (query: string, headers: Record<string, string>, enough: (lines: Line[]) => boolean): Promise<Line[]> => {
    const going = new AbortController()
    const response = await gateway.send(`/events${query}`, { headers, signal: going.signal })
    expect(response.status).toBe(200)
    const lines: Line[] = []
    for await (const frame of readFrames(response)) {
      lines.push(frame as Line)
      if (enough(lines)) break
    }
    going.abort()
    return lines
  }
  const ends = (count: number) => (lines: Line[]) => lines.filter(({ event }) => event === 'call.end').length === count
  const all = await follow('?from=1', { Authorization }, ends(2))
  expect(all.map(({ seq }) => seq)).toEqual(all.map((_, at) => at + 1))
  expect(new Set(all.flatMap(({ session }) => session ?? [])).size).toBe(2)
  expect(all[0]).not.toHaveProperty('hash')
  const later = await follow('', { Authorization, 'Last-Event-ID': String(all.at(-2)?.seq) }, ends(1))
  expect(later[0]?.seq).toBe(all.at(-1)?.seq)
  const own = await follow('?from=1&session_id=s1&user_id=u1&channel=console', {}, ends(1))
  expect(new Set(own.map(({ session }) => session)).size).toBe(1)
  expect(own.every(({ seq }) => seq <= (all.at(-1)?.seq ?? 0))).toBe(true)
  expect((await gateway.send('/events')).status).toBe(400)
  expect((await gateway.send('/events', { headers: { Authorization: 'Bearer wrong' } })).status).toBe(401)
  expect((await gateway.send('/events?from=x', { headers: { Authorization } })).status).toBe(400)
})

interface Line {
  seq: number
  event: string
  session?: string
}

test('a stream of events hears what happens from now on, while it happens', async () => {
  await using gateway = await openGateway({ files })
  const going = new AbortController()
  const response = await gateway.send('/events', { headers: { Authorization: `Bearer ${gateway.key()}` }, signal: going.signal })
  const frames = readFrames(response)
  const first = frames.next()
  await gateway.tool('update_file', { path: 'a.txt', content: 'two\n' })
  expect((await first).value).toMatchObject({ event: 'session.opened' })
  going.abort()
  expect(framesOf('data: {"a":1}\n\n')).toEqual([{ a: 1 }])
})
