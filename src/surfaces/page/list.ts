import type { ApprovalHead } from '../../contracts/approval.ts'
import type { Question } from '../../contracts/question.ts'
import type { Risk } from '../../contracts/tool.ts'
import { oneLine } from '../../text/printable.ts'
import { deskWith, nameOf, waitingAt, waitingIn, type Desk, type Desks } from './desks.ts'
import { html, type Markup } from './html.ts'
import { inWords, type Words } from './words.ts'

const pageLength = 50
const latest = 10
/** While nothing waits the page looks often; a list that somebody reads or goes through by keyboard is not taken away so soon. */
export const looksAgain = (waiting: number): number => (waiting === 0 ? 5 : 20)

/** What waits, project by project and newest first, then what was answered lately. Older ones are listed for one project at a time. */
export function listMarkup(desks: Desks, before: string | null, words: Words): Markup {
  const all = desks()
  const older = before === null ? undefined : deskWith(desks, before)
  const waiting = waitingIn(desks)
  const shown = (older ? [older] : all).map((desk) => waitingMarkup(desk, older && before, words, all.length > 1))
  const heading =
    before !== null && !shown.some(({ text }) => text !== '')
      ? words.list.noOlder
      : waiting > 0
        ? words.list.waiting(waiting)
        : words.list.nothing
  return html`<h1>${heading}</h1>
    ${shown}
    <p class="quiet">${words.list.looksAgain(looksAgain(waiting))}</p>
    ${before === null ? lately(desks, words) : html``}`
}

/** Of one project; nothing where nothing waits in it. */
function waitingMarkup(desk: Desk, before: string | null | undefined, words: Words, named: boolean): Markup {
  const approvals = desk.approvals.list('pending', { limit: pageLength, ...(before && { before }) })
  // They are few, and go first: an agent that asks for words waits for nothing else.
  const questions = before ? [] : desk.questions.list().toReversed()
  if (approvals.length + questions.length === 0) return html``
  const older =
    approvals.length === pageLength
      ? html`<p><a href="/approvals?before=${approvals.at(-1)?.id ?? ''}">${words.list.older(waitingAt(desk))}</a></p>`
      : html``
  return html`<h2>${nameOf(desk)} <code class="quiet">${desk.project}</code></h2>
    ${questions.map((one) => questionRow(one, desk, words, named))} ${approvals.map((one) => row(one, desk, words, named))}
    ${older}`
}

function row(one: ApprovalHead, desk: Desk, words: Words, named: boolean): Markup {
  return html`<div class="one">
    <p>
      <a href="/approvals/${one.id}"><strong>${oneLine(inWords(words, 'title', one.card.title), 160)}</strong></a>
    </p>
    <p>${riskMarkup(one.risk, words)}</p>
    <p class="quiet said">${askedMarkup(one, words)}${projectOf(desk, words, named)}</p>
  </div>`
}

function questionRow(one: Question, desk: Desk, words: Words, named: boolean): Markup {
  return html`<div class="one">
    <p>
      <a href="/questions/${one.id}"><strong>${words.questions.asks(oneLine(one.client, 60))}</strong></a>
    </p>
    <p class="said">| ${oneLine(one.text, 160)}</p>
    <p class="quiet said">${timeMarkup(one.askedAt, words)}${projectOf(desk, words, named)}</p>
  </div>`
}

const projectOf = (desk: Desk, words: Words, named: boolean): Markup => (named ? projectMarkup(nameOf(desk), words) : html``)

/** A risk with what it means: the letter alone says nothing to whoever sees it the first time. */
export function riskMarkup(risk: Risk, words: Words): Markup {
  return html`<span class="risk ${risk}"><strong>${risk}</strong> · ${words.risks[risk]}</span>`
}

/** Who asks, how they came in, and when. */
export function askedMarkup({ client, surface, createdAt }: Omit<ApprovalHead, 'card'>, words: Words): Markup {
  return html`${words.card.asked(oneLine(client, 80), surface)}${words.punctuation.comma}${timeMarkup(createdAt, words)}`
}

/** Ends a sentence, and names the project. */
export function projectMarkup(project: string, { punctuation, nav }: Words): Markup {
  return html`${punctuation.stop}${nav.project}${punctuation.colon}<code>${project}</code>`
}

export function timeMarkup(at: number, words: Words): Markup {
  const iso = new Date(at).toISOString()
  return html`<time datetime="${iso}" title="${iso.slice(0, 19).replace('T', ' ')} UTC">${words.card.ago(Date.now() - at)}</time>`
}

function lately(desks: Desks, words: Words): Markup {
  const named = desks().length > 1
  const answered = desks()
    .flatMap((desk) => [
      ...desk.approvals
        .list(undefined, { limit: pageLength * 2 })
        .filter(({ state }) => state !== 'pending')
        .slice(0, latest)
        .map((one) => ({
          at: one.decidedAt ?? one.createdAt,
          desk,
          shown: html`${verdictMarkup(one, words)}
            <a href="/approvals/${one.id}">${oneLine(inWords(words, 'title', one.card.title), 120)}</a>`,
        })),
      ...desk.questions
        .list(true)
        .filter(({ answer }) => answer !== undefined)
        .slice(0, latest)
        .map((one) => ({
          at: one.answeredAt ?? one.askedAt,
          desk,
          shown: html`${answeredMarkup(one, words)} <a href="/questions/${one.id}">${oneLine(one.text, 120)}</a>`,
        })),
    ])
    .toSorted((a, b) => b.at - a.at)
    .slice(0, latest)
  if (answered.length === 0) return html``
  return html`<h2>${words.list.lately}</h2>
    <ul class="verdicts">
      ${answered.map(({ shown, desk }) => html`<li>${shown}${projectOf(desk, words, named)}</li>`)}
    </ul>`
}

/** What was said, and by whom. */
export function answeredMarkup({ answer = '', answeredBy = '', answeredAt }: Question, words: Words): Markup {
  return html`<span class="verdict approved">${words.questions.answered}</span>
    <span class="quiet"
      >${words.answer.by} ${oneLine(answeredBy, 60)} ${answeredAt === undefined ? html`` : timeMarkup(answeredAt, words)}</span
    >
    <q>${oneLine(answer, 1_000)}</q>`
}

/** What became of a question, by whom, and with which words. */
export function verdictMarkup({ state, decidedBy, note, decidedAt }: Omit<ApprovalHead, 'card'>, words: Words): Markup {
  const by = decidedBy === undefined ? html`` : html` <span class="quiet">${words.answer.by} ${oneLine(decidedBy, 60)}</span>`
  const at = decidedAt === undefined ? html`` : html` <span class="quiet">${timeMarkup(decidedAt, words)}</span>`
  const said = note === undefined ? html`` : html` <q>${oneLine(note, 1_000)}</q>`
  return html`<span class="verdict ${state}">${words.states[state]}</span>${by}${at}${said}`
}
