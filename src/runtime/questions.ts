import type { ClientForms } from '../contracts/client-forms.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { Operator } from '../contracts/operator.ts'
import type { Question } from '../contracts/question.ts'
import { awaitDecision } from '../kernel/await-decision.ts'
import { withoutPersonKeys } from '../text/redact-for-agent.ts'
import { redact } from '../text/redact/redact.ts'
import { scrub } from '../text/redact/scrub.ts'
import type { AuditStore } from '../stores/audit.ts'
import type { NewQuestion, QuestionStore } from '../stores/questions.ts'

/** Questions in words, from whoever asks them to whoever answers first: every answer is in the log, and tells all who wait for it. */
export function openAsking(questions: QuestionStore, audit: Pick<AuditStore, 'note' | 'write' | 'subscribe'>) {
  const keepable = ({ text, options, ...asker }: NewQuestion): NewQuestion => ({
    ...asker,
    text: redact(text),
    options: options.map((option) => redact(option)),
  })
  /** In the log for whoever calls the person; what is asked is not. */
  const told = ({ isNew, ...question }: Question & { isNew?: true }): Question => {
    const { id, session, client } = question
    if (isNew) audit.note({ event: 'question.asked', session, client, details: { question: id } })
    return question
  }
  /** In the log before it counts, as with approvals: an answer that nothing tells of would reach the agent all the same. */
  const record =
    ({ id, session, client }: Question, answer: string, by: string) =>
    (): void =>
      audit.write({ event: 'question.answered', session, client, by, message: scrub(answer), details: { question: id } }, true)

  /** The person's, where no agent gets in. */
  const person: Operator['questions'] = {
    list: (all = false) => questions.list(all),
    count: () => questions.count(),
    get: (id) => questions.get(id),
    answer(id, words, by) {
      const answer = withoutPersonKeys(words)
      const asked = questions.get(id)
      if (!asked) throw new Fault('not-found', `No such question: ${id}`, { hint: '`handrail questions` lists those that wait.' })
      if (!questions.answer(id, answer, by, record(asked, answer, by)))
        throw new Fault('conflict', `This question is answered already: ${questions.get(id)?.answer ?? ''}`, {
          hint: '`handrail questions list --all` shows the answers.',
        })
      return questions.get(id) ?? asked
    },
  }

  const words: ClientForms['words'] = {
    put: (asked, { session, client }) => told(questions.put(keepable({ ...asked, session, client }))),
    answered: (id, signal) =>
      awaitDecision(audit, () => (questions.get(id)?.answer === undefined ? 'pending' : 'used'), { id }, signal),
  }

  /** The tool's: what a form brought counts where nobody was quicker. */
  const ask = (question: NewQuestion, answer: string | undefined): Question => {
    const asked = told(questions.ask(keepable(question)))
    if (asked.answer !== undefined || answer === undefined) return asked
    const by = `form@${question.client}`
    if (!questions.answer(asked.id, redact(answer), by, record(asked, answer, by), true)) return questions.ask(keepable(question))
    return { ...asked, answer }
  }
  return { person, words, ask }
}
