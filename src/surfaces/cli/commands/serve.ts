import { Fault } from '../../../contracts/faults/fault.ts'
import type { Command } from '../command.ts'
import { commandHere } from '../program-name.ts'
import { bold, dim, printable, say, warnFolded, yellow } from '../print.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

export const serve: Command = {
  name: 'serve',
  summary: 'Serve the project on a loopback port: MCP over HTTP, the approvals page, health',
  usage: 'handrail serve --project DIR [--port N] [--mode user|developer] [--json]',
  about: `Listens on 127.0.0.1 only. Every request needs the token, which is kept in a file only you can read. MCP is at /mcp (Streamable
HTTP, every version) and at /sse for clients from 2024. Approvals can be answered in a browser, after signing in with the link it
prints; the page has a host name of its own (handrail-….localhost), and an agent's token does not open it.
With --json it prints one line when it is ready: {"url","tokenFile","pid"}. Stop it with Ctrl-C.`,
  options: [
    { name: 'port', value: 'N', says: 'Port to listen on; 0 takes any free one. Default 4777.' },
    { name: 'host', value: 'IP', says: 'Address to listen on. Default 127.0.0.1.' },
    { name: 'allow-remote', says: 'Allow a --host that other machines can reach.' },
    { name: 'allow-origin', value: 'URL', says: 'Web pages that may talk to it: origins, separated by commas.' },
  ],
  examples: ['handrail serve --project ./my-game', 'handrail serve --project ./my-game --port 0 --json'],
  async run({ openLive, options, json, dependencies }) {
    const port = Number(options['port'] ?? 4777)
    if (!Number.isInteger(port) || port < 0 || port > 65_535)
      throw new Fault('bad-input', `Not a port: ${String(options['port'])}`, { hint: 'Give a number from 0 to 65535.' })
    const runtime = openLive()
    const { file } = runtime.token()
    const listening = await dependencies.serveHttp(runtime, {
      port,
      host: String(options['host'] ?? '127.0.0.1'),
      allowRemote: options['allow-remote'] === true,
      allowOrigins: String(options['allow-origin'] ?? '')
        .split(',')
        .map((origin) => origin.trim())
        .filter(Boolean),
    })
    if (json) {
      if (runtime.projectSettings?.says !== undefined) warnFolded(`handrail: ${printable(runtime.projectSettings.says)}`)
      for (const { name, path, why } of runtime.roots)
        if (why !== undefined) warnFolded(`handrail: the root ${name} (${printable(path)}) is out of reach: ${printable(why)}`)
      say(terminalJson({ url: listening.url, tokenFile: file, pid: process.pid }))
    } else {
      say(
        `${bold('Handrail')} ${runtime.version} on ${bold(runtime.project)} (${runtime.config.mode} mode, ${runtime.tools.length} tools)`,
      )
      say()
      say(`  MCP        ${listening.url}/mcp   ${dim('(Authorization: Bearer <token>; older clients: /sse)')}`)
      say(`  token      ${file}`)
      say(`  approvals  ${listening.signInLink}   ${dim('(for you; works once, for ten minutes)')}`)
      say(`  health     ${listening.url}/healthz`)
      if (runtime.projectSettings?.says !== undefined) say(`\n${yellow(printable(runtime.projectSettings.says))}`)
      say()
      const command = (words: string): string => `  ${commandHere(words, runtime.project, options)}`
      say('Next, in another terminal:')
      say(command(`call list_files '{"path":"."}'`))
      say(`${command('approvals list')}   ${dim('# what waits for you')}`)
      say(`${command('audit show')}       ${dim('# what was done')}`)
      say(`${command('undo --last')}      ${dim('# take the last change back')}`)
      say()
      say(dim('Ctrl-C stops it.'))
    }
    await new Promise<void>((resolve) => {
      process.once('SIGINT', () => resolve())
      process.once('SIGTERM', () => resolve())
    })
    await listening.close()
    await runtime.close()
    return 0
  },
}
