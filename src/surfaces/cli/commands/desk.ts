import { resolve } from 'node:path'
import { Fault } from '../../../contracts/faults/fault.ts'
import { callPersonAlways } from '../call-person.ts'
import type { Command } from '../command.ts'
import { bold, dim, oneLine, printable, say, warnFolded, yellow } from '../print.ts'
import { folded } from '../screen-rows.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

export const desk: Command = {
  name: 'desk',
  summary: 'One page on which you answer for all your projects that are at work',
  usage: 'handrail desk [DIR…] [--port N] [--json]',
  mostWords: 24,
  about: `Serves a page for you, on 127.0.0.1 and for nobody else: agents have no way in here. It shows what waits in every project of yours whose agents were
at work in the last day, whichever handrail mcp, serve or acp they use, with the project named on every card; your answer goes to that project's own log. A
project that starts while it runs appears by itself. There is room for 24, the latest used; those whose folders you name are there in any case. Enter prints a new sign-in link. With --json it prints one line when it is ready: {"url","link","pid"}.`,
  options: [{ name: 'port', value: 'N', says: 'Port to listen on. Default: any free one.' }],
  examples: ['handrail desk'],
  onlyReads: true,
  async run({ words, options, json, openAt, dependencies }) {
    const port = Number(options['port'] ?? 0)
    if (!Number.isInteger(port) || port < 0 || port > 65_535)
      throw new Fault('bad-input', `Not a port: ${String(options['port'])}`, { hint: 'Give a number from 0 to 65535.' })
    const notify = await dependencies.openNotify()
    let ready = false
    const served = await dependencies.serveDesk({
      port,
      state: typeof options['state'] === 'string' ? options['state'] : undefined,
      openAt,
      named: words.map((word) => resolve(word)),
      onProject(operator) {
        if (ready && !json) say(`${dim('+')} ${printable(operator.project)}`)
        const told = (words: string): void => {
          if (!json) say(folded(`${oneLine(operator.project, 60)}: ${words}`))
        }
        return callPersonAlways(operator, notify, {
          approval: ({ client, risk, card }) => told(`${oneLine(client, 40)} asks (${risk}): ${oneLine(card.title, 120)}`),
          question: ({ client, text }) => told(`${oneLine(client, 40)} asks in words: | ${oneLine(text, 120)}`),
        })
      },
      onTrouble: (project, { message }) =>
        warnFolded(`handrail: ${printable(project)} is not on the page: ${printable(message)}`, yellow),
    })
    ready = true
    const stopped = new Promise<void>((resolve) => {
      for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => resolve())
    })
    const sayLink = (): void => say(`  ${served.link()}   ${dim('(works once, for ten minutes; Enter prints another)')}`)
    const onEnter = process.stdin.isTTY === true && !json ? sayLink : undefined
    try {
      if (json) say(terminalJson({ url: served.url, link: served.link(), pid: process.pid }))
      else {
        const projects = served.projects()
        say(
          projects.length === 0
            ? 'No project of yours was at work in the last day. One that starts appears by itself.'
            : bold('Your projects'),
        )
        for (const project of projects) say(`  ${printable(project)}`)
        say()
        sayLink()
        say(dim('Ctrl-C stops it.'))
      }
      if (onEnter) process.stdin.on('data', onEnter)
      await stopped
    } finally {
      if (onEnter) process.stdin.off('data', onEnter).pause()
      await served.close()
    }
    return 0
  },
}
