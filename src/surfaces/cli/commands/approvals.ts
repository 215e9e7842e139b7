import { userInfo } from 'node:os'
import type { Approval, ApprovalHead } from '../../../contracts/approval.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import { printableInline, noteRows, restLines, quotedName, signedRow } from '../../../text/printable.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { Command } from '../command.ts'
import {
  ago,
  printableBlock,
  bold,
  green,
  oneLine,
  paintedRows,
  printable,
  red,
  renderChange,
  say,
  table,
  warn,
  yellow,
} from '../print.ts'
import { columns, folded, quotedBlock } from '../screen-rows.ts'
import { terminalJson } from '../../../text/terminal-json.ts'

export const approvals: Command = {
  name: 'approvals',
  summary: 'See what waits for you, and answer',
  usage: 'handrail approvals list|show ID|approve ID|deny ID|lift ID|page|key [--note TEXT] --project DIR',
  about: `A call that cannot be fully undone, or that changes a file which makes other programs run something, waits for a person. The
answer holds for exactly that call of that session on exactly the state of the files you saw; if a file changes in between, the
call is refused. A yes to a run with the network, or to another agent, is one to the whole project as it was, for ten minutes. What a
card has no room for is printed by \`show --file\` and \`show --full\`; to agree without that takes \`--unread\`. A note given with
approve or deny goes to the agent word for word. A no holds for every session of that client until \`lift\`, for a day or as long as
limits.approvalTtlMs; the files it would have removed or replaced ask as long, whoever changes them. Silence turns into no. \`approvals page\` finds
the \`handrail serve\` that runs on the project, has it prove that it is the one, and prints a link that signs you in there, once and
nowhere else, until it stops or twelve hours have passed. \`approvals key\` prints a key for your own programs in the same way: as a bearer
token it opens /api/approvals and /events of that server, which no agent's token does.`,
  options: [
    { name: 'note', value: 'TEXT', says: 'Words for the agent.' },
    { name: 'all', says: 'List answered ones too.' },
    { name: 'limit', value: 'N', says: 'For list: how many. Default 50.' },
    { name: 'before', value: 'ID', says: 'For list: those that were asked before this one.' },
    { name: 'file', value: 'PATH', says: 'For show: all of one change.' },
    { name: 'full', says: 'For show: everything the card has no room for, too.' },
    { name: 'unread', says: 'For approve: agree to what the card does not show. The log says so.' },
    { name: 'port', value: 'N', says: 'For page and key: which `handrail serve`, where several run on the project.' },
    { name: 'by-address', says: 'For page: a link to the address, for a browser that does not find names below localhost.' },
  ],
  examples: [
    'handrail approvals list --project .',
    'handrail approvals show appr_… --project .',
    'handrail approvals deny appr_… --note "use the test script instead" --project .',
  ],
  onlyReads: true,
  async run({ words, options, json, open, dependencies }) {
    const [what = 'list', given] = words
    const runtime = open()
    try {
      if (what === 'list') {
        list(runtime, options, json)
        return 0
      }
      if (what === 'key') {
        const found = await dependencies.findProgramKey(runtime, portIn(options))
        say(json ? terminalJson(found) : found.key)
        return 0
      }
      if (what === 'page') {
        const byAddress = options['by-address'] === true
        const link = await dependencies.findSignInLink(runtime, { byAddress, ...portIn(options) })
        say(json ? terminalJson({ url: link }) : link)
        if (!json && !byAddress) warn('Where your browser does not find that name (Safari may not), add --by-address.')
        return 0
      }
      if (!['show', 'approve', 'deny', 'lift'].includes(what))
        throw new Fault('bad-input', `Unknown: approvals ${what}`, {
          hint: 'approvals list, show ID, approve ID, deny ID, lift ID, page or key.',
        })
      if (given === undefined)
        throw new Fault('bad-input', 'Which approval?', { hint: '`handrail approvals list` shows their ids.' })
      const found = runtime.approvals.get(given)
      if (!found)
        throw new Fault('not-found', `No such approval: ${given}`, {
          hint: '`handrail approvals list --all` shows all of them.',
        })
      if (what === 'lift') {
        const lifted = runtime.approvals.lift(given, `${userInfo().username}@cli`)
        say(json ? terminalJson(lifted) : `The no is taken back: ${oneLine(lifted.card.title, 80)}. The agent may ask again.`)
      } else if (typeof options['file'] === 'string') await printText(runtime, given, options['file'])
      else if (what === 'show') {
        say(json ? terminalJson(found) : describeApproval(found))
        if (options['full'] === true) await printRest(runtime, found)
      } else {
        const note = typeof options['note'] === 'string' ? options['note'] : undefined
        const decided = runtime.approvals.decide(given, {
          approve: what === 'approve',
          by: `${userInfo().username}@cli`,
          ...(options['unread'] === true && { unread: true }),
          ...(note !== undefined && { note }),
        })
        if (json) say(terminalJson(decided))
        else say(folded(`${what === 'approve' ? green('Approved') : red('Denied')}: ${oneLine(decided.card.title, 80)}`))
      }
      return 0
    } finally {
      await runtime.close()
    }
  },
}

