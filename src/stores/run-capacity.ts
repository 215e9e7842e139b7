import { Fault } from '../contracts/faults/fault.ts'
import type { RunCapacity } from '../contracts/run-ports.ts'
import type { Database, SqlValue } from '../host/database.ts'
import type { RunSteps } from './run-steps.ts'

/** Of what may go, so many rows go at once, and no more once they were this large: whoever comes by next takes more of them. */
const few = 500
const fewBytes = 33_554_432

/** Only these may be forgotten. */
export const ended = `status NOT IN ('queued', 'running')`
const late = 'expires_at IS NOT NULL AND expires_at <= ?'

/** How many runs there are, how much they take, and which go where that is too much. */
export function openRunCapacity(db: Database, steps: RunSteps) {
  const count = (where: string, ...values: SqlValue[]): number =>
    db.get<{ n: number | null }>(`SELECT sum(n) AS n FROM run_counts WHERE ${where}`, ...values)?.n ?? 0
  const taken = (): number => db.get<{ n: number }>('SELECT n FROM run_bytes')?.n ?? 0

  /** How many went. */
  const forget = (where: string, ...values: SqlValue[]): number => {
    const going = db.all<{ id: string; bytes: number | null }>(
      `SELECT id, bytes FROM runs WHERE ${where} LIMIT ${few}`,
      ...values,
    )
    let room = fewBytes
    let gone = 0
    for (const { id, bytes } of going) {
      if (room < 0) break
      gone++
      room -= bytes ?? 0
      db.run('DELETE FROM runs WHERE id = ?', id)
      db.run('DELETE FROM run_bodies WHERE run = ?', id)
      steps.forget(id)
    }
    return gone
  }
  /** Of the ended the oldest go, where there are more than are kept. Whether there is room now, or will be. */
  const make = ({ most, bytes }: RunCapacity): boolean =>
    count('true') >= most || taken() > bytes ? forget(`${ended} ORDER BY seq`) > 0 || taken() <= bytes : true

  return {
    count,
    forget,
    make,
    /** Whether some went: then there may be more. */
    forgetOld(): boolean {
      if (db.get(`SELECT 1 FROM runs WHERE ${late} LIMIT 1`, Date.now()) === undefined) return false
      return db.transaction(() => forget(late, Date.now())) > 0
    },
    /** Throws where one more of theirs cannot wait for its turn. */
    mustHave(holder: string, capacity: RunCapacity): void {
      const mine = db.get<{ queued: number }>('SELECT queued FROM run_turns WHERE holder = ?', holder)?.queued ?? 0
      if (mine >= capacity.queuedEach)
        throw full(`${mine} runs of yours wait for their turn already`, { waiting: mine, yours: true })
      const waiting = count(`status = 'queued'`)
      if (waiting >= capacity.queued) throw full(`${waiting} runs wait for their turn already`, { waiting })
      if (!make(capacity)) throw full('Runs that wait or are under way take all the room there is', { bytes: taken() })
    },
  }
}

function full(says: string, details: Record<string, unknown>): Fault {
  return new Fault('busy', says, {
    details,
    hint: (name) => `Wait for some to end, or cancel some: ${name('list_task_runs')} shows them.`,
  })
}
