import type { ApprovalHead } from '../../contracts/approval.ts'
import type { Operator } from '../../contracts/operator.ts'
import { basename } from 'node:path'
import { bell, oneLine } from './print.ts'

type Notify = ((title: string, body: string) => void) | undefined

/** Tells the person that something waits for them: the terminal rings, and their desktop shows it where it can. */
export function callPerson(runtime: Pick<Operator, 'project'>, { card, risk, client }: ApprovalHead, notify: Notify): void {
  bell()
  notify?.(
    `Handrail: ${oneLine(basename(runtime.project), 40)} asks (${risk})`,
    `${oneLine(client, 40)}: ${oneLine(card.title, 160)}`,
  )
}

/** The same for every question that comes, until it is stopped. */
export function callPersonAlways(runtime: Operator, notify: Notify, tell: (asked: ApprovalHead) => void): () => void {
  return runtime.audit.subscribe({ events: (event) => event === 'approval.requested' }, (lines) => {
    const ids = new Set(lines.map(({ approval }) => approval))
    const asked = runtime.approvals.list('pending', { limit: 20 }).filter(({ id }) => ids.has(id))
    for (const one of asked.toReversed()) {
      callPerson(runtime, one, notify)
      tell(one)
    }
  })
}
