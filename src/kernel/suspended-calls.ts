import type { ApprovalHead } from '../contracts/approval.ts'
import type { AuditEntry } from '../contracts/audit.ts'
import type { SuspendedCall } from '../contracts/call.ts'
import type { Fault } from '../contracts/faults/fault.ts'
import type { Ports } from './ports.ts'
import { declined, lapsed } from './question-faults.ts'
import { scrub } from './redacted-input.ts'

/** Whether a question can still be answered, or its yes used. */
export function stands({ state }: ApprovalHead): boolean {
  return state === 'pending' || state === 'approved'
}

/** The world moved under a question: it no longer counts, whatever was answered. */
export function withdrawQuestion({ audit, approvals }: Pick<Ports, 'audit' | 'approvals'>, asked: ApprovalHead): void {
  const { id, call, tool, session } = asked
  if (!approvals.move(id, 'pending', 'void')) return void approvals.move(id, 'approved', 'void')
  const by = 'withdrawn'
  audit.write({
    event: 'approval.decided',
    ...(call !== undefined && { call }),
    approval: id,
    approved: false,
    by,
    tool,
    session,
  })
}

/**
 * The question a call waits for no longer stands, and no request has the call in hand to hear of it: its end is written here, once.
 * To be called by whoever answered it, or found that it lapsed.
 */
export function endSuspended(
  { audit, suspended }: Pick<Ports, 'suspended'> & { audit: Pick<Ports['audit'], 'write'> },
  approval: Omit<ApprovalHead, 'card'>,
  request: string,
): void {
  const found = suspended.takeBy(approval.id, request)
  if (!found || found === 'held') return
  writeEnd(audit, found, approval.state === 'denied' ? declined(approval) : lapsed(approval))
  suspended.over(found.call, request)
}

/** The end of a call as it was prepared, with how it ended. */
export function writeEnd(
  audit: Pick<Ports['audit'], 'write'>,
  { ending, approval }: SuspendedCall,
  fault: Fault,
  more: Partial<AuditEntry> = {},
): void {
  const entry: AuditEntry = { ...(ending.at(-1) as AuditEntry), outcome: 'error', approval, ...more }
  blame(entry, fault)
  for (const line of [...ending.slice(0, -1), entry]) audit.write(line)
}

export function blame(entry: AuditEntry, fault: Fault): void {
  entry.error = fault.reason
  // What is wrong with bad arguments is said in terms of them, and they may hold anything.
  if (fault.reason !== 'bad-input') entry.message = scrub(fault.message)
}
