import { Fault } from '../contracts/faults/fault.ts'
import type { Operator } from '../contracts/operator.ts'
import { scrub } from '../text/redact/scrub.ts'
import type { AuditStore } from '../stores/audit.ts'
import type { QuestionStore } from '../stores/questions.ts'

/** The person's answers to what agents ask in words: in the log as every answer of theirs. */
export function answering(questions: QuestionStore, audit: Pick<AuditStore, 'note'>): Operator['questions'] {
  return {
    list: (all = false) => questions.list(all),
    get: (id) => questions.get(id),
    answer(id, answer, by) {
      const asked = questions.get(id)
      if (!asked) throw new Fault('not-found', `No such question: ${id}`, { hint: '`handrail questions` lists those that wait.' })
      if (!questions.answer(id, answer, by))
        throw new Fault('conflict', `This question is answered already: ${asked.answer ?? ''}`, {
          hint: '`handrail questions list --all` shows the answers.',
        })
      const { session, client } = asked
      audit.note({ event: 'question.answered', session, client, by, message: scrub(answer), details: { question: id } })
      return questions.get(id) ?? asked
    },
  }
}
