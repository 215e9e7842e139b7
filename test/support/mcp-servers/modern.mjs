// An MCP server of the tests that speaks 2026-07-28 alone, by the official SDK: it refuses `initialize`. `ask` wants something of the person.
import { inputRequired, Server } from '@modelcontextprotocol/server'
import { serveStdio } from '@modelcontextprotocol/server/stdio'

const inputSchema = { type: 'object' }
serveStdio(
  () => {
    const server = new Server({ name: 'modern', version: '1' }, { capabilities: { tools: {} } })
    server.setRequestHandler('tools/list', () => ({ tools: ['echo', 'ask'].map((name) => ({ name, inputSchema })) }))
    server.setRequestHandler('tools/call', ({ params }) => {
      if (params.name !== 'ask') return { content: [{ type: 'text', text: `echo ${JSON.stringify(params.arguments)}` }] }
      const requestedSchema = { type: 'object', properties: { password: { type: 'string' } } }
      return inputRequired({ inputRequests: { a: inputRequired.elicit({ message: 'Your password?', requestedSchema }) } })
    })
    return server
  },
  { legacy: 'reject' },
)
