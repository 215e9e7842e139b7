import { userInfo } from 'node:os'
import type { Approval, ApprovalHead } from '../../../contracts/approval.ts'
import { Fault } from '../../../contracts/faults/fault.ts'
import { printableInline, quotedName, signedRow } from '../../../text/printable.ts'
import type { Operator } from '../../../contracts/operator.ts'
import { describeApproval } from '../card.ts'
import type { Command, Invocation } from '../command.ts'
import { ago, printableBlock, bold, green, oneLine, paintedRows, red, renderChange, say, table, warn } from '../print.ts'
import { columns, folded, quotedBlock } from '../screen-rows.ts'
import { shortId, wholeId } from '../whole-id.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import { watchApprovals } from './approvals-watch.ts'

export const approvals: Command = {
  name: 'approvals',
  summary: 'See what waits for you, and answer',
  usage:
    'handrail approvals list|watch|show ID|approve ID|deny ID…|deny --all|lift ID|page|key [--last] [--note TEXT] --project DIR',
  acts: { list: 0, show: 1, watch: 0, approve: 1, deny: Number.POSITIVE_INFINITY, lift: 1, page: 0, key: 0 },
  about: `A call that cannot be fully undone, or that changes a file which makes other programs run something, waits for a person. The
answer holds for exactly that call of that session on exactly the state of the files you saw; if a file changes in between, the
call is refused. \`watch\` shows each question as it comes, also those in words, and takes your answer in place. The beginning of an id is enough, and --last is
the newest that waits. A yes to a run with the network, or to another agent, is one to the whole project as it was, for ten minutes. What a
card has no room for is printed by \`show --file\` and \`show --full\`; to agree without that takes \`--unread\`. A note given with
approve or deny goes to the agent word for word. A no holds for every session of that client until \`lift\`, for a day or as long as
limits.approvalTtlMs; the files it would have removed or replaced ask as long, whoever changes them. Silence turns into no. \`approvals page\` finds
the \`handrail serve\` that runs on the project, has it prove that it is the one, and prints a link that signs you in there, once and
nowhere else, until it stops or twelve hours have passed. \`approvals key\` prints a key for your own programs in the same way: as a bearer
token it opens /api/approvals and /events of that server, which no agent's token does.`,
  options: [
    { name: 'note', value: 'TEXT', says: 'Words for the agent.' },
    { name: 'last', says: 'The newest that waits, in the place of an ID.' },
    { name: 'all', says: 'For list: answered ones too. For deny: everything that waits.' },
    { name: 'session', value: 'ID', says: 'For deny --all: only what this session asked.' },
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
    'handrail approvals watch --project .',
    'handrail approvals show --last --project .',
    'handrail approvals deny --last --note "use the test script instead" --project .',
    'handrail approvals deny --all --project .',
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
      if (what === 'watch') return await watchApprovals(runtime, json, await dependencies.openNotify())
      if (what === 'deny' && (options['all'] === true || words.length > 2))
        return denySeveral(runtime, words.slice(1), options, json)
      const found = named(runtime, given, options['last'] === true)
      if (what === 'lift') {
        const lifted = runtime.approvals.lift(found.id, by())
        say(json ? terminalJson(lifted) : `The no is taken back: ${oneLine(lifted.card.title, 80)}. The agent may ask again.`)
      } else if (typeof options['file'] === 'string') await printText(runtime, found.id, options['file'])
      else if (what === 'show') {
        say(json ? terminalJson(found) : describeApproval(found))
        if (options['full'] === true) await printRest(runtime, found)
      } else {
        const decided = decide(runtime, found.id, what === 'approve', options)
        if (json) say(terminalJson(decided))
        else say(folded(`${what === 'approve' ? green('Approved') : red('Denied')}: ${oneLine(decided.card.title, 80)}`))
      }
      return 0
    } finally {
      await runtime.close()
    }
  },
}

const by = (): string => `${userInfo().username}@cli`

/** The one that is meant: by its id, the beginning of it, or --last. */
function named(runtime: Operator, given: string | undefined, last: boolean): Approval {
  if (given === undefined && !last)
    throw new Fault('bad-input', 'Which approval?', {
      hint: '`handrail approvals list` shows their ids; --last is the newest that waits.',
    })
  if (given !== undefined && last)
    throw new Fault('bad-input', 'Either an ID or --last', { hint: '`handrail approvals list` shows what waits.' })
  const id = given === undefined ? runtime.approvals.list('pending', { limit: 1 })[0]?.id : wholeId(runtime, 'appr', given)
  if (id === undefined)
    throw new Fault('not-found', 'Nothing waits for you', { hint: '`handrail approvals list --all` shows what was answered.' })
  const found = runtime.approvals.get(id)
  if (!found)
    throw new Fault('not-found', `No such approval: ${id}`, { hint: '`handrail approvals list --all` shows all of them.' })
  return found
}

function decide(runtime: Operator, id: string, approve: boolean, options: Invocation['options']): Approval {
  const note = typeof options['note'] === 'string' ? options['note'] : undefined
  return runtime.approvals.decide(id, {
    approve,
    by: by(),
    ...(options['unread'] === true && { unread: true }),
    ...(note !== undefined && { note }),
  })
}

/** The same no to several; a yes is never given to more than one at a time. */
function denySeveral(runtime: Operator, given: readonly string[], options: Invocation['options'], json: boolean): number {
  if (options['all'] === true && given.length > 0)
    throw new Fault('bad-input', 'Either ids or --all', { hint: '`handrail approvals list` shows what waits.' })
  const session = options['session'] === undefined ? undefined : wholeId(runtime, 'sess', String(options['session']))
  const ids =
    given.length > 0
      ? given.map((one) => named(runtime, one, false).id)
      : runtime.approvals
          .list('pending', { limit: 500 })
          .filter((one) => session === undefined || one.session === session)
          .map(({ id }) => id)
  const decided = ids.map((id) => decide(runtime, id, false, options))
  for (const one of decided) say(json ? terminalJson(one) : folded(`${red('Denied')}: ${oneLine(one.card.title, 80)}`))
  if (!json && decided.length === 0) say('Nothing waits for you.')
  return 0
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
  return [
    shortId(approval.id),
    approval.state,
    approval.risk,
    approval.tool,
    ago(approval.createdAt),
    oneLine(approval.card.title, 60),
  ]
}
