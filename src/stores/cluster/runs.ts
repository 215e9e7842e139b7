import { Fault } from '../../contracts/faults/fault.ts'
import { aloneAfter, type NewRun, type RunBody, type RunRecord, type RunStore } from '../../contracts/run-ports.ts'
import type { Postgres } from '../../host/postgres.ts'
import { fromRow, type Row } from '../run-row.ts'
import { openAccepting, type AcceptedRun } from './accept.ts'
import { openClusterArtifactRows } from './artifact-rows.ts'
import type { Persist } from './artifacts.ts'
import { openClaims } from './claims.ts'
import { abandon, purge } from './clearing.ts'
import type { Sign } from './marks.ts'
import { openProgress } from './progress.ts'

export interface ClusterRunsParts {
  db: Postgres
  space: string
  place: string
  /** Asks until it is answered, or this worker is no longer alive for the others: then `lost` is the answer. */
  persist: Persist
  /** Who may carry a run out. */
  queueFor: (run: NewRun) => Promise<string>
  /** Whether it touches nothing of any machine, whoever wrote it. */
  isFree: (body: Pick<RunBody, 'template' | 'outputSchema'>) => boolean
  /** Whoever else can write to the database cannot have this machine do anything but visit pages, for nobody it knows. */
  sign: Sign
}

export interface ClusterRuns extends RunStore {
  accept(...given: Parameters<RunStore['accept']>): Promise<AcceptedRun>
  /** Whether a run in this process's hands is one of those that only its place may carry out. */
  isBound(id: string): boolean
}

