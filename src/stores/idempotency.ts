import type { Database } from '../host/database.ts'

export interface Remembered {
  inputDigest: string
  output: unknown
}

export interface IdempotencyStore {
  recall(tool: string, key: string): Remembered | undefined
  remember(tool: string, key: string, inputDigest: string, output: unknown): void
}

/** Answers already given, by tool and key. The input's digest tells a repetition from a mistake. */
export function openIdempotency(db: Database, ttlMs: number): IdempotencyStore {
  db.run('DELETE FROM idempotency WHERE at < ?', Date.now() - ttlMs)
  return {
    recall(tool, key) {
      const row = db.get<{ input_digest: string; output: string }>(
        'SELECT input_digest, output FROM idempotency WHERE tool = ? AND key = ? AND at >= ?',
        tool,
        key,
        Date.now() - ttlMs,
      )
      return row && { inputDigest: row.input_digest, output: JSON.parse(row.output) as unknown }
    },
    remember: (tool, key, inputDigest, output) =>
      db.transaction(
        () =>
          void db.run(
            `INSERT INTO idempotency (tool, key, input_digest, output, at) VALUES (?, ?, ?, ?, ?)
             ON CONFLICT DO UPDATE SET input_digest = excluded.input_digest, output = excluded.output, at = excluded.at`,
            tool,
            key,
            inputDigest,
            JSON.stringify(output),
            Date.now(),
          ),
        true,
      ),
  }
}
