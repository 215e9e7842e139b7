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

/** One MCP server on the runtime: it only translates. Checking, asking and recording are the kernel's. */
export function createServer(runtime: Runtime, visit: Visit): Server {
  const server = new Server(
    { name: 'handrail', title: 'Handrail', version: runtime.version },
    { capabilities: { tools: {} }, instructions },
  )
  const tools = runtime.tools.map(describeTool)
  const opened = new Set<string>()

  server.setRequestHandler('tools/list', () => ({ tools }) as never)
  server.setRequestHandler('tools/call', async (request, context) => {
    const { name, arguments: input = {} } = request.params
    const client = clientOf(server, context)
    const session = visit.session(client)
    if (!opened.has(session)) {
      runtime.openSession({ id: session, surface: visit.surface, client })
      opened.add(session)
    }
    try {
      const { output, callId } = await runtime.call(
        name,
        input,
        { surface: visit.surface, client, session, role: 'agent' },
        { signal: context.mcpReq.signal, ...progressOf(context) },
      )
      return toResult(output, callId) as never
    } catch (thrown) {
      const fault = asToolError(thrown)
      if (fault.code === 'E_UNSUPPORTED')
        throw new ProtocolError(ProtocolErrorCode.InvalidParams, `Unknown tool: ${name.slice(0, 100)}`)
      if (fault.code === 'E_INTERNAL') console.error('handrail:', fault.cause ?? fault)
      return toErrorResult(fault) as never
    }
  })
  return server
}

function clientOf(server: Server, context: ServerContext): string {
  const envelope = context.mcpReq.envelope as Record<string, unknown> | undefined
  const info = (envelope?.[CLIENT_INFO_META_KEY] ?? server.getClientVersion()) as { name?: string; version?: string } | undefined
  return `${info?.name ?? 'unknown'}/${info?.version ?? '?'}`.slice(0, 120)
}

/** Progress goes out only where the client asked for it, and never goes back. */
function progressOf(context: ServerContext): {
  onProgress?: (done: number, total: number | undefined, message: string | undefined) => void
} {
  const token = context.mcpReq._meta?.progressToken
  if (token === undefined) return {}
  let last = -1
  return {
    onProgress(done, total, message) {
      if (done <= last) return
      last = done
      void context.mcpReq
        .notify({
          method: 'notifications/progress',
          params: {
            progressToken: token,
            progress: done,
            ...(total !== undefined && { total }),
            ...(message !== undefined && { message }),
          },
        })
        .catch(() => undefined)
    },
  }
}
