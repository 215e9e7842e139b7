import type { RunRecord, RunCapacity, Worker } from '../../contracts/run-ports.ts'
import type { RunError } from '../../contracts/run.ts'
import type { Postgres } from '../../host/postgres.ts'
import { fromRow, type Row } from '../run-row.ts'
import type { openClusterArtifactRows } from './artifact-rows.ts'

const few = 500

/** Those that no process there is could take in hand, for so long that none is expected. */
export function abandon(
  db: Postgres,
  space: string,
  worker: Worker,
  { olderThanMs, error, artifactTtlMs }: { olderThanMs: number; error: RunError; artifactTtlMs: number },
): Promise<RunRecord[]> {
  return db.transaction(async (query) => {
    const gone = await query<{ id: string }>(
      `SELECT id FROM handrail.runs x WHERE space = $1 AND status IN ('queued', 'running') AND updated_at < handrail.now_ms() - $2::bigint
         AND submitter <> $3 AND NOT handrail.alive(submitter) AND NOT handrail.alive(owner) AND NOT handrail.served(x, '')
         LIMIT ${few} FOR UPDATE SKIP LOCKED`,
      [space, olderThanMs, worker.name],
    )
    for (const { id } of gone)
      await query(`SELECT handrail.end_from_outside($1, $2, 'failed', $3, 0, $4)`, [
        id,
        space,
        JSON.stringify(error),
        artifactTtlMs,
      ])
    const ids = gone.map(({ id }) => id)
    return (await query<Row>('SELECT * FROM handrail.runs WHERE id = ANY ($1)', [ids])).map(fromRow)
  })
}

/** What is past its time, or beyond the room there is. */
export function purge(
  db: Postgres,
  space: string,
  artifacts: ReturnType<typeof openClusterArtifactRows>,
  { most, bytes }: RunCapacity,
): Promise<{ contents: string[]; more: boolean }> {
  // One of all the processes at a time; the others come by in a minute.
  return db.transaction(async (query) => {
    const [turn] = await query<{ is: boolean }>(`SELECT pg_try_advisory_xact_lock(hashtextextended($1, 8)) AS is`, [space])
    if (!turn?.is) return { contents: [], more: false }
    const late = await query(
      `DELETE FROM handrail.runs WHERE id IN (SELECT id FROM handrail.runs WHERE space = $1 AND expires_at <= handrail.now_ms() LIMIT ${few}) RETURNING 1`,
      [space],
    )
    const [taken] = await query<{ n: number; bytes: number | null }>(
      'SELECT count(*) AS n, sum(bytes)::bigint AS bytes FROM handrail.runs WHERE space = $1',
      [space],
    )
    const isOver = (taken?.n ?? 0) >= most || (taken?.bytes ?? 0) > bytes
    const old = isOver
      ? await query(
          `DELETE FROM handrail.runs WHERE id IN
             (SELECT id FROM handrail.runs WHERE space = $1 AND status NOT IN ('queued', 'running') ORDER BY seq LIMIT ${few}) RETURNING 1`,
          [space],
        )
      : []
    const contents = await artifacts.expire(query)
    return { contents, more: contents.length + late.length + old.length > 0 }
  })
}
