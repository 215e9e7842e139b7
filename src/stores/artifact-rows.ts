import { bounds } from '../contracts/kept.ts'
import type { ArtifactInfo } from '../contracts/run.ts'
import type { Database } from '../host/database.ts'

interface Row {
  id: string
  run: string
  mime_type: string
  bytes: number
  created_at: number
  expires_at: number
  state: 'kept' | 'expired'
}

const mostListed = 1_000
/** Of what is past its time, so many go at once. */
const few = 500

/** Which artifacts there are, and which there were. Their contents lie in files: see `artifacts.ts`. */
export function openArtifactRows(db: Database) {
  return {
    /**
     * In one transaction with the end of its run. A run that goes on where another one was names what that left too: it stays for the later of
     * the two, and what has expired stays expired.
     */
    put(run: string, { id, mimeType, bytes }: { id: string; mimeType: string; bytes: number }, ttlMs: number): void {
      const now = Date.now()
      db.run(
        `INSERT INTO artifacts (id, run, mime_type, bytes, created_at, expires_at, state) VALUES (?, ?, ?, ?, ?, ?, 'kept')
         ON CONFLICT (id) DO UPDATE SET expires_at = max(expires_at, excluded.expires_at) WHERE state = 'kept'`,
        id,
        run,
        mimeType,
        bytes,
        now,
        now + ttlMs,
      )
    },
    get(id: string): ArtifactInfo | undefined {
      const row = db.get<Row>('SELECT * FROM artifacts WHERE id = ?', id)
      return row && fromRow(row)
    },
    list(run?: string): ArtifactInfo[] {
      const named = `run = ? OR id IN (SELECT value FROM json_each((SELECT artifacts FROM runs WHERE id = ?)))`
      const [where, values] = run === undefined ? [`state = 'kept'`, []] : [named, [run, run]]
      return db
        .all<Row>(`SELECT * FROM artifacts WHERE ${where} ORDER BY created_at DESC LIMIT ${mostListed}`, ...values)
        .map(fromRow)
    },
    /** Marks what is past its time, or beyond the room there is, and says which contents may go. That they were stays known for a while. */
    expire(): string[] {
      const now = Date.now()
      const late = db.all<Row>(`SELECT * FROM artifacts WHERE state = 'kept' AND expires_at <= ? LIMIT ${few}`, now)
      const all = db.get<{ n: number; bytes: number | null }>(
        `SELECT count(*) AS n, sum(bytes) AS bytes FROM artifacts WHERE state = 'kept'`,
      )
      let over = (all?.bytes ?? 0) - late.reduce((sum, { bytes }) => sum + bytes, 0) - bounds.artifacts.bytes
      let beyond = (all?.n ?? 0) - late.length - bounds.artifacts.most
      const gone = [...late]
      if (over > 0 || beyond > 0)
        for (const row of db.all<Row>(
          `SELECT * FROM artifacts WHERE state = 'kept' AND expires_at > ? ORDER BY expires_at LIMIT ${few}`,
          now,
        )) {
          if (over <= 0 && beyond <= 0) break
          over -= row.bytes
          beyond--
          gone.push(row)
        }
      for (const { id } of gone)
        db.run(`UPDATE artifacts SET state = 'expired', expires_at = min(expires_at, ?) WHERE id = ?`, now, id)
      const { tombstones, tombstoneDays } = bounds.artifacts
      db.run(
        `DELETE FROM artifacts WHERE rowid IN (
           SELECT rowid FROM artifacts WHERE state = 'expired' AND expires_at < ? LIMIT ${few})`,
        now - tombstoneDays * 86_400_000,
      )
      db.run(
        `DELETE FROM artifacts WHERE rowid IN (
           SELECT rowid FROM artifacts WHERE state = 'expired' ORDER BY expires_at DESC LIMIT ${few} OFFSET ${tombstones})`,
      )
      return gone.map(({ id }) => id)
    },
  }
}

function fromRow({
  id,
  run,
  mime_type: mimeType,
  bytes,
  created_at: createdAt,
  expires_at: expiresAt,
  state,
}: Row): ArtifactInfo {
  return {
    artifactId: id,
    runId: run,
    mimeType,
    bytes,
    createdAt,
    expiresAt,
    expired: state === 'expired' || expiresAt <= Date.now(),
  }
}
