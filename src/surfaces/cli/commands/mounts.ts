import { userInfo } from 'node:os'
import { Fault } from '../../../contracts/faults/fault.ts'
import type { Definition, MountView } from '../../../contracts/mounts.ts'
import { lineDiff } from '../../../text/diff.ts'
import { diffRows } from '../../../text/printable.ts'
import { signedRows } from '../../../text/rows.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import type { Command } from '../command.ts'
import { confirm } from '../confirm.ts'
import { bold, dim, green, oneLine, printable, red, say, table, yellow } from '../print.ts'
import { columns } from '../screen-rows.ts'

export const mounts: Command = {
  name: 'mounts',
  summary: 'See other MCP servers behind the gate, and accept what they changed',
  usage: 'handrail mounts list|show NAME|accept NAME [--digest SHA256]|forget NAME --project DIR',
  acts: { list: 0, show: 1, accept: 1, forget: 1 },
  about: `The setting mounts names other MCP servers; Handrail starts them confined, and guards their tools as its own. What a server first says
of its tools is what counts: a tool that is defined otherwise later, or comes later, is withheld until you have seen the difference here and
accepted it. \`forget\` drops all that is known of a server, and its next words count as its first.`,
  options: [
    { name: 'digest', value: 'SHA256', says: 'Accept without being asked, if this is the digest that `show` tells.' },
    { name: 'offline', says: 'For list and show: what is known, without asking the servers.' },
  ],
  examples: [
    'handrail mounts list --project .',
    'handrail mounts show files --project .',
    'handrail mounts accept files --project .',
  ],
  async run({ words, options, json, open }) {
    const [what = 'list', server] = words
    const runtime = open()
    try {
      const offline = options['offline'] === true
      if (what === 'list') {
        const all = offline ? runtime.mounts.list() : await runtime.mounts.refresh()
        if (json) for (const one of all) say(terminalJson(one))
        else say(all.length ? table(['name', 'tools', 'withheld', 'from', 'what'], all.map(row)) : nothingMounted)
        return 0
      }
      if (!['show', 'accept', 'forget'].includes(what) || server === undefined)
        throw new Fault('bad-input', server === undefined ? 'Which server?' : `Unknown: mounts ${what}`, {
          hint: 'mounts list, show NAME, accept NAME or forget NAME.',
        })
      const by = `${userInfo().username}@cli`
      if (what === 'forget') {
        const count = runtime.mounts.forget(server, by)
        say(json ? terminalJson({ server, forgotten: count }) : `Forgotten: ${count} tools of ${printable(server)}`)
        return 0
      }
      const view = offline
        ? runtime.mounts.list().find((one) => one.server === server)
        : (await runtime.mounts.refresh(server))[0]
      if (!view) throw new Fault('not-found', `No MCP server is mounted as ${printable(server)}`, { hint: nothingMounted })
      const changed = changesOf(view)
      const digest = digestOf(changed)
      if (json && what === 'show') say(terminalJson({ ...view, ...(changed.length > 0 && { digest }) }))
      if (!json) show(view, changed, digest)
      if (what === 'show') return 0
      if (changed.length === 0) {
        say(json ? terminalJson({ server, accepted: 0 }) : 'There is nothing to accept.')
        return 0
      }
      const { digest: told } = options
      if (typeof told === 'string' && told.toLowerCase() !== digest)
        throw new Fault('conflict', 'That is not the digest of what would be accepted', { details: { digest } })
      const yes = typeof told === 'string' ? true : await confirm(`Accept these ${changed.length} definitions?`, 'stdout')
      if (yes === undefined)
        throw new Fault('bad-input', 'Nobody is at this terminal to confirm, so nothing is accepted', {
          hint: `Read the difference first; then: handrail mounts accept ${server} --digest ${digest}`,
        })
      if (!yes) return 1
      runtime.mounts.accept(
        server,
        changed.map(({ tool, digest: one }) => ({ tool, digest: one })),
        by,
      )
      say(json ? terminalJson({ server, accepted: changed.length }) : `${green('Accepted')}: ${changed.length} definitions`)
      return 0
    } finally {
      await runtime.close()
    }
  },
}

const nothingMounted = 'No MCP server is mounted. The setting mounts names them (docs/guide/mounts.md).'

interface Changed {
  tool: string
  digest: string
  accepted: Definition | undefined
  found: Definition | null
}

const changesOf = ({ tools }: MountView): Changed[] =>
  tools.flatMap(({ tool, accepted, found, foundDigest }) =>
    found === undefined || foundDigest === undefined ? [] : [{ tool, digest: foundDigest, accepted, found }],
  )

/** Of one the very digest of it; of several all of them together. */
function digestOf(changed: readonly Changed[]): string {
  return changed.map(({ digest }) => digest.slice(0, 16)).join('-')
}

function row({ server, tools, ofProject, off, fault, says }: MountView): string[] {
  const withheld = tools.filter(({ found, wrong }) => found !== undefined || wrong !== undefined).length
  const how = off ? 'off' : fault === undefined ? oneLine(says, 60) : `${oneLine(says, 30)}: ${oneLine(fault, 120)}`
  return [server, String(tools.length - withheld), withheld === 0 ? '' : String(withheld), ofProject ? 'project' : 'you', how]
}

function show({ server, says, fault, tools }: MountView, changed: readonly Changed[], digest: string): void {
  say(`${bold(server)}  ${dim(printable(says))}`)
  if (fault !== undefined) say(`${red('It could not be reached')}: ${printable(fault)}`)
  for (const one of tools) {
    const state = one.wrong !== undefined ? red('unusable') : one.found === undefined ? green('offered') : yellow('withheld')
    const about = one.wrong ?? oneLine(String((one.accepted ?? one.found)?.['description'] ?? ''), 100)
    say(`  ${state}  ${printable(one.tool)}  ${dim(`${one.risk} ${one.wire}`)}  ${about}`)
  }
  for (const { tool, accepted, found } of changed) {
    const says = found === null ? 'is gone' : accepted ? 'is defined otherwise' : 'is new'
    say(`\n${bold(printable(tool))} ${says}; the words are the server’s:`)
    const text = (definition: Definition | null | undefined): string =>
      definition ? JSON.stringify(definition, undefined, 2).replaceAll('\\n', '\\n\n') : ''
    for (const line of diffRows(lineDiff(text(accepted), text(found))).flatMap((one) => signedRows(one, columns(100))))
      say(line.kind === 'in' ? green(line.text) : line.kind === 'out' ? red(line.text) : dim(line.text))
  }
  if (changed.length > 0) say(dim(`digest ${digest}`))
}
