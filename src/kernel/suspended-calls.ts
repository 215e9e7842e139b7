import type { ApprovalHead } from '../contracts/approval.ts'
import type { AuditEntry, AuditLine } from '../contracts/audit.ts'
import type { SuspendedCall } from '../contracts/call.ts'
import { errorCodeOf } from '../contracts/faults/contract-000.ts'
import { Fault } from '../contracts/faults/fault.ts'
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
  entry.error = errorCodeOf(fault)
  entry.reason = fault.reason
  // What is wrong with bad arguments is said in terms of them, and they may hold anything.
  if (fault.reason !== 'bad-input') entry.message = scrub(fault.message)
}

/** What it takes to put right what killed processes left of calls that wait. */
export interface LeftCalls {
  audit: Pick<Ports['audit'], 'write'> & {
    last(count: number, fits: (line: AuditLine) => boolean, holding: readonly string[]): AuditLine[]
  }
  /** The states of files that a call left, by their ids. */
  statesOf(call: string): string[]
  approvals: Pick<Ports['approvals'], 'head' | 'move'>
  suspended: Pick<Ports['suspended'], 'release' | 'over'> & {
    /** Those whose process is gone, their question standing. */
    left(request: string): Iterable<SuspendedCall>
    /** Those whose question no longer stands; `left`: their process is gone, and may have told the end. */
    unanswerable(request: string): Iterable<SuspendedCall & { left: boolean }>
  }
}

/** A name for whoever puts calls right that others left. */
const request = 'recovery'

/** Calls whose process was killed while they waited: they wait on, for the same call to be made again, unless nobody was ever asked. */
export function recoverSuspended({ audit, approvals, suspended }: LeftCalls): void {
  for (const found of suspended.left(request)) {
    const { call, approval, ending } = found
    const told = newestOf(audit, call)
    if (found.follows) {
      endFollowing(audit, found, told)
      suspended.over(call, request)
      continue
    }
    if (told?.approval === approval) {
      suspended.release(call, ending, request)
      continue
    }
    approvals.move(approval, 'pending', 'void')
    if (told) writeEnd(audit, found, died('before its question was put'))
    suspended.over(call, request)
  }
}

/** Calls whose question no longer stands and whose end nobody has told: their process, or the one that answered, was killed. */
export function settleSuspended({ audit, statesOf, approvals, suspended }: LeftCalls): void {
  for (const found of suspended.unanswerable(request)) {
    const { call, left } = found
    const asked = approvals.head(found.approval)
    if (found.follows) endFollowing(audit, found, newestOf(audit, call))
    else if (!left || newestOf(audit, call)?.event !== 'call.end') {
      const states = asked?.state === 'used' ? statesOf(call) : []
      const isUsed = !asked || asked.state === 'used'
      const fault = isUsed ? died('while it was carried out') : asked.state === 'denied' ? declined(asked) : lapsed(asked)
      writeEnd(audit, found, fault, states.length > 0 ? { snapshots: states } : {})
    }
    suspended.over(call, request)
  }
}

/** It waited for what the same call had asked; that one goes on with the answer. */
function endFollowing(audit: LeftCalls['audit'], found: SuspendedCall, told: AuditLine | undefined): void {
  if (told?.event !== 'call.end') writeEnd(audit, found, died('while it waited for the answer to the same call'))
}

function newestOf(audit: LeftCalls['audit'], call: string): AuditLine | undefined {
  return audit.last(1, (line) => line.call === call, [call])[0]
}

function died(when: string): Fault {
  return new Fault('io', `The process died ${when}`, { hint: 'Look at the files, then make the call again.' })
}
