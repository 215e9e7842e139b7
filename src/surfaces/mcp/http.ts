import { randomUUID } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { createMcpHandler, isJsonContentType, isLegacyRequest, type ServerEvent } from '@modelcontextprotocol/server'
import { onAbort } from '../../text/aborts.ts'
import { Refusal } from '../../contracts/refusal.ts'
import type { Peers } from '../../text/connections.ts'
import { chooseVictim, type SlotHolder } from '../../text/eviction.ts'
import { answer, leaveUnread, type Route, type Incoming } from '../listen.ts'
import { oneLine } from '../../text/printable.ts'
import { redact } from '../../text/redact/redact.ts'
import { parseJson } from '../../text/json.ts'
import { createServer, openConnectionContext, type ConnectionContext, type McpContext } from './server.ts'
import type { News } from './feed.ts'
import { idInUse } from './session-transport.ts'
import { openSessions, type Sessions } from './sessions.ts'
import { contentHash } from '../../kernel/digest.ts'
import { traceparentOf } from '../../text/traceparent.ts'

const mostInBatch = 100
const mostConnections = 1_000
/** Streams of 2026 that follow what happens. */
const mostFollowers = 64

export interface McpHttp {
  route: Route
  close(): Promise<void>
}

/** MCP over Streamable HTTP at one address: 2026 without sessions, and the versions before it with them. */
export function mcpHttp(mcpContext: McpContext, page: () => string | undefined, peers: Peers<Socket>): McpHttp {
  const connections = new Map<string, ConnectionContext>()
  /** 2026 has no sessions of its own. The process that calls and the name it gives make one: a name alone is anybody's to give. */
  const deskOf = (peer: string): ConnectionContext => {
    const known = connections.get(peer)
    const session = (client: string): string => sessionName(`http ${peer} ${client}`)
    const connection = known ?? openConnectionContext(mcpContext, { surface: 'mcp-http', session, peer, page })
    // The one that was used last goes to the end.
    connections.delete(peer)
    connections.set(peer, connection)
    if (connections.size > mostConnections) connections.delete(connections.keys().next().value as string)
    return connection
  }
  const modern = createMcpHandler(({ authInfo }) => createServer(mcpContext, deskOf(authInfo?.clientId ?? ''), 'modern', false), {
    legacy: 'reject',
    // Ours are counted by who holds them; the SDK hears a little later that one is gone.
    maxSubscriptions: 2 * mostFollowers,
    onerror: logUnexpected,
    bus: {
      publish: () => undefined,
      subscribe: (listener) => mcpContext.feed.follow((news) => listener(eventOf(news))),
    },
  })
  const sessions = openSessions((id, peer) => {
    const name = sessionName(id)
    return createServer(
      mcpContext,
      openConnectionContext(mcpContext, { surface: 'mcp-http', session: () => name, peer, page }),
      'legacy',
      true,
    )
  })

  const followers = new Set<SlotHolder & { response: ServerResponse }>()
  const follow = async (response: ServerResponse, peer: string): Promise<void> => {
    const gone = followers.size >= mostFollowers ? chooseVictim(followers, peer)?.response : undefined
    if (gone) await new Promise((resolve) => gone.once('close', resolve).destroy())
    if (followers.size >= mostFollowers) throw new Refusal(503, 'Too many streams are open.')
    const place = { peer, usedAt: Date.now(), response }
    followers.add(place)
    response.once('close', () => followers.delete(place))
  }

  const visit = async (incoming: Incoming): Promise<void> => {
    const { request, response } = incoming
    const dropped = new AbortController()
    response.once('close', () => response.writableFinished || dropped.abort())
    const body = request.method === 'POST' ? await readMessage(incoming) : undefined
    const web = toWebRequest(request, dropped.signal)
    const peer = (): Promise<string> => peers.of(request.socket)
    if (await isLegacyRequest(web, body)) await legacy(sessions, web, body, peer, dropped.signal, response)
    else {
      const clientId = await peer()
      const authInfo = { token: '', scopes: [], clientId }
      if ((body as Said | undefined)?.method === 'subscriptions/listen' && !response.destroyed) await follow(response, clientId)
      await send(await modern.fetch(web, { parsedBody: body, authInfo }), response)
    }
  }

  return {
    route: {
      for: 'agent',
      methods: ['POST', 'GET', 'DELETE'],
      async handle(incoming) {
        try {
          await visit(incoming)
        } catch (fault) {
          if (!(fault instanceof Refusal) || incoming.response.headersSent) throw fault
          refuse(incoming, fault)
        }
      },
    },
    async close() {
      await modern.close()
      await sessions.close()
    },
  }
}

/** The name a session has in the record; the id itself opens it and is not written down. */
export function sessionName(secret: string): string {
  return `sess_${contentHash(secret).slice(0, 16)}`
}

interface Said {
  id?: string | number
  method?: string
  params?: { requestId?: unknown }
}

