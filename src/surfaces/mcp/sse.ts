import { randomUUID } from 'node:crypto'
import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { parseJSONRPCMessage, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/server'
import { Refusal } from '../../contracts/refusal.ts'
import type { Peers } from '../../text/connections.ts'
import { chooseVictim } from '../../text/eviction.ts'
import { answer, type Route } from '../listen.ts'
import { readMessage, sessionName } from './http.ts'
import { createServer, openConnectionContext, type McpContext } from './server.ts'
import { toWire } from './wire.ts'

const mostStreams = 64
const heartbeatMs = 15_000
/** More than this unread, and its client's next requests wait. */
const mostUnread = 1 << 20
const standsStillMs = 2_000

/** MCP as it was first spoken over HTTP (2024-11-05): a stream at `/sse`, messages posted to the address it names. */
export function mcpSse(
  mcpContext: McpContext,
  page: () => string | undefined,
  peers: Peers<Socket>,
): { '/sse': Route; '/messages': Route } {
  const streams = new Map<string, EventStream>()
  return {
    '/sse': {
      for: 'agent',
      methods: ['GET'],
      async handle({ request, response }) {
        const peer = await peers.of(request.socket)
        if (response.destroyed) return
        if (streams.size >= mostStreams) await chooseVictim(streams.values(), peer)?.end()
        if (streams.size >= mostStreams) throw new Refusal(503, 'Too many streams are open.')
        const id = randomUUID()
        const stream = new EventStream(response, `/messages?sessionId=${id}`, peer)
        streams.set(id, stream)
        response.once('close', () => streams.delete(id))
        const session = sessionName(id)
        const connection = openConnectionContext(mcpContext, { surface: 'mcp-sse', session: () => session, peer, page })
        await createServer(mcpContext, connection, 'legacy', true).connect(stream)
      },
    },
    '/messages': {
      for: 'agent',
      methods: ['POST'],
      async handle(incoming) {
        const stream = streams.get(incoming.query.get('sessionId') ?? '')
        if (!stream) throw new Refusal(404, 'No such stream; open /sse first.')
        stream.usedAt = Date.now()
        const message = checked(await readMessage(incoming))
        // What nobody reads is not made; answers and cancellations go through.
        if ('id' in message && 'method' in message && !(await stream.hasRoom()))
          throw new Refusal(404, 'The stream was not read, and is closed; open /sse again.')
        stream.onmessage?.(message)
        answer(incoming.response, 202, { ok: true })
      },
    },
  }
}

function checked(message: unknown): JSONRPCMessage {
  try {
    parseJSONRPCMessage(message)
  } catch {
    throw new Refusal(400, 'Not a JSON-RPC 2.0 message.')
  }
  return message as JSONRPCMessage
}

/** One client's stream of events. */
class EventStream implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly peer: string
  usedAt = Date.now()
  private readonly response: ServerResponse
  private readonly endpoint: string

  constructor(response: ServerResponse, endpoint: string, peer: string) {
    this.response = response
    this.endpoint = endpoint
    this.peer = peer
  }

  /** Makes room for another; it is gone when this comes back. */
  end(): Promise<void> {
    return new Promise((resolve) => this.response.once('close', resolve).destroy())
  }

  async start(): Promise<void> {
    const beat = setInterval(() => this.response.write(': still here\n\n'), heartbeatMs).unref()
    this.response.once('close', () => {
      clearInterval(beat)
      this.onclose?.()
    })
    this.response.writeHead(200, { 'Content-Type': 'text/event-stream' })
    this.response.write(`event: endpoint\ndata: ${this.endpoint}\n\n`)
  }

  /** Waits until the client has read what was sent to it. One that reads nothing is let go; false where it is gone. */
  async hasRoom(): Promise<boolean> {
    const { response } = this
    let sent = response.socket?.bytesWritten
    while (response.writableLength > mostUnread && !response.destroyed) {
      await new Promise<void>((resolve) => {
        const over = (): void => {
          clearTimeout(timer)
          response.off('drain', over).off('close', over)
          resolve()
        }
        const timer = setTimeout(over, standsStillMs).unref()
        response.on('drain', over).on('close', over)
      })
      const now = response.socket?.bytesWritten
      if (now === sent && response.writableLength > mostUnread) response.destroy()
      sent = now
    }
    return !response.destroyed
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.response.write(`event: message\ndata: ${toWire(message).toString()}\n\n`)
  }

  async close(): Promise<void> {
    this.response.end()
  }
}
