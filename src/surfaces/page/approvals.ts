import type { Approval } from '../../contracts/approval.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import { oneLine } from '../../text/printable.ts'
import { Refusal } from '../../contracts/refusal.ts'
import type { Route, Incoming } from '../listen.ts'
import { logFault } from '../log-fault.ts'
import type { PersonAuth } from '../person-auth.ts'
import { cardMarkup, textMarkup, unreadChoice } from './card.ts'
import { confirmStep, isConfirmed, readForm } from './confirm.ts'
import { about, deskWith, waitingIn, type Desk, type Desks } from './desks.ts'
import { answeredElsewhereMarkup, answeredElsewherePages } from './answered-elsewhere.ts'
import { goTo, html, sendPage, type Markup } from './html.ts'
import { askedMarkup, listMarkup, looksAgain, projectMarkup, riskMarkup, verdictMarkup } from './list.ts'
import { afterOne, isTooSoon, justAnswered } from './next.ts'
import { questionPages } from './questions.ts'
import { wordsFor } from './language.ts'
import { inWords, type Words } from './words.ts'

/** The page where a person answers: the same cards as in a terminal or an editor, whole. */
export function approvalPages(desks: Desks, personAuth: PersonAuth, leftOut = (): number => 0): Record<string, Route> {
  return whereStoresMayFail({
    ...questionPages(desks, personAuth),
    ...answeredElsewherePages(desks),
    '/approvals': {
      for: 'person',
      methods: ['GET'],
      handle({ request, response, query }) {
        const words = wordsFor(request)
        const notices = desks().flatMap(({ gate: { notice } }) => (notice === undefined ? [] : inWords(words, 'notice', notice)))
        const options = about(desks, words)
        if (leftOut() > 0) notices.push(words.list.leftOut(leftOut()))
        const body = html`${notices.map((notice) => html`<p class="notice">${notice}</p>`)} ${justAnswered(desks, query, words)}
        ${listMarkup(desks, query.get('before'), words)}`
        const again = looksAgain(options.about?.waiting ?? 0)
        // What was just answered is said once: looking again leads to the list alone.
        const headers: Record<string, string> = query.has('after')
          ? { Refresh: `${again}; url=${personAuth.basePath}/approvals` }
          : {}
        sendPage(response, 200, words.titles.approvals, body, again, { ...options, headers })
      },
    },
    '/approvals/*': {
      for: 'person',
      methods: ['GET', 'POST'],
      async handle(incoming) {
        const { request, response, query } = incoming
        const words = wordsFor(request)
        const [id = '', part] = incoming.path.slice('/approvals/'.length).split('/', 2)
        const desk = deskWith(desks, id)
        const text = desk && part === 'text' ? await textMarkup(desk, id, query, words) : undefined
        if (text && request.method === 'GET')
          return sendPage(response, 200, words.titles.text, text, undefined, about(desks, words))
        const approval = part === undefined ? desk?.approvals.get(id) : undefined
        if (!desk || !approval)
          return sendPage(
            response,
            404,
            words.titles.notFound,
            html`<h1>${words.answer.noSuch}</h1>
              <p><a href="/approvals">${words.card.all}</a></p>`,
          )
        if (request.method === 'POST') return decide(desks, desk, personAuth, approval, incoming)
        const body = html`${justAnswered(desks, query, words)}
        ${show(approval, personAuth.formToken(request), words, desk, waitingIn(desks))}`
        const answers = approval.state === 'pending'
        sendPage(response, 200, words.titles.approval, body, undefined, { ...about(desks, words), answers, pictureFrom: 'self' })
      },
    },
    // Only what a browser shows as a picture, of a question that waits; it is no page, and nothing in it can act.
    '/pictures/*': {
      for: 'person',
      shows: 'image',
      methods: ['GET'],
      async handle({ path, query, response }) {
        const side = query.get('side') === 'before' ? 'before' : 'after'
        const id = path.slice('/pictures/'.length)
        const found = await deskWith(desks, id)?.approvals.picture(id, query.get('path') ?? '', side)
        if (!found) throw new Refusal(404, 'No such picture.')
        response.writeHead(200, { 'Content-Type': found.type, 'Content-Security-Policy': "default-src 'none'; sandbox" })
        response.end(found.bytes)
      },
    },
    // What a person prefers to read; the page in the other language is one press away.
    '/language/*': {
      for: 'person',
      methods: ['GET'],
      handle({ path, response }) {
        const lang = path === '/language/zh' ? 'zh' : 'en'
        goTo(
          response,
          '/approvals',
          `handrail_lang=${lang}; HttpOnly; SameSite=Strict; Path=${personAuth.basePath}; Max-Age=31536000`,
        )
      },
    },
  })
}

