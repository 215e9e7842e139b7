// The same SDK on the same HTTP library with nothing around it: no token, no rules, no record. Prints its port.
import { randomUUID } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { NodeStreamableHTTPServerTransport, toNodeHandler } from '@modelcontextprotocol/node'
import { createMcpHandler, Server } from '@modelcontextprotocol/server'

const project = process.argv[2]
const tool = {
  name: 'read_file',
  description: 'Read a file.',
  inputSchema: { type: 'object', properties: { path: { type: 'string' } }, required: ['path'] },
  outputSchema: { type: 'object', properties: { content: { type: 'string' } }, required: ['content'] },
}

function bare() {
  const server = new Server({ name: 'bare', version: '1.0.0' }, { capabilities: { tools: {} } })
  server.setRequestHandler('tools/list', () => ({ tools: [tool] }))
  server.setRequestHandler('tools/call', async ({ params }) => {
    const output = { content: await readFile(join(project, params.arguments.path), 'utf8') }
    return { content: [{ type: 'text', text: JSON.stringify(output) }], structuredContent: output }
  })
  return server
}

const modern = toNodeHandler(createMcpHandler(bare, { legacy: 'reject' }))
const sessions = new Map()

/** A session is begun by whoever brings none. */
async function legacy(request, response) {
  const known = sessions.get(request.headers['mcp-session-id'])
  if (known) return known.handleRequest(request, response)
  const transport = new NodeStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
  })
  await bare().connect(transport)
  await transport.handleRequest(request, response)
}

// Nothing is looked at to tell the eras apart: the header does.
const server = createServer((request, response) =>
  (request.headers['mcp-protocol-version'] === '2026-07-28' ? modern : legacy)(request, response),
)
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${JSON.stringify({ url: `http://127.0.0.1:${server.address().port}` })}\n`),
)
