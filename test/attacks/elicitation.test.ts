import { spawn } from 'node:child_process'
import { existsSync, rmSync } from 'node:fs'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { dirname } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { ApprovalHead } from '../../src/contracts/approval.ts'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { signInByLink, type Person } from '../support/person.ts'
import { openMcp, openServe, ways, type Served, type Way } from '../support/serve.ts'
import { cleanEnv, openWorld, program, runCli, type World } from '../support/world.ts'

// Approvals and questions through the client's own forms, spoken by hand: nothing a client sends may approve what a person did not see.

interface Message {
  jsonrpc?: string
  id?: string | number | null
  method?: string
  params?: Record<string, unknown>
  result?: {
    isError?: boolean
    content?: { text: string }[]
    structuredContent?: Record<string, unknown>
    resultType?: string
    requestState?: string
    inputRequests?: Record<string, { method: string; params: Record<string, unknown> }>
  }
  error?: { code: number; message: string; data?: unknown }
}

interface WireOptions {
  capabilities?: object
  name?: string
  /** For stdio, where the wire starts the program itself. */
  args?: string[]
  env?: Record<string, string>
}

/** One client, spoken by hand over any of the ways. */
interface Wire {
  readonly way: Way
  readonly modern: boolean
  /** Everything the server has said so far. */
  readonly heard: Message[]
  /** Sends one body as it stands. What an HTTP answer says at once is given back; its status too. */
  send(body: string | Buffer, headers?: Record<string, string>): Promise<{ status: number; said: Message | undefined }>
  /** Sends one message without waiting. */
  tell(message: object): void
  /** A request and its answer. */
  ask(method: string, params?: Record<string, unknown>): Promise<Message>
  call(tool: string, input: unknown, more?: Record<string, unknown>): Promise<Message>
  /** The same with the parameters as JSON text. */
  raw(method: string, params: string, name: string): Promise<Message>
  /** A call whose arguments are JSON text: 'ok', the contract's code, or the number of a protocol error. */
  code(tool: string, input: string): Promise<string>
  /** The first thing heard that fits. */
  next(fits: (message: Message) => boolean, what: string): Promise<Message>
  /** Gone without a word, as a client that was killed. */
  drop(): Promise<void>
  [Symbol.asyncDispose](): Promise<void>
}

const elicitation = { elicitation: { form: {}, url: {} } }
const prefix = 'io.modelcontextprotocol/'
const latest = '2026-07-28'

async function openWire(way: Way, project: string, served: Served | undefined, options: WireOptions = {}): Promise<Wire> {
  const modern = way.endsWith('2026')
  const { capabilities = elicitation, name = 'by-hand' } = options
  const client = { name, version: '1' }
  const heard: Message[] = []
  let wake: (() => void)[] = []
  let count = 0
  let over = false
  const hear = (message: Message): void => {
    heard.push(message)
    for (const one of wake.splice(0)) one()
  }
  const line = way.startsWith('stdio') ? openLine(project, options, hear) : await openStreams(way, served as Served, hear)
  const meta = JSON.stringify({
    [`${prefix}protocolVersion`]: latest,
    [`${prefix}clientCapabilities`]: capabilities,
    [`${prefix}clientInfo`]: client,
  })
  const say = async (method: string, params: string, named: unknown): Promise<Message> => {
    const id = `ask-${++count}`
    const inner = params.slice(1, -1)
    const given = modern ? `{${inner}${inner && ','}"_meta":${meta}}` : params
    const headers = {
      'MCP-Protocol-Version': latest,
      'Mcp-Method': method,
      ...(typeof named === 'string' && /^[\x21-\x7e]{0,200}$/.test(named) && { 'Mcp-Name': named }),
    }
    const body = `{"jsonrpc":"2.0","id":"${id}","method":${JSON.stringify(method)},"params":${given}}`
    const { said } = await line.send(body, modern ? headers : {})
    // A refusal need not name the request.
    return said ?? wire.next((message) => message.id === id && !message.method, `the answer to ${method}`)
  }
  const wire: Wire = {
    way,
    modern,
    heard,
    send: line.send,
    tell: (message) => void line.send(JSON.stringify({ jsonrpc: '2.0', ...message })).catch(() => undefined),
    ask(method, params = {}) {
      const answered = say(method, JSON.stringify(params), params['name'] ?? params['uri'])
      // Whoever drops the wire does not wait for it.
      answered.catch(() => undefined)
      return answered
    },
    call: (tool, input, more = {}) => wire.ask('tools/call', { name: tool, arguments: input, ...more }),
    raw: say,
    code: async (tool, input) => codeOf(await say('tools/call', `{"name":${JSON.stringify(tool)},"arguments":${input}}`, tool)),
    async next(fits, what) {
      const until = Date.now() + 20_000
      for (;;) {
        const found = heard.find(fits)
        if (found) return found
        if (Date.now() > until || over)
          throw new Error(`${way}: ${what} did not come; heard ${JSON.stringify(heard.slice(-3)).slice(0, 600)}`)
        await Promise.race([new Promise<void>((resolve) => wake.push(resolve)), pause(100)])
      }
    },
    async drop() {
      over = true
      await line.drop()
    },
    [Symbol.asyncDispose]: () => line.close(),
  }
  if (!modern) {
    const hello = await wire.ask('initialize', { protocolVersion: '2025-11-25', capabilities, clientInfo: client })
    if (!hello.result) throw new Error(`${way}: no hello: ${JSON.stringify(hello)}`)
    wire.tell({ method: 'notifications/initialized' })
    await line.opened()
  }
  return wire
}

interface Line {
  send: Wire['send']
  /** Called once the session stands. */
  opened(): Promise<void>
  drop(): Promise<void>
  close(): Promise<void>
}

/** The real program on pipes. */
function openLine(project: string, { args = [], env }: WireOptions, hear: (message: Message) => void): Line {
  const child = spawn(process.execPath, [program, 'mcp', '--project', project, ...args], {
    env: cleanEnv(dirname(project), env),
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  let rest = ''
  child.stdin.on('error', () => undefined)
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const one of lines) hear(JSON.parse(one) as Message)
  })
  const close = async (): Promise<void> => {
    child.stdin.end()
    const late = setTimeout(() => child.kill('SIGKILL'), 2_000)
    await ended
    clearTimeout(late)
  }
  return {
    async send(body) {
      child.stdin.write(Buffer.concat([Buffer.from(body), Buffer.from('\n')]))
      return { status: 0, said: undefined }
    },
    opened: async () => undefined,
    async drop() {
      child.stdin.destroy()
      child.stdout.destroy()
      const late = setTimeout(() => child.kill('SIGKILL'), 20_000)
      await ended
      clearTimeout(late)
    },
    close,
  }
}

/** `/mcp` of either era, or `/sse` with its messages: posts, and whatever streams come back. */
async function openStreams(way: Way, served: Served, hear: (message: Message) => void): Promise<Line> {
  const open = new Set<ClientRequest>()
  const headers: Record<string, string> = {
    Authorization: `Bearer ${served.token}`,
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
  }
  let address = `${served.url}/mcp`
  const visit = (method: string, url: string, more: Record<string, string>, body?: string | Buffer): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const sent = request(url, { method, headers: { ...headers, ...more }, agent: false })
      open.add(sent)
      sent.once('close', () => open.delete(sent))
      sent.once('response', (response) => {
        response.on('error', () => undefined)
        resolve(response)
      })
      sent.on('error', reject)
      sent.end(body)
    })
  const follow = (response: IncomingMessage, event: (name: string, data: string) => void): void => {
    let rest = ''
    response.setEncoding('utf8').on('data', (piece: string) => {
      const blocks = (rest + piece).split('\n\n')
      rest = blocks.pop() ?? ''
      for (const block of blocks) {
        const data = /^data: ?(.*)$/m.exec(block)?.[1]
        if (data) event(/^event: ?(.*)$/m.exec(block)?.[1] ?? 'message', data)
      }
    })
  }
  const take = (_: string, data: string): void => hear(JSON.parse(data) as Message)
  if (way === 'sse') {
    const response = await visit('GET', `${served.url}/sse`, {})
    address = await new Promise<string>((resolve) =>
      follow(response, (name, data) => (name === 'endpoint' ? resolve(served.url + data) : take(name, data))),
    )
  }
  const drop = async (): Promise<void> => {
    for (const one of open) one.destroy()
  }
  return {
    async send(body, more = {}) {
      const response = await visit('POST', address, more, body)
      const status = response.statusCode ?? 0
      const session = response.headers['mcp-session-id']
      if (typeof session === 'string') headers['Mcp-Session-Id'] = session
      if (response.headers['content-type']?.startsWith('text/event-stream')) {
        follow(response, take)
        return { status, said: undefined }
      }
      const answer = await text(response)
      const found = answer ? (JSON.parse(answer) as Message | { error: string }) : undefined
      if (typeof found?.error === 'string') return { status, said: { error: { code: -status, message: found.error } } }
      const said = found as Message | undefined
      return { status, said: said && ('result' in said || 'error' in said) ? said : undefined }
    },
    async opened() {
      if (way === 'http 2025') follow(await visit('GET', address, {}), take)
    },
    drop,
    async close() {
      if (way === 'http 2025') await visit('DELETE', address, {}).catch(() => undefined)
      await drop()
    },
  }
}

/** How a call ended: 'ok', 'asks', the contract's code, or the number of a protocol error. */
function codeOf({ error, result }: Message): string {
  if (error) return String(error.code)
  if (result?.resultType === 'input_required') return 'asks'
  return result?.isError ? faultIn({ result }).code : 'ok'
}

interface Fault {
  code: string
  message: string
  hint?: string
  details?: Record<string, unknown>
}

function faultIn({ result, error }: Message): Fault {
  if (error || !result?.isError) return { code: `no fault: ${JSON.stringify(error ?? result).slice(0, 300)}`, message: '' }
  return (JSON.parse(result.content?.[0]?.text ?? '{}') as { error: Fault }).error
}

