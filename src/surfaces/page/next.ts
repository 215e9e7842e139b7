import { oneLine } from '../../text/printable.ts'
import { deskWith, type Desks } from './desks.ts'
import { html, type Markup } from './html.ts'
import { answeredMarkup, verdictMarkup } from './list.ts'
import { inWords, type Words } from './words.ts'

/** An answer of one press: one that comes as soon as the question is there was meant for the question before it. */
const soonestMs = 700

export const isTooSoon = (form: URLSearchParams): boolean => Date.now() - Number(form.get('shown') ?? 0) < soonestMs

/** Where an answer leads: to the one that has waited longest, so that nobody waits for ever behind those that keep coming. */
export function afterOne(desks: Desks, id: string): string {
  const oldest = desks()
    .flatMap(({ approvals, questions }) => {
      const approval = approvals.list('pending').at(-1)
      const question = questions.list().at(0)
      return [
        ...(approval ? [{ at: approval.createdAt, path: `/approvals/${approval.id}` }] : []),
        ...(question ? [{ at: question.askedAt, path: `/questions/${question.id}` }] : []),
      ]
    })
    .toSorted((a, b) => a.at - b.at)[0]
  return `${oldest?.path ?? '/approvals'}?after=${id}`
}

/** What became of the question before this one. */
export function justAnswered(desks: Desks, query: URLSearchParams, words: Words): Markup {
  const id = query.get('after') ?? ''
  const desk = deskWith(desks, id)
  const question = desk?.questions.get(id)
  if (question?.answer !== undefined)
    return html`<div class="notice" role="status">
      ${answeredMarkup(question, words)} <a href="/questions/${id}">${oneLine(question.text, 120)}</a>
    </div>`
  const approval = question ? undefined : desk?.approvals.get(id)
  if (!approval || approval.state === 'pending') return html``
  return html`<div class="notice" role="status">
    ${verdictMarkup(approval, words)}:
    <a href="/approvals/${id}">${oneLine(inWords(words, 'title', approval.card.title), 120)}</a>
  </div>`
}
