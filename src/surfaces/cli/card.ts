import type { Approval } from '../../contracts/approval.ts'
import { countsLine, riskWords } from '../../text/card-words.ts'
import { noteRows, restLines } from '../../text/printable.ts'
import { ago, bold, oneLine, printable, red, renderChange, yellow } from './print.ts'
import { columns, folded } from './screen-rows.ts'

/** Said before anything else: no undo takes it back. */
const loudWords = {
  network: 'IT REACHES THE NETWORK: what it sends cannot be taken back.',
  unconfined: 'IT RUNS UNCONFINED: on your files themselves, with all that you may do.',
} as const

/** A question as a person reads it at the terminal: what would happen, and why they are asked. */
export function cardRows({ card, whole }: Pick<Approval, 'card' | 'whole'>, width = columns()): string[] {
  const counts = countsLine(card)
  return [
    ...(card.loud ?? []).map((what) => red(bold(folded(loudWords[what], '    ', width)))),
    ...(counts === undefined ? [] : [bold(folded(counts, '    ', width))]),
    ...card.changes.map((change) => renderChange(change, Number.POSITIVE_INFINITY, width)),
    ...restLines(card).map((line) => yellow(folded(line, '    ', width))),
    ...(card.notes ?? []).map((note) => noteRows(note, width)),
    ...(whole ? [] : [yellow('Not all of it is shown here: show --full prints the rest, approve --unread agrees without.')]),
  ]
}

/** The same with who asks, and what became of it. */
export function describeApproval(approval: Approval, width = columns()): string {
  const { card, risk, state, createdAt, expiresAt, client, surface, session, decidedBy, note } = approval
  return [
    bold(folded(`${oneLine(card.title, 120)}  ${risk}, ${state}`, '    ', width)),
    folded(`asked ${ago(createdAt)} by ${oneLine(client, 80)} over ${surface}, session ${session}`, '    ', width),
    folded(`${risk} ${riskWords[risk]}`, '    ', width),
    `lapses ${new Date(expiresAt).toISOString()}`,
    '',
    ...cardRows(approval, width),
    ...(decidedBy ? [folded(`${state} by ${printable(decidedBy)}${note ? `: ${printable(note)}` : ''}`, '    ', width)] : []),
  ].join('\n')
}