/** A project with a server on it, and wires to it. */
interface House {
  readonly world: World
  readonly served: Served
  /** One wire of each way is enough for most: it is opened once. */
  wire(way: Way): Promise<Wire>
  /** One more, closed by whoever opened it. */
  open(way: Way, options?: WireOptions): Promise<Wire>
  /** A file whose change asks, in a folder no other test uses. */
  place(content?: string, name?: string): string
  [Symbol.asyncDispose](): Promise<void>
}

interface HouseOptions {
  policies?: object
  limits?: object
  env?: (world: World) => Record<string, string>
  files?: Record<string, string>
}

async function openHouse({ policies, limits = {}, env, files = {} }: HouseOptions = {}): Promise<House> {
  const world = await openWorld({
    files: { 'a.txt': 'one\n', ...files },
    config: { policies: { writeRequiresDiff: false, ...policies }, limits },
    projectConfig: { lang: 'EN' },
  })
  // A person switched forms on over HTTP; without that none is put there (client-answers.test.ts).
  const served = await openServe(world.project, { env: { HANDRAIL_ASK_OVER_HTTP: '1', ...env?.(world) } })
  const wires = new Map<Way, Promise<Wire>>()
  let places = 0
  const house: House = {
    world,
    served,
    wire(way) {
      const known = wires.get(way) ?? house.open(way)
      wires.set(way, known)
      return known
    },
    open: (way, options = {}) => openWire(way, world.project, served, { ...(env && { env: env(world) }), ...options }),
    place(content = before, name = 'package.json') {
      const path = `t${++places}/${name}`
      world.write(path, content)
      return path
    },
    async [Symbol.asyncDispose]() {
      for (const wire of wires.values()) await wire.then((one) => one[Symbol.asyncDispose]()).catch(() => undefined)
      await served[Symbol.asyncDispose]()
      await world[Symbol.asyncDispose]()
    },
  }
  return house
}

const before = '{ "name": "game" }\n'
const after = '{ "name": "game", "scripts": { "dev": "vite" } }\n'
const legacy = ways.filter((way) => !way.endsWith('2026'))
const modern = ways.filter((way) => way.endsWith('2026'))
const overHttp = ways.filter((way) => !way.startsWith('stdio'))

const yes = { action: 'accept', content: { decision: 'approve' } }
const no = { action: 'accept', content: { decision: 'decline' } }
const noAndWhy = { action: 'accept', content: { decision: 'decline and say why' } }
const cancel = { action: 'cancel' }

/** A call on its way. */
interface Asked {
  /** What the client was asked to show; nothing where the call ended without a question. */
  form:
    | { id: string | number | undefined; params: Record<string, unknown>; message: string; state: string | undefined }
    | undefined
  /** Says what the person did, and gives what the call ends with. */
  answer(said: unknown): Promise<Message>
  /** What the call ends with where nobody is to answer. */
  done: Promise<Message>
}

/** Makes a call and waits until the client is asked to show something, or it has ended. */
async function propose(wire: Wire, tool: string, input: Record<string, unknown>): Promise<Asked> {
  const known = new Set(wire.heard)
  const done = wire.call(tool, input)
  let ended = false
  const end = (): void => void (ended = true)
  done.then(end, end)
  if (wire.modern) {
    const first = await done
    const params = first.result?.inputRequests?.['person']?.params
    const state = first.result?.requestState
    return {
      form: params && { id: undefined, params, message: String(params['message']), state },
      answer: (said) => wire.call(tool, input, { inputResponses: { person: said }, requestState: state }),
      done,
    }
  }
  const isForm = (message: Message): boolean => message.method === 'elicitation/create' && !known.has(message)
  const found = await until(() => wire.heard.find(isForm) ?? (ended ? 'ended' : undefined), 'a form or an end')
  const { id, params = {} } = found === 'ended' ? ({} as Message) : found
  return {
    form: found === 'ended' ? undefined : { id: id ?? undefined, params, message: String(params['message']), state: undefined },
    answer(said) {
      wire.tell({ id, result: said })
      return done
    },
    done,
  }
}

/** Polls: this machine is noisy, so nothing here depends on how long things take. */
async function until<T>(look: () => T | undefined | false, what: string): Promise<T> {
  const late = Date.now() + 20_000
  for (;;) {
    const found = look()
    if (found !== undefined && found !== false) return found
    if (Date.now() > late) throw new Error(`${what} did not come`)
    await pause(10)
  }
}

/** A no in two forms: the second asks for the words. */
async function declineSaying(wire: Wire, asked: Asked, tool: string, input: object, why: string): Promise<Message> {
  const said = { action: 'accept', content: { why } }
  if (wire.modern) {
    const second = await asked.answer(noAndWhy)
    return wire.call(tool, input, { inputResponses: { person: said }, requestState: second.result?.requestState })
  }
  const known = new Set(wire.heard)
  const done = asked.answer(noAndWhy)
  const form = await wire.next((message) => message.method === 'elicitation/create' && !known.has(message), 'the second form')
  wire.tell({ id: form.id, result: said })
  return done
}

const changing = (path: string, content = after): Record<string, unknown> => ({ path, content, dryRun: false })

/** The change of a file that asks. */
const change = (wire: Wire, path: string, content = after): Promise<Asked> =>
  propose(wire, 'write_to_file', changing(path, content))

/** The newest question about a file. */
function approvalOf(house: House, path: string): ApprovalHead {
  const [found] = questionsAbout(house, path)
  if (!found) throw new Error(`nobody was asked about ${path}`)
  return found
}

const questionsAbout = ({ world }: House, path: string): ApprovalHead[] =>
  world.runtime.approvals.list().filter(({ card }) => card.changes.some((one) => one.path === path))

/** Waits until a form that was put is taken back. */
const withdrawn = (wire: Wire, form: Asked['form']): Promise<Message> =>
  wire.next(
    ({ method, params }) => method === 'notifications/cancelled' && params?.['requestId'] === form?.id,
    'the withdrawal of the form',
  )

/** A person answers in a terminal: the real command line for one way of each era, the store of this other process for the rest. */
async function decideElsewhere({ world }: House, way: Way, id: string, approve: boolean, note?: string): Promise<void> {
  if (way === 'stdio 2025' || way === 'http 2026') {
    const words = [approve ? 'approve' : 'deny', id, ...(note === undefined ? [] : ['--note', note])]
    expect(await runCli(world.project, ['approvals', ...words])).toMatchObject({ code: 0 })
  } else world.runtime.approvals.decide(id, { approve, by: 'somebody@cli', ...(note !== undefined && { note }) })
}

const decisions = ({ world }: House, id: string): AuditLine[] =>
  [...world.runtime.audit.lines()].filter((line) => line.event === 'approval.decided' && line.approval === id)

let house: House
beforeAll(async () => {
  house = await openHouse()
})
afterAll(() => house[Symbol.asyncDispose]())

describe.for(ways)('a form, over %s', (way) => {
  test('a yes lets exactly this call through, once, and the record says who said it', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    expect(asked.form?.params['requestedSchema']).toEqual({
      type: 'object',
      properties: {
        decision: {
          type: 'string',
          title: expect.any(String) as string,
          enum: ['decline', 'decline and say why', 'approve'],
        },
      },
      required: ['decision'],
    })
    for (const word of ['by-hand/1', path, `- ${before.trim()}`, `+ ${after.trim()}`, 'R2'])
      expect(asked.form?.message).toContain(word)
    const { id } = approvalOf(house, path)
    expect(house.world.read(path)).toBe(before)
    expect(codeOf(await asked.answer(yes))).toBe('ok')
    expect(house.world.read(path)).toBe(after)
    expect(approvalOf(house, path)).toMatchObject({ id, state: 'used', decidedBy: 'form@by-hand/1' })
    expect(decisions(house, id)).toMatchObject([{ approved: true, by: 'form@by-hand/1', tool: 'write_to_file' }])
    const starts = [...house.world.runtime.audit.lines()].filter((line) => line.event === 'call.start' && line.approval === id)
    expect(starts).toHaveLength(1)
  })

  test('a yes through the official client', async () => {
    const path = house.place()
    const seen: string[] = []
    await using peer = await openMcp(way, house.world.project, house.served, {
      onAsked(params) {
        seen.push(String(params['message']))
        return { action: 'accept', content: { decision: 'approve' } }
      },
    })
    expect(await peer.call('write_to_file', changing(path))).toMatchObject({ applied: true })
    expect(seen).toEqual([expect.stringContaining(path)])
    expect(decisions(house, approvalOf(house, path).id)).toMatchObject([{ by: 'form@handrail-test/1.0.0' }])
  })

  test('a no is final and its words reach the agent', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    const fault = faultIn(await declineSaying(wire, asked, 'write_to_file', changing(path), 'use npm init instead'))
    const { id } = approvalOf(house, path)
    expect(fault).toMatchObject({
      code: 'E_POLICY_VIOLATION',
      details: { approvalId: id, declined: true, note: 'use npm init instead' },
    })
    expect(fault.message).toContain('use npm init instead')
    const again = await change(wire, path)
    expect(again.form).toBeUndefined()
    expect(faultIn(await again.done)).toMatchObject({ details: { approvalId: id, declined: true, note: 'use npm init instead' } })
    expect(house.world.read(path)).toBe(before)
    expect(decisions(house, id)).toMatchObject([{ approved: false, by: 'form@by-hand/1', message: 'use npm init instead' }])
  })

  test('declining the form itself decides nothing: clients do that by themselves', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    // What a form holds that was not accepted counts for nothing.
    const fault = faultIn(await (await change(wire, path)).answer({ action: 'decline', content: { decision: 'approve' } }))
    const { id } = approvalOf(house, path)
    expect(fault).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: id } })
    expect(fault.details).not.toHaveProperty('declined')
    expect((await change(wire, path)).form).toBeUndefined()
    expect(approvalOf(house, path)).toMatchObject({ id, state: 'pending' })
    expect(house.world.read(path)).toBe(before)
  })

  test('a form that was waved away is not put again; the command line can still answer', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const first = faultIn(await (await change(wire, path)).answer(cancel))
    const { id } = approvalOf(house, path)
    expect(first).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: id } })
    expect(first.hint).toContain(`handrail approvals approve ${id}`)
    const again = await change(wire, path)
    expect(again.form).toBeUndefined()
    expect(faultIn(await again.done)).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: id } })
    expect(approvalOf(house, path).state).toBe('pending')
    await decideElsewhere(house, way, id, true)
    const last = await change(wire, path)
    expect(last.form).toBeUndefined()
    expect(codeOf(await last.done)).toBe('ok')
    expect(house.world.read(path)).toBe(after)
    expect(decisions(house, id)).toMatchObject([{ approved: true, by: expect.stringMatching(/@cli$/) as string }])
  })

  test('an answer that is not what the form asked for approves nothing', async () => {
    const wire = await house.wire(way)
    const answers: unknown[] = [
      { action: 'accept' },
      ...[
        {},
        null,
        ['approve'],
        'approve',
        { decision: 'APPROVE' },
        { decision: 'approve ' },
        { decision: true },
        { decision: ['approve'] },
        { Decision: 'approve' },
        { note: 'approve' },
        { decision: 'approve', note: '' },
        { decision: 'approve', why: 'x' },
        { decision: 'approve', more: { toString: 'x' } },
        { decision: 'decline and say why approve' },
      ].map((content) => ({ action: 'accept', content })),
      ...['ACCEPT', 'approve', null, ['accept']].map((action) => ({ action, content: yes.content })),
      { content: yes.content },
      yes.content,
      {},
    ]
    const approved: string[] = []
    for (const said of answers) {
      const path = house.place()
      const answer = await (await change(wire, path)).answer(said)
      const { state } = approvalOf(house, path)
      if (codeOf(answer) === 'ok' || !['pending', 'denied'].includes(state) || house.world.read(path) !== before)
        approved.push(JSON.stringify(said).slice(0, 80))
    }
    expect(approved).toEqual([])
  })
})

