import { Fault } from '../contracts/faults/fault.ts'
import type { Operator } from '../contracts/operator.ts'
import { plainly } from './granting.ts'

const longestPath = 1_000

interface Attendance {
  /** A session is at work. */
  called(session: string): void
  /** It was refused a path. */
  refused(session: string, path: string): void
}

/** Calls, with a note of who is at work and who was refused which path: for the person who is asked whose a grant shall be. */
export function attended(call: Operator['call'], sessions: Attendance): Operator['call'] {
  return async (name, input, caller, options) => {
    ifPossible(() => sessions.called(caller.session))
    try {
      return await call(name, input, caller, options)
    } catch (fault) {
      const path = fault instanceof Fault && fault.reason === 'path-denied' ? fault.details?.['path'] : undefined
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
