import { isUtf8 } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import type { Readable, Writable } from 'node:stream'
import type { JSONRPCMessage, Transport } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'
import type { ClientForms } from '../../contracts/client-forms.ts'
import type { AgentGate } from '../../contracts/gate.ts'
import { oneLine } from '../../text/printable.ts'
import { redact } from '../../text/redact/redact.ts'
import { parseJson, TooMuchJson } from '../../text/json.ts'
import type { CallServer } from './call-server.ts'
import { openPacing } from './pacing.ts'
import { createServer, openConnectionContext, openMcpContext } from './server.ts'
import { toWire } from './wire.ts'

/** Longest message taken in; a longer one is answered with an error and the next one is read as usual. */
const longestMessage = 32 << 20

/** Pieces of a message are put together up to this. */
const smallPieces = 65_536
const largeAnswer = 8_192
/** What may lie about unread before no more is taken in. */
const mostUnread = 8 << 20
/** How long answers under way are waited for after stdin has ended. */
const patienceMs = 10_000

/** Serves MCP on this process's stdin and stdout until stdin ends. */
export function serveMcpStdio(
  gate: AgentGate,
  forms: ClientForms,
  input: Readable = process.stdin,
  output: Writable = process.stdout,
): Promise<void> {
  const session = `sess_${randomBytes(8).toString('hex')}`
  const mcpContext = openMcpContext(gate, forms)
  const connection = openConnectionContext(mcpContext, { surface: 'mcp-stdio', session: () => session })
  return new Promise((resolve) => {
    const transport = new LineTransport(input, output, resolve)
    serveStdio(({ era }) => (transport.server = createServer(mcpContext, connection, era, true)), {
      transport,
      onerror: (fault) => console.error('handrail: mcp:', oneLine(redact(fault.message.slice(0, 8_000)), 300)),
    })
  })
}