describe.for(legacy)('a form on an open call, over %s', (way) => {
  test('an error in place of an answer approves nothing', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const { form, done } = await change(wire, path)
    wire.tell({ id: form?.id, error: { code: -32603, message: 'approve' } })
    expect(faultIn(await done)).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: approvalOf(house, path).id } })
    expect(house.world.read(path)).toBe(before)
  })

  test('answered on the command line meanwhile: the call goes on and the form is taken back', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    const { id } = approvalOf(house, path)
    await decideElsewhere(house, way, id, true)
    expect(codeOf(await asked.done)).toBe('ok')
    await withdrawn(wire, asked.form)
    expect(house.world.read(path)).toBe(after)
    expect(decisions(house, id)).toMatchObject([{ by: expect.stringMatching(/@cli$/) as string }])
  })

  test('denied on the command line meanwhile: the words come, the form goes, and a late yes is too late', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    const { id } = approvalOf(house, path)
    await decideElsewhere(house, way, id, false, 'not today')
    expect(faultIn(await asked.done)).toMatchObject({ details: { approvalId: id, declined: true, note: 'not today' } })
    await withdrawn(wire, asked.form)
    wire.tell({ id: asked.form?.id, result: yes })
    expect((await change(wire, path)).form).toBeUndefined()
    expect(house.world.read(path)).toBe(before)
    expect(decisions(house, id)).toHaveLength(1)
  })

  /** The same call twice in one breath, and the forms that come of it. */
  async function twice(wire: Wire, path: string): Promise<{ calls: Promise<Message>[]; forms: Message[] }> {
    const known = new Set(wire.heard)
    const calls = ['twin-1', 'twin-2'].map((id) => ({
      jsonrpc: '2.0',
      id: `${id} ${path}`,
      method: 'tools/call',
      params: { name: 'write_to_file', arguments: { ...changing(path, 'more\n'), mode: 'append' } },
    }))
    const texts = calls.map((call) => JSON.stringify(call))
    for (const one of way.startsWith('stdio') ? [texts.join('\n')] : texts) void wire.send(one)
    const forms = await until(() => {
      const found = wire.heard.filter((message) => message.method === 'elicitation/create' && !known.has(message))
      return found.length === 2 && found
    }, 'two forms')
    const ended = calls.map(({ id }) => wire.next((message) => message.id === id && !message.method, 'the end of a twin'))
    for (const one of ended) one.catch(() => undefined)
    expect(questionsAbout(house, path), 'one change is one question, however often it is asked for').toHaveLength(1)
    return { calls: ended, forms }
  }

  test('of two calls for the same change, one form answers one', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const { calls, forms } = await twice(wire, path)
    wire.tell({ id: forms[0]?.id, result: yes })
    const codes = (await Promise.all(calls)).map(codeOf)
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1)
    // Both forms once more, now that they are closed.
    for (const { id } of forms) wire.tell({ id, result: yes })
    await wire.call('read_file', { path })
    expect(house.world.read(path)).toBe(`${before}more\n`)
    expect(questionsAbout(house, path).filter(({ state }) => state === 'used')).toHaveLength(1)
  })

  test('both forms of two equal calls are said yes to at once, and still one yes is one change', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const { calls, forms } = await twice(wire, path)
    for (const { id } of forms) wire.tell({ id, result: yes })
    const codes = (await Promise.all(calls)).map(codeOf)
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1)
    expect(house.world.read(path)).toBe(`${before}more\n`)
  })

  test('the client dies while the form is open: nothing is written, also when somebody says yes later', async () => {
    const wire = await house.open(way, { args: ['--approval-wait-ms', '8000'] })
    const path = house.place()
    await change(wire, path)
    const { id } = approvalOf(house, path)
    const dropped = wire.drop()
    if (!way.startsWith('stdio')) await dropped
    await decideElsewhere(house, way, id, true)
    await dropped
    await (await house.wire(way)).call('read_file', { path })
    await pause(500)
    expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'approved'])
  })

  test('the client cancels the call while the form is open: the form is taken back, and a late yes does nothing', async () => {
    const wire = await house.open(way)
    const path = house.place()
    const asked = await change(wire, path)
    wire.tell({ method: 'notifications/cancelled', params: { requestId: 'ask-2' } })
    await withdrawn(wire, asked.form)
    wire.tell({ id: asked.form?.id, result: yes })
    expect(codeOf(await wire.call('read_file', { path }))).toBe('ok')
    await pause(300)
    expect(approvalOf(house, path).state).toBe('pending')
    expect(house.world.read(path)).toBe(before)
    await wire.drop()
  })
})

test('a call that is cancelled before its form is put puts none', async () => {
  await using wire = await house.open('stdio 2025')
  const path = house.place()
  const call = { jsonrpc: '2.0', id: 77, method: 'tools/call', params: { name: 'write_to_file', arguments: changing(path) } }
  const stop = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 77 } }
  await wire.send(`${JSON.stringify(call)}\n${JSON.stringify(stop)}`)
  await until(
    () =>
      [...house.world.runtime.audit.lines()].some(
        (line) => line.event === 'call.end' && JSON.stringify(line.input ?? '').includes(path),
      ),
    'the end of the call',
  )
  // Whatever is put is put before this is answered.
  await wire.call('read_file', { path })
  await wire.call('read_file', { path })
  const forms = wire.heard.filter(({ method }) => method === 'elicitation/create')
  const taken = wire.heard.filter(({ method }) => method === 'notifications/cancelled')
  expect(forms.length - taken.length, 'forms that stay open for a call nobody waits for').toBe(0)
})

describe.for(ways)('the world moves while the form is open, over %s', (way) => {
  test('the file changes: E_CONFLICT, and nothing is written', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    house.world.write(path, '{ "name": "mine" }\n')
    expect(faultIn(await asked.answer(yes)).code).toBe('E_CONFLICT')
    expect(house.world.read(path)).toBe('{ "name": "mine" }\n')
    house.world.write(path, before)
    const again = await change(wire, path)
    expect(again.form, 'the old yes is spent, also when the old state comes back').toBeDefined()
    await again.answer(cancel)
    expect(house.world.read(path)).toBe(before)
  })

  test('the file goes away, or one comes where none was: E_CONFLICT', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const gone = await change(wire, path)
    rmSync(house.world.path(path))
    expect(faultIn(await gone.answer(yes)).code).toBe('E_CONFLICT')
    expect(existsSync(house.world.path(path))).toBe(false)
    const came = await change(wire, path)
    expect(came.form?.message).toContain(`Create ${path}`)
    house.world.write(path, 'mine\n')
    expect(faultIn(await came.answer(yes)).code).toBe('E_CONFLICT')
    expect(house.world.read(path)).toBe('mine\n')
  })
})

describe.for(modern)('a form that comes back with the call, over %s', (way) => {
  test('answered on the command line meanwhile: the call goes on, whatever became of the form', async () => {
    const wire = await house.wire(way)
    for (const said of [yes, cancel, undefined]) {
      const path = house.place()
      const asked = await change(wire, path)
      await decideElsewhere(house, way, approvalOf(house, path).id, true)
      expect(codeOf(await asked.answer(said))).toBe('ok')
      expect(house.world.read(path)).toBe(after)
      expect(decisions(house, approvalOf(house, path).id)).toMatchObject([{ by: expect.stringMatching(/@cli$/) as string }])
    }
  })

  test('a no on the command line is a no, although the form says yes', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    await decideElsewhere(house, way, approvalOf(house, path).id, false, 'not today')
    expect(faultIn(await asked.answer(yes))).toMatchObject({ details: { declined: true, note: 'not today' } })
    expect(house.world.read(path)).toBe(before)
  })

  test('of two calls for the same change, one yes is one change', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const input = { ...changing(path, 'more\n'), mode: 'append' }
    const [one, two] = await Promise.all([propose(wire, 'write_to_file', input), propose(wire, 'write_to_file', input)])
    const codes = (await Promise.all([one.answer(yes), two.answer(yes)])).map(codeOf)
    expect(codes.filter((code) => code === 'ok')).toHaveLength(1)
    expect(house.world.read(path)).toBe(`${before}more\n`)
  })

  test('nobody answers: the form is put at most once more, and the call always ends with the id', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    for (let round = 0; round < 2; round++) {
      const asked = await change(wire, path)
      expect(asked.form, `round ${round}`).toBeDefined()
      const ended = await wire.call('write_to_file', changing(path), { requestState: asked.form?.state })
      expect(faultIn(ended)).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: approvalOf(house, path).id } })
    }
    const third = await change(wire, path)
    expect(third.form).toBeUndefined()
    expect(faultIn(await third.done)).toMatchObject({ details: { approvalId: approvalOf(house, path).id } })
    expect(house.world.read(path)).toBe(before)
  })
})

