import { Fault } from '../../contracts/faults/fault.ts'
import type { Question } from '../../contracts/question.ts'
import { Refusal } from '../../contracts/refusal.ts'
import { redactForAgent } from '../../text/redact-for-agent.ts'
import { oneLine, printableInline } from '../../text/printable.ts'
import { rowsOf } from '../../text/rows.ts'
import type { Incoming, Route } from '../listen.ts'
import type { PersonAuth } from '../person-auth.ts'
import { width } from './change.ts'
import { about, deskWith, type Desk, type Desks } from './desks.ts'
import { answeredElsewhereMarkup } from './answered-elsewhere.ts'
import { goTo, html, sendPage, type Markup } from './html.ts'
import { wordsFor } from './language.ts'
import { answeredMarkup, projectMarkup, timeMarkup } from './list.ts'
import { afterOne, isTooSoon, justAnswered } from './next.ts'
import type { Words } from './words.ts'

const longestAnswer = 10_000

/** Questions in words: what an agent offers as answers are buttons, and a person may always say something else. Nothing is allowed by it. */
export function questionPages(desks: Desks, personAuth: PersonAuth): Record<'/questions/*', Route> {
  const show = (incoming: Incoming, desk: Desk, question: Question, notices: readonly string[] = []): void => {
    const { request, response, query } = incoming
    const words = wordsFor(request)
    const answers = question.answer === undefined
    const body = html`${justAnswered(desks, query, words)} ${questionMarkup(question, words, desk.project)}
    ${answers ? form(personAuth.formToken(request), question, words) : outcome(question, words)}`
    sendPage(response, 200, words.titles.question, body, undefined, {
      ...about(desks, words),
      answers,
      notices,
      pictureFrom: 'self',
    })
  }
  return {
    '/questions/*': {
      for: 'person',
      methods: ['GET', 'POST'],
      async handle(incoming) {
        const { request, response, path } = incoming
        const words = wordsFor(request)
        const id = path.slice('/questions/'.length)
        const desk = deskWith(desks, id)
        const question = desk?.questions.get(id)
        if (!desk || !question)
          return sendPage(
            response,
            404,
            words.titles.notFound,
            html`<h1>${words.questions.noSuch}</h1>
              <p><a href="/approvals">${words.card.all}</a></p>`,
          )
        if (request.method !== 'POST') return show(incoming, desk, question)
        // An answer in words may be in any script: three bytes a letter, each written as three characters, and what the form adds.
        const form = new URLSearchParams((await incoming.body()).toString('utf8', 0, longestAnswer * 9 + 2_000))
        if (form.get('form') !== personAuth.formToken(request))
          throw new Refusal(403, 'This form was not made here; open the page again.')
        if (question.answer !== undefined) return show(incoming, desk, question, [words.questions.already])
        if (isTooSoon(form)) return show(incoming, desk, question, [words.answer.tooSoon])
        const answer = answerIn(form, question)
        if (answer === undefined) return show(incoming, desk, question, [words.questions.empty])
        try {
          desk.questions.answer(question.id, answer, 'person@page')
        } catch (fault) {
          // Somebody was quicker; the page shows what they said.
          if (!(fault instanceof Fault) || fault.reason !== 'conflict') throw fault
        }
        goTo(response, afterOne(desks, question.id))
      },
    },
  }
}

/** What was pressed or typed; nothing where there are no words in it. */
function answerIn(form: URLSearchParams, { options }: Question): string | undefined {
  const chosen = form.get('choice')
  if (chosen !== 'own') return /^\d{1,2}$/.test(chosen ?? '') ? options[Number(chosen)] : undefined
  const typed = (form.get('own') ?? '').replaceAll('\r\n', '\n').trim().slice(0, longestAnswer).toWellFormed()
  return typed === '' ? undefined : redactForAgent(typed)
}

/** The words are an agent's: they stand behind a bar. */
function questionMarkup({ client, text, askedAt }: Question, words: Words, project: string): Markup {
  const rows = text.split('\n').flatMap((line) => rowsOf(`| ${printableInline(line)}`, '| … ', width))
  return html`<p><a href="/approvals">${words.card.all}</a></p>
    <h1>${words.questions.asks(oneLine(client, 80))}</h1>
    <pre class="diff printed">${rows.map((row) => html`<b>${row}</b>`)}</pre>
    <p class="quiet said">${timeMarkup(askedAt, words)}${projectMarkup(project, words)}</p>`
}

function form(formToken: string, { id, options }: Question, words: Words): Markup {
  return html`<form class="answer" id="answer" method="post" action="/questions/${id}" aria-label="${words.answer.heading}">
    <input type="hidden" name="form" value="${formToken}" />
    <input type="hidden" name="shown" value="${Date.now()}" />
    ${answeredElsewhereMarkup(id)}
    <p class="quiet">${words.questions.means}</p>
    <div class="options">
      ${options.map((option, at) => html`<button name="choice" value="${at}" accesskey="${(at + 1) % 10}">${at + 1}. ${printableInline(option)}</button>`)}
    </div>
    <textarea
      name="own"
      rows="2"
      maxlength="${longestAnswer}"
      accesskey="n"
      placeholder="${words.questions.own}"
      aria-label="${words.questions.own}"
    ></textarea>
    <button class="yes" name="choice" value="own">${words.questions.send}</button>
  </form>`
}

function outcome(question: Question, words: Words): Markup {
  return html`<p class="notice">${answeredMarkup(question, words)}</p>`
}