/** JSON-RPC, one message a line. What cannot be read is answered, never fatal. */
class LineTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  server?: CallServer
  private readonly input: Readable
  private readonly output: Writable
  private readonly ended: () => void
  private pieces: Buffer[] = []
  private held = 0
  private skipping = false
  private ending = false
  private closed = false
  /** Requests taken in and not answered yet. */
  private readonly open = new Set<string | number>()
  private readonly pacing = openPacing({
    deliver: (message) => {
      if (!this.server?.takeAtOnce(message, this)) this.onmessage?.(message)
    },
    clogged: () => this.output.writableLength + this.outgoing.length > mostUnread,
    dropped: (id) => this.over(id),
    emptied: () => void (this.closed || this.input.resume()),
  })
  private outgoing = ''
  private flushing: Promise<void> | undefined
  private draining: Promise<void> | undefined

  constructor(input: Readable, output: Writable, ended: () => void) {
    this.input = input
    this.output = output
    this.ended = ended
  }

  async start(): Promise<void> {
    this.input.on('data', this.take)
    this.input.once('end', this.drain)
    this.input.once('error', this.finish)
    this.output.on('error', this.finish)
    this.output.on('drain', this.pacing.moved)
  }

  async close(): Promise<void> {
    this.finish()
  }

  /** Small answers that are ready together go out together; a large one goes at once, while the next is made. */
  send(message: JSONRPCMessage): Promise<void> {
    if (this.closed) return Promise.resolve()
    const line = toWire(message, '\n')
    if (typeof line === 'string') this.outgoing += line
    const sent = typeof line === 'string' ? undefined : this.flush(line)
    if (!('method' in message) && message.id !== undefined) this.over(message.id)
    if (sent) return sent
    if (this.outgoing.length >= largeAnswer) return this.flush()
    return (this.flushing ??= new Promise((resolve) => process.nextTick(() => void this.flush().then(resolve))))
  }

  /** A request that is answered, or needs no answer any more. */
  private over(id: string | number): void {
    this.open.delete(id)
    this.pacing.answered(id)
    if (this.ending && this.open.size === 0) void this.flush().then(this.finish)
  }

  /** What waits goes out, and these bytes behind it. */
  private flush(bytes?: Buffer): Promise<void> {
    const text = this.outgoing
    this.outgoing = ''
    this.flushing = undefined
    if (this.closed) return Promise.resolve()
    let hasRoom = text === '' || this.output.write(text)
    if (bytes) hasRoom = this.output.write(bytes)
    if (hasRoom) return Promise.resolve()
    return (this.draining ??= new Promise((resolve) =>
      this.output.once('drain', () => {
        this.draining = undefined
        resolve()
      }),
    ))
  }

  private readonly take = (chunk: Buffer): void => {
    let from = 0
    for (let newline = chunk.indexOf(0x0a); newline >= 0; newline = chunk.indexOf(0x0a, from)) {
      this.hold(chunk.subarray(from, newline))
      from = newline + 1
      this.finishLine()
    }
    if (from < chunk.length) this.hold(chunk.subarray(from))
  }

  private hold(piece: Buffer): void {
    if (this.skipping) return
    this.held += piece.length
    // A million pieces of one byte must not become a million objects: small ones are put together, each byte a few times.
    let last = piece
    for (let before = this.pieces.at(-1); before && isSmallBeside(before, last); before = this.pieces.at(-1))
      last = Buffer.concat([this.pieces.pop() as Buffer, last])
    this.pieces.push(last)
    if (this.held <= longestMessage) return
    this.skipping = true
    const start = Buffer.concat(this.pieces).subarray(0, 4_096).toString('utf8')
    this.pieces = []
    this.refuse(-32600, `Message larger than ${longestMessage} bytes`, idIn(start))
  }

  private finishLine(): void {
    const line = this.pieces.length === 1 ? (this.pieces[0] as Buffer) : Buffer.concat(this.pieces)
    const skipped = this.skipping
    this.pieces = []
    this.held = 0
    this.skipping = false
    if (skipped || line.length === 0) return
    if (isUtf8(line)) this.deliver(line.toString('utf8'))
    else this.refuse(-32700, 'Not valid UTF-8')
  }

  private deliver(text: string): void {
    let value: unknown
    try {
      value = parseJson(text)
    } catch (fault) {
      if (fault instanceof TooMuchJson) this.refuse(-32700, fault.message, idIn(text.slice(0, 4_096)))
      else if (text.trim() !== '') this.refuse(-32700, 'Not valid JSON')
      return
    }
    if (isMessage(value)) {
      if ('method' in value && 'id' in value) {
        // Two requests with one id could be neither counted nor cancelled apart.
        if (this.open.has(value.id))
          return this.refuse(-32600, 'This id is in use: its request is not answered yet', JSON.stringify(value.id))
        this.open.add(value.id)
      }
      this.pacing.take(value)
      // A cancelled request gets no answer, so none is waited for.
      if ('method' in value && value.method === 'notifications/cancelled')
        this.over((value.params as { requestId?: string })?.requestId ?? '')
      if (this.pacing.waits) this.input.pause()
      return
    }
    const { id } = (typeof value === 'object' && value !== null ? value : {}) as { id?: unknown }
    this.refuse(
      -32600,
      'Not a JSON-RPC 2.0 message',
      typeof id === 'string' || typeof id === 'number' ? JSON.stringify(id) : undefined,
    )
  }

  private refuse(code: number, message: string, id = 'null'): void {
    if (!this.closed) this.output.write(`{"jsonrpc":"2.0","id":${id},"error":${JSON.stringify({ code, message })}}\n`)
  }

  /** The other side has said all it will: what it asked is still answered, within reason. */
  private readonly drain = (): void => {
    this.ending = true
    this.server?.hangUp()
    if (this.open.size === 0) this.finish()
    else setTimeout(this.finish, patienceMs).unref()
  }

  private readonly finish = (): void => {
    if (this.closed) return
    this.closed = true
    this.input.off('data', this.take)
    this.input.pause()
    this.onclose?.()
    this.ended()
  }
}

function isSmallBeside(before: Buffer, piece: Buffer): boolean {
  return before.length < 2 * piece.length && before.length + piece.length <= smallPieces
}

/** A request, notification or answer by its shape; what is inside is checked by whoever handles it. */
function isMessage(value: unknown): value is JSONRPCMessage {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return false
  const { jsonrpc, id, method, params, result, error } = value as Record<string, unknown>
  if (jsonrpc !== '2.0') return false
  if (id !== undefined && typeof id !== 'string' && !Number.isSafeInteger(id)) return false
  if (method === undefined) return id !== undefined && (isObject(result) || isObject(error))
  return typeof method === 'string' && (params === undefined || isObject(params))
}

function isObject(value: unknown): boolean {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** The id at the beginning of a message that is too long to be read, where it is a proper one. */
function idIn(start: string): string | undefined {
  const found = /^\s*\{[^[{]*?"id"\s*:\s*(-?\d+|"[^"\\]*")\s*[,}]/.exec(start)?.[1]
  try {
    const id: unknown = JSON.parse(found ?? 'null')
    return typeof id === 'string' || Number.isSafeInteger(id) ? JSON.stringify(id) : undefined
  } catch {
    return undefined
  }
}