/** A store that another process holds, or that is damaged, is no fault of the page: it says so, and what was answered is looked up later. */
function whereStoresMayFail(routes: Record<string, Route>): Record<string, Route> {
  const guarded = (route: Route): Route => ({
    ...route,
    async handle(incoming) {
      try {
        await route.handle(incoming)
      } catch (thrown) {
        if (!(thrown instanceof Fault) || thrown.reason !== 'io') throw thrown
        logFault('handrail:', thrown)
        throw new Refusal(
          503,
          'The store of this project does not answer now. Open the page again to see what was taken, and try again.',
        )
      }
    },
  })
  return Object.fromEntries(Object.entries(routes).map(([path, route]) => [path, guarded(route)]))
}

async function decide(desks: Desks, desk: Desk, personAuth: PersonAuth, approval: Approval, incoming: Incoming): Promise<void> {
  const { id } = approval
  const { request, response } = incoming
  const words = wordsFor(request)
  const form = readForm((await incoming.body()).toString('utf8', 0, 20_000))
  if (form.get('form') !== personAuth.formToken(request))
    throw new Refusal(403, 'This form was not made here; open the page again.')
  const decision = form.get('decision')
  if (decision !== 'approve' && decision !== 'decline') throw new Refusal(400, 'The decision must be approve or decline.')
  if (decision === 'approve' && approval.state === 'pending' && !isConfirmed(personAuth, incoming, approval, form))
    return sendPage(
      response,
      200,
      words.titles.confirm,
      confirmStep(personAuth, incoming, approval, form, words, desk.project),
      undefined,
      about(desks, words),
    )
  if (decision === 'decline' && approval.state === 'pending' && isTooSoon(form)) {
    const notices = [words.answer.tooSoon]
    const body = show(approval, personAuth.formToken(request), words, desk, waitingIn(desks))
    return sendPage(response, 200, words.titles.approval, body, undefined, {
      ...about(desks, words),
      notices,
      answers: true,
      pictureFrom: 'self',
    })
  }
  const note = (form.get('note') ?? '').trim().slice(0, 1_000).toWellFormed()
  try {
    const unread = form.get('unread') === 'yes'
    desk.approvals.decide(id, { approve: decision === 'approve', by: 'person@page', unread, ...(note !== '' && { note }) })
  } catch (fault) {
    if (fault instanceof Fault && fault.reason === 'policy')
      throw new Refusal(400, 'Not all of it was shown: read the rest, or say on the form that you agree unread.')
    // Somebody was quicker; the page shows what they said.
    if (!(fault instanceof Fault) || fault.reason !== 'conflict') throw fault
  }
  goTo(response, afterOne(desks, id))
}

function show(approval: Approval, formToken: string, words: Words, { project }: Desk, left: number): Markup {
  const { card, state } = approval
  return html`<p>
      <a href="/approvals">${words.card.all}</a
      >${state === 'pending' && left > 1 ? html` · <span class="quiet">${words.answer.next(left)}</span>` : html``}
    </p>
    <h1>${oneLine(inWords(words, 'title', card.title), 200)}</h1>
    <p class="said">${riskMarkup(approval.risk, words)}</p>
    <p class="quiet said">${askedMarkup(approval, words)}${projectMarkup(project, words)}</p>
    ${cardMarkup(approval, words)} ${state === 'pending' ? form(formToken, approval, words) : outcome(approval, words)}`
}

function form(formToken: string, approval: Approval, words: Words): Markup {
  return html`<form
    class="answer"
    id="answer"
    method="post"
    action="/approvals/${approval.id}"
    aria-label="${words.answer.heading}"
  >
    <input type="hidden" name="form" value="${formToken}" />
    <input type="hidden" name="shown" value="${Date.now()}" />
    ${answeredElsewhereMarkup(approval.id)} ${unreadChoice(approval, words)}
    <textarea
      name="note"
      rows="1"
      maxlength="1000"
      accesskey="n"
      placeholder="${words.answer.note}"
      aria-label="${words.answer.note}"
    ></textarea>
    <button class="yes" name="decision" value="approve" accesskey="a">${words.answer.approve}</button
    ><button class="no" name="decision" value="decline" accesskey="d">${words.answer.decline}</button>
    <span class="quiet keys">${words.answer.keys}</span>
  </form>`
}

function outcome(approval: Approval, words: Words): Markup {
  const undo =
    approval.state === 'used' && approval.call !== undefined && approval.card.changes.length > 0
      ? html`<p>${words.answer.undo} <code>handrail undo ${approval.call}</code></p>`
      : html``
  return html`<p class="notice">${verdictMarkup(approval, words)}</p>
    ${undo}`
}
