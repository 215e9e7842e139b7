import type { Approval, ApprovalHead, Decision, TextPart } from '../contracts/approval.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { Operator } from '../contracts/operator.ts'
import type { AuditPort, SuspendedPort } from './ports.ts'
import { scrub } from './redacted-input.ts'
import { endSuspended } from './suspended-calls.ts'

/** Where questions and answers are kept, and the stages that wait for them. */
export interface DecisionPorts {
  approvals: Pick<Operator['approvals'], 'list' | 'count' | 'get'> & {
    head(id: string): ApprovalHead | undefined
    text(id: string, path: string, from: number): TextPart | undefined
    /** False where it was not pending any more. It counts only if it could be recorded. */
    decide(id: string, decision: Decision, record: () => void): boolean
    lift(id: string, record: (denied: ApprovalHead) => void): ApprovalHead
  }
  audit: Pick<AuditPort, 'write'>
  suspended: SuspendedPort
  stages: {
    forget(approval: string): void
    part(approval: string, path: string, from: number): Promise<TextPart | undefined>
    picture: Operator['approvals']['picture']
  }
}

/** The person's answers: each is in the log before it counts. */
export function decisions({ approvals, audit, suspended, stages }: DecisionPorts): Operator['approvals'] {
  return {
    list: approvals.list,
    count: approvals.count,
    get: approvals.get,
    state: (id) => approvals.head(id)?.state,
    text: async (id, path, from = 0) => approvals.text(id, path, from) ?? stages.part(id, path, from),
    picture: stages.picture,
    lift: (id, by) =>
      approvals.lift(id, ({ tool, session }) => audit.write({ event: 'approval.lifted', approval: id, by, tool, session }, true)),
    decide(id, decision) {
      const asked = approvals.head(id)
      if (!asked) throw new Fault('not-found', `No such approval: ${id}`, { hint: '`handrail approvals list` shows what waits.' })
      const unread = decision.approve && !asked.whole
      const decided = approvals.decide(id, decision, () =>
        audit.write(
          {
            event: 'approval.decided',
            ...(asked.call !== undefined && { call: asked.call }),
            approval: id,
            approved: decision.approve,
            by: scrub(decision.by),
            tool: asked.tool,
            session: asked.session,
            inputDigest: asked.inputDigest,
            ...(unread && { details: { unread: true } }),
            ...(decision.note !== undefined && { message: scrub(decision.note) }),
          },
          true,
        ),
      )
      const now = approvals.get(id) as Approval
      if (now.state === 'denied') stages.forget(id)
      if (decided && now.state === 'denied') endSuspended({ audit, suspended }, now, id)
      if (!decided)
        throw new Fault('conflict', `This approval is already ${now.state}`, {
          details: { approvalId: id },
          hint: 'A decision is final; the agent can ask again.',
        })
      return now
    },
  }
}
