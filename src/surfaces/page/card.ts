import type { Approval, ApprovalHead, TextPart } from '../../contracts/approval.ts'
import { printableInline, diffRows, oneLine, restLines, signedRow, wordsOf } from '../../text/printable.ts'
import { rowsOf, signedRows, type DiffRow } from '../../text/rows.ts'
import type { Operator } from '../../contracts/operator.ts'
import type { CardChange } from '../../contracts/tool.ts'
import { html, type Markup } from './html.ts'

/** What a card shows, whole: every change with its kind, sizes and hashes, and where the rest of it can be read. */
export function cardMarkup({ id, card }: Pick<Approval, 'id' | 'card'>): Markup {
  const link = (path: string): Markup => html`<a href="/approvals/${id}/text?path=${encodeURIComponent(path)}">all of it</a>`
  const change = ({ path, diff, ...more }: CardChange): Markup =>
    html`<h2><code>${path}</code> ${wordsOf(more)} ${more.unshown ? link(path) : html``}</h2>
      ${diff.hunks.length ? html`<pre class="diff">${diffRows(diff).flatMap(rowMarkup)}</pre>` : html``}`
  return html`${card.changes.map(change)} ${restLines(card).map((line) => html`<p class="said">${line}</p>`)}
  ${card.rest?.length ? html`<p>${link('')}: every change by name</p>` : html``}
  ${(card.notes ?? []).map((note) => html`<p class="said">${printableInline(note)}</p>`)}`
}

/** What the page has room for in one row where the window is wide; in a narrower one the browser breaks it once more, behind a gutter. */
const width = 100

const rowMarkup = (row: DiffRow): Markup[] => signedRows(row, width).map(({ kind, text }) => html`<b class="${kind}">${text}</b>`)

/** The choice without which a card that leaves something out cannot be approved. */
export function unreadChoice({ whole }: Pick<Approval, 'whole'>): Markup {
  return whole
    ? html``
    : html`<p>
        <label
          ><input type="checkbox" name="unread" value="yes" /> I have not read all of it, and agree to that too. (The log says
          so.)</label
        >
      </p>`
}

/** One part of the full text of a change, and the way to the next. */
export async function textMarkup(operator: Operator, id: string, query: URLSearchParams): Promise<Markup | undefined> {
  const path = query.get('path') ?? ''
  const from = Number(query.get('from') ?? 0)
  const part = Number.isSafeInteger(from) && from >= 0 ? await operator.approvals.text(id, path, from) : undefined
  if (!part) return undefined
  const next = `/approvals/${id}/text?path=${encodeURIComponent(path)}&from=${part.next ?? ''}`
  return html`<p><a href="/approvals/${id}">Back to the question</a></p>
    <h1><code>${path === '' ? 'every change' : path}</code></h1>
    <pre class="diff">${linesOf(part)}</pre>
    ${part.next === undefined ? html`<p>That is the end.</p>` : html`<p><a href="${next}">More</a></p>`}`
}

/** Lines with signs as in the card; a text without them stands behind a bar, whatever its lines begin with. */
function linesOf({ text, signed, within = '' }: TextPart): Markup[] {
  const lines = (within + text).split('\n')
  if (signed) return lines.flatMap((line) => rowMarkup(signedRow(line)))
  return lines.flatMap((line) => rowsOf(`| ${printableInline(line)}`, '| … ', width).map((row) => html`<b>${row}</b>`))
}

export const pageLength = 50

/** One line per question, newest first, and the way to older ones. */
export function listMarkup(waiting: readonly ApprovalHead[], count: number): Markup {
  const rows = waiting.map(
    (one) =>
      html`<tr>
        <td><a href="/approvals/${one.id}">${oneLine(one.card.title, 100)}</a></td>
        <td>${one.risk}</td>
        <td>${oneLine(one.client, 60)}</td>
        <td>${when(one.createdAt)}</td>
      </tr>`,
  )
  return html`<h1>Waiting for you</h1>
    <table>
      <tr>
        <th>what
        <th>risk
        <th>who
        <th>asked
      </tr>
      ${rows}
    </table>
    ${waiting.length === pageLength ? html`<p>${count} wait in all. <a href="/approvals?before=${waiting.at(-1)?.id ?? ''}">Older ones</a></p>` : html``}`
}

export function when(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace('T', ' ')
}
