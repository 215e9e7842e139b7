import type { ApprovalHead } from '../../contracts/approval.ts'
import type { Operator } from '../../contracts/operator.ts'
import type { Question } from '../../contracts/question.ts'
import { basename } from 'node:path'
import { bell, oneLine } from './print.ts'

type Notify = ((title: string, body: string) => void) | undefined

/** Tells the person that something waits for them: the terminal rings, and their desktop shows it where it can. */
export function callPerson(runtime: Pick<Operator, 'project'>, { card, risk, client }: ApprovalHead, notify: Notify): void {
  ring(runtime, ` (${risk})`, client, card.title, notify)
}

/** The same for a question in words. */
export function callToQuestion(runtime: Pick<Operator, 'project'>, { client, text }: Question, notify: Notify): void {
  ring(runtime, '', client, text, notify)
}

function ring({ project }: Pick<Operator, 'project'>, how: string, client: string, what: string, notify: Notify): void {
  bell()
  notify?.(`Handrail: ${oneLine(basename(project), 40)} asks${how}`, `${oneLine(client, 40)}: ${oneLine(what, 160)}`)
}

/** The same for everything that is asked, until it is stopped. */
export function callPersonAlways(
  runtime: Operator,
  notify: Notify,
  tell: { approval(asked: ApprovalHead): void; question(asked: Question): void },
): () => void {
  const events = ['approval.requested', 'question.asked']
  return runtime.audit.subscribe({ events: (event) => events.includes(event) }, (lines) => {
    const ids = new Set<unknown>(
      lines.map(({ approval, details }) => approval ?? (details as { question?: unknown } | undefined)?.question),
    )
    for (const one of runtime.approvals.list('pending', { limit: 20 }).toReversed()) {
      if (!ids.has(one.id)) continue
      callPerson(runtime, one, notify)
      tell.approval(one)
    }
    for (const one of runtime.questions.list().filter(({ id }) => ids.has(id))) {
      callToQuestion(runtime, one, notify)
      tell.question(one)
    }
  })
}
