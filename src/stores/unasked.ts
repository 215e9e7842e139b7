import type { Extent } from '../contracts/stage.ts'
import type { Database } from '../host/database.ts'

/** What programs did lately that nobody was asked about: of all agents and all processes on the project together. */
export interface UnaskedStore {
  sum(): Extent
  add(extent: Extent): void
  /** A person has looked at the sum. */
  clear(): void
}

/** Two of these are looked back at most, one at least. */
const periodMs = 1_800_000

export function openUnasked(db: Database, now: () => number = Date.now): UnaskedStore {
  /** A clock that was set back is none to count by: nothing is forgotten. */
  const period = (): number => {
    const { newest } = db.get<{ newest: number | null }>('SELECT max(period) AS newest FROM unasked') ?? { newest: null }
    return Math.max(Math.floor(now() / periodMs), newest ?? 0)
  }
  return {
    sum: () =>
      db.get<Extent>(
        `SELECT COALESCE(sum(removals), 0) AS removals, COALESCE(sum(files), 0) AS files, COALESCE(sum(bytes), 0) AS bytes
         FROM unasked WHERE period >= ?`,
        period() - 1,
      ) as Extent,
    add: ({ removals, files, bytes }) =>
      db.transaction(() => {
        const at = period()
        db.run('DELETE FROM unasked WHERE period < ?', at - 1)
        db.run(
          `INSERT INTO unasked (period, removals, files, bytes) VALUES (?, ?, ?, ?) ON CONFLICT (period) DO UPDATE
           SET removals = removals + excluded.removals, files = files + excluded.files, bytes = bytes + excluded.bytes`,
          at,
          removals,
          files,
          bytes,
        )
      }),
    clear: () => void db.run('DELETE FROM unasked'),
  }
}