function portIn(options: Record<string, string | boolean | undefined>): { port?: number } {
  if (options['port'] === undefined) return {}
  const port = Number(options['port'])
  if (!Number.isInteger(port))
    throw new Fault('bad-input', `Not a port: ${String(options['port'])}`, {
      hint: 'Give the number that `handrail serve` printed.',
    })
  return { port }
}

const pageLength = 50

function list(runtime: Operator, options: Record<string, string | boolean | undefined>, json: boolean): void {
  const { limit: given, before, all } = options
  const limit = given === undefined ? pageLength : Number(given)
  if (!Number.isInteger(limit) || limit < 1)
    throw new Fault('bad-input', `--limit ${String(given)} is no number of approvals`, { hint: 'Give 1 to 500.' })
  const state = all === true ? undefined : 'pending'
  const found = runtime.approvals.list(state, { limit, ...(typeof before === 'string' && { before }) })
  if (json) return found.forEach((approval) => say(terminalJson(approval)))
  if (found.length === 0) return say(before === undefined ? 'Nothing waits for you.' : 'No more.')
  say(table(['id', 'state', 'risk', 'tool', 'asked', 'what'], found.map(row)))
  if (found.length === limit) warn(`There may be more: handrail approvals list --before ${found.at(-1)?.id}`)
}

const longestLine = 262_144

/** All of one change, a part at a time, however large it is. */
async function printText(runtime: Operator, id: string, path: string): Promise<void> {
  let part = await runtime.approvals.text(id, path)
  const card = part ? undefined : runtime.approvals.get(id)?.card
  const change = card?.changes.find((one) => one.path === path)
  if (change) return say(renderChange(change, Number.POSITIVE_INFINITY))
  if (!part)
    throw new Fault('not-found', `This approval changes no such file: ${path}`, {
      hint: '`handrail approvals show ID` lists what it changes. What was decided or lapsed is no longer kept whole.',
    })
  // At a screen every line stands behind a bar; a file or a program gets the text as it is.
  const shown = Number.isFinite(columns())
  let line = ''
  let signed = false
  for (; part; part = part.next === undefined ? undefined : await runtime.approvals.text(id, path, part.next)) {
    if (!shown) {
      process.stdout.write(printableBlock(part.text))
      continue
    }
    const lines = (line + part.text).split('\n')
    line = lines.pop() ?? ''
    signed = part.signed === true
    // A line without end is not gathered up; what comes of it later has its sign again.
    if (line.length > longestLine) {
      lines.push(line)
      line = signed ? line.slice(0, 2) : ''
    }
    if (lines.length) say(behindBar(lines, signed))
  }
  say(shown ? behindBar([line], signed) : '')
}

function behindBar(lines: readonly string[], signed: boolean): string {
  if (!signed) return quotedBlock(lines.map(printableInline), '| ')
  return lines.flatMap((line) => paintedRows(signedRow(line), columns(), '| ')).join('\n')
}

async function printRest(runtime: Operator, { id, card }: Approval): Promise<void> {
  for (const { path, unshown } of card.changes)
    if (unshown) {
      say(`\n${bold(folded(quotedName(path)))}`)
      await printText(runtime, id, path)
    }
  if (!card.rest?.length) return
  say(`\n${bold('Every change')} (all of one: --file PATH)`)
  await printText(runtime, id, '')
}

function row(approval: ApprovalHead): string[] {
  return [approval.id, approval.state, approval.risk, approval.tool, ago(approval.createdAt), oneLine(approval.card.title, 60)]
}

/** A card as a person reads it at the terminal. */
export function describeApproval(approval: Approval): string {
  return [
    bold(folded(`${oneLine(approval.card.title, 120)}  ${approval.risk}, ${approval.state}`)),
    folded(
      `asked ${ago(approval.createdAt)} by ${oneLine(approval.client, 80)} over ${approval.surface}, session ${approval.session}`,
    ),
    `lapses ${new Date(approval.expiresAt).toISOString()}`,
    '',
    ...approval.card.changes.map((change) => renderChange(change, Number.POSITIVE_INFINITY)),
    ...restLines(approval.card).map((line) => yellow(folded(line))),
    ...(approval.card.notes ?? []).map((note) => noteRows(note, columns())),
    ...(approval.whole
      ? []
      : [yellow('Not all of it is shown here: show --full prints the rest, approve --unread agrees without.')]),
    ...(approval.decidedBy
      ? [folded(`${approval.state} by ${printable(approval.decidedBy)}${approval.note ? `: ${printable(approval.note)}` : ''}`)]
      : []),
  ].join('\n')
}
