import { userInfo } from 'node:os'
import type { Approval } from '../../../contracts/approval.ts'
import { ToolError } from '../../../contracts/errors.ts'
import type { Command } from '../command.ts'
import { ago, bold, green, oneLine, plain, red, renderChange, say, table } from '../print.ts'

export const approvals: Command = {
  name: 'approvals',
  summary: 'See what waits for you, and answer',
  usage: 'handrail approvals list|show ID|approve ID|deny ID|page [--note TEXT] --project DIR',
  about: `A call that cannot be fully undone, or that changes a file which makes other programs run something, waits for a person. The
answer holds for exactly that call on exactly the state of the files you saw; if a file changes in between, the call is refused.
A note given with deny goes back to the agent word for word. Silence turns into no after a day. \`approvals page\`
prints a link that signs you in, once, on the page of a running \`handrail serve\`, until that stops or twelve hours have passed.`,
  options: [
    { name: 'note', value: 'TEXT', says: 'Words for the agent.' },
    { name: 'all', says: 'List answered ones too.' },
    { name: 'port', value: 'N', says: 'For page: the port of `handrail serve`. Default 4777.' },
  ],
  examples: [
    'handrail approvals list --project .',
    'handrail approvals show appr_… --project .',
    'handrail approvals deny appr_… --note "use the test script instead" --project .',
  ],
  looks: true,
  async run({ words, options, json, open, doors }) {
    const [what = 'list', given] = words
    const runtime = open()
    try {
      if (what === 'list') {
        const found = runtime.approvals.list(options['all'] === true ? undefined : 'pending')
        if (json) for (const approval of found) say(JSON.stringify(approval))
        else
          say(
            found.length === 0
              ? 'Nothing waits for you.'
              : table(['id', 'state', 'risk', 'tool', 'asked', 'what'], found.map(row)),
          )
        return 0
      }
      if (what === 'page') {
        const link = doors.signInLink(runtime, `http://127.0.0.1:${Number(options['port'] ?? 4777)}`)
        say(json ? JSON.stringify({ url: link }) : link)
        return 0
      }
      if (!['show', 'approve', 'deny'].includes(what))
        throw new ToolError('E_BAD_ARGS', `Unknown: approvals ${what}`, {
          hint: 'approvals list, show ID, approve ID, deny ID or page.',
        })
      if (given === undefined)
        throw new ToolError('E_BAD_ARGS', 'Which approval?', { hint: '`handrail approvals list` shows their ids.' })
      const found = runtime.approvals.get(given)
      if (!found)
        throw new ToolError('E_NOT_FOUND', `No such approval: ${given}`, {
          hint: '`handrail approvals list --all` shows all of them.',
        })
      if (what === 'show') say(json ? JSON.stringify(found) : describe(found))
      else {
        const note = typeof options['note'] === 'string' ? options['note'] : undefined
        const decided = runtime.approvals.decide(given, {
          approve: what === 'approve',
          by: `${userInfo().username}@cli`,
          ...(note !== undefined && { note }),
        })
        if (json) say(JSON.stringify(decided))
        else say(`${what === 'approve' ? green('Approved') : red('Denied')}: ${oneLine(decided.card.title, 80)}`)
      }
      return 0
    } finally {
      await runtime.close()
    }
  },
}

function row(approval: Approval): string[] {
  return [approval.id, approval.state, approval.risk, approval.tool, ago(approval.createdAt), oneLine(approval.card.title, 60)]
}

function describe(approval: Approval): string {
  return [
    `${bold(oneLine(approval.card.title, 120))}  ${approval.risk}, ${approval.state}`,
    `asked ${ago(approval.createdAt)} by ${oneLine(approval.client, 80)} over ${approval.surface}, session ${approval.session}`,
    `lapses ${new Date(approval.expiresAt).toISOString()}`,
    '',
    ...approval.card.changes.map(renderChange),
    ...(approval.card.notes ?? []).map(plain),
    ...(approval.decidedBy
      ? [`${approval.state} by ${plain(approval.decidedBy)}${approval.note ? `: ${plain(approval.note)}` : ''}`]
      : []),
  ].join('\n')
}