async function legacy(
  sessions: Sessions,
  web: Request,
  body: unknown,
  peer: () => Promise<string>,
  dropped: AbortSignal,
  response: ServerResponse,
): Promise<void> {
  const messages = [body].flat().filter((one) => typeof one === 'object' && one !== null) as Said[]
  const requests = messages.flatMap((one) => (one.id !== undefined && one.method !== undefined ? [one.id] : []))
  if (new Set(requests).size < requests.length) throw idInUse()
  const id = web.headers.get('mcp-session-id')
  const opening = id === null && messages.some((message) => message.method === 'initialize')
  const opened = randomUUID()
  const transport = opening ? await sessions.begin(opened, peer) : sessions.find(id)
  if (!transport && id !== null) throw new Refusal(404, 'This session has ended; begin a new one.')
  if (!transport) throw new Refusal(400, 'No session: begin with initialize, or send the Mcp-Session-Id it returned.')
  if (dropped.aborted) return opening ? sessions.end(opened) : undefined
  const over = transport.begin(requests)
  // Nothing that was sent over a broken connection can be taken up again, so whoever is gone has cancelled.
  onAbort(dropped, () => {
    for (const requestId of requests) transport.cancel(requestId, 'the connection was dropped')
  })
  response.once('close', over)
  const answered = await transport.handleRequest(web, { parsedBody: body })
  for (const { method, params } of messages) if (method === 'notifications/cancelled') transport.forget(params?.requestId)
  // A greeting that is refused has begun nothing.
  if (opening && answered.status >= 400) await sessions.end(transport.sessionId ?? opened)
  await send(answered, response)
}

/** What was sent is no JSON. */
class Unreadable extends Refusal {}

/** The JSON in a request; what cannot be read is answered, and never reaches the protocol. */
export async function readMessage({ request, body }: Incoming): Promise<unknown> {
  if (!isJsonContentType(request.headers['content-type'] ?? null))
    throw new Refusal(415, 'Content-Type must be application/json.')
  const bytes = await body()
  let message: unknown
  try {
    message = parseJson(new TextDecoder('utf-8', { fatal: true }).decode(bytes))
  } catch (fault) {
    throw new Unreadable(
      400,
      fault instanceof SyntaxError ? `Parse error: ${fault.message.slice(0, 100)}` : 'Parse error: not valid UTF-8',
    )
  }
  if (typeof message !== 'object' || message === null) throw new Refusal(400, 'Not a JSON-RPC 2.0 message.')
  if (bytes.length > mostKept && [message].flat().some(isKept))
    throw new Refusal(413, `What a client says of itself, and what it follows, may have ${mostKept} bytes.`)
  if (Array.isArray(message) && (message.length === 0 || message.length > mostInBatch))
    throw new Refusal(400, `A batch has 1 to ${mostInBatch} messages.`)
  const { params } = message as { params?: unknown }
  const traceparent = traceparentOf(request.headers['traceparent'])
  // What the message itself says of its trace counts first.
  if (traceparent !== undefined && isPlain(params) && isPlain(params['_meta'] ?? {}))
    params['_meta'] = { traceparent, ...(params['_meta'] as object | undefined) }
  return message
}

const isPlain = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/** What stays with us beyond the message: its id until it is answered, who a client is, what it can do, what it follows. */
const mostKept = 65_536
function isKept(message: unknown): boolean {
  const { id, method, params } = (message ?? {}) as { id?: unknown; method?: unknown; params?: { _meta?: unknown } }
  if (method === 'tools/call') return JSON.stringify([id, params?._meta]).length > mostKept
  return typeof method === 'string' && method !== 'completion/complete'
}

/** What could not be read at all, what is no message, and everything else that is refused. */
function rpcCode(fault: Refusal): number {
  if (fault instanceof Unreadable) return -32700
  return [400, 413, 415].includes(fault.status) ? -32600 : -32000
}

function refuse({ request, response }: Incoming, fault: Refusal): void {
  leaveUnread(request, response)
  answer(response, fault.status, {
    jsonrpc: '2.0',
    id: null,
    error: { code: rpcCode(fault), message: fault.message },
  })
}

function toWebRequest(request: IncomingMessage, signal: AbortSignal): Request {
  const headers = new Headers()
  for (const [name, value] of Object.entries(request.headers)) if (typeof value === 'string') headers.set(name, value)
  return new Request(`http://${request.headers.host}${request.url}`, { method: request.method ?? 'GET', headers, signal })
}

/** Streams go out as fast as they come: what a client does not read piles up in its response, where the listener counts it. */
async function send(web: Response, response: ServerResponse): Promise<void> {
  if (response.destroyed) return void web.body?.cancel().catch(() => undefined)
  web.headers.forEach((value, name) => name === 'connection' || response.setHeader(name, value))
  response.writeHead(web.status)
  if (!web.body) return void response.end()
  if (!web.headers.get('content-type')?.startsWith('text/event-stream')) return void response.end(await bytesOf(web.body))
  response.flushHeaders()
  const reader = web.body.getReader()
  response.once('close', () => void reader.cancel().catch(() => undefined))
  try {
    for (let piece = await reader.read(); !piece.done && !response.destroyed; piece = await reader.read())
      response.write(piece.value)
  } finally {
    response.end()
  }
}

/** As they are: making text of them, and bytes of that again, costs a large answer three times its size. */
async function bytesOf(body: NonNullable<Response['body']>): Promise<Uint8Array> {
  const pieces: Uint8Array[] = []
  for await (const piece of body) pieces.push(piece)
  return pieces.length === 1 ? (pieces[0] as Uint8Array) : Buffer.concat(pieces)
}

function eventOf(news: News): ServerEvent {
  return news.kind === 'resource' ? { kind: 'resource_updated', uri: news.uri } : { kind: `${news.kind}_list_changed` }
}

function logUnexpected(fault: Error): void {
  console.error('handrail: mcp:', oneLine(redact(fault.message.slice(0, 8_000)), 300))
}