describe('nobody answers on an open call', () => {
  let hasty: House
  beforeAll(async () => {
    hasty = await openHouse({ limits: { approvalWaitMs: 700 } })
  })
  afterAll(() => hasty[Symbol.asyncDispose]())

  test.concurrent.for(legacy)(
    'the call ends with the id, its form stays open, and a late yes counts once, over %s',
    async (way) => {
      await using wire = await hasty.open(way)
      const path = hasty.place()
      const asked = await change(wire, path)
      expect(asked.form).toBeDefined()
      const fault = faultIn(await asked.done)
      expect(fault).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: approvalOf(hasty, path).id } })
      expect(fault.hint).toContain(approvalOf(hasty, path).id)
      const again = await change(wire, path)
      expect(again.form, 'one question is one form').toBeUndefined()
      expect(faultIn(await again.done)).toMatchObject({ details: { approvalId: approvalOf(hasty, path).id } })
      expect([hasty.world.read(path), approvalOf(hasty, path).state]).toEqual([before, 'pending'])
      wire.tell({ id: asked.form?.id, result: yes })
      await until(() => approvalOf(hasty, path).state === 'approved', 'the late yes')
      expect(hasty.world.read(path), 'a late yes writes nothing by itself').toBe(before)
      const last = await change(wire, path)
      expect([last.form, codeOf(await last.done)]).toEqual([undefined, 'ok'])
      // The form is closed now: the same answer once more is nobody's.
      hasty.world.write(path, before)
      wire.tell({ id: asked.form?.id, result: yes })
      const next = await change(wire, path)
      expect(next.form).toBeDefined()
      expect(hasty.world.read(path)).toBe(before)
      await next.answer(cancel)
    },
  )

  test.concurrent.for(legacy)('a form that stays open is closed by an answer from elsewhere, over %s', async (way) => {
    await using wire = await hasty.open(way)
    const path = hasty.place()
    const asked = await change(wire, path)
    await asked.done
    const { id } = approvalOf(hasty, path)
    hasty.world.runtime.approvals.decide(id, { approve: false, by: 'somebody@cli' })
    // Over Streamable HTTP the stream of the call has ended, and there is no way left to take the form back.
    if (way !== 'http 2025') await withdrawn(wire, asked.form)
    wire.tell({ id: asked.form?.id, result: yes })
    expect(faultIn(await wire.call('write_to_file', changing(path)))).toMatchObject({ details: { declined: true } })
    expect(decisions(hasty, id)).toHaveLength(1)
  })

  test.concurrent.for(legacy)('a question ends with a plain acknowledgement, over %s', async (way) => {
    await using wire = await hasty.open(way)
    const asked = await propose(wire, 'ask_followup_question', { question: 'Is anybody there?' })
    expect((await asked.done).result?.structuredContent).toEqual({ ack: true })
    await withdrawn(wire, asked.form)
  })
})

const manyLines = Array.from({ length: 450 }, (_, index) => `line ${index}\n`).join('')

describe.for(overHttp)('a card too large for a form, over %s', (way) => {
  test('is shown on our own page: opening it is no yes, the page and the store are', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path, manyLines)
    const { id } = approvalOf(house, path)
    const url = `${house.served.url}/approvals/${id}`
    expect(asked.form?.params).toMatchObject({ mode: 'url', url })
    expect(asked.form?.params['requestedSchema']).toBeUndefined()
    expect(asked.form?.message, 'what does not fit is not shown in part').not.toContain('line 1')
    // The address alone opens nothing, and neither does an agent's token.
    for (const headers of [{}, { Authorization: `Bearer ${house.served.token}` }] as Record<string, string>[])
      expect((await fetch(url, { headers, redirect: 'manual' })).status).toBe(401)
    const answered = asked.answer({ action: 'accept', content: { decision: 'approve' } })
    await pause(400)
    expect(house.world.read(path)).toBe(before)
    expect(approvalOf(house, path).state, 'accept means that the page was opened').toBe('pending')
    await decideElsewhere(house, way, id, true)
    expect(codeOf(await answered)).toBe('ok')
    expect(house.world.read(path)).toBe(manyLines)
  })

  test('a no on the page comes back with its words, and a page that was waved away is not put again', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path, manyLines)
    const answered = asked.answer({ action: 'accept' })
    const { id } = approvalOf(house, path)
    const person = await signIn(house)
    const page = `${house.served.url}${person.room}/approvals/${id}`
    const shown = await (await fetch(page, { headers: { Cookie: person.cookie } })).text()
    const form = /name="form" value="([^"]+)"/.exec(shown)?.[1] ?? ''
    expect(shown).toContain('line 449')
    const said = new URLSearchParams({ form, decision: 'decline', note: 'too much at once' })
    await fetch(page, {
      method: 'POST',
      headers: { Cookie: person.cookie, Origin: house.served.url },
      body: said,
      redirect: 'manual',
    })
    expect(faultIn(await answered)).toMatchObject({ details: { approvalId: id, declined: true, note: 'too much at once' } })
    expect(decisions(house, id)).toMatchObject([{ by: 'person@page', approved: false }])

    const other = house.place()
    const away = await change(wire, other, manyLines)
    expect(codeOf(await away.answer(cancel))).toBe('E_POLICY_VIOLATION')
    expect((await change(wire, other, manyLines)).form).toBeUndefined()
    expect(house.world.read(other)).toBe(before)
  })

  test('a client that can only show forms is left to the store', async () => {
    await using wire = await house.open(way, { capabilities: { elicitation: {} } })
    const path = house.place()
    const asked = await change(wire, path, manyLines)
    expect(asked.form).toBeUndefined()
    expect(faultIn(await asked.done)).toMatchObject({ details: { approvalId: approvalOf(house, path).id } })
    const small = await change(wire, house.place())
    expect(small.form, 'what fits is still shown').toBeDefined()
    await small.answer(cancel)
  })

  test('a client that can only open pages gets a page for everything', async () => {
    await using wire = await house.open(way, { capabilities: { elicitation: { url: {} } } })
    const path = house.place()
    const asked = await change(wire, path)
    expect(asked.form?.params).toMatchObject({ mode: 'url', url: `${house.served.url}/approvals/${approvalOf(house, path).id}` })
    expect(codeOf(await asked.answer({ action: 'decline' }))).toBe('E_POLICY_VIOLATION')
    expect(approvalOf(house, path).state).toBe('pending')
  })
})

test.for(ways.filter((way) => way.startsWith('stdio')))(
  'a card too large for a form is left to the store, over %s',
  async (way) => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path, manyLines)
    expect(asked.form).toBeUndefined()
    const { id } = approvalOf(house, path)
    expect(faultIn(await asked.done)).toMatchObject({ code: 'E_POLICY_VIOLATION', details: { approvalId: id } })
    await decideElsewhere(house, way, id, true)
    expect(codeOf(await wire.call('write_to_file', changing(path, manyLines)))).toBe('ok')
    expect(house.world.read(path)).toBe(manyLines)
  },
)

const signIn = ({ world, served }: House): Promise<Person> => signInByLink(served, world.project)

/** Everything that moves the cursor, changes the direction or cannot be seen, except a line break. */
const hidden = /[^\P{C}\n]|[\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\u115f\u1160\u3164\uffa0\u2800\u00ad]/u
const hostile = 'A\u001b[2K\u001b[1AB\u202eC\u2066D\u200bE\u2028F\rG\u0007H\u{e0041}I\ufeffJ\u0085K\u3164L\u061cM'

describe.for(ways)('a question to the person, over %s', (way) => {
  const question = (wire: Wire, text: unknown = 'Which ending?', more: object = {}): Promise<Asked> =>
    propose(wire, 'ask_followup_question', { ...(text !== null && { question: text }), ...more })

  test('what they answer comes back with the call', async () => {
    const wire = await house.wire(way)
    const asked = await question(wire)
    expect(asked.form?.message).toMatch(/\n\| Which ending\?$/)
    expect(asked.form?.params['requestedSchema']).toMatchObject({
      type: 'object',
      required: ['answer'],
      properties: { answer: { type: 'string' } },
    })
    const { result } = await asked.answer({ action: 'accept', content: { answer: 'the sad one 海' } })
    expect(result?.structuredContent).toEqual({ ack: true, answer: 'the sad one 海' })
    expect(result?.isError).toBeFalsy()
  })

  test.for([
    { action: 'decline' },
    { action: 'cancel' },
    { action: 'decline', content: { answer: 'x' } },
    { action: 'accept' },
    { action: 'accept', content: {} },
    { action: 'accept', content: { answer: 5 } },
    { action: 'accept', content: { answer: ['x'] } },
    { action: 'accept', content: { answer: ' \n' } },
    { action: 'answer', content: { answer: 'x' } },
  ])('anything else is a plain acknowledgement: %o', async (said) => {
    const asked = await question(await house.wire(way))
    expect((await asked.answer(said)).result?.structuredContent).toEqual({ ack: true })
  })

  test('a client that cannot show it is not asked, and gets a plain acknowledgement', async () => {
    await using wire = await house.open(way, { capabilities: {} })
    const asked = await question(wire)
    expect(asked.form).toBeUndefined()
    expect((await asked.done).result?.structuredContent).toEqual({ ack: true })
  })

  test('nothing in the question can hide or act, and no length breaks it', async () => {
    const wire = await house.wire(way)
    const asked = await question(wire, `${hostile}\nsecond line`)
    expect(asked.form?.message).not.toMatch(hidden)
    for (const letter of 'ABCDEFGHIJKLM') expect(asked.form?.message).toContain(letter)
    expect(asked.form?.message.split('\n').filter((row) => /^\| (?!… )/.test(row))).toHaveLength(2)
    await asked.answer(cancel)
    const long = await question(wire, 'x'.repeat(1_000_000))
    expect([long.form, codeOf(await long.done)]).toEqual([undefined, 'E_TOO_LARGE'])
    const short = await question(wire, 'x'.repeat(10_000))
    const { result } = await short.answer({ action: 'accept', content: { answer: 'y'.repeat(1_000_000) } })
    expect(String(result?.structuredContent?.['answer']).length).toBeLessThan(20_000)
  })

  test('a question that is refused is not put first', async () => {
    const wire = await house.wire(way)
    for (const [text, more] of [
      ['', {}],
      [7, {}],
      [null, {}],
      ['real', { extra: 1 }],
    ] as const) {
      const asked = await question(wire, text, more)
      if (asked.form) await asked.answer(cancel)
      expect([text, more, asked.form?.message]).toEqual([text, more, undefined])
      expect(codeOf(await asked.done)).toBe('E_BAD_ARGS')
    }
  })
})

