import { randomInt, timingSafeEqual } from 'node:crypto'
import type { Approval } from '../../contracts/approval.ts'
import { oneLine } from '../../text/printable.ts'
import type { Incoming } from '../listen.ts'
import type { PersonAuth } from '../person-auth.ts'
import { html, type Markup } from './html.ts'

const confirmMs = 10 * 60_000
/** Fields that belong to this step; all others are the person's answer and go along with it. */
const own = new Set(['form', 'decision', 'confirm', 'number', 'along'])

/**
 * The second step of a yes: the person types a number that only this page shows. A click or a key can be aimed at a button whose place is
 * known, by a page that gets out of the way at the right moment; nobody can aim at what has to be read first.
 */
export function confirmStep(personAuth: PersonAuth, incoming: Incoming, approval: Approval, form: URLSearchParams): Markup {
  const number = String(randomInt(100, 1_000))
  const until = Date.now() + confirmMs
  return html`<p><a href="/approvals/${approval.id}">Back to the change</a></p>
    <h1>Approve this?</h1>
    <p class="said">${oneLine(approval.card.title, 200)}</p>
    <p class="quiet said">${amount(approval)} Risk ${approval.risk}. Asked by ${oneLine(approval.client, 80)}.</p>
    ${form.has('confirm') ? html`<p class="notice">That was not the number, or it has lapsed. Here is a new one.</p>` : html``}
    <form method="post" autocomplete="off">
      <input type="hidden" name="form" value="${personAuth.formToken(incoming.request)}" />
      <input
        type="hidden"
        name="confirm"
        value="${until.toString(36)}.${personAuth.mark(incoming.request, subject(approval, form, until, number))}"
      />
      <input type="hidden" name="along" value="${Buffer.from(answerIn(form)).toString('base64url')}" />
      <p>To approve, type this number:</p>
      <p class="number">${number}</p>
      <p><input name="number" aria-label="The number shown above" inputmode="numeric" maxlength="3" autofocus /></p>
      <button class="yes" name="decision" value="approve">Approve</button
      ><button class="no" name="decision" value="decline">Decline</button>
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

function amount({ card }: Approval): string {
  const { length } = card.changes
  return length === 0 ? '' : `${length} ${length === 1 ? 'change' : 'changes'}.`
}
