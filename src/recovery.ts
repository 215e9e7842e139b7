import type { ApprovalHead } from './contracts/approval.ts'
import type { AuditLine } from './contracts/audit.ts'
import type { Lock } from './host/lock.ts'
import type { Stages } from './host/stage/stages.ts'
import { runToEnd } from './text/steps.ts'
import { scrub } from './kernel/redacted-input.ts'
import { Fault } from './contracts/faults/fault.ts'
import { declined, lapsed } from './kernel/question-faults.ts'
import { writeEnd } from './kernel/suspended-calls.ts'
import type { ApprovalStore } from './stores/approvals.ts'
import type { AuditStore } from './stores/audit.ts'
import type { openJournal } from './stores/journal.ts'
import type { Recovered } from './stores/recover.ts'
import type { SnapshotStore } from './stores/snapshots.ts'
import type { SuspendedStore } from './stores/suspended.ts'

/** Paths that one line of the log names. */
const mostTold = 200

export interface RecoveryParts {
  audit: AuditStore
  snapshots: SnapshotStore
  journal: ReturnType<typeof openJournal>
  approvals: Pick<ApprovalStore, 'head' | 'halfAnswered' | 'move'>
  suspended: SuspendedStore
  stages: Stages
  lock: Lock
}

/** Puts right what killed processes left, and writes down what became of it. Returns what to do again before each change, with the lock held. */
export function recoverFrom(parts: RecoveryParts): () => Promise<void> {
  const { audit, snapshots, journal, approvals, stages, lock } = parts
  const tell = (recovered: readonly Recovered[]): void => {
    for (const { call, landed, changes, leftAsFound } of recovered)
      audit.write(
        {
          event: 'recovered',
          ...(call !== null && { call }),
          message: whatBecame(landed, leftAsFound.length),
          snapshots: changes.map(({ id }) => id),
          touches: changes.slice(0, mostTold).map(({ path }) => ({ path: scrub(path), access: 'write' })),
          ...(leftAsFound.length && { details: { leftAsFound: leftAsFound.slice(0, mostTold).map(scrub) } }),
        },
        true,
      )
  }
  if (snapshots.hasPending()) lock.holdNow(() => tell(journal.recoverNow()))
  approvals.halfAnswered()
  const questionStands = (id: string): boolean => ['pending', 'approved'].includes(approvals.head(id)?.state ?? '')
  stages.sweep(questionStands, ({ call, session, tool, confined }, made) => {
    // Killed between its commit, or the record of what it did, and the end of the call: that counts, and is kept already.
    const known = runToEnd(snapshots.ofCall(call))
    const states =
      made.length && !known.length
        ? lock.holdNow(() =>
            journal.recordNow(made, { call, session, idempotencyKey: null }).written.map((one) => one.snapshotId),
          )
        : known.map((one) => one.id)
    const message = !confined
      ? `the process died while a program ran unconfined; ${states.length} changes it had made are kept for undo`
      : known.length
        ? `the process died after the changes of its program had landed; ${known.length} of them are kept for undo`
        : 'the process died before anything its program did had landed; the project is as it was before'
    audit.write({ event: 'recovered', call, session, tool, message, ...(states.length && { snapshots: states }) })
  })
  recoverSuspended(parts)
  settleSuspended(parts)
  return async () => {
    if (snapshots.hasPending()) tell(await journal.recover())
  }
}

function whatBecame(landed: boolean, theirs: number): string {
  const paths = `${theirs} path(s) that somebody else has changed since`
  if (landed && theirs) return `a change of a killed process had landed and is kept, but for ${paths}: they are left as found`
  if (landed) return 'a change of a killed process had landed; all of it is kept'
  if (theirs) return `nothing of a change of a killed process is in place; it is dropped, and ${paths} are left as found`
  return 'a change of a killed process had not landed; it is dropped, and the project is as it was before'
}

/** Says of an answer in the log that it does not count, where the process that wrote it died before the store had it; once. */
export function tellHalfAnswer({ id, tool, session }: ApprovalHead, audit: AuditStore): void {
  const [last] = audit.last(
    1,
    ({ event, approval }) => approval === id && (event === 'approval.decided' || event === 'recovered'),
  )
  if (last?.event !== 'approval.decided') return
  const said = last.approved === true ? 'yes' : 'no'
  const message = `the process died while it wrote an answer down; the ${said} in entry ${last.seq} does not count, and the question waits for another`
  audit.write({ event: 'recovered', approval: id, session, tool, message }, true)
}

/** A name for whoever puts calls right that others left. */
const request = 'recovery'

/** Calls whose process was killed while they waited: they wait on, for the same call to be made again, unless nobody was ever asked. */
function recoverSuspended({ audit, approvals, suspended }: Pick<RecoveryParts, 'audit' | 'approvals' | 'suspended'>): void {
  for (const found of suspended.left(request)) {
    const { call, approval, ending } = found
    const told = newestOf(audit, call)
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
export function settleSuspended({
  audit,
  snapshots,
  approvals,
  suspended,
}: Pick<RecoveryParts, 'audit' | 'snapshots' | 'approvals' | 'suspended'>): void {
  for (const found of suspended.unanswerable(request)) {
    const { call, left } = found
    const asked = approvals.head(found.approval)
    if (!left || newestOf(audit, call)?.event !== 'call.end') {
      const states = asked?.state === 'used' ? runToEnd(snapshots.ofCall(call)).map((one) => one.id) : []
      const fault =
        !asked || asked.state === 'used'
          ? died('while it was carried out')
          : asked.state === 'denied'
            ? declined(asked)
            : lapsed(asked)
      writeEnd(audit, found, fault, { ...(states.length > 0 && { snapshots: states }) })
    }
    suspended.over(call, request)
  }
}

function newestOf(audit: AuditStore, call: string): AuditLine | undefined {
  return audit.last(1, (line) => line.call === call, [call])[0]
}

function died(when: string): Fault {
  return new Fault('io', `The process died ${when}`, { hint: 'Look at the files, then make the call again.' })
}
