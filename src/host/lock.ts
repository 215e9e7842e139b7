import { setTimeout as pause } from 'node:timers/promises'
import { ToolError } from '../contracts/errors.ts'
import { openConnection } from './database.ts'

/**
 * One holder among all processes on a project. It rests on the lock of a small database file, which the system
 * gives back even when the holder is killed, so there is no stale lock to clean up.
 */
export interface Lock {
  /** Waits in turn without blocking the process. */
  hold<T>(act: () => T | Promise<T>, signal?: AbortSignal): Promise<T>
  /** For short work only: waits on the spot. */
  holdNow<T>(act: () => T): T
  close(): void
}

const patienceMs = 30_000

export function openLock(path: string): Lock {
  const connection = openConnection(path)
  let patient = false
  /** Set once by whoever uses it; both kinds of waiting on one lock are rare. */
  const wait = (long: boolean): void => {
    if (long === patient) return
    connection.exec(`PRAGMA busy_timeout = ${long ? 10_000 : 0}`)
    patient = long
  }
  // Nothing is ever written to it, so the journal that taking the lock would create on disk can stay in memory.
  connection.exec('PRAGMA busy_timeout = 10000; PRAGMA journal_mode = MEMORY; PRAGMA busy_timeout = 0')
  let line: Promise<unknown> = Promise.resolve()
  const take = async (signal: AbortSignal | undefined): Promise<void> => {
    const until = performance.now() + patienceMs
    for (let wait = 1; ; wait = Math.min(wait * 1.5, 8)) {
      if (tryTake()) return
      signal?.throwIfAborted()
      if (performance.now() > until)
        throw new ToolError('E_TIMEOUT', 'Another Handrail process holds this project for longer than 30 s', {
          hint: 'Find it with `handrail doctor`; a stopped (not killed) process keeps its lock.',
        })
      await pause(wait + Math.random() * wait)
    }
  }
  const tryTake = (): boolean => {
    wait(false)
    try {
      connection.exec('BEGIN EXCLUSIVE')
      return true
    } catch (cause) {
      if (/locked|busy/i.test((cause as Error).message)) return false
      throw lockFault(cause)
    }
  }
  const release = (): void => connection.exec('ROLLBACK')
  return {
    hold(act, signal) {
      const turn = line.then(async () => {
        signal?.throwIfAborted()
        await take(signal)
        try {
          return await act()
        } finally {
          release()
        }
      })
      line = turn.catch(() => undefined)
      return turn
    },
    holdNow(act) {
      wait(true)
      try {
        connection.exec('BEGIN EXCLUSIVE')
      } catch (cause) {
        throw lockFault(cause)
      }
      try {
        return act()
      } finally {
        release()
      }
    },
    close: () => connection.close(),
  }
}

function lockFault(cause: unknown): ToolError {
  return new ToolError('E_IO', `The project cannot be locked: ${(cause as Error).message}`, {
    hint: 'Is the disk full, or was the project folder moved while Handrail was running? Start it again.',
    cause,
  })
}
