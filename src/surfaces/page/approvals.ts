import type { Approval } from '../../contracts/approval.ts'
import { ToolError } from '../../contracts/errors.ts'
import { diffRows, oneLine } from '../../contracts/plain.ts'
import type { Runtime } from '../../contracts/runtime.ts'
import { Refusal, type Route, type Visitor } from '../listen.ts'
import type { Doorman } from '../person.ts'
import { confirmStep, isConfirmed, readForm } from './confirm.ts'
import { goTo, html, sendPage, type Markup } from './html.ts'

/** The page where a person answers: the same cards as in a terminal or an editor, whole. */
export function approvalPages(runtime: Runtime, doorman: Doorman): Record<string, Route> {
  return {
    '/approvals': {
      for: 'person',
      methods: ['GET'],
      visit: ({ response }) => sendPage(response, 200, 'Approvals', list(runtime), 5),
    },
    '/approvals/*': {
      for: 'person',
      methods: ['GET', 'POST'],
      async visit(visitor) {
        const id = visitor.path.slice('/approvals/'.length)
        const approval = runtime.approvals.get(id)
        if (!approval)
          return sendPage(
            visitor.response,
            404,
            'Not found',
            html`<h1>No such approval</h1>
              <p><a href="/approvals">All of them</a></p>`,
          )
        if (visitor.request.method === 'POST') await decide(runtime, doorman, approval, visitor)
        else sendPage(visitor.response, 200, 'Approval', show(approval, doorman.formToken(visitor.request)))
      },
    },
  }
}

async function decide(runtime: Runtime, doorman: Doorman, approval: Approval, visitor: Visitor): Promise<void> {
  const { id } = approval
  const form = readForm((await visitor.body()).toString('utf8', 0, 20_000))
  if (form.get('form') !== doorman.formToken(visitor.request))
    throw new Refusal(403, 'This form was not made here; open the page again.')
  const decision = form.get('decision')
  if (decision !== 'approve' && decision !== 'decline') throw new Refusal(400, 'The decision must be approve or decline.')
  if (decision === 'approve' && approval.state === 'pending' && !isConfirmed(doorman, visitor, approval, form))
    return sendPage(visitor.response, 200, 'Confirm', confirmStep(doorman, visitor, approval, form))
  const note = (form.get('note') ?? '').trim().slice(0, 1_000)
  try {
    runtime.approvals.decide(id, { approve: decision === 'approve', by: 'person@page', ...(note !== '' && { note }) })
  } catch (fault) {
    // Somebody was quicker; the page shows what they said.
    if (!(fault instanceof ToolError) || fault.code !== 'E_CONFLICT') throw fault
  }
  goTo(visitor.response, `/approvals/${id}`)
}

function list(runtime: Runtime): Markup {
  const notice = runtime.projectSettings?.says
  return html`${notice === undefined ? html`` : html`<p><strong>${notice}</strong></p>`}${waitingList(runtime)}`
}

function waitingList(runtime: Runtime): Markup {
  const waiting = runtime.approvals.list('pending')
  if (waiting.length === 0)
    return html`<h1>Nothing waits for you</h1>
      <p>This page looks again every five seconds.</p>`
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
    </table>`
}

function show(approval: Approval, formToken: string): Markup {
  const { card } = approval
  return html`<p><a href="/approvals">All that waits</a></p>
    <h1>${oneLine(card.title, 200)}</h1>
    <p>Risk ${approval.risk}. Asked ${when(approval.createdAt)} by ${oneLine(approval.client, 80)} over ${approval.surface}.</p>
    ${card.changes.map(
      ({ path, says, diff }) =>
        html`<h2><code>${path}</code>${says === undefined ? html`` : html` ${says}`}</h2>
          ${diff.hunks.length ? html`<pre class="diff">${diffRows(diff).map((row) => html`<b class="${row.kind}">${row.text}</b>`)}</pre>` : html``}`,
    )}
    ${(card.notes ?? []).map((note) => html`<p>${note}</p>`)}
    ${approval.state === 'pending' ? form(formToken) : outcome(approval)}`
}

function form(formToken: string): Markup {
  return html`<form method="post">
    <input type="hidden" name="form" value="${formToken}" />
    <p>
      <label>A note for the agent, if you like:<textarea name="note" rows="2" maxlength="1000"></textarea></label>
    </p>
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

function when(at: number): string {
  return new Date(at).toISOString().slice(0, 19).replace('T', ' ')
}
