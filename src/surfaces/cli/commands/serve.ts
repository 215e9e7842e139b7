import { Fault } from '../../../contracts/faults/fault.ts'
import type { Command } from '../command.ts'
import { commandHere } from '../program-name.ts'
import { bold, dim, printable, say, warnFolded, yellow } from '../print.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

export const serve: Command = {
  name: 'serve',
  summary: 'Serve the project on a loopback port: MCP over HTTP, the HTTP gateway, the dev bridge, the approvals page, health',
  usage: 'handrail serve --project DIR [--port N] [--mode user|developer] [--json]',
  about: `Listens on 127.0.0.1 only. Every request needs the token, which is kept in a file only you can read. MCP is at /mcp (Streamable
HTTP, every version) and at /sse for clients from 2024, the HTTP gateway at /agent/process (/reference describes it), the dev bridge (a WebSocket, docs/guide/bridge.md) at /dev. Approvals can be answered in a browser, after signing in with the link it
prints; the page has a host name of its own (handrail-….localhost), and an agent's token does not open it. With --allow-remote every
caller counts as one from another machine (policies.trustLevel), unless --trust-level says otherwise.
With --json it prints one line when it is ready: {"url","tokenFile","pid"}. Stop it with Ctrl-C.`,
  options: [
    { name: 'port', value: 'N', says: 'Port to listen on; 0 takes any free one. Default 4777.' },
    { name: 'host', value: 'IP', says: 'Address to listen on. Default 127.0.0.1.' },
    { name: 'allow-remote', says: 'Allow a --host that other machines can reach.' },
    { name: 'allow-origin', value: 'URL', says: 'Web pages that may talk to it: origins, separated by commas.' },
    { name: 'allow-dev-write', says: 'Let commands at /dev write source (--mode write). Without it the bridge is read-only.' },
  ],
  examples: ['handrail serve --project ./my-game', 'handrail serve --project ./my-game --port 0 --json'],
  async run({ openLive, options, json, dependencies }) {
    const port = Number(options['port'] ?? 4777)
    if (!Number.isInteger(port) || port < 0 || port > 65_535)
      throw new Fault('bad-input', `Not a port: ${String(options['port'])}`, { hint: 'Give a number from 0 to 65535.' })
    // Whoever comes through a proxy on this machine would else count as somebody on it.
    const isOpen = options['allow-remote'] === true && options['trust-level'] === undefined
    const runtime = openLive(isOpen ? { 'trust-level': 'remote' } : {})
    const { file } = runtime.token()
    const listening = await dependencies.serveHttp(runtime, {
      port,
      host: String(options['host'] ?? '127.0.0.1'),
      allowRemote: options['allow-remote'] === true,
      allowDevWrite: options['allow-dev-write'] === true,
      allowOrigins: String(options['allow-origin'] ?? '')
        .split(',')
        .map((origin) => origin.trim())
        .filter(Boolean),
    })
    const { notice } = runtime.gate
    if (json) {
      if (notice !== undefined) warnFolded(`handrail: ${printable(notice)}`)
      for (const { name, path, why } of runtime.roots)
        if (why !== undefined) warnFolded(`handrail: the root ${name} (${printable(path)}) is out of reach: ${printable(why)}`)
      say(terminalJson({ url: listening.url, tokenFile: file, pid: process.pid }))
    } else {
      say(
        `${bold('Handrail')} ${runtime.version} on ${bold(runtime.project)} (${runtime.config.mode} mode, ${runtime.tools.length} tools)`,
      )
      say()
      say(`  MCP        ${listening.url}/mcp   ${dim('(Authorization: Bearer <token>; older clients: /sse)')}`)
      say(`  gateway    ${listening.url}/agent/process   ${dim('(the same token; /reference describes it)')}`)
      say(
        `  bridge     ${listening.url.replace('http', 'ws')}/dev   ${dim('(a WebSocket, the same token; docs/guide/bridge.md)')}`,
      )
      say(`  token      ${file}`)
      say(`  approvals  ${listening.signInLink}   ${dim('(for you; works once, for ten minutes)')}`)
      say(`  health     ${listening.url}/healthz`)
      if (notice !== undefined) say(`\n${yellow(printable(notice))}`)
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
