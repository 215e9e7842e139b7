import type { ApprovalHead } from '../contracts/approval.ts'
import type { Lock } from '../host/lock.ts'
import type { RootLocks } from '../host/root-locks.ts'
import type { QuestionEnd } from '../host/stage/records.ts'
import type { Stages } from '../host/stage/stages.ts'
import { runToEnd } from '../text/steps.ts'
import { scrub } from '../text/redact/scrub.ts'
import type { ApprovalStore } from './approvals.ts'
import type { AuditStore } from './audit.ts'
import type { openJournal } from './journal.ts'
import type { Recovered } from './recover.ts'
import type { SnapshotStore } from './snapshots.ts'
import type { SuspendedStore } from './suspended.ts'

/** Paths that one line of the log names. */
const mostTold = 200

export interface RecoveryParts {
  audit: AuditStore
  snapshots: SnapshotStore
  journal: ReturnType<typeof openJournal>
  approvals: Pick<ApprovalStore, 'head' | 'halfAnswered'>
  suspended: Pick<SuspendedStore, 'isHeld'>
  lock: Lock
  rootLocks: Pick<RootLocks, 'hold' | 'holdNow'>
  /** The folders of further roots that killed processes left a change in. */
  pendingIn: () => string[]
}

/** Puts right what killed processes left, and writes down what became of it. */
export interface Recovery {
  /** Before anybody can call. */
  atStart(stages: Pick<Stages, 'sweep'>): void
  /** Before each change, with the lock held. */
  again(): Promise<void>
}

export function openRecovery(parts: RecoveryParts): Recovery {
  const { audit, snapshots, journal, approvals, suspended, lock, rootLocks, pendingIn } = parts
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
  return {
    atStart(stages) {
      if (snapshots.hasPending()) lock.holdNow(() => rootLocks.holdNow(pendingIn(), () => tell(journal.recoverNow())))
      approvals.halfAnswered()
      const endOf = (id: string): QuestionEnd => {
        const state = approvals.head(id)?.state ?? ''
        // Between using a yes and taking the stage it was for there is a moment in which another process may start.
        if (['pending', 'approved'].includes(state) || (state === 'used' && suspended.isHeld(id))) return 'stands'
        return state === 'used' ? 'used' : 'gone'
      }
      stages.sweep(endOf, ({ call, session, tool, confined }, made) => {
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
    },
    async again() {
      if (snapshots.hasPending()) await rootLocks.hold(pendingIn(), async () => tell(await journal.recover()))
    },
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
