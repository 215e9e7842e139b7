import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { codes003 } from '../../src/contracts/faults/contract-003.ts'
import { validatorOf } from '../../src/text/validator.ts'
import { openBridgeWorld, openRawClient, protocol, token, type BridgeWorld, type RawClient } from '../support/bridge.ts'
import { proves } from '../support/proof.ts'
import { eventually } from '../support/sockets.ts'
import { repository } from '../support/world.ts'

// Seed 003 over real sockets: what is said, in which order, and what is answered to what is not a request.

const open: AsyncDisposable[] = []
afterEach(async () => {
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

const contract = JSON.parse(readFileSync(join(repository, 'contracts/v1/bridge.json'), 'utf8')) as {
  methods: Record<string, { params: object; result: object }>
  events: Record<string, object>
  messages: Record<string, object>
  shapes: Record<string, { properties: Record<string, unknown>; required: string[] }>
  codes: string[]
}
const fits = (schema: object | undefined, value: unknown): void => {
  const validate = validatorOf(schema ?? {})
  expect([validate(value), validate.errors, value]).toEqual([true, null, value])
}

proves(
  ['bridge.request', 'bridge.untested.messages'],
  'what is no request is told so, with the id where it has one, and the connection goes on',
  async () => {
    const at = await ground()
    const raw = await client(at)
    const good = { protocol, type: 'request', requestId: 'r', method: 'dev.info', auth: { token } }
    const wrong: [unknown, string][] = [
      ['', 'unknown'],
      ['{', 'unknown'],
      ['[]', 'unknown'],
      ['null', 'unknown'],
      ['"x"', 'unknown'],
      [{ ...good, protocol: 'intent-flow.devserver.v2' }, 'r'],
      [{ ...good, type: 'response' }, 'r'],
      [{ ...good, requestId: undefined }, 'unknown'],
      [{ ...good, requestId: '' }, 'unknown'],
      [{ ...good, requestId: '   ' }, 'unknown'],
      [{ ...good, requestId: 7 }, 'unknown'],
      [{ ...good, requestId: 'x'.repeat(129) }, 'unknown'],
      [{ ...good, requestId: 'a\u0007b' }, 'unknown'],
      [{ ...good, method: undefined }, 'r'],
      [{ ...good, auth: 'x' }, 'r'],
      [{ ...good, auth: { token: 1 } }, 'r'],
      [`{"protocol":"${protocol}","type":"request","requestId":"r","method":"dev.info","params":{"__proto__":{}}}`, 'r'],
      [
        `{"protocol":"${protocol}","type":"request","requestId":"r","method":"dev.info","params":{"a":[{"\\u005f_proto__":1}]}}`,
        'r',
      ],
    ]
    for (const [message, id] of wrong) {
      raw.say(message)
      const answer = await raw.response(id)
      expect([message, answer.ok, answer.error?.code]).toEqual([message, false, 'ERR_INVALID_REQUEST'])
    }
    // Echoed exactly, spaces and all.
    for (const id of [' spaced id ', '漢字 é', 'x'.repeat(128)]) {
      raw.ask(id, 'dev.info')
      expect(await raw.response(id)).toMatchObject({ ok: true, requestId: id })
    }
  },
)

proves('bridge.response', 'every answer has the form of the contract, and there is one for each request', async () => {
  const at = await ground()
  const raw = await client(at)
  const asked: [string, string, object][] = [
    ['1', 'dev.info', {}],
    ['2', 'dev.workspace.snapshot', { maxBytes: 10 }],
    ['3', 'dev.run', { argv: ['read', '.'] }],
    ['4', 'dev.runChecks', { checks: ['lint'] }],
    ['5', 'dev.cancel', { targetRequestId: 'none' }],
    ['6', 'dev.none', {}],
  ]
  for (const [id, method, params] of asked) raw.ask(id, method, params)
  for (const [id, method] of asked) {
    const answer = await raw.response(id)
    fits(contract.messages['BridgeResponse'], answer)
    if (answer.ok) fits(contract.methods[method]?.result, answer.result)
  }
  for (const one of raw.heard.filter(({ type }) => type === 'event')) {
    fits(contract.messages['BridgeEvent'], one)
    fits(contract.events[one.event?.kind ?? ''], one.event?.payload)
  }
  expect(raw.heard.filter(({ type }) => type === 'response')).toHaveLength(asked.length)
})

proves('bridge.ok-false', 'a command that fails and a check that finds something are results', async () => {
  const at = await ground()
  const raw = await client(at)
  raw.ask('fail', 'dev.run', { argv: ['fail'] })
  expect((await raw.response('fail')).result).toMatchObject({ outcome: { kind: 'result', exitCode: 1, result: { ok: false } } })
  for (const word of ['approvals', 'undo', 'trust', 'keys', 'call', 'serve', 'grants']) {
    raw.ask(word, 'dev.run', { argv: [word, 'list'] })
    const { result } = await raw.response(word)
    expect(result).toMatchObject({ outcome: { exitCode: 2, result: { ok: false, error: { code: 'CLI_INVALID_COMMAND' } } } })
  }
  raw.ask('lint', 'dev.runChecks', { checks: ['lint'] })
  expect((await raw.response('lint')).result).toMatchObject({ results: [{ check: 'lint', ok: false, exitCode: 127 }] })
})

proves('bridge.event', 'events have the id of their request, are numbered, and come before its response', async () => {
  const at = await ground()
  const raw = await client(at)
  raw.ask('a', 'dev.runChecks', { checks: ['lint', 'typecheck'] })
  raw.ask('b', 'dev.run', { argv: ['traced', '100'], trace: { enabled: true } })
  await Promise.all([raw.response('a'), raw.response('b')])
  for (const id of ['a', 'b']) {
    const mine = raw.heard.filter(({ requestId }) => requestId === id)
    expect(mine.at(-1)?.type).toBe('response')
    expect(mine.slice(0, -1).map(({ type, event }) => [type, event?.seq])).toEqual(
      mine.slice(0, -1).map((_, at) => ['event', at]),
    )
  }
})

proves(
  'bridge.json',
  'what cannot be said as JSON is an internal fault, told without a stack, and the server goes on',
  async () => {
    const circle: Record<string, unknown> = {}
    circle['self'] = circle
    const commands = {
      parse: () => ({ command: 'x', effect: 'read', writes: false, help: false, runId: 'x', stdin: false, outFolder: undefined }),
      run: async () => ({ kind: 'result', exitCode: 0, result: { artifacts: [], circle } }),
      config: () => ({ found: false }),
    }
    const at = await ground({ commands: commands as never })
    const raw = await client(at)
    raw.ask('c', 'dev.run', { argv: ['x'] })
    const answer = await raw.response('c')
    expect(answer).toMatchObject({ ok: false, error: { code: 'ERR_INTERNAL', data: { cause: 'TypeError' } } })
    expect(JSON.stringify(answer)).not.toContain('at ')
    raw.ask('i', 'dev.info')
    expect((await raw.response('i')).ok).toBe(true)
  },
)

proves('bridge.info', 'protocol, version, cwd and whether commands may write; twice the same', async () => {
  const at = await ground()
  const raw = await client(at)
  raw.ask('1', 'dev.info')
  raw.ask('2', 'dev.info', 'params are not looked at')
  const [one, two] = [await raw.response('1'), await raw.response('2')]
  expect(one.result).toEqual(two.result)
  const { version } = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as { version: string }
  expect(one.result).toMatchObject({ protocol, version, cwd: at.world.project, capabilities: { write: false } })
})

proves('bridge.run', 'argv without empty words; the outcome is the command’s own, or its help', async () => {
  const at = await ground()
  const raw = await client(at)
  raw.ask('r', 'dev.run', { argv: ['', ' read ', '.', '  '] })
  expect((await raw.response('r')).result).toMatchObject({
    outcome: { kind: 'result', exitCode: 0, result: { command: 'read', ok: true } },
  })
  expect(at.ran[0]).toEqual({ argv: ['--runId', 'r', 'read', '.'], allowWrite: false })
  raw.ask('h', 'dev.run', { argv: ['-h'] })
  expect((await raw.response('h')).result).toEqual({ outcome: { kind: 'help', text: 'handrail COMMAND', exitCode: 0 } })
  // It went the one road, as an agent's call.
  const [line] = at.world.runtime.audit.last(5, ({ tool }) => tool === 'list_files')
  expect(line).toMatchObject({ surface: 'bridge', event: 'call.read' })
  for (const params of [
    {},
    { argv: 'read' },
    { argv: [1] },
    { argv: ['a\0b'] },
    { argv: ['-'] },
    { argv: Array(600).fill('x') },
    [],
    'x',
  ]) {
    raw.ask('bad', 'dev.run', params)
    expect([params, (await raw.response('bad')).error?.code]).toEqual([params, 'ERR_INVALID_PARAMS'])
  }
})

proves('bridge.run.id', 'both forms of --runId count; injectRunId: false leaves it out', async () => {
  const at = await ground()
  const raw = await client(at)
  const ids = async (params: object): Promise<unknown> => {
    raw.ask('the-request', 'dev.run', params)
    return ((await raw.response('the-request')).result as { outcome: { result: { runId: string } } }).outcome.result.runId
  }
  expect(await ids({ argv: ['fail'] })).toBe('the-request')
  expect(await ids({ argv: ['fail', '--runId', 'mine'] })).toBe('mine')
  expect(await ids({ argv: ['fail', '--runId=mine'] })).toBe('mine')
  expect(await ids({ argv: ['fail'], injectRunId: false })).toBe('missing-runId')
})

proves(
  ['bridge.run.trace', 'bridge.untested.trace', 'bridge.run.no-trace-added'],
  'chunks of whole characters within their bounds, what is left out counted, and an end whatever there is',
  async () => {
    const at = await ground({
      files: { 'a.txt': 'a0\n', 'out/trace.slim.json': `${JSON.stringify({ t: 'x'.repeat(1_000) })}\n` },
    })
    const raw = await client(at)
    const told = async (argv: string[], trace: unknown = { enabled: true }) => {
      const from = raw.heard.length
      raw.ask('t', 'dev.run', { argv, ...(trace !== null && { trace }) })
      const response = await raw.response('t')
      const events = raw.heard.slice(from).flatMap(({ event }) => event ?? [])
      const chunks = events.filter(({ kind }) => kind === 'dev.event.trace.chunk').map(({ payload }) => payload)
      const { payload: finished } = events.at(-1) ?? {}
      return {
        response,
        kinds: [...new Set(events.map(({ kind }) => kind.split('.').at(-1)))],
        chunks,
        finished,
        text: chunks.map(({ text }) => text).join(''),
      }
    }
    const whole = await told(['traced', '100'], { enabled: true, chunkBytes: 64 })
    expect(JSON.parse(whole.text)).toEqual({ text: '漢'.repeat(100) })
    expect(whole.kinds).toEqual(['started', 'chunk', 'finished'])
    expect(whole.chunks.map(({ seq }) => seq)).toEqual(whole.chunks.map((_, index) => index))
    for (const { text, bytes } of whole.chunks)
      expect([Buffer.byteLength(String(text)) <= 64, bytes]).toEqual([true, Buffer.byteLength(String(text))])
    expect(whole.finished).toMatchObject({
      available: true,
      truncated: false,
      droppedBytes: 0,
      totalBytes: Buffer.byteLength(whole.text),
    })

    const cut = await told(['traced', '100'], { enabled: true, maxBytes: 50, chunkBytes: 20 })
    expect(Buffer.byteLength(cut.text)).toBeLessThanOrEqual(50)
    expect(cut.finished).toMatchObject({
      available: true,
      truncated: true,
      totalBytes: 311,
      droppedBytes: 311 - Buffer.byteLength(cut.text),
    })

    const oversized = await told(['traced', '9999', 'cut'])
    expect([oversized.text, oversized.finished]).toMatchObject([
      'the beginning',
      { available: true, truncated: true, totalBytes: 9_999 },
    ])
    const file = await told(['traced', '0', '--out', 'out'])
    expect([file.text.length, file.finished]).toMatchObject([1_009, { available: true, totalBytes: 1_009 }])
    expect((await told(['traced', '0', '--out', 'nowhere'])).finished).toMatchObject({ available: false })
    expect((await told(['read', '.'])).finished).toMatchObject({ available: false })
    expect((await told(['traced', '5'], null)).kinds).toEqual([])
    expect(at.ran.flatMap(({ argv }) => argv)).not.toContain('--includeTrace')
    expect((await told(['traced', '5'], { enabled: false })).kinds).toEqual([])
    for (const trace of ['x', { enabled: 'yes' }, {}, { enabled: true, maxBytes: 0 }, { enabled: true, chunkBytes: '9' }])
      expect((await told(['traced', '5'], trace)).response.error?.code).toBe('ERR_INVALID_PARAMS')
  },
)

proves('bridge.read-only', 'whether a command writes is decided by what it means, however it is spelt', async () => {
  const at = await ground()
  const raw = await client(at)
  for (const argv of [
    ['write', 'a.txt', 'b', '--mode', 'write'],
    ['--mode=write', 'write', 'a.txt', 'b'],
    ['write', 'a.txt', 'b', '--MODE', 'write'],
  ]) {
    raw.ask('w', 'dev.run', { argv })
    expect([argv, (await raw.response('w')).error?.code]).toEqual([argv, 'ERR_FORBIDDEN'])
  }
  expect(at.ran).toEqual([])
  raw.ask('p', 'dev.run', { argv: ['write', 'a.txt', 'b'] })
  expect((await raw.response('p')).result).toMatchObject({ outcome: { exitCode: 0 } })
  const writing = await ground({ allowWrite: true })
  const writer = await client(writing)
  writer.ask('i', 'dev.info')
  expect((await writer.response('i')).result).toMatchObject({ capabilities: { write: true } })
  writer.ask('w', 'dev.run', { argv: ['write', 'a.txt', 'b', '--mode', 'write'] })
  expect(await writer.response('w')).toMatchObject({ ok: true, result: { outcome: { exitCode: 0 } } })
  expect(writing.ran).toEqual([{ argv: ['--runId', 'w', 'write', 'a.txt', 'b', '--mode', 'write'], allowWrite: true }])
})

proves(
  ['bridge.cancel', 'bridge.untested.cancel', 'bridge.cancelled.event'],
  'from this connection or another; unknown, over and ambiguous ones are not found',
  async () => {
    const at = await ground()
    const [a, b, c] = [await client(at), await client(at), await client(at)]
    const notFound = async (raw: RawClient, target: string, data: object): Promise<void> => {
      raw.ask('x', 'dev.cancel', { targetRequestId: target })
      expect((await raw.response('x')).error).toMatchObject({ code: 'ERR_NOT_FOUND', data: { targetRequestId: target, ...data } })
    }
    await notFound(a, 'none', {})
    await notFound(a, 'x', {})
    a.ask('w', 'dev.run', { argv: ['wait'] })
    b.ask('c1', 'dev.cancel', { targetRequestId: 'w' })
    b.ask('c2', 'dev.cancel', { targetRequestId: 'w' })
    expect((await b.response('c1')).result).toEqual({ cancelled: true, targetRequestId: 'w' })
    // A second one while it ends is a yes, once it is over there is nothing to cancel.
    expect(['ERR_NOT_FOUND', undefined]).toContain((await b.response('c2')).error?.code)
    expect((await a.response('w')).error?.code).toBe('ERR_CANCELLED')
    expect(a.heard.map(({ type, event }) => event?.kind ?? type).slice(-2)).toEqual(['dev.event.request.cancelled', 'response'])
    await notFound(b, 'w', {})
    // The id is free again.
    a.ask('w', 'dev.info')
    expect((await a.response('w')).ok).toBe(true)
    for (const raw of [a, b]) raw.ask('same', 'dev.run', { argv: ['wait'] })
    // Both are under way once another answer has come on each connection.
    for (const raw of [a, b]) {
      raw.ask('after', 'dev.info')
      await raw.response('after')
    }
    await notFound(c, 'same', { connections: 2 })
    a.ask('own', 'dev.cancel', { targetRequestId: 'same' })
    expect((await a.response('same')).error?.code).toBe('ERR_CANCELLED')
    expect(b.heard.some(({ requestId, type }) => requestId === 'same' && type === 'response')).toBe(false)
  },
)

proves(
  ['bridge.token', 'bridge.auth'],
  'in every message, or once when connecting; a wrong one is a no whatever was shown before',
  async () => {
    const at = await ground()
    const stranger = await client(at, { own: null })
    for (const auth of [undefined, { token: '' }, { token: `${token}x` }]) {
      stranger.ask('s', 'dev.info', {}, { auth })
      expect([auth, (await stranger.response('s')).error?.code]).toEqual([auth, 'ERR_UNAUTHORIZED'])
    }
    stranger.ask('m', 'dev.none')
    expect((await stranger.response('m')).error?.code).toBe('ERR_UNAUTHORIZED')
    stranger.ask('right', 'dev.info', {}, { auth: { token } })
    expect((await stranger.response('right')).ok).toBe(true)
    stranger.ask('again', 'dev.info')
    expect((await stranger.response('again')).error?.code).toBe('ERR_UNAUTHORIZED')
    expect(await stranger.closed).toBe(1008)
    const native = await client(at, { own: null, headers: { Authorization: `Bearer ${token}` } })
    native.ask('n', 'dev.info')
    expect((await native.response('n')).ok).toBe(true)
    native.ask('w', 'dev.info', {}, { auth: { token: 'wrong' } })
    expect((await native.response('w')).error?.code).toBe('ERR_UNAUTHORIZED')
    await expect(client(at, { headers: { Authorization: 'Bearer wrong' } })).rejects.toThrow('401')
  },
)

proves(
  ['bridge.codes', 'bridge.untested.messages'],
  'each of the nine is raised, and no other stands for what they say',
  async () => {
    expect(contract.codes).toEqual(expect.arrayContaining([...codes003]))
    const at = await ground()
    const raw = await client(at)
    const codeOf = async (id: string): Promise<string | undefined> => (await raw.response(id)).error?.code
    const seen: (string | undefined)[] = []
    raw.say('{')
    seen.push(await codeOf('unknown'))
    raw.ask('1', 'dev.none')
    seen.push(await codeOf('1'))
    raw.ask('2', 'dev.runChecks', { checks: 'lint' })
    const wrong = await raw.response('2')
    expect(wrong.error).toMatchObject({ code: 'ERR_INVALID_PARAMS', message: 'params.checks must be an array' })
    seen.push(wrong.error?.code)
    raw.ask('3', 'dev.run', { argv: ['wait'] })
    raw.ask('3', 'dev.info')
    seen.push(await codeOf('3'))
    raw.ask('4', 'dev.info', {}, { auth: { token: 'wrong' } })
    seen.push(await codeOf('4'))
    raw.ask('5', 'dev.run', { argv: ['write', 'a.txt', 'x', '--mode', 'write'] })
    seen.push(await codeOf('5'))
    raw.ask('6', 'dev.cancel', { targetRequestId: 'none' })
    seen.push(await codeOf('6'))
    raw.ask('7', 'dev.cancel', { targetRequestId: '3' })
    seen.push(await codeOf('3'))
    // ERR_INTERNAL has a test of its own.
    expect([...seen, 'ERR_INTERNAL']).toEqual([...codes003])
    for (const params of [
      { checks: ['build'] },
      { checks: [null] },
      { checks: ['lint'], timeoutMs: '5' },
      { checks: ['lint'], timeoutMs: 0 },
    ]) {
      raw.ask('p', 'dev.runChecks', params)
      expect([params, await codeOf('p')]).toEqual([params, 'ERR_INVALID_PARAMS'])
    }
    raw.ask('m', 'dev.workspace.snapshot', { maxBytes: 1.5 })
    expect(await codeOf('m')).toBe('ERR_INVALID_PARAMS')
  },
)

proves('bridge.stop', 'the answer goes out, what is under way is cancelled, and the server ends', async () => {
  const at = await ground()
  const raw = await client(at)
  raw.ask('w', 'dev.run', { argv: ['wait'] })
  raw.ask('s', 'dev.stop')
  expect((await raw.response('s')).result).toEqual({ stopping: true })
  await at.server.asked
  await at.server.close()
  expect((await raw.response('w')).error?.code).toBe('ERR_CANCELLED')
  expect(await raw.closed).toBe(1001)
})

proves('bridge.shapes', 'Diagnostic, Anchor, TextEdit and FilePatch, as published', () => {
  const fields = Object.fromEntries(
    Object.entries(contract.shapes).map(([name, one]) => [name, [Object.keys(one.properties ?? {}), one.required]]),
  )
  expect(fields).toMatchObject({
    Diagnostic: [
      ['severity', 'code', 'message', 'pointer', 'action', 'data'],
      ['severity', 'code', 'message'],
    ],
    Anchor: [['file', 'range', 'contentHash'], ['file']],
    TextEdit: [
      ['range', 'newText'],
      ['range', 'newText'],
    ],
    FilePatch: [
      ['file', 'kind', 'baseContentHash', 'edits', 'content'],
      ['file', 'kind'],
    ],
  })
})

proves('bridge.untested.lost', 'a connection that is lost cancels what it asked for', async () => {
  const at = await ground()
  const [a, b] = [await client(at), await client(at)]
  a.ask('w', 'dev.run', { argv: ['wait'] })
  await eventually('the command', () => at.ran[0])
  a.socket.terminate()
  await a.closed
  // As soon as the server has heard of it, nobody finds it any more.
  for (let found = true; found;) {
    b.ask('c', 'dev.cancel', { targetRequestId: 'w' })
    found = (await b.response('c')).ok === true
  }
  expect(at.ran).toHaveLength(1)
})

proves(
  'bridge.untested.at-once',
  'many requests on one connection: those beyond the bound are told to wait, each has one answer',
  async () => {
    const at = await ground()
    const raw = await client(at)
    for (let n = 0; n < 40; n++) raw.ask(`w${n}`, 'dev.run', { argv: ['wait'] })
    for (let n = 16; n < 40; n++) expect((await raw.response(`w${n}`)).error?.code).toBe('ERR_BUSY')
    for (let n = 0; n < 16; n++) raw.ask(`c${n}`, 'dev.cancel', { targetRequestId: `w${n}` })
    for (let n = 0; n < 16; n++) expect((await raw.response(`w${n}`)).error?.code).toBe('ERR_CANCELLED')
    expect(at.ran.length).toBeLessThanOrEqual(4)
  },
)

proves(['bridge.defaults', 'bridge.compatible'], 'numbers that nobody gave, and fields that nobody knows', async () => {
  const defaults = Object.entries(contract.methods).flatMap(([method, { params }]) => {
    const { properties = {} } = params as { properties?: Record<string, { default?: unknown; properties?: object }> }
    const inner = Object.entries((properties['trace']?.properties ?? {}) as Record<string, { default?: unknown }>)
    return [...Object.entries(properties), ...inner].flatMap(([name, one]) =>
      one.default === undefined ? [] : [[method, name, one.default]],
    )
  })
  expect(defaults).toEqual(
    expect.arrayContaining([
      ['dev.workspace.snapshot', 'maxBytes', 65_536],
      ['dev.runChecks', 'timeoutMs', 120_000],
      ['dev.run', 'maxBytes', 524_288],
      ['dev.run', 'chunkBytes', 16_384],
    ]),
  )
  const raw = await client(await ground())
  const more = { later: { than: 'this version' } }
  raw.ask('f', 'dev.workspace.snapshot', more, { trace: 'of a newer client', ...more })
  const answer = await raw.response('f')
  expect(answer.ok).toBe(true)
  expect(JSON.stringify(answer)).not.toContain('this version')
})

test('a result that is too large for one answer is shown by its beginning, and says so', async () => {
  const artifacts = [
    { outputKey: 'large', kind: 'X', ok: true, inline: { text: 'é'.repeat(2_000_000) } },
    { outputKey: 'small', kind: 'X', ok: true, inline: { text: 'whole' } },
  ]
  const commands = {
    parse: () => ({ command: 'x', effect: 'read', writes: false, help: false, runId: 'x', stdin: false, outFolder: undefined }),
    run: async () => ({
      kind: 'result',
      exitCode: 0,
      result: { schemaVersion: 1, kind: 'CommandResult', runId: 'x', command: 'x', ok: true, artifacts },
    }),
    config: () => ({ found: false }),
  }
  const raw = await client(await ground({ commands: commands as never }))
  raw.ask('l', 'dev.run', { argv: ['x'] })
  const { result } = await raw.response('l')
  fits(contract.methods['dev.run']?.result, result)
  expect(result).toMatchObject({
    outcome: {
      result: {
        artifacts: [
          { truncated: true, actualBytes: 4_000_011, inline: { _tag: 'oversized', bytes: 4_000_011 } },
          { inline: { text: 'whole' } },
        ],
      },
    },
  })
})

test('its time is up, and nobody is there any more: both end it', async () => {
  const brief = await ground({ shutdownAfterMs: 1 })
  await brief.server.asked
  const idle = await ground({ idleShutdownMs: 2_000 })
  const raw = await client(idle)
  raw.ask('i', 'dev.info')
  await raw.response('i')
  raw.socket.terminate()
  await idle.server.asked
})
