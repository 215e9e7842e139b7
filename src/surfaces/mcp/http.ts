import { createHash } from 'node:crypto'
import { toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler } from '@modelcontextprotocol/server'
import type { Runtime } from '../../contracts/runtime.ts'
import type { Route } from '../listen.ts'
import { createAnswerer, createServer } from './server.ts'

/** MCP over Streamable HTTP. Without a connection to tell visits apart, a client's name makes its session. */
export function mcpRoute(runtime: Runtime): Route {
  const session = (client: string): string => `sess_${createHash('sha256').update(`http ${client}`).digest('hex').slice(0, 16)}`
  const answer = createAnswerer(runtime, { surface: 'mcp-http', session })
  const handler = createMcpHandler(() => createServer(runtime, answer), {
    maxRequestBodySize: 32 << 20,
    onerror: (fault) => console.error('handrail: mcp:', fault.message),
  })
  return toNodeHandler(handler, { onerror: (fault: Error) => console.error('handrail: mcp:', fault.message) }) as Route
}
