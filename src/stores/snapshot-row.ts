import type { Form, Snapshot } from '../contracts/snapshot.ts'
import type { Database } from '../host/database.ts'

export interface Row {
  id: string
  path: string
  ts: number
  sha256: string | null
  bytes: number
  kind: Snapshot['kind']
  call: string | null
  session: string | null
  idem_key: string | null
  before_id: string | null
  undone_by: string | null
  /** `dropped`: its content is gone by retention; the entry stays, so that the chain of states can be followed. */
  state: 'pending' | 'kept' | 'dropped'
  temporary: string | null
  made_folders: string | null
  undoes: string | null
  form: Form | null
  mode: number | null
}

/** What a pending change needs to be finished or taken back by somebody else. */
export interface Plan {
  temporary: string
  undoes: readonly string[]
  /** Folders that come into being with it. */
  madeFolders: readonly string[]
}

/** Also a pending one, as recovery needs it. */
export function fromRow(row: Row): Snapshot {
  return {
    id: row.id,
    path: row.path,
    timestamp: row.ts,
    sha256: row.sha256,
    bytes: row.bytes,
    kind: row.kind,
    call: row.call,
    session: row.session,
    idempotencyKey: row.idem_key,
    before: row.before_id,
    undoneBy: row.undone_by,
    form: row.form,
    mode: row.mode,
  }
}

export function insertRow(
  db: Database,
  verb: 'INSERT' | 'INSERT OR IGNORE',
  s: Snapshot,
  state: Row['state'],
  plan?: Plan,
): void {
  db.run(
    `${verb} INTO snapshots
     (id, path, ts, sha256, bytes, kind, call, session, idem_key, before_id, state, temporary, undoes, made_folders, form, mode)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    s.id,
    s.path,
    s.timestamp,
    s.sha256,
    s.bytes,
    s.kind,
    s.call,
    s.session,
    s.idempotencyKey ?? null,
    s.before,
    state,
    plan?.temporary ?? null,
    plan?.undoes.length ? JSON.stringify(plan.undoes) : null,
    plan?.madeFolders.length ? JSON.stringify(plan.madeFolders) : null,
    s.form ?? null,
    s.mode ?? null,
  )
}
