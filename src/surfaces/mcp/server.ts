import { CLIENT_INFO_META_KEY, ProtocolError, ProtocolErrorCode, Server, type ServerContext } from '@modelcontextprotocol/server'
import type { Caller } from '../../contracts/call.ts'
import { asToolError } from '../../contracts/errors.ts'
import type { Runtime } from '../../contracts/runtime.ts'
import { describeTool, instructions, toErrorResult, toResult } from './dialect.ts'

/** Where a connection's calls come from. The session is opened with its first call. */
export interface Visit {
  surface: Caller['surface']
  session: (client: string) => string
}

/** One `tools/call`, as it came in. */
export interface ToolCall {
  name: string
  input: unknown
  client: { name?: string; version?: string } | undefined
  signal: AbortSignal
  /** Sends one step of progress; absent where the client did not ask for it. */
  progress?: ((params: Record<string, unknown>) => void) | undefined
}

/** Answers calls: translates, and nothing else. Checking, asking and recording are the kernel's. */
export function createAnswerer(runtime: Runtime, visit: Visit): (call: ToolCall) => Promise<Record<string, unknown>> {
  const opened = new Set<string>()
  return async ({ name, input, client: info, signal, progress }) => {
    const client = `${info?.name ?? 'unknown'}/${info?.version ?? '?'}`.slice(0, 120)
    const session = visit.session(client)
    if (!opened.has(session)) {
      runtime.openSession({ id: session, surface: visit.surface, client })
      opened.add(session)
    }
    try {
      const caller: Caller = { surface: visit.surface, client, session, role: 'agent' }
      const { output, callId } = await runtime.call(name, input, caller, {
        signal,
        ...(progress && { onProgress: rising(progress) }),
      })
      return toResult(output, callId)
    } catch (thrown) {
      const fault = asToolError(thrown)
      if (fault.code === 'E_UNSUPPORTED')
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 100)}`)
      if (fault.code === 'E_INTERNAL') console.error('handrail:', fault.cause ?? fault)
      return toErrorResult(fault)
    }
  }
}

/** One MCP server on the runtime. */
export function createServer(runtime: Runtime, answer: (call: ToolCall) => Promise<Record<string, unknown>>): Server {
  const server = new Server(
    { name: 'handrail', title: 'Handrail', version: runtime.version },
    { capabilities: { tools: {} }, instructions },
  )
  const tools = runtime.tools.map(describeTool)
  server.setRequestHandler('tools/list', () => ({ tools }) as never)
  server.setRequestHandler('tools/call', async (request, context) => {
    const { name, arguments: input = {} } = request.params
    return (await answer({
      name,
      input,
      client: clientOf(server, context),
      signal: context.mcpReq.signal,
      progress: progressOf(context),
    })) as never
  })
  return server
}

function clientOf(server: Server, context: ServerContext): ToolCall['client'] {
  const envelope = context.mcpReq.envelope as Record<string, unknown> | undefined
  return (envelope?.[CLIENT_INFO_META_KEY] ?? server.getClientVersion()) as ToolCall['client']
}

function progressOf(context: ServerContext): ToolCall['progress'] {
  const token = context.mcpReq._meta?.progressToken
  if (token === undefined) return undefined
  return (params) =>
    void context.mcpReq
      .notify({ method: 'notifications/progress', params: { progressToken: token, ...params } as never })
      .catch(() => undefined)
}

/** Progress never goes back. */
function rising(
  send: (params: Record<string, unknown>) => void,
): (done: number, total: number | undefined, message: string | undefined) => void {
  let last = -1
  return (done, total, message) => {
    if (done <= last) return
    last = done
    send({ progress: done, ...(total !== undefined && { total }), ...(message !== undefined && { message }) })
  }
}