/** A call with something that came back from a form. */
const retry = (wire: Wire, tool: string, input: object, requestState: unknown, person: unknown = yes): Promise<Message> =>
  wire.call(tool, input, { requestState, ...(person !== undefined && { inputResponses: { person } }) })

const refusedState = { code: -32602, message: 'Invalid or expired requestState' }

describe.for(modern)('G01 approve one call, run another, over %s', (way) => {
  test('other content, another path, another tool, another mode, another key', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const other = house.place()
    const asked = await change(wire, path)
    const attacks: [string, object][] = [
      ['write_to_file', changing(path, `${after} `)],
      ['write_to_file', changing(other)],
      ['write_to_file', { ...changing(path), mode: 'append' }],
      ['write_to_file', { ...changing(path), idempotencyKey: 'k' }],
      ['write_to_file', { ...changing(path), dryRun: true }],
      ['replace_in_file', { path, find: 'game', replace: 'evil' }],
      ['replace_in_file', changing(path)],
      ['ask_followup_question', { question: 'x' }],
      ['no_such_tool', changing(path)],
    ]
    for (const [tool, input] of attacks)
      expect([tool, input, (await retry(wire, tool, input, asked.form?.state)).error]).toMatchObject([tool, input, refusedState])
    expect([house.world.read(path), house.world.read(other)]).toEqual([before, before])
    expect(approvalOf(house, path).state).toBe('pending')
    expect(codeOf(await asked.answer(yes)), 'the call itself is not spoilt by it').toBe('ok')
  })

  test("a question's answer is no approval, and an approval's no answer", async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    const question = await propose(wire, 'ask_followup_question', { question: 'May I?' })
    expect((await retry(wire, 'write_to_file', changing(path), question.form?.state)).error).toMatchObject(refusedState)
    const said = { action: 'accept', content: { decision: 'approve', answer: 'approve' } }
    expect((await retry(wire, 'ask_followup_question', { question: 'May I?' }, asked.form?.state, said)).error).toMatchObject(
      refusedState,
    )
    expect((await question.answer(said)).result?.structuredContent).toEqual({ ack: true, answer: 'approve' })
    expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
  })
})

test('G01 approve in one client, run in another, over HTTP', async () => {
  const wire = await house.wire('http 2026')
  const path = house.place()
  const asked = await change(wire, path)
  for (const name of ['by-hand2', 'By-Hand', '', 'x'.repeat(500)]) {
    await using other = await house.open('http 2026', { name })
    expect([name, (await retry(other, 'write_to_file', changing(path), asked.form?.state)).error]).toMatchObject([
      name,
      refusedState,
    ])
  }
  for (const way of ['http 2025', 'sse'] as const) {
    const other = await house.wire(way)
    const message = await retry(other, 'write_to_file', changing(path), asked.form?.state)
    expect([way, message.error]).toMatchObject([way, refusedState])
  }
  expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
})

test.for(legacy)('G01 two forms are open at once, and the yes to one is no yes to the other, over %s', async (way) => {
  const wire = await house.wire(way)
  const [one, two] = [house.place(), house.place()]
  const first = await change(wire, one)
  const second = await change(wire, two)
  expect(second.form?.id).not.toBe(first.form?.id)
  expect(codeOf(await second.answer(yes))).toBe('ok')
  expect([house.world.read(one), house.world.read(two)]).toEqual([before, after])
  expect(codeOf(await first.answer(no))).toBe('E_POLICY_VIOLATION')
  expect(house.world.read(one)).toBe(before)
})

describe.for(modern)('G02 used twice, over %s', (way) => {
  test('a requestState counts once, whatever it was used for', async () => {
    const wire = await house.wire(way)
    for (const first of [yes, no, cancel, undefined, { action: 'accept' }]) {
      const path = house.place()
      const asked = await change(wire, path)
      await retry(wire, 'write_to_file', changing(path), asked.form?.state, first)
      const left = house.world.read(path)
      for (let times = 0; times < 2; times++)
        expect((await retry(wire, 'write_to_file', changing(path), asked.form?.state)).error).toMatchObject(refusedState)
      expect([first, house.world.read(path)]).toEqual([first, left])
    }
  })

  test('ten retries at once: one is taken', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const input = { ...changing(path, 'more\n'), mode: 'append' }
    const asked = await propose(wire, 'write_to_file', input)
    const ends = await Promise.all(Array.from({ length: 10 }, () => retry(wire, 'write_to_file', input, asked.form?.state)))
    expect(ends.map(codeOf).sort()).toEqual([...Array.from({ length: 9 }, () => '-32602'), 'ok'])
    expect(house.world.read(path)).toBe(`${before}more\n`)
  })
})

test.for(ways)('G02 an approval counts once: the same call on the same state asks again, over %s', async (way) => {
  const wire = await house.wire(way)
  const path = house.place()
  const first = await change(wire, path)
  expect(codeOf(await first.answer(yes))).toBe('ok')
  const { id } = approvalOf(house, path)
  house.world.write(path, before)
  const again = await change(wire, path)
  expect(again.form).toBeDefined()
  expect(approvalOf(house, path).id).not.toBe(id)
  // The same answer once more, to a form that is closed.
  if (!wire.modern) wire.tell({ id: first.form?.id, result: yes })
  expect(codeOf(await wire.call('read_file', { path }))).toBe('ok')
  expect(house.world.read(path)).toBe(before)
  await again.answer(cancel)
})

describe('G03 too late', () => {
  let brief: House
  let clock: House
  beforeAll(async () => {
    brief = await openHouse({ limits: { approvalTtlMs: 1_000 } })
    // The clock of the server jumps sixteen minutes ahead as soon as a file is there.
    clock = await openHouse({
      files: {
        'clock.cjs': `const { existsSync } = require('node:fs')
const now = Date.now
Date.now = () => now() + (existsSync(__dirname + '/later') ? 960_000 : 0)
`,
      },
      env: (world) => ({ NODE_OPTIONS: `--require ${world.path('clock.cjs')}` }),
    })
  })
  afterAll(async () => {
    await brief[Symbol.asyncDispose]()
    await clock[Symbol.asyncDispose]()
  })

  test.concurrent.for(ways)('an approval that has lapsed cannot be given by form any more, over %s', async (way) => {
    const wire = await brief.wire(way)
    const path = brief.place()
    const asked = await change(wire, path)
    const { id } = approvalOf(brief, path)
    await until(() => brief.world.runtime.approvals.get(id)?.state === 'expired', 'the end of its time')
    // Where the call is still open, the form is taken back first; a yes to it comes later still.
    if (!wire.modern) await withdrawn(wire, asked.form)
    const ended = await asked.answer(yes)
    expect(faultIn(ended).code).toBe('E_POLICY_VIOLATION')
    expect(faultIn(ended).details?.['approvalId']).not.toBe(id)
    expect(codeOf(await wire.call('read_file', { path }))).toBe('ok')
    expect(brief.world.read(path)).toBe(before)
    expect(decisions(brief, id)).toMatchObject([{ approved: false, by: 'time' }])
  })

  test.for(modern)('a requestState that has lapsed is refused, over %s', async (way) => {
    const [path, other] = [clock.place(), clock.place()]
    await using wire = await clock.open(way)
    const asked = await change(wire, path)
    const question = await propose(wire, 'ask_followup_question', { question: 'x' })
    clock.world.write('later', '')
    expect((await asked.answer(yes)).error).toMatchObject(refusedState)
    expect((await question.answer({ action: 'accept', content: { answer: 'x' } })).error).toMatchObject(refusedState)
    rmSync(clock.world.path('later'))
    const fresh = await change(wire, other)
    expect(codeOf(await fresh.answer(yes)), 'one in time is taken').toBe('ok')
    expect(clock.world.read(path)).toBe(before)
  })
})

/** All that can be made of a sealed text without the key. */
function forgeries(state: string): [string, unknown][] {
  const [version = '', body = '', mark = ''] = state.split('.')
  const sealed = JSON.parse(Buffer.from(body, 'base64url').toString()) as { p: Record<string, unknown>; exp: number }
  const packed = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
  const flip = (text: string, at: number): string => text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1)
  return [
    ['empty', ''],
    ['no text', 7],
    ['null', null],
    ['an object', { ...sealed.p }],
    ['a list', [state]],
    ['nonsense', 'nonsense'],
    ['a megabyte', 'v1.'.padEnd(1_000_000, 'A')],
    ['cut by one', state.slice(0, -1)],
    ['cut in half', state.slice(0, state.length / 2)],
    ['without a seal', `${version}.${body}`],
    ['with an empty seal', `${version}.${body}.`],
    ['with a seal of zeros', `${version}.${body}.${'A'.repeat(mark.length)}`],
    ['another version', `v2.${body}.${mark}`],
    ['without a version', `${body}.${mark}`],
    ['longer', `${state}A`],
    ['with a space', ` ${state}`],
    ['twice', `${state}.${state}`],
    ['a later end', `${version}.${packed({ ...sealed, exp: sealed.exp + 9_999 })}.${mark}`],
    ['another approval', `${version}.${packed({ ...sealed, p: { ...sealed.p, approval: `appr_${'0'.repeat(32)}` } })}.${mark}`],
    ['another mode', `${version}.${packed({ ...sealed, p: { ...sealed.p, mode: 'url' } })}.${mark}`],
    ['no seal asked for', `${version}.${packed({ ...sealed, alg: 'none' })}.`],
    ...[0, 1, 17, Math.floor(body.length / 2), body.length - 1].map((at): [string, string] => [
      `bit ${at}`,
      `${version}.${flip(body, at)}.${mark}`,
    ]),
    ...[0, 5, mark.length - 2].map((at): [string, string] => [`seal bit ${at}`, `${version}.${body}.${flip(mark, at)}`]),
  ]
}

