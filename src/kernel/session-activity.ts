import { Fault } from '../contracts/faults/fault.ts'
import type { Operator } from '../contracts/operator.ts'
import { plainly } from './granting.ts'

const longestPath = 1_000

interface SessionActivity {
  /** A session is at work. */
  called(session: string, peer: string | undefined): void
  /** It was refused a path. */
  refused(session: string, path: string): void
}

/** Calls, with a note of who is at work and who was refused which path: for the person who is asked whose a grant shall be. */
export function withSessionActivity(call: Operator['call'], sessions: SessionActivity): Operator['call'] {
  return async (name, input, caller, options) => {
    ifPossible(() => sessions.called(caller.session, caller.peer))
    try {
      return await call(name, input, caller, options)
    } catch (fault) {
      if (!(fault instanceof Fault) || fault.reason !== 'path-denied') throw fault
      const path = fault.details?.['path']
      // Names can be borrowed: whom a person shall let through, the agent says by this.
      Object.assign(fault, { details: { ...fault.details, session: caller.session } })
      if (typeof path === 'string' && path.length <= longestPath && caller.role !== 'person')
        ifPossible(() => sessions.refused(caller.session, plainly(path)))
      throw fault
    }
  }
}

/** Where the disk is full, what only reads goes on. */
function ifPossible(act: () => void): void {
  try {
    act()
  } catch {
    // It is a convenience; the log has the call.
  }
}
