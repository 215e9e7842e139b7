import { bounds } from '../contracts/kept.ts'
import type { Database } from '../host/database.ts'

export interface Remembered {
  inputDigest: string
  output: unknown
  /** What it speaks of was taken back since, all of it or a part. */
  undone: boolean
}

export interface IdempotencyStore {
  recall(tool: string, key: string): Remembered | undefined
  /** Part of the caller's transaction, so that an answer is remembered if and only if its change is. */
  remember(tool: string, key: string, inputDigest: string, output: unknown, call: string): void
  /** The change did not come about after all. */
  forget(call: string): void
}

/** So many are written before the oldest are looked for again. */
const between = 500

/** Answers already given, by tool and key. The input's digest tells a repetition from a mistake. */
export function openIdempotency(db: Database, ttlMs: () => number): IdempotencyStore {
  db.run('DELETE FROM idempotency WHERE at < ?', Date.now() - ttlMs())
  let written = 0
  const bound = (): void => {
    if (written++ % between !== 0) return
    db.run('DELETE FROM idempotency WHERE at < ?', Date.now() - ttlMs())
    const beyond = `SELECT rowid FROM idempotency ORDER BY at DESC LIMIT ${2 * between} OFFSET ${bounds.idempotency}`
    db.run(`DELETE FROM idempotency WHERE rowid IN (${beyond})`)
  }
  return {
    recall(tool, key) {
      const row = db.get<{ input_digest: string; output: string; undone: number }>(
        // An answer counts once its change has landed; one that is still pending is for recovery to decide.
        `SELECT input_digest, output,
           EXISTS (SELECT 1 FROM snapshots u WHERE u.call = i.call AND u.undone_by IS NOT NULL) AS undone
         FROM idempotency i WHERE tool = ? AND key = ? AND at >= ?
         AND NOT EXISTS (SELECT 1 FROM snapshots s WHERE s.call = i.call AND s.state = 'pending')`,
        tool,
        key,
        Date.now() - ttlMs(),
      )
      return row && { inputDigest: row.input_digest, output: JSON.parse(row.output) as unknown, undone: row.undone === 1 }
    },
    remember(tool, key, inputDigest, output, call) {
      bound()
      db.run(
        `INSERT INTO idempotency (tool, key, input_digest, output, call, at) VALUES (?, ?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET input_digest = excluded.input_digest, output = excluded.output, call = excluded.call, at = excluded.at`,
        tool,
        key,
        inputDigest,
        JSON.stringify(output),
        call,
        Date.now(),
      )
    },
    forget: (call) => void db.run('DELETE FROM idempotency WHERE call = ?', call),
  }
}
