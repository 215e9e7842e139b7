import type { Client, Installation, Start } from '../contracts/clients.ts'
import { Fault } from '../contracts/faults/fault.ts'

/** Other ways to say where a server is. Some clients take one of these before the command, so none stays beside ours. */
const otherWays = ['type', 'transport', 'transportType', 'url', 'httpUrl', 'serverUrl', 'tcp', 'command', 'args', 'headers']

/** Every field that stands for how the server is reached: ours is put in its place, or it goes. */
export function ownFields(client: Client): string[] {
  const fields = { ...client.stdio({ command: '', args: [] }), ...client.http?.('') }
  return [...new Set([...Object.keys(fields), ...otherWays])]
}

/** What `cmd /c` would not pass on as it stands. */
const cmdSyntax = /[&|<>^%!"\r\n]/

/** The command a client starts: this very copy, or the published package in exactly its version. Never a name alone: that is anybody's. */
export function serverStart(
  client: Client,
  platform: string,
  args: readonly string[],
  { node, program, published }: Installation,
): Start {
  const throughCmd = platform === 'win32' && published !== undefined
  const odd = args.find((text) => client.expands?.test(text) || (throughCmd && cmdSyntax.test(text)))
  if (odd !== undefined)
    throw new Fault('unsupported', `${client.title} would not pass this on unchanged: ${odd}`, {
      details: { text: odd },
      hint: client.expands?.test(odd)
        ? 'It would put the value of a variable in its place. Rename the folder, or give a link to it as --project.'
        : 'The command line of Windows gives these signs a meaning. Use --local, which does without it.',
    })
  if (published === undefined) return { command: node, args: [program, 'mcp', ...args] }
  const npx = ['-y', `handrail@${published}`, 'mcp', ...args]
  return throughCmd ? { command: 'cmd', args: ['/c', 'npx', ...npx] } : { command: 'npx', args: npx }
}
