import type { Approval, TextPart } from '../../contracts/approval.ts'
import type { EffectKind } from '../../contracts/stage.ts'
import type { Card, CardChange } from '../../contracts/tool.ts'
import { countsOf, kindsByWeight } from '../../text/card-words.ts'
import { printableInline, quotedName, signedRow } from '../../text/printable.ts'
import { rowsOf } from '../../text/rows.ts'
import { changesMarkup, openFoldBudget, rowMarkup, width } from './change.ts'
import type { Desk } from './desks.ts'
import { html, type Markup } from './html.ts'
import { inWords, type Words } from './words.ts'

/** What a card shows, whole: what matters most first, what is long folded, and where the rest of it can be read. */
export function cardMarkup({ id, card }: Pick<Approval, 'id' | 'card'>, words: Words): Markup {
  const notes = card.notes ?? []
  const isWhy = (note: string): boolean => note.startsWith('You are asked because ')
  return html`${(card.loud ?? []).map((what) => loudMarkup(words.card[what]))}
  ${notes.filter(isWhy).map((note) => noteMarkup(note, words))} ${countsMarkup(card, words)} ${sections(id, card, words)}
  ${(card.rest ?? []).map(({ folder, changes, bytes }) => html`<p class="said">${words.card.notListed(changes, quotedName(folder), bytes)}</p>`)}
  ${card.rest?.length ? html`<p><a href="/approvals/${id}/text?path=">${words.card.wholeText}</a>: ${words.card.everyChange}</p>` : html``}
  ${notesMarkup(
    // What is said loudly is not said twice.
    notes.filter((note) => !isWhy(note) && !(card.loud?.includes('network') && note.startsWith('With the network: '))),
    words,
  )}`
}

function loudMarkup([what, means]: readonly [string, string]): Markup {
  return html`<div class="loud"><strong>${what}</strong>${means}</div>`
}

function countsMarkup(card: Card, words: Words): Markup {
  const counts = countsOf(card)
  const all = counts.reduce((sum, [, count]) => sum + count, 0)
  if (all === 0) return html``
  const told = counts.map(([kind, count]) => words.card.counted(count, words.kinds[kind]))
  return html`<p class="counts">${words.card.counts(all, told)}</p>`
}

/** A section this long is folded as a whole. */
const longSection = 40

/** Changes by kind, what goes away first. What makes programs run something stands before the others of its kind. */
function sections(id: string, { changes, counts }: Card, words: Words): Markup[] {
  const byKind = new Map<EffectKind | undefined, CardChange[]>()
  for (const change of changes) {
    const known = byKind.get(change.kind)
    if (known) known.push(change)
    else byKind.set(change.kind, [change])
  }
  const budget = openFoldBudget()
  const order = [undefined, ...kindsByWeight].filter((kind) => byKind.has(kind))
  return order.map((kind) => {
    const found = byKind.get(kind) ?? []
    const shown = changesMarkup(id, found, words, budget)
    if (changes.length === 1 || kind === undefined) return html`${shown}`
    return section(words, kind, { all: counts?.[kind] ?? found.length, here: found.length }, shown)
  })
}

function section(words: Words, kind: EffectKind, count: { all: number; here: number }, shown: Markup[]): Markup {
  const heading = html`${words.headings[kind]} · ${count.all}`
  if (count.here <= longSection)
    return html`<h2>${heading}</h2>
      ${shown}`
  return html`<details>
    <summary><strong>${heading}</strong></summary>
    ${shown}
  </details>`
}

/** Sentences of ours, and what a program printed: that stands behind a bar, each line with its mark. */
function notesMarkup(notes: readonly string[], words: Words): Markup[] {
  const parts: Markup[] = []
  for (let at = 0; at < notes.length; at++) {
    let end = at
    while (notes[end]?.startsWith('> ')) end++
    if (end === at) parts.push(noteMarkup(notes[at] as string, words))
    else {
      const rows = notes.slice(at, end).flatMap((note) => rowsOf(printableInline(note), '> … ', width))
      parts.push(html`<pre class="diff printed">${rows.map((row) => html`<b>${row}</b>`)}</pre>`)
      at = end - 1
    }
  }
  return parts
}

const noteMarkup = (note: string, words: Words): Markup =>
  html`<p class="said">${printableInline(inWords(words, 'note', note))}</p>`

/** The choice without which a card that leaves something out cannot be approved. */
export function unreadChoice({ whole }: Pick<Approval, 'whole'>, words: Words): Markup {
  return whole
    ? html``
    : html`<p>
        <label><input type="checkbox" name="unread" value="yes" /> ${words.answer.unread}</label>
      </p>`
}

/** One part of the full text of a change, and the way to the next. */
export async function textMarkup(
  { approvals }: Desk,
  id: string,
  query: URLSearchParams,
  words: Words,
): Promise<Markup | undefined> {
  const path = query.get('path') ?? ''
  const from = Number(query.get('from') ?? 0)
  const part = Number.isSafeInteger(from) && from >= 0 ? await approvals.text(id, path, from) : undefined
  if (!part) return undefined
  const next = `/approvals/${id}/text?path=${encodeURIComponent(path)}&from=${part.next ?? ''}`
  return html`<p><a href="/approvals/${id}">${words.text.back}</a></p>
    <h1><code>${path === '' ? words.text.every : path}</code></h1>
    <pre class="diff">${linesOf(path === '' ? { ...part, text: entriesIn(part.text, words) } : part)}</pre>
    ${part.next === undefined ? html`<p>${words.text.end}</p>` : html`<p><a href="${next}">${words.text.more}</a></p>`}`
}

/** The list of every change is ours, but for the names in it. */
const entriesIn = (text: string, words: Words): string =>
  text
    .split('\n')
    .map((line) => inWords(words, 'entry', line))
    .join('\n')

/** Lines with signs as in the card; a text without them stands behind a bar, whatever its lines begin with. */
function linesOf({ text, signed, within = '' }: TextPart): Markup[] {
  const lines = (within + text).split('\n')
  if (signed) return lines.flatMap((line) => rowMarkup(signedRow(line)))
  return lines.flatMap((line) => rowsOf(`| ${printableInline(line)}`, '| … ', width).map((row) => html`<b>${row}</b>`))
}