/** Runs on PostgreSQL, shared by machines. Every change of a run's state is one statement there that names the state before. */
export function openClusterRuns({ db, space, place, persist, queueFor, isFree, sign }: ClusterRunsParts): ClusterRuns {
  const artifacts = openClusterArtifactRows(db, space)
  const one = async (sql: string, values: readonly unknown[]): Promise<RunRecord | undefined> => {
    const [row] = await db.query<Row>(sql, values)
    return row && fromRow(row)
  }
  const living = '(expires_at IS NULL OR expires_at > handrail.now_ms())'
  /** The way to the database may break for a moment: a person's or agent's question is asked once more, a worker's until it is answered. */
  const asked = <T>(act: () => Promise<T>): Promise<T> => persist(act, unanswered)
  const claims = openClaims({ db, space, place, sign, asked, isFree })
  const progress = openProgress({ db, space, sign, persist })

  return {
    accept: openAccepting({ db, space, place, sign, asked, queueFor }),
    get: (id) => asked(() => one(`SELECT * FROM handrail.runs WHERE id = $1 AND space = $2 AND ${living}`, [id, space])),
    isBound: claims.isBound,
    body: claims.body,
    steps: claims.steps,
    claim: claims.claim,
    result: (id) =>
      asked(async () => {
        const [found] = await db.query<{ result: string | null }>('SELECT result FROM handrail.run_bodies WHERE run = $1', [id])
        return found?.result ? (JSON.parse(found.result) as unknown) : null
      }),
    list: ({ status, template, without, limit, offset }) =>
      asked(async () => {
        const values: unknown[] = [space]
        const where = [`space = $1 AND ${living}`]
        for (const [column, value] of [['status', status] as const, ['template', template] as const])
          if (value !== undefined) where.push(`${column} = $${values.push(value)}`)
        if (without !== undefined) where.push(`template <> $${values.push(without)}`)
        const which = where.join(' AND ')
        const [rows, [count]] = await Promise.all([
          db.query<Row>(
            `SELECT * FROM handrail.runs WHERE ${which} ORDER BY created_at DESC, seq DESC LIMIT $${values.length + 1} OFFSET $${values.length + 2}`,
            [...values, limit, offset],
          ),
          db.query<{ n: number }>(`SELECT count(*) AS n FROM handrail.runs WHERE ${which}`, values),
        ])
        return { runs: rows.map(fromRow), total: count?.n ?? 0 }
      }),
    async hasForeign({ name }) {
      // Those that nobody has in hand count as well: the answer to a claim may have been lost, and its run given up.
      const [found] = await db.query(
        `SELECT 1 FROM handrail.runs WHERE space = $1 AND ((status = 'running' AND owner <> $2) OR (status = 'queued' AND submitter = $2)) LIMIT 1`,
        [space, name],
      )
      return found !== undefined
    },
    park: (id, worker, waiting, activeMs) =>
      // It asked a person here, and here it will be answered.
      persist(
        () =>
          changed(
            db,
            `UPDATE handrail.runs SET waiting = $3, active_ms = $4, queue = CASE WHEN queue = 'any' THEN $5 ELSE queue END,
               updated_at = greatest(handrail.now_ms(), created_at) WHERE id = $1 AND owner = $2 AND status = 'running'`,
            [id, worker.name, waiting, activeMs, `@${place}`],
          ),
        () => false,
      ),
    unpark: (id, worker, slots) =>
      persist(
        () =>
          db.transaction(async (query) => {
            const [found] = await query<{ waiting: string | null; deaths: number }>(
              `SELECT waiting, deaths FROM handrail.runs WHERE id = $1 AND owner = $2 AND status = 'running' FOR UPDATE`,
              [id, worker.name],
            )
            if (!found) return 'lost'
            if (found.waiting === null) return 'running'
            const [busy] = await query<{ n: number; deaths: number | null }>(
              `SELECT count(*) AS n, max(deaths) AS deaths FROM handrail.runs WHERE space = $1 AND status = 'running' AND owner = $2 AND waiting IS NULL`,
              [space, worker.name],
            )
            const others = busy?.n ?? 0
            const mustBeAlone = Math.max(found.deaths, busy?.deaths ?? 0) >= aloneAfter
            if (others >= slots || (others > 0 && mustBeAlone)) return 'full'
            await query(
              'UPDATE handrail.runs SET waiting = NULL, updated_at = greatest(handrail.now_ms(), created_at) WHERE id = $1',
              [id],
            )
            return 'running'
          }),
        () => 'lost',
      ),
    release: (id, worker) =>
      persist(
        async () => {
          claims.forget(id)
          await db.query(`UPDATE handrail.runs SET owner = '' WHERE id = $1 AND owner = $2 AND status = 'running'`, [
            id,
            worker.name,
          ])
        },
        () => undefined,
      ),
    async journal(id, worker, given, how) {
      const isWritten = await progress.journal(id, worker, given, how)
      if (isWritten) claims.note(id, given)
      else claims.forget(id)
      return isWritten
    },
    finish(id, worker, end) {
      claims.forget(id)
      return progress.finish(id, worker, end)
    },
    cancel: (id, error, artifactTtlMs) =>
      asked(async () => {
        const [found] = await db.query<Row & { done: boolean }>('SELECT done, (run).* FROM handrail.cancel($1, $2, $3, $4)', [
          space,
          id,
          JSON.stringify(error),
          artifactTtlMs,
        ])
        return found && { run: fromRow(found), done: found.done }
      }),
    abandon: (worker, olderThanMs, error, artifactTtlMs) => abandon(db, space, worker, { olderThanMs, error, artifactTtlMs }),
    artifact: (id) => asked(() => artifacts.get(id)),
    artifacts: (run) => asked(() => artifacts.list(run)),
    purge: (capacity) => purge(db, space, artifacts, capacity),
  }
}

async function changed(db: Postgres, sql: string, values: readonly unknown[]): Promise<boolean> {
  return (await db.query(`${sql} RETURNING 1`, values)).length === 1
}

function unanswered(): never {
  throw new Fault('io', 'The database of runs does not answer', {
    hint: 'Ask again when it does; `handrail doctor` looks. What was accepted is kept there.',
  })
}
