import { bounds } from '../../contracts/kept.ts'
import type { ArtifactInfo } from '../../contracts/run.ts'
import type { Postgres } from '../../host/postgres.ts'

interface Row {
  id: string
  run: string
  mime_type: string
  bytes: number
  created_at: number
  expires_at: number
  state: 'kept' | 'expired'
  late: boolean
}

const mostListed = 1_000
/** Of what is past its time, so many go at once. */
const few = 500

/** Which artifacts there are, and which there were, as the embedded store has it. */
export function openClusterArtifactRows(db: Pick<Postgres, 'query'>, space: string) {
  const columns = '*, expires_at <= handrail.now_ms() AS late'
  return {
    async get(id: string): Promise<ArtifactInfo | undefined> {
      const [row] = await db.query<Row>(`SELECT ${columns} FROM handrail.artifacts WHERE id = $1 AND space = $2`, [id, space])
      return row && fromRow(row)
    },
    async list(run?: string): Promise<ArtifactInfo[]> {
      const named = `(run = $2 OR id IN (SELECT jsonb_array_elements_text(artifacts::jsonb) FROM handrail.runs WHERE id = $2))`
      const which = run === undefined ? `state = 'kept' AND $2::text IS NULL` : named
      const sql = `SELECT ${columns} FROM handrail.artifacts WHERE space = $1 AND ${which} ORDER BY created_at DESC LIMIT ${mostListed}`
      return (await db.query<Row>(sql, [space, run ?? null])).map(fromRow)
    },
    /** Marks what is past its time, or beyond the room there is, and says which contents may go. */
    async expire(query: Postgres['query']): Promise<string[]> {
      const { most, bytes, tombstones, tombstoneDays } = bounds.artifacts
      const late = await query<Row>(
        `UPDATE handrail.artifacts SET state = 'expired' WHERE id IN
           (SELECT id FROM handrail.artifacts WHERE space = $1 AND state = 'kept' AND expires_at <= handrail.now_ms() LIMIT ${few}) RETURNING id`,
        [space],
      )
      const beyond = await query<Row>(
        `UPDATE handrail.artifacts SET state = 'expired', expires_at = least(expires_at, handrail.now_ms()) WHERE id IN (SELECT id FROM
           (SELECT id, expires_at, count(*) OVER w AS n, sum(bytes) OVER w AS size FROM handrail.artifacts WHERE space = $1 AND state = 'kept'
              WINDOW w AS (ORDER BY expires_at DESC, id)) AS kept
           WHERE n > $2::bigint OR size > $3::bigint ORDER BY expires_at LIMIT ${few}) RETURNING id`,
        [space, most, bytes],
      )
      await query(
        `DELETE FROM handrail.artifacts WHERE id IN (SELECT id FROM handrail.artifacts WHERE space = $1 AND state = 'expired'
           AND expires_at < handrail.now_ms() - $2::bigint LIMIT ${few})`,
        [space, tombstoneDays * 86_400_000],
      )
      await query(
        `DELETE FROM handrail.artifacts WHERE id IN (SELECT id FROM handrail.artifacts WHERE space = $1 AND state = 'expired'
           ORDER BY expires_at DESC LIMIT ${few} OFFSET ${tombstones})`,
        [space],
      )
      return [...late, ...beyond].map(({ id }) => id)
    },
  }
}

function fromRow(row: Row): ArtifactInfo {
  return {
    artifactId: row.id,
    runId: row.run,
    mimeType: row.mime_type,
    bytes: row.bytes,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    expired: row.state === 'expired' || row.late,
  }
}
