import { spawn } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApprovalHead } from '../../src/contracts/approval.ts'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { serveInside } from '../support/inside.ts'
import { patienceMs } from '../support/patience.ts'
import { openServe, type Served } from '../support/serve.ts'
import { cleanEnv, openWorld, program, type World } from '../support/world.ts'
import {
  answersHonestly,
  type Ask,
  before,
  beginSession,
  bytesOf,
  call,
  type Client,
  contentIn,
  cpuSeconds,
  eventually,
  evil,
  files,
  hello,
  lands,
  large,
  latest,
  linesOf,
  listening,
  messagesIn,
  modern,
  openSse,
  openWire,
  type Reply,
  say,
  type Session,
  socketsOf,
  type Stream,
  toolCall,
  type Wire,
  nothingSecretSaid,
} from '../support/sockets.ts'
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

const after = '{ "name": "evil" }\n'
async function asked(world: World): Promise<ApprovalHead> {
  return eventually('a question', () => world.runtime.approvals.list('pending')[0])
}

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
    const rounds = sweep(8, 3)
    const names = Array.from({ length: 6 }, (_, index) => `owner-${index}.txt`)
    await using other = await openWorld({
      files: { ...files, ...Object.fromEntries(names.map((name) => [name, `of ${name} ${name.repeat(200)}\n`])) },
    })
    await using serving = await serveInside(other.project)
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
    for (let id = 1; id <= rounds; id++) await Promise.all(names.map((_, index) => owners(index, id)))
    for (const [index, stream] of streams.entries()) {
      await eventually('all its answers', () =>
        [...stream.heard().matchAll(/"structuredContent"/g)].length === rounds ? true : undefined,
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
    await using serving = await serveInside(other.project, { args: [...lands, '--ask-over-http'] })
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
    await using serving = await serveInside(other.project, { args: [...lands, '--ask-over-http'] })
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

describe('calls whose connection is dropped', () => {
  const write = { path: 'package.json', content: after, dryRun: false }
  const ends = (other: World, client: string): AuditLine[] =>
    linesOf(other, client).filter((line) => ['call.end', 'call.read', 'call.suspended'].includes(line.event))

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
      await using serving = await serveInside(other.project, { args: lands })
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
      expect(linesOf(other, 'gone').filter((line) => line.event === 'call.resumed')).toEqual([])
    })

    test(`${way}: dropped at the very moment of the yes, it is done whole or not at all`, async () => {
      await using other = await openWorld({ files })
      await using serving = await serveInside(other.project, { args: lands })
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

    // Over each way a search ends in the same way; that each of them hears of a connection that is gone, the test above shows.
    test.runIf(isSoak || way === 'http 2026')(
      `${way}: a long search ends with the one who asked for it, and does not stand in the way of others`,
      async () => {
        const trap = `${'a'.repeat(5_000)}!\n`.repeat(50)
        const traps = Array.from({ length: 20 }, (_, index) => [`trap/${index}.txt`, trap])
        await using other = await openWorld({ files: { ...files, ...Object.fromEntries(traps) } })
        await using serving = await openServe(other.project, { args: ['--search-timeout-ms', '60000'] })
        // Only JavaScript knows this pattern, and it would be at it until the time for searching is over.
        const search = call('search_files', { path: 'trap', regex: '^(?=(a+)+$)' }, { name: 'gone' })
        const began = cpuSeconds(serving)
        const wires = [await begin(serving, search, 'gone'), await begin(serving, search, 'gone')]
        await eventually('the search under way', () => (cpuSeconds(serving) - began > 0.5 ? true : undefined))
        for (const { socket } of wires) socket.destroy()
        const [end] = await eventually('its end', () => (ends(other, 'gone').length > 1 ? ends(other, 'gone') : undefined))
        expect(end).toMatchObject({ tool: 'search_files', outcome: 'cancelled' })
        using next = openWire(serving.port, bytesOf(serving, call('search_files', { path: 'b.txt', regex: '(?=b)b0' })))
        await eventually('the answer to another search', () => (next.heard().includes('"line":1') ? true : undefined))
      },
    )
  }

  test('a session that is ended takes its waiting calls with it', async () => {
    await using other = await openWorld({ files })
    await using serving = await serveInside(other.project, { args: lands })
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

test('answers to a form that are none approve nothing, and the call still ends', async () => {
  await using other = await openWorld({ files })
  await using serving = await serveInside(other.project, { args: [...lands, '--ask-over-http'] })
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
    const late = pause(patienceMs, undefined, { ref: false }).then(() => {
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

test('H07 no secret was ever said or written down, whatever came in', () => nothingSecretSaid(world, served))
