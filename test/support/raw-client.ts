import { spawn } from 'node:child_process'
import { request, type ClientRequest, type IncomingMessage } from 'node:http'
import { dirname } from 'node:path'
import type { Readable, Writable } from 'node:stream'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { expect } from 'vitest'
import type { ApprovalHead } from '../../src/contracts/approval.ts'
import type { AuditLine } from '../../src/contracts/audit.ts'
import { openServe, ways, type Served, type Way } from './serve.ts'
import { runInside, serveInside, stdioInside, type InsideOptions } from './inside.ts'
import { isSoak } from './soak.ts'
import { cleanEnv, openWorld, program, type World } from './world.ts'
import { patienceMs } from './patience.ts'

// Approvals and questions through the client's own forms, spoken by hand: nothing a client sends may approve what a person did not see.

export interface Message {
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
  /** For stdio, where the wire opens it itself. */
  args?: string[]
  env?: Record<string, string>
  /** For stdio: the real program, which costs ten times as much. */
  real?: true
}

/** One client, spoken by hand over any of the ways. */
export interface Wire {
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

export async function openWire(way: Way, project: string, served: Served | undefined, options: WireOptions = {}): Promise<Wire> {
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
      const answered = say(method, JSON.stringify(params), params['name'] ?? params['uri'] ?? params['taskId'])
      // Whoever drops the wire does not wait for it.
      answered.catch(() => undefined)
      return answered
    },
    call: (tool, input, more = {}) => wire.ask('tools/call', { name: tool, arguments: input, ...more }),
    raw: say,
    code: async (tool, input) => codeOf(await say('tools/call', `{"name":${JSON.stringify(tool)},"arguments":${input}}`, tool)),
    async next(fits, what) {
      const until = Date.now() + patienceMs
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

/** `handrail mcp` on pipes: inside the test process, or the real program. */
function openLine(project: string, options: WireOptions, hear: (message: Message) => void): Line {
  const { input, output, ended } = options.real ? stdioProgram(project, options) : stdioInside(project, options)
  let rest = ''
  input.on('error', () => undefined)
  output.setEncoding('utf8').on('data', (piece: string) => {
    const lines = (rest + piece).split('\n')
    rest = lines.pop() ?? ''
    for (const one of lines) hear(JSON.parse(one) as Message)
  })
  return {
    async send(body) {
      input.write(Buffer.concat([Buffer.from(body), Buffer.from('\n')]))
      return { status: 0, said: undefined }
    },
    opened: async () => undefined,
    async drop() {
      input.end()
      output.destroy()
      await ended
    },
    async close() {
      input.end()
      await ended
    },
  }
}

/** The real program on pipes. */
export function stdioProgram(
  project: string,
  { args = [], env }: InsideOptions,
): { input: Writable; output: Readable; ended: Promise<void> } {
  const child = spawn(process.execPath, [program, 'mcp', '--project', project, ...args], {
    env: cleanEnv(dirname(project), env),
    stdio: ['pipe', 'pipe', 'ignore'],
  })
  const ended = new Promise<void>((resolve) => child.once('close', () => resolve()))
  return { input: child.stdin, output: child.stdout, ended }
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
export function codeOf({ error, result }: Message): string {
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

export function faultIn({ result, error }: Message): Fault {
  if (error || !result?.isError) return { code: `no fault: ${JSON.stringify(error ?? result).slice(0, 300)}`, message: '' }
  return (JSON.parse(result.content?.[0]?.text ?? '{}') as { error: Fault }).error
}

/** A project with a server on it, and wires to it. */
export interface House {
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

/** Inside the test process; in a soak, and where it is to have an environment of its own, the real program. */
export async function openHouse({ policies, limits = {}, env, files = {} }: HouseOptions = {}): Promise<House> {
  const isReal = isSoak || env !== undefined
  const world = await openWorld({
    files: { 'a.txt': 'one\n', ...files },
    config: { policies: { writeRequiresDiff: false, ...policies }, limits },
    projectConfig: { lang: 'EN' },
  })
  // A person switched forms on over HTTP; without that none is put there (client-answers.test.ts).
  const own = { env: { HANDRAIL_ASK_OVER_HTTP: '1', ...env?.(world) } }
  const served = await (isReal ? openServe(world.project, own) : serveInside(world.project, own))
  const wires = new Map<Way, Promise<Wire>>()
  let places = 0
  const house: House = {
    world,
    served,
    wire(way) {
      const known = wires.get(way) ?? house.open(way, isReal ? { real: true } : {})
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

export const before = '{ "name": "game" }\n'
export const after = '{ "name": "game", "scripts": { "dev": "vite" } }\n'
export const legacy = ways.filter((way) => !way.endsWith('2026'))
export const modern = ways.filter((way) => way.endsWith('2026'))
export const overHttp = ways.filter((way) => !way.startsWith('stdio'))
/** Those where a form is put while the call is open, by a stream of the call itself and by one beside it. */
export const openCalls = legacy.filter((way) => isSoak || way !== 'sse')
/** One on pipes that is asked while its call is open, one over HTTP that calls again: where the way changes nothing else, these are enough; in a soak it is all of them. */
const twoWays: readonly Way[] = ['stdio 2025', 'http 2026']
export const someOf = (from: readonly Way[]): readonly Way[] => (isSoak ? from : from.filter((way) => twoWays.includes(way)))

export const yes = { action: 'accept', content: { decision: 'approve' } }
export const no = { action: 'accept', content: { decision: 'decline' } }
const noAndWhy = { action: 'accept', content: { decision: 'decline and say why' } }
export const cancel = { action: 'cancel' }

/** A call on its way. */
export interface Asked {
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
export async function propose(wire: Wire, tool: string, input: Record<string, unknown>): Promise<Asked> {
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
export async function until<T>(look: () => T | undefined | false, what: string): Promise<T> {
  const late = Date.now() + patienceMs
  for (;;) {
    const found = look()
    if (found !== undefined && found !== false) return found
    if (Date.now() > late) throw new Error(`${what} did not come`)
    await pause(10)
  }
}

/** A no in two forms: the second asks for the words. */
export async function declineSaying(wire: Wire, asked: Asked, tool: string, input: object, why: string): Promise<Message> {
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

export const changing = (path: string, content = after): Record<string, unknown> => ({ path, content, dryRun: false })

/** The change of a file that asks. */
export const change = (wire: Wire, path: string, content = after): Promise<Asked> =>
  propose(wire, 'write_to_file', changing(path, content))

/** The newest question about a file. */
export function approvalOf(house: House, path: string): ApprovalHead {
  const [found] = questionsAbout(house, path)
  if (!found) throw new Error(`nobody was asked about ${path}`)
  return found
}

export const questionsAbout = ({ world }: House, path: string): ApprovalHead[] =>
  world.runtime.approvals.list().filter(({ card }) => card.changes.some((one) => one.path === path))

/** Waits until a form that was put is taken back. */
export const withdrawn = (wire: Wire, form: Asked['form']): Promise<Message> =>
  wire.next(
    ({ method, params }) => method === 'notifications/cancelled' && params?.['requestId'] === form?.id,
    'the withdrawal of the form',
  )

/** A person answers in a terminal: through the command line for one way of each era, through the store of this other process for the rest. */
export async function decideElsewhere({ world }: House, way: Way, id: string, approve: boolean, note?: string): Promise<void> {
  if (way === 'stdio 2025' || way === 'http 2026') {
    const words = [approve ? 'approve' : 'deny', id, ...(note === undefined ? [] : ['--note', note])]
    expect(await runInside(world.project, ['approvals', ...words])).toMatchObject({ code: 0 })
  } else world.runtime.approvals.decide(id, { approve, by: 'somebody@cli', ...(note !== undefined && { note }) })
}

export const decisions = ({ world }: House, id: string): AuditLine[] =>
  [...world.runtime.audit.lines()].filter((line) => line.event === 'approval.decided' && line.approval === id)

export const manyLines = Array.from({ length: 450 }, (_, index) => `line ${index}\n`).join('')
