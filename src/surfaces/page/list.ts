import type { ApprovalHead } from '../../contracts/approval.ts'
import type { Operator } from '../../contracts/operator.ts'
import type { Risk } from '../../contracts/tool.ts'
import { oneLine } from '../../text/printable.ts'
import { html, type Markup } from './html.ts'
import type { Words } from './words.ts'

const pageLength = 50
const latest = 10
/** While nothing waits the page looks often; a list that somebody reads or goes through by keyboard is not taken away so soon. */
export const looksAgain = (waiting: number): number => (waiting === 0 ? 5 : 20)

/** What waits, newest first, then what was answered lately. */
export function listMarkup(operator: Operator, before: string | null, words: Words): Markup {
  const waiting = operator.approvals.list('pending', { limit: pageLength, ...(before !== null && { before }) })
  const count = operator.approvals.count('pending')
  const heading = waiting.length > 0 ? words.list.waiting(count) : before === null ? words.list.nothing : words.list.noOlder
  const older =
    waiting.length === pageLength
      ? html`<p><a href="/approvals?before=${waiting.at(-1)?.id ?? ''}">${words.list.older(count)}</a></p>`
      : html``
  return html`<h1>${heading}</h1>
    ${waiting.map((one) => row(one, words))} ${older}
    <p class="quiet">${words.list.looksAgain(looksAgain(count))}</p>
    ${before === null ? lately(operator, words) : html``}`
}

function row(one: ApprovalHead, words: Words): Markup {
  return html`<div class="one">
    <p>
      <a href="/approvals/${one.id}"><strong>${oneLine(one.card.title, 160)}</strong></a>
    </p>
    <p>${riskMarkup(one.risk, words)}</p>
    <p class="quiet said">${words.card.asked(oneLine(one.client, 60), one.surface)}, ${timeMarkup(one.createdAt, words)}</p>
  </div>`
}

/** A risk with what it means: the letter alone says nothing to whoever sees it the first time. */
export function riskMarkup(risk: Risk, words: Words): Markup {
  return html`<span class="risk ${risk}"><strong>${risk}</strong> · ${words.risks[risk]}</span>`
}

export function timeMarkup(at: number, words: Words): Markup {
  const iso = new Date(at).toISOString()
  return html`<time datetime="${iso}" title="${iso.slice(0, 19).replace('T', ' ')} UTC">${words.card.ago(Date.now() - at)}</time>`
}

function lately(operator: Operator, words: Words): Markup {
  const answered = operator.approvals
    .list(undefined, { limit: pageLength * 2 })
    .filter(({ state }) => state !== 'pending')
    .slice(0, latest)
  if (answered.length === 0) return html``
  return html`<h2>${words.list.lately}</h2>
    <ul class="verdicts">
      ${answered.map((one) => html`<li>${verdictMarkup(one, words)} <a href="/approvals/${one.id}">${oneLine(one.card.title, 120)}</a></li>`)}
    </ul>`
}

/** What became of a question, by whom, and with which words. */
export function verdictMarkup({ state, decidedBy, note, decidedAt }: Omit<ApprovalHead, 'card'>, words: Words): Markup {
  const by = decidedBy === undefined ? html`` : html` <span class="quiet">${words.answer.by} ${oneLine(decidedBy, 60)}</span>`
  const at = decidedAt === undefined ? html`` : html` <span class="quiet">${timeMarkup(decidedAt, words)}</span>`
  const said = note === undefined ? html`` : html` <q>${oneLine(note, 1_000)}</q>`
  return html`<span class="verdict ${state}">${words.states[state]}</span>${by}${at}${said}`
}
