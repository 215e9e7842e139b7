import type { Approval } from '../../contracts/approval.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import { oneLine } from '../../text/printable.ts'
import type { Operator } from '../../contracts/operator.ts'
import { Refusal } from '../../contracts/refusal.ts'
import type { Route, Incoming } from '../listen.ts'
import type { PersonAuth } from '../person-auth.ts'
import { confirmStep, isConfirmed, readForm } from './confirm.ts'
import { cardMarkup, listMarkup, pageLength, textMarkup, unreadChoice, when } from './card.ts'
import { goTo, html, sendPage, type Markup } from './html.ts'

/** The page where a person answers: the same cards as in a terminal or an editor, whole. */
export function approvalPages(operator: Operator, personAuth: PersonAuth): Record<string, Route> {
  return {
    '/approvals': {
      for: 'person',
      methods: ['GET'],
      handle: ({ response, query }) => sendPage(response, 200, 'Approvals', list(operator, query.get('before')), 5),
    },
    '/approvals/*': {
      for: 'person',
      methods: ['GET', 'POST'],
      async handle(incoming) {
        const [id = '', part] = incoming.path.slice('/approvals/'.length).split('/', 2)
        const text = part === 'text' ? await textMarkup(operator, id, incoming.query) : undefined
        if (text && incoming.request.method === 'GET') return sendPage(incoming.response, 200, 'Text', text)
        const approval = part === undefined ? operator.approvals.get(id) : undefined
        if (!approval)
          return sendPage(
            incoming.response,
            404,
            'Not found',
            html`<h1>No such approval</h1>
              <p><a href="/approvals">All of them</a></p>`,
          )
        if (incoming.request.method === 'POST') await decide(operator, personAuth, approval, incoming)
        else sendPage(incoming.response, 200, 'Approval', show(approval, personAuth.formToken(incoming.request)))
      },
    },
  }
}

async function decide(operator: Operator, personAuth: PersonAuth, approval: Approval, incoming: Incoming): Promise<void> {
  const { id } = approval
  const form = readForm((await incoming.body()).toString('utf8', 0, 20_000))
  if (form.get('form') !== personAuth.formToken(incoming.request))
    throw new Refusal(403, 'This form was not made here; open the page again.')
  const decision = form.get('decision')
  if (decision !== 'approve' && decision !== 'decline') throw new Refusal(400, 'The decision must be approve or decline.')
  if (decision === 'approve' && approval.state === 'pending' && !isConfirmed(personAuth, incoming, approval, form))
    return sendPage(incoming.response, 200, 'Confirm', confirmStep(personAuth, incoming, approval, form))
  const note = (form.get('note') ?? '').trim().slice(0, 1_000).toWellFormed()
  try {
    const unread = form.get('unread') === 'yes'
    operator.approvals.decide(id, { approve: decision === 'approve', by: 'person@page', unread, ...(note !== '' && { note }) })
  } catch (fault) {
    if (fault instanceof Fault && fault.reason === 'policy')
      throw new Refusal(400, 'Not all of it was shown: read the rest, or say on the form that you agree unread.')
    // Somebody was quicker; the page shows what they said.
    if (!(fault instanceof Fault) || fault.reason !== 'conflict') throw fault
  }
  goTo(incoming.response, `/approvals/${id}`)
}

function list(operator: Operator, before: string | null): Markup {
  const { notice } = operator.gate
  return html`${notice === undefined ? html`` : html`<p><strong>${notice}</strong></p>`}${waitingList(operator, before)}`
}

function waitingList(operator: Operator, before: string | null): Markup {
  const waiting = operator.approvals.list('pending', { limit: pageLength, ...(before !== null && { before }) })
  if (waiting.length === 0)
    return html`<h1>${before === null ? 'Nothing waits for you' : 'No older ones'}</h1>
      <p>This page looks again every five seconds.</p>`
  return listMarkup(waiting, operator.approvals.count('pending'))
}

function show(approval: Approval, formToken: string): Markup {
  const { card } = approval
  return html`<p><a href="/approvals">All pending approvals</a></p>
    <h1>${oneLine(card.title, 200)}</h1>
    <p class="said">
      Risk ${approval.risk}. Asked ${when(approval.createdAt)} by ${oneLine(approval.client, 80)} over ${approval.surface}.
    </p>
    ${cardMarkup(approval)} ${approval.state === 'pending' ? form(formToken, approval) : outcome(approval)}`
}

function form(formToken: string, approval: Approval): Markup {
  return html`<form method="post">
    <input type="hidden" name="form" value="${formToken}" />
    <p>
      <label>A note for the agent, if you like:<textarea name="note" rows="2" maxlength="1000"></textarea></label>
    </p>
    ${unreadChoice(approval)}
    <button class="yes" name="decision" value="approve">Approve exactly this…</button
    ><button class="no" name="decision" value="decline">Decline</button>
  </form>`
}

function outcome({ state, decidedBy, note }: Approval): Markup {
  return html`<p>
    <strong>${state === 'used' ? 'approved and done' : state}</strong
    >${decidedBy ? html` by ${decidedBy}` : html``}${note ? html`: ${note}` : html``}
  </p>`
}
