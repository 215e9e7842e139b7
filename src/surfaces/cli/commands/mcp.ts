import { printable } from '../print.ts'
import type { Command } from '../command.ts'

export const mcp: Command = {
  name: 'mcp',
  summary: 'Serve the project to an editor or agent over MCP on stdin and stdout',
  usage: 'handrail mcp --project DIR [--mode user|developer] [--tools files,session]',
  settings: ['mode', 'enable-shell', 'read-only', 'tools', 'ask-from'],
  about: `Your MCP client starts this command for you; put it into the client's settings:

  { "mcpServers": { "handrail": { "command": "handrail", "args": ["mcp", "--project", "/path/to/project"] } } }

\`handrail init CLIENT\` writes it there for you. --tools offers only the toolsets or tools you name, so that the list an agent reads
stays small. Nothing but JSON-RPC goes to stdout; messages for people go to stderr. It ends when stdin does.`,
  examples: ['handrail mcp --project ./my-game', 'handrail mcp --project . --mode developer --read-only'],
  async run({ openLive, dependencies }) {
    for (const method of ['log', 'info', 'debug'] as const) console[method] = console.error
    const runtime = openLive()
    const { notice } = runtime.gate
    if (notice !== undefined) console.error(`handrail: ${printable(notice)}`)
    const leave = (): void => void runtime.close().finally(() => process.exit(0))
    process.once('SIGTERM', leave)
    process.once('SIGINT', leave)
    await dependencies.serveMcpStdio(runtime.gate, runtime.forms)
    await runtime.close()
    return 0
  },
}