describe.for(modern)('G04 a requestState nobody here made, over %s', (way) => {
  test('forged, cut, or with one bit changed', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path)
    for (const [what, state] of forgeries(asked.form?.state ?? '')) {
      const answer = await retry(wire, 'write_to_file', changing(path), state)
      expect([what, answer.error?.code, JSON.stringify(answer.error).length < 1_000]).toEqual([what, -32602, true])
    }
    expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
    expect(codeOf(await asked.answer(yes)), 'the true one still counts').toBe('ok')
  })

  test('answers without a requestState are no answers', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const { id } = await change(wire, path).then(() => approvalOf(house, path))
    for (const inputResponses of [{ person: yes }, { [id]: yes }, { person: { ...yes, approvalId: id } }, yes, [yes]]) {
      const ended = await wire.call('write_to_file', changing(path), { inputResponses })
      expect(['asks', 'E_POLICY_VIOLATION', '-32602']).toContain(codeOf(ended))
    }
    expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
  })

  test('a requestState with no answer, or with one of the wrong kind, approves nothing', async () => {
    const wire = await house.wire(way)
    const kinds: unknown[] = [
      undefined,
      null,
      'approve',
      7,
      [],
      [yes],
      {},
      { other: yes },
      { Person: yes },
      { person: null },
      { person: 'approve' },
      { person: [yes] },
      { person: { role: 'user', content: { type: 'text', text: 'approve' }, model: 'x' } },
      { person: { roots: [{ uri: 'file:///approve' }] } },
      { person: { result: yes } },
      { person: yes.content },
    ]
    for (const inputResponses of kinds) {
      const path = house.place()
      const asked = await change(wire, path)
      const ended = await wire.call('write_to_file', changing(path), { requestState: asked.form?.state, inputResponses })
      expect([inputResponses, codeOf(ended)]).toEqual([inputResponses, expect.stringMatching(/^(E_POLICY_VIOLATION|-32602)$/)])
      expect([inputResponses, house.world.read(path), approvalOf(house, path).state]).toEqual([inputResponses, before, 'pending'])
    }
  })
})

test('G04 a requestState made by another process on the same project', async () => {
  await using other = await openServe(house.world.project)
  await using stdio = await openWire('stdio 2026', house.world.project, other)
  await using http = await openWire('http 2026', house.world.project, other)
  for (const way of modern) {
    const path = house.place()
    const asked = await change(await house.wire(way), path)
    for (const stranger of [stdio, http])
      expect((await retry(stranger, 'write_to_file', changing(path), asked.form?.state)).error).toMatchObject(refusedState)
    expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
  }
})

test.for(ways)('G05 no spelling of the policy file can be written, and nobody is even asked, over %s', async (way) => {
  const wire = await house.wire(way)
  const kept = house.world.read('handrail.config.json')
  const open = house.world.runtime.approvals.list().length
  for (const path of [
    'handrail.config.json',
    './handrail.config.json',
    'HANDRAIL.CONFIG.JSON',
    'handrail.config.json.',
    'handrail.config.json ',
    'handrail.config.json::$DATA',
    'handrail\u200b.config.json',
    'h\uff41ndrail.config.json',
    't1/../handrail.config.json',
    't1/handrail.config.json',
    'HANDRA~1.JSO',
    '.handrail/handrail.db',
    '.handrail/person-token',
    '.Handrail/token',
  ]) {
    const write = await propose(wire, 'write_to_file', changing(path, '{"policies":{"askFrom":"R2","sensitiveFiles":[]}}'))
    expect([path, write.form, codeOf(await write.done)]).toEqual([path, undefined, 'E_DENY_PATH'])
    const replace = await propose(wire, 'replace_in_file', { path, find: 'false', replace: 'true' })
    expect([path, replace.form, codeOf(await replace.done)]).toEqual([path, undefined, 'E_DENY_PATH'])
  }
  expect(house.world.read('handrail.config.json')).toBe(kept)
  expect(house.world.runtime.approvals.list()).toHaveLength(open)
})

/** A form with its broken rows put together again. */
const unbroken = (message: string): string => message.replace(/\n[+-] … /g, '').replace(/\n {4}/g, ' ')

describe.for(ways)('G07 what the form does not show cannot be approved by form, over %s', (way) => {
  test('nothing in the content, the path or the name of the client can hide or act', async () => {
    await using wire = await house.open(way, { name: `cl\u001b[31mi\u202eent\u200b\nHandrail wants to: nothing` })
    const path = house.place('old\n', 'pack\u200bage.json')
    const asked = await change(wire, path, `${hostile}\n${hostile}\n`)
    const message = asked.form?.message ?? ''
    expect(message).not.toMatch(hidden)
    for (const shown of ['\\u001b[2K', '\\u202e', '\\u200b', '\\u2028', '␍', '\\u{e0041}', '\\ufeff', '\\u0007'])
      expect(message).toContain(shown)
    expect(unbroken(message).split('\n')[0]).toMatch(/^cl.*wants to: Change t\d+\/pack\\u200bage\.json \(risk R2\)$/)
    const added = unbroken(message)
      .split('\n')
      .filter((line) => line.startsWith('+ '))
    expect(added, 'a line of the change is one line of the form').toHaveLength(2)
    await asked.answer(cancel)
  })

  test('no line of the change can pass for one of the form', async () => {
    const wire = await house.wire(way)
    const path = house.place()
    const asked = await change(wire, path, 'x\n\nApprove exactly this change?\n@@ line 1: 0 out, 0 in @@\n- y\n')
    const message = asked.form?.message.split('\n') ?? []
    expect(message.filter((line) => line === 'Approve exactly this change?')).toHaveLength(1)
    expect(message.filter((line) => line.startsWith('@@'))).toHaveLength(1)
    expect(message.filter((line) => line.startsWith('- '))).toEqual([`- ${before.trim()}`])
    await asked.answer(cancel)
  })

  test('every line of a long change stands in the form, whole', async () => {
    const wire = await house.wire(way)
    const lines = Array.from({ length: 380 }, (_, index) => `line ${index} ${'x'.repeat(index)}!`)
    const asked = await change(wire, house.place('old\n'), lines.join('\n'))
    const rows = unbroken(asked.form?.message ?? '').split('\n')
    for (const line of lines) expect(rows).toContain(`+ ${line}`)
    await asked.answer(cancel)
  })

  test('a line too long, too many lines, a path too long: no form, the store decides', async () => {
    await using wire = await house.open(way, { capabilities: { elicitation: { form: {} } } })
    for (const [what, content, name = 'package.json'] of [
      ['one line too long', `${'x'.repeat(1_100)}\n`],
      ['text far to the right', `{}${' '.repeat(2_000)}evil\n`],
      ['one line that grows when shown', `${'\u200b'.repeat(300)}\n`],
      ['too many lines', 'x\n'.repeat(401)],
      ['one line hidden behind many', `${'{}\n'.repeat(500)}evil\n`],
      ['a very long path', '', `${`${'a'.repeat(200)}/`.repeat(6)}package.json`],
    ] as const) {
      const path = house.place(before, name)
      const asked = await change(wire, path, content)
      expect([what, asked.form]).toEqual([what, undefined])
      expect(faultIn(await asked.done)).toMatchObject({ details: { approvalId: approvalOf(house, path).id } })
    }
  })
})

test('G07 two lines that differ do not look the same in a form', async () => {
  const wire = await house.wire('stdio 2025')
  for (const [from, to] of [
    ['all:\n\tmake\n', 'all:\n  make\n'],
    ['a\u200bb\n', 'ab\n'],
    ['a\r\nb\n', 'a\nb\n'],
  ] as const) {
    const asked = await change(wire, house.place(from, 'Makefile'), to)
    const rows = asked.form?.message.split('\n') ?? []
    const out = rows.filter((row) => row.startsWith('- ')).map((row) => row.slice(2))
    const come = rows.filter((row) => row.startsWith('+ ')).map((row) => row.slice(2))
    await asked.answer(cancel)
    expect([from, to, out]).not.toEqual([from, to, come])
  }
})

test("G07 a client's name cannot play tricks on the terminal or the page of the person who looks at what it decided", async () => {
  await using wire = await house.open('http 2026', { name: 'evil\u001b[2J\u001b[1;1H\u202e<script>' })
  const path = house.place()
  const ended = await declineSaying(wire, await change(wire, path), 'write_to_file', changing(path), 'n\u001b[2Jo')
  expect(codeOf(ended)).toBe('E_POLICY_VIOLATION')
  const { id, decidedBy } = approvalOf(house, path)
  expect(decidedBy).toContain('evil')
  const tricked: string[] = []
  for (const command of [`approvals show ${id}`, 'approvals list --all', 'audit show', 'sessions']) {
    const { out } = await runCli(house.world.project, command.split(' '))
    expect([command, out]).toEqual([command, expect.stringMatching(/\S/)])
    if (/[\u001b\u202e]/.test(out)) tricked.push(command)
  }
  const { cookie, room } = await signIn(house)
  const page = await fetch(`${house.served.url}${room}/approvals/${id}`, { headers: { Cookie: cookie } })
  if (/[\u001b\u202e]|<script>/.test(await page.text())) tricked.push('the page')
  expect(tricked).toEqual([])
})

