import { Fault } from '../../contracts/faults/fault.ts'
import { parseJson, TooMuchJson } from '../../text/json.ts'
import type { StdioServer } from '../stage/stdio-servers.ts'
import type { Transport } from './sdk.ts'

/** What one server may say. */
export const bounds = {
  /** One message, in bytes. */
  message: 16 << 20,
  /** Messages that nobody asked for, and lines that are none, in a stretch of time. */
  unasked: 2_000,
  unaskedMs: 10_000,
  /** Of these, in bytes: each is read before anybody knows what it is. */
  unaskedBytes: 32 << 20,
  /** What waits to be read by it. */
  unread: 32 << 20,
} as const

type Opened = Parameters<NonNullable<Transport['onmessage']>>[0]

/** JSON-RPC with a program that Handrail started, one message a line; whoever says too much is ended. */
export class LineTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: Opened) => void
  /** Why it is over, once it is. */
  why: string | undefined
  private readonly begin: (onOutput: (chunk: Buffer) => void) => Promise<StdioServer>
  private stdioServer: StdioServer | undefined
  private pieces: Buffer[] = []
  private held = 0
  private unasked = 0
  private unaskedBytes = 0
  private since = 0
  /** What was asked and has no answer yet. */
  private readonly asked = new Set<unknown>()

  constructor(begin: (onOutput: (chunk: Buffer) => void) => Promise<StdioServer>) {
    this.begin = begin
  }

  async start(): Promise<void> {
    const stdioServer = (this.stdioServer = await this.begin((chunk) => this.take(chunk)))
    void stdioServer.gone.then((how) => {
      this.why ??= how
      this.pieces = []
      this.onclose?.()
    })
  }

  async send(message: Opened): Promise<void> {
    if (this.why !== undefined || !this.stdioServer) throw new Fault('io', `The server is gone: ${this.why ?? 'not started'}`)
    const { stdin } = this.stdioServer
    if (stdin.writableLength > bounds.unread) return this.giveUp('it does not read what it is sent')
    const { id, method, params } = message as { id?: unknown; method?: string; params?: { requestId?: unknown } }
    if (method === 'notifications/cancelled') this.asked.delete(params?.requestId)
    else if (id !== undefined && method !== undefined) this.asked.add(id)
    stdin.write(`${JSON.stringify(message)}\n`)
  }

  async close(): Promise<void> {
    await this.stdioServer?.end('it was closed')
  }

  private take(chunk: Buffer): void {
    if (this.why !== undefined) return
    let from = 0
    for (let newline = chunk.indexOf(0x0a); newline >= 0; newline = chunk.indexOf(0x0a, from)) {
      this.pieces.push(chunk.subarray(from, newline))
      from = newline + 1
      const line = Buffer.concat(this.pieces)
      this.pieces = []
      this.held = 0
      if (line.length > bounds.message) return this.giveUp(`it sent a message of more than ${bounds.message} bytes`)
      this.deliver(line)
      if (this.why !== undefined) return
    }
    if (from === chunk.length) return
    this.pieces.push(chunk.subarray(from))
    this.held += chunk.length - from
    // A million pieces of one byte must not become a million objects.
    if (this.pieces.length > 1_000) this.pieces = [Buffer.concat(this.pieces)]
    if (this.held > bounds.message) this.giveUp(`it sent a message of more than ${bounds.message} bytes`)
  }

  private deliver(line: Buffer): void {
    let message: unknown
    try {
      message = parseJson(line.toString('utf8'))
    } catch (thrown) {
      // Whoever waits for it would wait in vain.
      if (thrown instanceof TooMuchJson) return this.giveUp('it sent a message with more in it than is read')
      // Many print something before they begin.
      return this.countUnasked('it prints what is no message', line.length)
    }
    const { jsonrpc, id, method } = (message ?? {}) as { jsonrpc?: unknown; id?: unknown; method?: unknown }
    if (jsonrpc !== '2.0' || typeof message !== 'object') return this.countUnasked('it prints what is no message', line.length)
    const isAnswer = id !== undefined && method === undefined
    if (!isAnswer || !this.asked.delete(id)) {
      this.countUnasked('it sends messages that nobody asked for', line.length)
      if (isAnswer) return
    }
    if (this.why === undefined) this.onmessage?.(message as Opened)
  }

  private countUnasked(what: string, bytes: number): void {
    const now = performance.now()
    if (now - this.since > bounds.unaskedMs) {
      this.since = now
      this.unasked = 0
      this.unaskedBytes = 0
    }
    this.unaskedBytes += bytes
    if (++this.unasked > bounds.unasked || this.unaskedBytes > bounds.unaskedBytes)
      this.giveUp(`${what}, more than ${bounds.unasked} or ${bounds.unaskedBytes} bytes in ${bounds.unaskedMs / 1_000} seconds`)
  }

  private giveUp(why: string): void {
    this.why ??= why
    this.pieces = []
    void this.stdioServer?.end(why)
  }
}
