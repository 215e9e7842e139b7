import type { AuditLine } from '../contracts/audit.ts'

/** Whether a line tells of the answer to this question, be it about a call or in words. */
export function isAnswerTo(id: string, { event, approval, details }: AuditLine): boolean {
  if (event === 'approval.decided') return approval === id
  return event === 'question.answered' && (details as { question?: unknown } | undefined)?.question === id
}
