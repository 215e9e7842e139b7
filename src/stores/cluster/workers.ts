import { hostname } from 'node:os'
import type { ClusterView, ClusterWorker, QueueView, WorkerView } from '../../contracts/cluster.ts'
import type { Postgres } from '../../host/postgres.ts'

/** A run that is this worker's in the store and not in its hands may be on its way to it. */
const onItsWayMs = 5_000
/** Those that are gone are told of for a day. */
const rememberedMs = 86_400_000

export interface Roster {
  join(how: { kind: 'worker' | 'caller'; slots: number }): Promise<void>
  /** Still here. Says which of the runs it holds are no longer its own, and how many that it never held it gave up. */
  renew(live: readonly string[], how: { slots: number; draining: boolean }): Promise<{ lost: readonly string[]; givenUp: number }>
  leave(): Promise<void>
  list(): Promise<WorkerView[]>
  depth(): Promise<Omit<QueueView, 'offered'>>
  ended(): Promise<ClusterView['ended']>
  /** Whether a run waits that this worker may carry out, or one is under way that nobody has in hand. */
  isClaimable(): Promise<boolean>
}

/** The processes of a space, alive while they say so by the clock of the database. */
export function openRoster(
  db: Postgres,
  space: string,
  worker: ClusterWorker,
  { leaseMs, version }: { leaseMs: number; version: string },
): Roster {
  let last: { kind: 'worker' | 'caller'; slots: number } | undefined
  const join = async (how: { kind: 'worker' | 'caller'; slots: number }): Promise<void> => {
    last = how
    await db.query(
      `INSERT INTO handrail.workers (name, space, place, authority, kind, host, pid, version, slots, templates, draining, started_at, seen_at, lease_until)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, false, handrail.now_ms(), handrail.now_ms(), handrail.now_ms() + $11::bigint)
         ON CONFLICT (name) DO UPDATE SET kind = excluded.kind, slots = excluded.slots, seen_at = excluded.seen_at,
           lease_until = excluded.lease_until`,
      [
        worker.name,
        space,
        worker.place,
        worker.authority,
        how.kind,
        hostname(),
        process.pid,
        version,
        how.slots,
        worker.templates ?? null,
        leaseMs,
      ],
    )
    await db.query('DELETE FROM handrail.workers WHERE lease_until < handrail.now_ms() - $1::bigint', [rememberedMs])
  }
  return {
    join,
    async renew(live, { slots, draining }) {
      const [row] = await db.query<{ lost: string[]; given_up: number }>('SELECT * FROM handrail.renew($1, $2, $3, $4, $5, $6)', [
        worker.name,
        leaseMs,
        live,
        onItsWayMs,
        slots,
        draining,
      ])
      if (row) return { lost: row.lost, givenUp: row.given_up }
      // Forgotten in a day's absence.
      if (last) await join({ ...last, slots })
      return { lost: live, givenUp: 0 }
    },
    async leave() {
      await db.query('DELETE FROM handrail.workers WHERE name = $1', [worker.name])
    },
    async list() {
      const rows = await db.query<Record<string, never> & { templates: string[] | null; same: boolean }>(
        `SELECT w.*, w.place = $2 AS here, w.authority = $3 AS same, w.lease_until > handrail.now_ms() AS alive,
           handrail.now_ms() - w.seen_at AS silent,
           (SELECT count(*) FROM handrail.runs r WHERE r.space = $1 AND r.status = 'running' AND r.owner = w.name AND r.waiting IS NULL) AS running,
           (SELECT count(*) FROM handrail.runs r WHERE r.space = $1 AND r.status = 'running' AND r.owner = w.name AND r.waiting IS NOT NULL) AS parked
         FROM handrail.workers w WHERE w.space = $1 ORDER BY alive DESC, w.started_at LIMIT 1000`,
        [space, worker.place, worker.authority],
      )
      return rows.map((row) => ({
        name: row['name'] as never,
        host: row['host'] as never,
        pid: row['pid'] as never,
        version: row['version'] as never,
        kind: row['kind'] as never,
        here: row['here'] as never,
        sameRules: row.same,
        slots: row['slots'] as never,
        draining: row['draining'] as never,
        templates: row.templates ?? [],
        running: row['running'] as never,
        parked: row['parked'] as never,
        startedAt: row['started_at'] as never,
        silentMs: row['silent'] as never,
        alive: row['alive'] as never,
      }))
    },
    async depth() {
      const [row] = await db.query<{ queued: number; oldest: number | null; running: number; waiting: number }>(
        `SELECT count(*) FILTER (WHERE status = 'queued') AS queued,
           handrail.now_ms() - min(created_at) FILTER (WHERE status = 'queued') AS oldest,
           count(*) FILTER (WHERE status = 'running' AND waiting IS NULL) AS running,
           count(*) FILTER (WHERE status = 'running' AND waiting IS NOT NULL) AS waiting
         FROM handrail.runs WHERE space = $1 AND status IN ('queued', 'running')`,
        [space],
      )
      return {
        queued: row?.queued ?? 0,
        oldestMs: Math.max(0, row?.oldest ?? 0),
        running: row?.running ?? 0,
        waitingForPerson: row?.waiting ?? 0,
      }
    },
    async ended() {
      const rows = await db.query<{ status: string; n: number }>(
        `SELECT status, count(*) AS n FROM handrail.runs WHERE space = $1 AND status NOT IN ('queued', 'running') GROUP BY status`,
        [space],
      )
      return Object.fromEntries(rows.map(({ status, n }) => [status, n]))
    },
    async isClaimable() {
      const rows = await db.query(
        `SELECT 1 FROM handrail.runs WHERE space = $1 AND queue IN ('any', '@' || $2, '=' || $3) AND authority = $4
           AND (status = 'queued' OR (status = 'running' AND NOT handrail.alive(owner))) LIMIT 1`,
        [space, worker.place, worker.name, worker.authority],
      )
      return rows.length > 0
    },
  }
}
