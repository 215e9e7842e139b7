import { Fault } from '../contracts/faults/fault.ts'
import type { Database } from '../host/database.ts'
import type { Lock } from '../host/lock.ts'
import { isRunning, ownName } from '../host/running.ts'
import { isInRoot } from '../text/root-path.ts'

/** A program that a person agreed to before it ran, and the part of the project it sees. */
interface Pin {
  call: string
  tool: string
  /** A folder of the project; the empty word is all of it. */
  scope: string
}

/** What must not change under a program, for every process on the project. */
export interface Pins {
  /**
   * Stands until it is released, its time is up, or its process is gone. Whoever is in the middle of a commit has not seen it and is
   * waited for; whoever comes later does.
   */
  put(pin: Pin, forMs: number, signal?: AbortSignal): Promise<() => void>
  /** Why these paths cannot be changed now: one lies under the pin of another call. To be sure, ask with the project's lock in hand. */
  conflict(paths: readonly string[], call: string): Fault | undefined
}

interface Row extends Pin {
  process: string
  until: number
}

export function openPins(db: Database, lock: Pick<Lock, 'hold'>): Pins {
  const own = ownName()
  const release = (call: string): void => void db.run('DELETE FROM pins WHERE call = ?', call)
  const covers = (pin: Row, paths: readonly string[]): boolean =>
    // Programs see nothing of further roots.
    paths.some((path) => (pin.scope === '' && !isInRoot(path)) || path === pin.scope || path.startsWith(`${pin.scope}/`))
  return {
    async put({ call, tool, scope }, forMs, signal) {
      const until = Date.now() + forMs
      db.run('DELETE FROM pins WHERE until < ?', Date.now())
      db.run(
        'INSERT OR REPLACE INTO pins (call, tool, scope, process, until) VALUES (?, ?, ?, ?, ?)',
        call,
        tool,
        scope,
        own,
        until,
      )
      try {
        await lock.hold(() => undefined, signal)
      } catch (fault) {
        release(call)
        throw fault
      }
      return () => release(call)
    },
    conflict(paths, call) {
      for (const pin of db.all<Row>('SELECT * FROM pins WHERE call != ?', call))
        if (!stands(pin)) release(pin.call)
        else if (covers(pin, paths)) return inTheWay(pin, paths)
      return undefined
    },
  }
}

function inTheWay({ call, tool, scope }: Pin, paths: readonly string[]): Fault {
  const where = scope === '' ? 'the project' : scope
  return new Fault('conflict', `${tool} is running on ${where} as a person saw it (${call}), so nothing is changed there now`, {
    details: { running: call, tool, paths: paths.slice(0, 20) },
    hint: 'Wait until that call has ended, then make this one again.',
  })
}

function stands({ process: name, until }: Row): boolean {
  return until >= Date.now() && isRunning(name)
}
