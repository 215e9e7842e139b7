import { randomInt, timingSafeEqual } from 'node:crypto'
import type { Approval } from '../../contracts/approval.ts'
import { oneLine } from '../../text/printable.ts'
import type { Incoming } from '../listen.ts'
import type { PersonAuth } from '../person-auth.ts'
import { html, type Markup } from './html.ts'
import { askedMarkup, projectMarkup, riskMarkup } from './list.ts'
import { inWords, type Words } from './words.ts'
import { countsOf } from '../../text/card-words.ts'

const confirmMs = 10 * 60_000
/** Fields that belong to this step; all others are the person's answer and go along with it. */
const own = new Set(['form', 'decision', 'confirm', 'number', 'along', 'shown'])

/**
 * The second step of a yes: the person types a number that only this page shows. A click or a key can be aimed at a button whose place is
 * known, by a page that gets out of the way at the right moment; nobody can aim at what has to be read first.
 */
export function confirmStep(
  personAuth: PersonAuth,
  incoming: Incoming,
  approval: Approval,
  form: URLSearchParams,
  words: Words,
  project: string,
): Markup {
  const number = String(randomInt(100, 1_000))
  const until = Date.now() + confirmMs
  return html`<p><a href="/approvals/${approval.id}">${words.confirm.back}</a></p>
    <h1>${words.confirm.question}</h1>
    <p class="said">${oneLine(inWords(words, 'title', approval.card.title), 200)}</p>
    <p>${riskMarkup(approval.risk, words)}</p>
    <p class="quiet said">${amount(approval, words)}${askedMarkup(approval, words)}${projectMarkup(project, words)}</p>
    ${form.has('confirm') ? html`<p class="notice">${words.confirm.wrong}</p>` : html``}
    <form method="post" autocomplete="off">
      <input type="hidden" name="form" value="${personAuth.formToken(incoming.request)}" />
      <input
        type="hidden"
        name="confirm"
        value="${until.toString(36)}.${personAuth.mark(incoming.request, subject(approval, form, until, number))}"
      />
      <input type="hidden" name="along" value="${Buffer.from(answerIn(form)).toString('base64url')}" />
      <p>${words.confirm.type}</p>
      <p class="number">${number}</p>
      <p><input name="number" aria-label="${words.confirm.field}" inputmode="numeric" maxlength="3" autofocus /></p>
      <button class="yes" name="decision" value="approve">${words.confirm.approve}</button
      ><button class="no" name="decision" value="decline">${words.answer.decline}</button>
    </form>`
}

/** A form as it was sent, together with what was said in the first step: as bytes, for a page would change line ends and what cannot be seen. */
export function readForm(text: string): URLSearchParams {
  const form = new URLSearchParams(text)
  const along = new URLSearchParams(Buffer.from(form.get('along') ?? '', 'base64url').toString('utf8'))
  for (const [name, value] of along) if (!own.has(name)) form.append(name, value)
  return form
}

/** Whether the number that was shown for exactly this card, answer and sign-in was typed in time. */
export function isConfirmed(personAuth: PersonAuth, incoming: Incoming, approval: Approval, form: URLSearchParams): boolean {
  const [until = '', mark = ''] = (form.get('confirm') ?? '').split('.')
  const lapses = Number.parseInt(until, 36)
  if (!(lapses > Date.now())) return false
  const number = (form.get('number') ?? '').trim()
  const good = Buffer.from(personAuth.mark(incoming.request, subject(approval, form, lapses, number)))
  const given = Buffer.from(mark)
  return good.length === given.length && timingSafeEqual(good, given)
}

function subject({ id, inputDigest, stateDigest }: Approval, form: URLSearchParams, until: number, number: string): string {
  return JSON.stringify([id, inputDigest, stateDigest, answerIn(form), until, number])
}

function answerIn(form: URLSearchParams): string {
  return new URLSearchParams([...form].filter(([name]) => !own.has(name))).toString()
}

function amount({ card }: Approval, words: Words): string {
  const counts = countsOf(card)
  const all = counts.reduce((sum, [, count]) => sum + count, 0)
  return all === 0
    ? ''
    : `${words.card.counts(
        all,
        counts.map(([kind, count]) => words.card.counted(count, words.kinds[kind])),
      )}${words.punctuation.stop}`
}
