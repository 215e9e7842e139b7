import { Fault } from '../../contracts/faults/fault.ts'
import { runErrorOf } from '../../contracts/faults/contract-002.ts'
import type { Postgres } from '../../host/postgres.ts'

/** Who holds a browser session that is kept between runs. */
export async function holderOf(db: Postgres, session: string): Promise<{ creator: string; worker: string } | undefined> {
  const [row] = await db.query<{ creator: string; worker: string }>(
    'SELECT creator, worker FROM handrail.kept_sessions WHERE session = $1 AND handrail.alive(worker)',
    [session],
  )
  return row
}

export async function keepSession(db: Postgres, session: string, creator: string, worker: string): Promise<void> {
  await db.query(
    `INSERT INTO handrail.kept_sessions (session, creator, worker) VALUES ($1, $2, $3)
       ON CONFLICT (session) DO UPDATE SET creator = excluded.creator, worker = excluded.worker`,
    [session, creator, worker],
  )
}

/** Those that only one process could carry out, and it is gone with the session they need. */
export async function endSessionless(db: Postgres, space: string): Promise<string[]> {
  const fault = new Fault('session-not-found', 'The worker that held the session of this run is gone, and the session with it', {
    hint: 'Sign in again with a new run, and hand this one in with the new session.',
  })
  const rows = await db.query<{ id: string }>(
    `SELECT id, handrail.end_run(id, 'failed', $2, 0, '[]') FROM (SELECT id FROM handrail.runs WHERE space = $1
       AND status IN ('queued', 'running') AND queue LIKE '=%' AND NOT handrail.alive(substr(queue, 2)) LIMIT 100 FOR UPDATE SKIP LOCKED) AS gone`,
    [space, JSON.stringify(runErrorOf(fault, (tool) => tool))],
  )
  return rows.map(({ id }) => id)
}
