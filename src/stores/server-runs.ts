import { bounds } from '../contracts/kept.ts'
import { isTerminal, mayFollow, type RunError } from '../contracts/run.ts'
import type { ServerRun, ServerRunHead } from '../contracts/server-run.ts'
import type { Database } from '../host/database.ts'
import { isRunning } from '../host/running.ts'

export interface ServerRunStore {
  begin(run: Pick<ServerRun, 'runId' | 'command' | 'call' | 'session'>, owner: string): void
  /** How it is now. Where it has its end, nothing is written. */
  note(runId: string, now: Pick<ServerRun, 'urls' | 'log'>): void
  /** False where it had its end already. What it printed until then may be told anew. */
  end(runId: string, status: ServerRun['status'], error: RunError | null, log?: string): boolean
  /** A process that dies says nothing, and takes its server with it: those end with this, and are answered. */
  settle(lost: RunError): ServerRunHead[]
  get(runId: string): ServerRun | undefined
  /** Newest first. */
  list(): ServerRunHead[]
}

interface Row {
  id: string
  command: string
  call: string
  session: string
  status: ServerRun['status']
  owner: string
  urls: string
  error: string | null
  created_at: number
  updated_at: number
}

const head = 'id, command, call, session, status, owner, urls, error, created_at, updated_at'

/** Servers on the project's own database, shared by its processes. */
export function openServerRuns(db: Database, ttlMs: () => number): ServerRunStore {
  const forgetOld = (): void => {
    db.run(`DELETE FROM server_runs WHERE status != 'running' AND updated_at < ?`, Date.now() - ttlMs())
    db.run(
      `DELETE FROM server_runs WHERE status != 'running' AND seq <= (SELECT max(seq) FROM server_runs) - ?`,
      bounds.servers.most,
    )
  }
  forgetOld()
  const isKept = (row: Row): boolean => !isTerminal(row.status) || row.updated_at >= Date.now() - ttlMs()
  const end: ServerRunStore['end'] = (runId, status, error, log) =>
    db.transaction(() => {
      const row = db.get<Row>(`SELECT ${head} FROM server_runs WHERE id = ?`, runId)
      if (!row) return false
      // Also where somebody else has ended it: what it must not tell goes.
      if (log !== undefined) db.run('UPDATE server_runs SET log = ? WHERE id = ?', log, runId)
      if (!mayFollow(row.status, status)) return false
      db.run(
        `UPDATE server_runs SET status = ?, error = ?, urls = '[]', updated_at = max(?, created_at) WHERE id = ?`,
        status,
        error ? JSON.stringify(error) : null,
        Date.now(),
        runId,
      )
      return true
    })
  return {
    begin({ runId, command, call, session }, owner) {
      forgetOld()
      const now = Date.now()
      db.run(
        `INSERT INTO server_runs (id, command, call, session, status, owner, urls, created_at, updated_at, log)
         VALUES (?, ?, ?, ?, 'running', ?, '[]', ?, ?, '')`,
        runId,
        command.slice(0, bounds.servers.command).toWellFormed(),
        call,
        session,
        owner,
        now,
        now,
      )
    },
    note(runId, { urls, log }) {
      db.run(
        `UPDATE server_runs SET urls = ?, log = ?, updated_at = max(?, created_at) WHERE id = ? AND status = 'running'`,
        JSON.stringify(urls),
        log,
        Date.now(),
        runId,
      )
    },
    end,
    settle: (lost) =>
      db
        .all<Row>(`SELECT ${head} FROM server_runs WHERE status = 'running'`)
        .filter(({ id, owner }) => !isRunning(owner) && end(id, 'failed', lost))
        .map(headOf),
    get(runId) {
      const row = db.get<Row & { log: string }>(`SELECT ${head}, log FROM server_runs WHERE id = ?`, runId)
      return row && isKept(row) ? { ...headOf(row), log: row.log } : undefined
    },
    list: () => db.all<Row>(`SELECT ${head} FROM server_runs ORDER BY seq DESC`).filter(isKept).map(headOf),
  }
}

function headOf({ id, command, call, session, status, urls, error, created_at, updated_at }: Row): ServerRunHead {
  return {
    runId: id,
    command,
    call,
    session,
    status,
    urls: JSON.parse(urls) as string[],
    error: error === null ? null : (JSON.parse(error) as RunError),
    createdAt: created_at,
    updatedAt: updated_at,
  }
}
