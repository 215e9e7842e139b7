import type { CardChange } from '../../contracts/tool.ts'
import { lineCounts } from '../../text/card-words.ts'
import { diffRows, insideRows, quotedName } from '../../text/printable.ts'
import { signedRows, type DiffRow } from '../../text/rows.ts'
import { html, lines, type Markup } from './html.ts'
import { inWords, type Words } from './words.ts'

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

/** So many of a section fold one by one. A browser takes ten parts for each of those, and one for each that stands as in a terminal. */
const foldedEach = 200
/** What is not in sight is not laid out, so many at a time. */
const together = 100

/** Changes of one kind: the first fold one by one, and of those beyond every line is there as in a terminal. */
export function changesMarkup(id: string, changes: readonly CardChange[], words: Words, budget: FoldBudget): Markup[] {
  const shown: Markup[] = []
  let plain: Markup[] = []
  const flush = (): void => {
    if (plain.length > 0) shown.push(html`<pre class="diff plain" tabindex="0">${plain}</pre>`)
    plain = []
  }
  for (const [at, change] of changes.entries()) {
    if (at < foldedEach || change.sensitive || change.pictures) {
      flush()
      shown.push(changeMarkup(id, change, words, budget))
    } else if (plain.push(plainMarkup(id, change, words)) >= together) flush()
  }
  flush()
  return shown
}

/** No line is broken here: what begins a row is a name of its own or a sign of ours. */
function plainMarkup(id: string, change: CardChange, words: Words): Markup {
  const { path, from } = change
  const name = from === undefined ? quotedName(path) : `${quotedName(from)} → ${quotedName(path)}`
  const rows = rowsIn(change, words).flatMap((row) => signedRows(row, width).map(({ text }) => text))
  const { mark, link } = unshownMarkup(id, change, words)
  return html`<b>${name} · ${factsOf(change, words)}</b>${mark}${link}${lines(['', ...rows])}`
}

/** One change: its name, how much of it, and its lines, folded where they are long. */
function changeMarkup(id: string, change: CardChange, words: Words, budget: FoldBudget): Markup {
  const { path, from, sensitive } = change
  const name = from === undefined ? html`<code>${path}</code>` : html`<code>${from}</code> → <code>${path}</code>`
  const { mark, link } = unshownMarkup(id, change, words)
  const marks = html`${sensitive ? html` <span class="warn">${words.card.sensitive}</span>` : html``}${mark}`
  const rows = rowsIn(change, words)
  const facts = html`<span class="quiet facts">${factsOf(change, words)}</span>`
  if (rows.length === 0)
    return html`<div class="flat change">
      ${name}${marks}${link} ${facts}
      <div>${pictures(id, change, words)}</div>
    </div>`
  return html`<details class="change" ${budget.takes(rows.length, sensitive === true) ? html`open` : html``}>
    <summary>${name} ${amount(change)}${marks}</summary>
    ${facts}${link}
    <pre class="diff">${rows.flatMap(rowMarkup)}</pre>
  </details>`
}

/** That the card does not show all of it, and where it can be read. */
function unshownMarkup(id: string, { path, unshown, pictures: sides }: CardChange, words: Words): { mark: Markup; link: Markup } {
  if (!unshown) return { mark: html``, link: html`` }
  const why =
    unshown.why === undefined
      ? unshown.lines === undefined
        ? ''
        : words.card.lines(unshown.lines)
      : inWords(words, 'why', unshown.why)
  return {
    mark: sides ? html`` : html` <span class="warn">${words.card.notShown}${why === '' ? '' : `: ${why}`}</span>`,
    link: html` <a href="/approvals/${id}/text?path=${encodeURIComponent(path)}">${words.card.wholeText}</a>`,
  }
}

/** What a change is inside, and its lines; the places between them are ours to name. */
function rowsIn(change: CardChange, words: Words): DiffRow[] {
  return [...insideRows(change), ...diffRows(change.diff)].map((row) =>
    row.kind === 'place' ? { ...row, text: inWords(words, 'place', row.text) } : row,
  )
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
    ...(says === undefined ? [] : [plain && kind ? words.kinds[kind] : inWords(words, 'effect', says)]),
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
              loading="lazy"
              alt="${words.card[side]}: ${words.card.picture}"
              src="/pictures/${id}?side=${side}&amp;path=${encodeURIComponent(path)}"
            />
          </figure>`,
        ]
      : [],
  )
}