describe('G08 an agent answers for itself', () => {
  let mute: House
  beforeAll(async () => {
    mute = await openHouse({ limits: { approvalWaitMs: 0 } })
  })
  afterAll(() => mute[Symbol.asyncDispose]())

  test.for(ways)('a client that cannot show forms sends answers all the same, over %s', async (way) => {
    await using wire = await mute.open(way, { capabilities: {} })
    const path = mute.place()
    const attempt = (more: Record<string, unknown>): Promise<Message> => wire.call('write_to_file', changing(path), more)
    for (const more of [
      { inputResponses: { person: yes } },
      { inputResponses: { person: yes }, requestState: 'v1.e30.AAAA' },
      { _meta: { 'handrail/decision': 'approve', role: 'person' } },
    ])
      expect(['E_POLICY_VIOLATION', '-32602']).toContain(codeOf(await attempt(more)))
    const { id } = approvalOf(mute, path)
    for (const method of [
      'approvals/decide',
      'approvals/approve',
      'handrail/approve',
      'elicitation/create',
      'elicitation/respond',
    ])
      expect([method, (await wire.ask(method, { id, approvalId: id, approve: true, decision: 'approve' })).error?.code]).toEqual([
        method,
        -32601,
      ])
    for (const tool of ['approvals', 'approve', 'decide', 'approvals.decide', 'elicitation/create'])
      expect([tool, codeOf(await wire.call(tool, { id, approve: true, decision: 'approve' }))]).toEqual([tool, '-32602'])
    for (const uri of ['handrail://approvals', `handrail://approvals/${id}`, `handrail://approvals/${id}/approve`])
      expect([uri, (await wire.ask('resources/read', { uri })).error?.code]).toEqual([uri, expect.any(Number)])
    wire.tell({ method: 'notifications/elicitation/complete', params: { elicitationId: id } })
    for (const form of [0, 1, 2, id, 'handrail-1', 'person']) wire.tell({ id: form, result: yes })
    expect(codeOf(await wire.call('read_file', { path }))).toBe('ok')
    expect([mute.world.read(path), approvalOf(mute, path).state]).toEqual([before, 'pending'])
  })
})

test.for(legacy)("G08 answers that come before their form are nobody's, over %s", async (way) => {
  await using wire = await house.open(way)
  const path = house.place()
  for (let form = 0; form < 5; form++) {
    wire.tell({ id: form, result: yes })
    wire.tell({ id: `handrail-${form}`, result: yes })
  }
  expect(codeOf(await wire.call('read_file', { path }))).toBe('ok')
  const asked = await change(wire, path)
  expect(asked.form).toBeDefined()
  await pause(300)
  expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
  expect(codeOf(await asked.answer(no))).toBe('E_POLICY_VIOLATION')
})

test.for(['http 2025', 'sse'] as const)("G08 another connection answers this one's form, over %s", async (way) => {
  await using wire = await house.open(way)
  await using other = await house.open(way)
  const path = house.place()
  const asked = await change(wire, path)
  for (const id of [asked.form?.id, String(asked.form?.id)]) {
    other.tell({ id, result: yes })
    ;(await house.wire('http 2026')).tell({ id, result: yes })
  }
  other.tell({ method: 'notifications/cancelled', params: { requestId: asked.form?.id } })
  expect(codeOf(await other.call('read_file', { path }))).toBe('ok')
  await pause(300)
  expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
  expect(codeOf(await asked.answer(no))).toBe('E_POLICY_VIOLATION')
})

test("G08 an agent's token opens no approval, by any method", async () => {
  const wire = await house.wire('http 2026')
  const path = house.place()
  const asked = await change(wire, path)
  const { id } = approvalOf(house, path)
  const credentials: Record<string, string>[] = [
    { Authorization: `Bearer ${house.served.token}` },
    { Cookie: `handrail_person=${house.served.token}` },
    { Cookie: 'handrail_person=a.b.c' },
  ]
  for (const headers of credentials)
    for (const [method, where] of [
      ['POST', `/approvals/${id}`],
      ['GET', `/approvals/${id}`],
      ['POST', '/approvals'],
      ['PUT', `/approvals/${id}`],
      ['POST', `/api/approvals/${id}`],
      ['GET', `/sign-in?key=${house.served.token}`],
    ] as const) {
      const body = method === 'GET' ? null : new URLSearchParams({ decision: 'approve' })
      const { status } = await fetch(house.served.url + where, { method, headers, body, redirect: 'manual' })
      expect([method, where, status >= 400]).toEqual([method, where, true])
    }
  expect([house.world.read(path), approvalOf(house, path).state]).toEqual([before, 'pending'])
  await asked.answer(cancel)
})

describe('G08 policies.askInEditor false', () => {
  let strict: House
  beforeAll(async () => {
    strict = await openHouse({ policies: { askInEditor: false } })
  })
  afterAll(() => strict[Symbol.asyncDispose]())

  test.for(ways)('the store is the only way; a question that decides nothing is still put, over %s', async (way) => {
    const wire = await strict.wire(way)
    for (const content of [after, manyLines]) {
      const path = strict.place()
      const done = wire.call('write_to_file', changing(path, content), { inputResponses: { person: yes } })
      const { id } = await until(() => questionsAbout(strict, path)[0], 'the question')
      expect(codeOf(await wire.call('read_file', { path }))).toBe('ok')
      expect([strict.world.read(path), approvalOf(strict, path).state]).toEqual([before, 'pending'])
      strict.world.runtime.approvals.decide(id, { approve: true, by: 'test' })
      expect(codeOf(await done)).toBe('ok')
      expect(wire.heard.filter(({ method }) => method === 'elicitation/create')).toEqual([])
    }
    const question = await propose(wire, 'ask_followup_question', { question: 'Still there?' })
    const answered = await question.answer({ action: 'accept', content: { answer: 'yes' } })
    expect(answered.result?.structuredContent).toEqual({ ack: true, answer: 'yes' })
  })
})

test('G08 switched off while forms are open: what they say counts no more', async () => {
  await using live = await openHouse()
  const asked = await Promise.all(
    ways.map(async (way) => {
      const path = live.place()
      return { way, path, asked: await change(await live.wire(way), path) }
    }),
  )
  const settings = { policies: { writeRequiresDiff: false, askInEditor: false }, limits: { approvalWaitMs: 300 } }
  live.world.write('handrail.config.json', JSON.stringify(settings))
  // One process for HTTP and one for each stdio wire.
  await until(
    () => [...live.world.runtime.audit.lines()].filter(({ event }) => event === 'settings.changed').length >= 3,
    'the new settings in every process',
  )
  const decided: string[] = []
  for (const { way, path, asked: one } of asked) {
    expect(one.form).toBeDefined()
    const answer = await one.answer(yes)
    if (codeOf(answer) === 'ok' || approvalOf(live, path).state !== 'pending') decided.push(way)
  }
  expect(decided).toEqual([])
})

