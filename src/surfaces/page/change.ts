import type { CardChange } from '../../contracts/tool.ts'
import { lineCounts } from '../../text/card-words.ts'
import { diffRows, insideRows } from '../../text/printable.ts'
import { signedRows, type DiffRow } from '../../text/rows.ts'
import { html, type Markup } from './html.ts'
import type { Words } from './words.ts'

/** What the page has room for in one row where the window is wide; in a narrower one the browser breaks it once more, behind a gutter. */
export const width = 100

export const rowMarkup = (row: DiffRow): Markup[] =>
  signedRows(row, width).map(({ kind, text }) => html`<b class="${kind}">${text}</b>`)

/** How many rows of changes stand open when the page is opened; all others are one press away. */
export interface FoldBudget {
  takes(rows: number, sensitive: boolean): boolean
}

const openRows = 240
const longestOpen = 60
const longestSensitive = 200

export function openFoldBudget(): FoldBudget {
  let left = openRows
  return {
    takes(rows, sensitive) {
      if (rows > (sensitive ? longestSensitive : Math.min(longestOpen, left))) return false
      left -= rows
      return true
    },
  }
}

/** One change: its name, how much of it, and its lines, folded where they are long. */
export function changeMarkup(id: string, change: CardChange, words: Words, budget: FoldBudget): Markup {
  const { path, from, diff, sensitive, unshown, pictures: sides } = change
  const name = from === undefined ? html`<code>${path}</code>` : html`<code>${from}</code> → <code>${path}</code>`
  const link = `/approvals/${id}/text?path=${encodeURIComponent(path)}`
  const why = unshown?.why ?? (unshown?.lines === undefined ? '' : words.card.lines(unshown.lines))
  const marks = html`${sensitive ? html` <span class="warn">${words.card.sensitive}</span>` : html``}${
    unshown && !sides ? html` <span class="warn">${words.card.notShown}${why === '' ? '' : `: ${why}`}</span>` : html``
  }`
  const all = unshown ? html` <a href="${link}">${words.card.wholeText}</a>` : html``
  const rows = [...insideRows(change), ...diffRows(diff)]
  const facts = html`<span class="quiet facts">${factsOf(change, words)}</span>`
  if (rows.length === 0)
    return html`<div class="flat change">
      ${name}${marks}${all} ${facts}
      <div>${pictures(id, change, words)}</div>
    </div>`
  return html`<details class="change" ${budget.takes(rows.length, sensitive === true) ? html`open` : html``}>
    <summary>${name} ${amount(change)}${marks}</summary>
    ${facts}${all}
    <pre class="diff">${rows.flatMap(rowMarkup)}</pre>
  </details>`
}

function amount(change: CardChange): Markup {
  const counts = lineCounts(change)
  return html`${counts.in > 0 ? html`<span class="plus">+${counts.in}</span> ` : html``}${
    counts.out > 0 ? html`<span class="minus">−${counts.out}</span>` : html``
  }`
}

/** What happens there, and which bytes exactly become which. */
function factsOf({ says, kind, from, sizes, hashes }: CardChange, words: Words): string {
  const plain = says === kind || (from !== undefined && kind === 'renamed' && says?.includes(', ') === false)
  const hash = (hashes ?? []).flatMap((one) => (one === null || one === undefined ? [] : [one.slice(0, 16)])).join(' → ')
  return [
    ...(says === undefined ? [] : [plain && kind ? words.kinds[kind] : says]),
    ...(sizes && hash !== '' ? [words.card.bytes(sizes[0], sizes[1]), `sha256 ${hash}`] : []),
  ].join(' · ')
}

/** A picture as it is and as it would be. What is painted in it is the agent's: it stands in a frame, below our own word for the side. */
function pictures(id: string, { path, pictures: sides }: CardChange, words: Words): Markup[] {
  return (['before', 'after'] as const).flatMap((side) =>
    sides?.[side]
      ? [
          html`<figure>
            <figcaption class="quiet">${words.card[side]}</figcaption>
            <img
              alt="${words.card[side]}: ${words.card.picture}"
              src="/pictures/${id}?side=${side}&amp;path=${encodeURIComponent(path)}"
            />
          </figure>`,
        ]
      : [],
  )
}
