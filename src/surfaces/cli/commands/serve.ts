import { Fault } from '../../../contracts/faults/fault.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { CliDependencies, Command, Invocation } from '../command.ts'
import { callPersonAlways } from '../call-person.ts'
import { tellDemo } from '../demo-story.ts'
import { commandHere } from '../program-name.ts'
import { bold, dim, oneLine, printable, say, warnFolded, yellow } from '../print.ts'
import { folded } from '../screen-rows.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

export const serve: Command = {
  name: 'serve',
  summary: 'Serve the project on a loopback port: MCP over HTTP, the HTTP gateway, the dev bridge, the approvals page, health',
  usage: 'handrail serve --project DIR [--port N] [--mode user|developer] [--json]',
  settings: ['mode', 'enable-shell', 'read-only', 'tools', 'ask-from'],
  about: `Listens on 127.0.0.1 only. Every request needs the token, which is kept in a file only you can read. MCP is at /mcp (Streamable
HTTP, every version) and at /sse for clients from 2024, the HTTP gateway at /agent/process (/reference describes it), the dev bridge (a WebSocket, docs/guide/bridge.md) at /dev. Approvals can be answered in a browser, after signing in with the link it
prints; the page has a host name of its own (handrail-….localhost), and an agent's token does not open it. With --allow-remote every
caller counts as one from another machine (policies.trustLevel), unless --trust-level says otherwise.
With --json it prints one line when it is ready: {"url","tokenFile","pid"}. Stop it with Ctrl-C.`,
  options: [
    {
      name: 'port',
      value: 'N',
      says: 'Port to listen on; 0 takes any free one. Default 4777, or a free one where that is in use.',
    },
    { name: 'host', value: 'IP', says: 'Address to listen on. Default 127.0.0.1.' },
    { name: 'allow-remote', says: 'Allow a --host that other machines can reach.' },
    { name: 'allow-origin', value: 'URL', says: 'Web pages that may talk to it: origins, separated by commas.' },
    { name: 'demo', says: 'Let a scripted agent ask you something first: for a sample project. See `handrail demo`.' },
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
    const serveAt = (at: number) =>
      dependencies.serveHttp(runtime, {
        port: at,
        host: String(options['host'] ?? '127.0.0.1'),
        allowRemote: options['allow-remote'] === true,
        allowDevWrite: options['allow-dev-write'] === true,
        allowOrigins: String(options['allow-origin'] ?? '')
          .split(',')
          .map((origin) => origin.trim())
          .filter(Boolean),
      })
    const listening = await serveAt(port).catch(async (thrown: unknown) => {
      // Whoever named a port means that one.
      const isTaken = thrown instanceof Fault && thrown.reason === 'conflict' && options['port'] === undefined
      if (!isTaken) throw await closedAfter(runtime, thrown)
      warnFolded(
        `Port ${port} is in use, perhaps by another handrail serve: this one takes a free port. --port N names one.`,
        yellow,
      )
      return serveAt(0)
    })
    const stopped = new Promise<void>((resolve) => {
      process.once('SIGINT', () => resolve())
      process.once('SIGTERM', () => resolve())
      process.once('SIGHUP', () => resolve())
    })
    const ending = new AbortController()
    void stopped.then(() => ending.abort())
    try {
      if (options['demo'] === true && !json) await demoOn(openLive, listening.signInLink, options, ending.signal)
      if (!ending.signal.aborted) sayServed(runtime, listening, options, json, await modelOf(runtime))
      const quiet = json ? () => undefined : await sayQuestions(runtime, options, dependencies)
      await stopped
      quiet()
    } finally {
      await listening.close()
      await runtime.close()
    }
    return 0
  },
}

function sayServed(
  runtime: Operator,
  listening: { url: string; signInLink: string },
  options: Invocation['options'],
  json: boolean,
  model: string | undefined,
): void {
  const { file } = runtime.token()
  const { notice } = runtime.gate
  if (json) {
    if (notice !== undefined) warnFolded(`handrail: ${printable(notice)}`)
    for (const { name, path, why } of runtime.roots)
      if (why !== undefined) warnFolded(`handrail: the root ${name} (${printable(path)}) is out of reach: ${printable(why)}`)
    if (model !== undefined) warnFolded(`handrail: model: ${model}`)
    say(terminalJson({ url: listening.url, tokenFile: file, pid: process.pid }))
  } else {
    say(
      `${bold('Handrail')} ${runtime.version} on ${bold(runtime.project)} (${runtime.config.mode} mode, ${runtime.tools.length} tools)`,
    )
    say()
    say(`  MCP        ${listening.url}/mcp   ${dim('(Authorization: Bearer <token>; older clients: /sse)')}`)
    say(`  gateway    ${listening.url}/agent/process   ${dim('(the same token; /reference describes it)')}`)
    say(`  bridge     ${listening.url.replace('http', 'ws')}/dev   ${dim('(a WebSocket, the same token; docs/guide/bridge.md)')}`)
    say(`  token      ${file}`)
    say(`  approvals  ${listening.signInLink}   ${dim('(for you; works once, for ten minutes)')}`)
    say(`  health     ${listening.url}/healthz`)
    if (model !== undefined) say(`  model      ${model}   ${dim('(the agent sends there, and nowhere else)')}`)
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
}

/** Where the agent sends, before its first request. Without a model nothing of the agent is loaded for it. */
async function modelOf(runtime: Operator): Promise<string | undefined> {
  if (runtime.config.agent.provider === 'none') return undefined
  try {
    const about = await (await runtime.agent()).about()
    return about && `${printable(about.name)} at ${printable(about.endpoint)}`
  } catch (thrown) {
    return `cannot be used: ${printable((thrown as Error).message)}`
  }
}

/** Says each question as it comes, with what answers it. */
async function sayQuestions(
  runtime: Operator,
  options: Invocation['options'],
  dependencies: CliDependencies,
): Promise<() => void> {
  const here = (words: string): void => say(`  ${commandHere(words, runtime.project, options)}`)
  return callPersonAlways(runtime, await dependencies.openNotify(), {
    approval({ id, risk, client, card }) {
      say(folded(`${oneLine(client, 40)} asks (${risk}): ${oneLine(card.title, 120)}`))
      here(`approvals show ${id}`)
    },
    question({ id, client, text }) {
      say(folded(`${oneLine(client, 40)} asks in words: | ${oneLine(text, 120)}`))
      here(`questions answer ${id}`)
    },
  })
}

async function closedAfter(runtime: Operator, thrown: unknown): Promise<unknown> {
  await runtime.close()
  return thrown
}

/** The scripted agent has a gate of its own, which offers it the shell; the one that is served is as the settings have it. */
async function demoOn(
  openLive: Invocation['openLive'],
  link: string,
  options: Invocation['options'],
  signal: AbortSignal,
): Promise<void> {
  const runtime = openLive({ 'enable-shell': 'true' })
  try {
    await tellDemo({ runtime, link, options, signal })
    say(`\n${dim('─'.repeat(72))}\n`)
  } catch (thrown) {
    if (!signal.aborted) throw thrown
  } finally {
    await runtime.close()
  }
}