/** The A group over everything that is not stdio, which has its own file: each attack is answered, and the next call works. */
describe.for(overHttp)('over %s', (way) => {
  let wire: Wire
  beforeAll(async () => {
    wire = await house.open(way, { capabilities: {} })
  })
  afterAll(() => wire[Symbol.asyncDispose]())

  function attack(name: string, run: () => Promise<void>): void {
    test(name, async () => {
      await run()
      expect(codeOf(await wire.call('read_file', { path: 'a.txt' })), 'the next call').toBe('ok')
    })
  }

  /** Each row: a tool, its arguments as JSON text, and how it must end. */
  async function calls(rows: [tool: string, input: string, code: string | RegExp][]): Promise<void> {
    for (const [tool, input, code] of rows) {
      const short = input.slice(0, 120)
      const wanted = code instanceof RegExp ? (expect.stringMatching(code) as string) : code
      expect([tool, short, await wire.code(tool, input)]).toEqual([tool, short, wanted])
    }
  }

  attack('A01 wrong types', () =>
    calls([
      ...['read_file', 'list_files', 'write_to_file', 'replace_in_file', 'search_files'].flatMap((tool) =>
        ['42', 'null', '["a.txt"]', '{"toString":"a.txt"}', 'true', '-0', '""'].map((path): [string, string, string] => [
          tool,
          `{"path":${path},"content":"x","dryRun":true}`,
          'E_BAD_ARGS',
        ]),
      ),
      ['write_to_file', '{"path":"a.txt","content":42,"dryRun":false}', 'E_BAD_ARGS'],
      ['write_to_file', '{"path":"a.txt","content":"x","dryRun":"false"}', 'E_BAD_ARGS'],
      ['write_to_file', '{"path":"a.txt","content":"x","dryRun":0}', 'E_BAD_ARGS'],
      ['list_files', '{"path":".","globs":"**"}', 'E_BAD_ARGS'],
      ['search_files', '{"path":".","regex":{}}', 'E_BAD_ARGS'],
      ['list_snapshots', '{"limit":"all"}', 'E_BAD_ARGS'],
      ['restore_snapshot', '{"snapshotId":1}', 'E_BAD_ARGS'],
      ...['[]', '"a.txt"', '42', 'true', 'null', '[{"path":"a.txt"}]'].map((input): [string, string, RegExp] => [
        'read_file',
        input,
        /^(E_BAD_ARGS|-32602|-32600)$/,
      ]),
    ]),
  )

  attack('A02 missing arguments', async () => {
    await calls([
      ['read_file', '{}', 'E_BAD_ARGS'],
      ['write_to_file', '{"path":"a.txt","content":"x"}', 'E_BAD_ARGS'],
      ['write_to_file', '{"content":"x","dryRun":true}', 'E_BAD_ARGS'],
      ['restore_snapshot', '{}', 'E_BAD_ARGS'],
    ])
    expect(codeOf(await wire.raw('tools/call', '{"name":"read_file"}', 'read_file'))).toBe('E_BAD_ARGS')
    for (const params of ['{}', '{"arguments":{}}', '{"name":5}', '{"name":null,"arguments":{}}'])
      expect([params, codeOf(await wire.raw('tools/call', params, ''))]).toEqual([params, expect.stringMatching(/^-32\d{3}$/)])
  })

  attack('A03 an unknown property is refused', () =>
    calls([
      ['read_file', '{"path":"a.txt","encoding":"latin1"}', 'E_BAD_ARGS'],
      ['write_to_file', '{"path":"b.txt","content":"x","dryRun":true,"force":true}', 'E_BAD_ARGS'],
      ['get_runtime_info', '{"verbose":true}', 'E_BAD_ARGS'],
    ]),
  )

  attack('A04 __proto__, constructor and prototype as properties: refused or dropped, never in force', async () => {
    await calls([
      // The limit of one byte would show as E_TOO_LARGE.
      ['read_file', '{"path":"a.txt","__proto__":{"maxBytes":1}}', /^(ok|E_BAD_ARGS)$/],
      ['read_file', '{"__proto__":{"path":"a.txt"}}', 'E_BAD_ARGS'],
      ['write_to_file', '{"__proto__":{"path":"p.txt","content":"x","dryRun":false}}', 'E_BAD_ARGS'],
      ['write_to_file', '{"path":"p.txt","content":"x","__proto__":{"dryRun":false}}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","constructor":{"prototype":{"dryRun":true}}}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","toString":"x"}', 'E_BAD_ARGS'],
    ])
    for (const params of [
      '{"__proto__":{"name":"read_file"},"arguments":{"path":"a.txt"}}',
      '{"name":"read_file","__proto__":{"arguments":{"path":"a.txt"}}}',
    ])
      expect([params, codeOf(await wire.raw('tools/call', params, 'read_file'))]).toEqual([
        params,
        expect.stringMatching(/^(-32\d{3}|E_BAD_ARGS)$/),
      ])
    expect(existsSync(house.world.path('p.txt'))).toBe(false)
  })

  attack('A05 unknown tools and methods, also those every object has', async () => {
    const names = ['no_such_tool', '', '__proto__', 'constructor', 'toString', 'undo', 'read_audit', 'READ_FILE']
    for (const tool of [...names, ' read_file', 'read_file\u0000', '../read_file', '海', 'x'.repeat(100_000)])
      expect([tool.slice(0, 30), await wire.code(tool, '{"last":true}')]).toEqual([
        tool.slice(0, 30),
        expect.stringMatching(/^-32\d{3}$/),
      ])
    for (const method of ['tools/undo', 'constructor', '__proto__', 'handrail/approve', '', 'TOOLS/CALL', 'x'.repeat(10_000)])
      expect([method.slice(0, 30), codeOf(await wire.raw(method, '{}', ''))]).toEqual([
        method.slice(0, 30),
        expect.stringMatching(/^-32\d{3}$/),
      ])
  })

  attack('A06 what is no JSON, no UTF-8 or no message is refused', async () => {
    const noJson = [
      '{',
      '}',
      '',
      'hello',
      "{'jsonrpc':'2.0'}",
      '\u0000',
      '{"a":NaN}',
      '{"jsonrpc":"2.0","id":1,"method":"ping"}}',
    ]
    const noMessage = ['null', 'true', '5', '"ping"', '{}', '{"jsonrpc":"1.0","method":"ping"}', '{"jsonrpc":"2.0"}']
    for (const bad of [...noJson, ...noMessage, '{"jsonrpc":"2.0","method":5}', '{"method":"ping"}'])
      expect([bad, await wire.send(bad)]).toMatchObject([bad, { status: 400, said: { error: {} } }])
    const head = `{"jsonrpc":"2.0","id":6,"method":"tools/call","params":{"name":"write_to_file","arguments":{"path":"u.txt","dryRun":false,"content":"`
    const bytes = Buffer.concat([Buffer.from(head), Buffer.from([0x63, 0xe9]), Buffer.from('"}}}')])
    expect(await wire.send(bytes)).toMatchObject({ status: 400 })
    expect(existsSync(house.world.path('u.txt'))).toBe(false)
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'multipart/form-data', ''])
      expect([type, (await wire.send('{}', { 'Content-Type': type })).status]).toEqual([type, 415])
  })

  attack('A07 JSON nested 20,000 and 2,000,000 deep', async () => {
    for (const depth of [20_000, 2_000_000])
      for (const deep of ['['.repeat(depth) + ']'.repeat(depth), `${'{"a":'.repeat(depth)}1${'}'.repeat(depth)}`])
        expect([depth, await wire.code('read_file', `{"path":${deep}}`)]).toEqual([
          depth,
          expect.stringMatching(/^(E_BAD_ARGS|-32\d{3}|-400)$/),
        ])
    expect(await wire.send('['.repeat(1_000_000))).toMatchObject({ status: 400 })
  })

  attack('A08 64 MB argument string: an error, and nothing is written', async () => {
    const answer = await wire
      .code('write_to_file', `{"path":"big.txt","dryRun":false,"content":"${'x'.repeat(64 << 20)}"}`)
      // The connection may be closed before all of it is sent.
      .catch((fault: NodeJS.ErrnoException) => fault.code)
    expect(['-32600', '-413', 'EPIPE', 'ECONNRESET']).toContain(answer)
    expect(existsSync(house.world.path('big.txt'))).toBe(false)
    const big = 'x'.repeat(20 << 20)
    expect(await wire.code('write_to_file', `{"path":"big.txt","content":"${big}","dryRun":true}`)).toBe('E_TOO_LARGE')
  })

  attack('A09 lone surrogates', async () => {
    await calls([
      ['read_file', '{"path":"\\ud800.txt"}', 'E_DENY_PATH'],
      ['list_files', '{"path":"\\udc00"}', 'E_DENY_PATH'],
      ['write_to_file', '{"path":"b.txt","content":"\\ud800","dryRun":false}', 'E_ENCODING'],
      ['replace_in_file', '{"path":"a.txt","find":"one","replace":"\\ud83d"}', 'E_ENCODING'],
      ['search_files', '{"path":".","regex":"\\ud800"}', /^(ok|E_BAD_ARGS)$/],
    ])
    expect(house.world.read('a.txt')).toBe('one\n')
  })

  attack('A10 numbers at the edge', () =>
    calls([
      ['read_file', '{"path":"a.txt","maxBytes":1e308}', 'ok'],
      ['read_file', '{"path":"a.txt","maxBytes":1e400}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","maxBytes":-0}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","maxBytes":1.5}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","maxBytes":"NaN"}', 'E_BAD_ARGS'],
      ['read_file', '{"path":"a.txt","maxBytes":1}', 'E_TOO_LARGE'],
      ['list_snapshots', '{"limit":-1e308}', 'ok'],
      ['list_snapshots', '{"limit":1e400}', 'E_BAD_ARGS'],
      ['search_files', '{"path":"a.txt","regex":"one","maxMatches":0}', 'E_BAD_ARGS'],
    ]),
  )

  attack('A11 duplicate keys: the last one counts, for the check and for the act alike', async () => {
    await calls([
      ['read_file', '{"path":"a.txt","path":"../outside"}', 'E_DENY_PATH'],
      ['read_file', '{"path":"../outside","path":"a.txt"}', 'ok'],
      ['write_to_file', '{"path":"a.txt","path":".git/config","content":"x","dryRun":false}', 'E_DENY_PATH'],
      ['write_to_file', '{"path":"d.txt","content":"x","dryRun":false,"dryRun":true}', 'ok'],
    ])
    expect(existsSync(house.world.path('d.txt'))).toBe(false)
    // What the header says is held against the tool that is run, not against another of that name.
    const params = '{"name":"read_file","name":"no_such_tool","arguments":{"path":"a.txt"}}'
    expect(codeOf(await wire.raw('tools/call', params, 'read_file'))).toMatch(/^-32\d{3}$/)
  })

  attack('A12 names every object has, as path and as key', async () => {
    const folder = `names-${way.replace(' ', '-')}`
    for (const name of ['constructor', '__proto__', 'toString', 'hasOwnProperty', 'prototype']) {
      const path = `"path":"${folder}/${name}"`
      const write = (content: string): string =>
        `{${path},"content":"${content}","dryRun":false,"idempotencyKey":"${name} ${way}"}`
      await calls([
        ['read_file', `{${path}}`, 'E_NOT_FOUND'],
        ['write_to_file', write('one'), 'ok'],
        ['write_to_file', write('one'), 'ok'],
        ['write_to_file', write('two'), 'E_CONFLICT'],
        ['read_file', `{${path}}`, 'ok'],
        ['list_snapshots', `{${path}}`, 'ok'],
      ])
      expect(house.world.read(`${folder}/${name}`)).toBe('one')
    }
  })

  attack('A14 a batch does nothing that its messages could not', async () => {
    const path = house.place()
    const one = (id: number, name: string, input: object): object => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name, arguments: input },
    })
    const many = Array.from({ length: 101 }, (_, index) => one(index, 'read_file', { path: 'a.txt' }))
    for (const batch of [[], many, [1, 2, 3], [[]]])
      expect([batch.length, (await wire.send(JSON.stringify(batch))).status]).toEqual([batch.length, 400])
    const { status } = await wire.send(JSON.stringify([one(5, 'write_to_file', changing(path)), one(6, 'read_file', { path })]))
    // A session of 2025 may take a batch: then each message in it goes the road of any message.
    expect(way === 'http 2025' ? [200, 400] : [400]).toContain(status)
    expect(house.world.read(path)).toBe(before)
  })

  attack('A14 ids that are none', async () => {
    const params = '{"name":"read_file","arguments":{"path":"a.txt"}}'
    for (const id of ['1.5', '{}', '[1]', 'true', '1e400']) {
      const { status, said } = await wire.send(`{"jsonrpc":"2.0","id":${id},"method":"tools/call","params":${params}}`)
      expect([id, status, said?.result]).toEqual([id, 400, undefined])
    }
  })

  attack('A14 notifications nobody asked for, and answers to nothing', async () => {
    const input = { path: 'n.txt', content: 'x', dryRun: false }
    const kinds = [
      { method: 'notifications/x' },
      { method: 'notifications/cancelled', params: { requestId: 999 } },
      { method: 'notifications/progress', params: { progressToken: 1, progress: 2 } },
      { method: 'tools/call', params: { name: 'write_to_file', arguments: input } },
      { id: 12_345, result: {} },
      { id: 'x', error: { code: 1, message: 'm' } },
    ].map((message) => JSON.stringify({ jsonrpc: '2.0', ...message }))
    for (let round = 0; round < 20; round++)
      await Promise.all(kinds.flatMap((message) => [wire.send(message), wire.send(message), wire.send(message)]))
    expect(existsSync(house.world.path('n.txt'))).toBe(false)
  })

  attack('A15 a message of 10 MB and one byte is answered like any other', async () => {
    const head = '{"path":"a.txt","pad":"'
    expect(await wire.code('read_file', `${head}${'x'.repeat((10 << 20) + 1 - head.length)}"}`)).toBe('E_BAD_ARGS')
  })

  attack('A15 one byte more than 32 MB is refused', async () => {
    const { status } = await wire.send(Buffer.alloc((32 << 20) + 1, 0x20)).catch(() => ({ status: 413 }))
    expect(status).toBe(413)
  })
})
