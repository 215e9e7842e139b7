import { randomBytes } from 'node:crypto'
import { ToolError } from '../contracts/errors.ts'
import { snapshotIdPattern, type Snapshot } from '../contracts/snapshot.ts'
import type { Database } from '../host/database.ts'
import { sha256 } from '../host/files.ts'
import type { StateFolder } from '../host/state-folder.ts'

const idForm = new RegExp(snapshotIdPattern)

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
}

export interface SnapshotStore {
  list(limit: number, prefix: string): Snapshot[]
  get(id: string): Snapshot | undefined
  latest(path: string): Snapshot | undefined
  /** The content, checked against its hash. */
  content(id: string): Buffer
  ofCall(call: string): Snapshot[]
  ofSession(session: string): Snapshot[]
  /** The newest change that was not taken back and is not itself a taking back. */
  lastChange(): Snapshot | undefined
  madeFolders(id: string): string[]
  /** Stores content and its description; the row is the caller's to insert. */
  keep(snapshot: Snapshot, content: Buffer | null): void
  forget(id: string): void
  insert(snapshot: Snapshot, state: Row['state'], plan?: { temporary: string; undoes: readonly string[] }): void
  pending(): Row[]
  /** The change has landed: its state counts, and what it takes back is taken back. */
  settle(id: string, madeFolders: string[]): void
  /** Drops the oldest states of a file beyond the limit, never its original; returns the ids dropped. */
  prune(path: string, most: number): string[]
  mint(path: string): { id: string; timestamp: number }
}

/** A timeline of states per file: `<id>.txt` holds the content (one copy however many states share it), `<id>.meta.json` describes it. */
export function openSnapshots(folder: StateFolder, db: Database): SnapshotStore {
  rebuildIndex(folder, db)
  const rows = (sql: string, ...values: (string | number)[]): Snapshot[] => db.all<Row>(sql, ...values).map(fromRow)

  const healthy = (snapshot: Snapshot): boolean => {
    if (snapshot.sha256 === null || !folder.has(`${snapshot.id}.txt`)) return false
    try {
      return (JSON.parse(folder.read(`${snapshot.id}.meta.json`)?.toString('utf8') ?? '') as Snapshot).id === snapshot.id
    } catch {
      return false
    }
  }

  const store: SnapshotStore = {
    list(limit, prefix) {
      const found: Snapshot[] = []
      for (const snapshot of newestFirst(db, prefix)) {
        if (found.length >= limit) break
        if (healthy(snapshot)) found.push(snapshot)
      }
      return found
    },
    get: (id) => rows(`SELECT * FROM snapshots WHERE id = ? AND state != 'pending'`, id)[0],
    latest: (path) => rows(`SELECT * FROM snapshots WHERE path = ? AND state = 'kept' ORDER BY ts DESC LIMIT 1`, path)[0],
    content(id) {
      if (!idForm.test(id))
        throw new ToolError('E_BAD_ARGS', 'Not a snapshot id', { hint: 'Ids look like snap_20251101T093210_ab12cd34.' })
      const gone = (): ToolError =>
        new ToolError('E_NOT_FOUND', `No such snapshot: ${id}`, {
          details: { snapshotId: id },
          hint: 'list_snapshots shows what is kept; old states are dropped by limits.snapshotRetention.',
        })
      const broken = (why: string): ToolError =>
        new ToolError('E_PARSE_FAIL', `Snapshot ${id} is damaged: ${why}`, {
          details: { snapshotId: id },
          hint: 'Choose a neighbouring snapshot of the same file.',
        })
      const text = folder.read(`${id}.txt`)
      const described = folder.read(`${id}.meta.json`)
      if (!text || !described) throw gone()
      let meta: { path?: unknown; sha256?: unknown; contentHash?: unknown }
      try {
        meta = JSON.parse(described.toString('utf8')) as typeof meta
      } catch {
        throw broken('its description cannot be read')
      }
      const row = db.get<Row>('SELECT * FROM snapshots WHERE id = ?', id)
      if (!row) throw gone()
      if (meta.path !== row.path || meta.sha256 !== row.sha256) throw broken('its description was changed')
      if (sha256(text) !== row.sha256) throw broken('its content was changed')
      return text
    },
    ofCall: (call) =>
      rows(`SELECT * FROM snapshots WHERE call = ? AND state != 'pending' AND kind != 'baseline' ORDER BY ts`, call),
    ofSession: (session) =>
      rows(`SELECT * FROM snapshots WHERE session = ? AND state != 'pending' AND kind != 'baseline' ORDER BY ts`, session),
    lastChange: () =>
      rows(
        `SELECT * FROM snapshots s INDEXED BY snapshots_newest WHERE state = 'kept' AND kind != 'baseline' AND undone_by IS NULL
         AND NOT EXISTS (SELECT 1 FROM snapshots u WHERE u.undone_by = s.call) ORDER BY ts DESC LIMIT 1`,
      )[0],
    madeFolders: (id) => JSON.parse(db.get<Row>('SELECT * FROM snapshots WHERE id = ?', id)?.made_folders ?? '[]') as string[],
    keep(snapshot, content) {
      if (content === null || snapshot.sha256 === null) return
      const twin = db.get<Row>(
        `SELECT * FROM snapshots WHERE sha256 = ? AND state != 'dropped' ORDER BY ts DESC LIMIT 1`,
        snapshot.sha256,
      )
      const shared = twin !== undefined && folder.has(`${twin.id}.txt`) && folder.link(`${twin.id}.txt`, `${snapshot.id}.txt`)
      if (!shared) folder.create(`${snapshot.id}.txt`, content)
      folder.create(`${snapshot.id}.meta.json`, Buffer.from(JSON.stringify(describe(snapshot))))
    },
    forget(id) {
      db.run('DELETE FROM snapshots WHERE id = ?', id)
      folder.remove(`${id}.meta.json`)
      folder.remove(`${id}.txt`)
    },
    insert: (s, state, plan) =>
      void db.run(
        `INSERT INTO snapshots (id, path, ts, sha256, bytes, kind, call, session, idem_key, before_id, state, temporary, undoes)
         VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
        s.id,
        s.path,
        s.timestamp,
        s.sha256,
        s.bytes,
        s.kind,
        s.call,
        s.session,
        s.idempotencyKey,
        s.before,
        state,
        plan?.temporary ?? null,
        plan?.undoes.length ? JSON.stringify(plan.undoes) : null,
      ),
    pending: () => db.all<Row>(`SELECT * FROM snapshots WHERE state = 'pending' ORDER BY ts`),
    settle(id, madeFolders) {
      const made = madeFolders.length ? JSON.stringify(madeFolders) : null
      db.run(`UPDATE snapshots SET state = 'kept', temporary = NULL, made_folders = ? WHERE id = ?`, made, id)
      const row = db.get<Row>('SELECT * FROM snapshots WHERE id = ?', id)
      for (const undone of JSON.parse(row?.undoes ?? '[]') as string[]) {
        // What an undone undo had taken back stands again.
        db.run(
          'UPDATE snapshots SET undone_by = NULL WHERE undone_by = (SELECT call FROM snapshots WHERE id = ?) AND path = ?',
          undone,
          row?.path ?? '',
        )
        db.run('UPDATE snapshots SET undone_by = ? WHERE id = ?', row?.call ?? null, undone)
      }
    },
    prune(path, most) {
      const beyond = db.all<Row>(
        `SELECT * FROM snapshots WHERE path = ? AND state = 'kept' ORDER BY ts DESC LIMIT -1 OFFSET ?`,
        path,
        most - 1,
      )
      if (beyond.length < 2) return []
      const original = db.get<Row>('SELECT * FROM snapshots WHERE path = ? AND sha256 IS NOT NULL ORDER BY ts LIMIT 1', path)
      const dropped = beyond.map((row) => row.id).filter((id) => id !== original?.id)
      for (const id of dropped) {
        db.run(`UPDATE snapshots SET state = 'dropped' WHERE id = ?`, id)
        folder.remove(`${id}.meta.json`)
        folder.remove(`${id}.txt`)
      }
      return dropped
    },
    mint() {
      const newest = db.get<{ ts: number | null }>('SELECT max(ts) AS ts FROM snapshots')?.ts ?? 0
      const timestamp = Math.max(Date.now(), newest + 1)
      const clock = new Date(timestamp).toISOString().replace(/[-:]|\.\d+Z$/g, '')
      return { id: `snap_${clock}_${randomBytes(4).toString('hex')}`, timestamp }
    },
  }
  return store
}

/** What `.meta.json` says: the contract's fields first, then what it takes to rebuild the index from the files alone. */
function describe(snapshot: Snapshot): Record<string, unknown> {
  const { id, path, timestamp, sha256: hash, idempotencyKey, bytes, kind, call, session, before } = snapshot
  return {
    id,
    path,
    timestamp,
    contentHash: hash?.slice(0, 8),
    ...(idempotencyKey !== null && { idempotencyKey }),
    sha256: hash,
    bytes,
    kind,
    call,
    session,
    before,
  }
}

function fromRow(row: Row): Snapshot {
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
  }
}

const fewPaths = 64
const firstPage = 2
const page = 200

/** Newest first under a path prefix. A few paths are merged from their own timelines; many are read off the common one. */
function* newestFirst(db: Database, prefix: string): Generator<Snapshot> {
  const paths = prefix === '' ? undefined : pathsUnder(db, prefix)
  if (!paths) return yield* timeline(db, 'snapshots_newest', 'path >= ? AND path < ?', [prefix, `${prefix}\u{10ffff}`], page)
  const heads = paths.map((path) => timeline(db, 'snapshots_kept', 'path = ?', [path], firstPage))
  const next = heads.map((head) => head.next().value as Snapshot | undefined)
  for (;;) {
    let best = -1
    next.forEach((snapshot, index) => {
      if (snapshot && (best < 0 || isNewer(snapshot, next[best] as Snapshot))) best = index
    })
    const found = next[best]
    if (!found) return
    yield found
    next[best] = heads[best]?.next().value as Snapshot | undefined
  }
}

function isNewer(a: Snapshot, b: Snapshot): boolean {
  return a.timestamp > b.timestamp || (a.timestamp === b.timestamp && a.id > b.id)
}

/** One timeline, page by page along its index: the cost is that of what is taken, whatever lies behind. */
function* timeline(db: Database, index: string, where: string, values: string[], first: number): Generator<Snapshot> {
  let before: [number, string] = [Number.MAX_SAFE_INTEGER, '']
  for (let size = first; ; size = page) {
    const rows = db.all<Row>(
      `SELECT * FROM snapshots INDEXED BY ${index} WHERE ${where} AND state = 'kept' AND (ts, id) < (?, ?)
       ORDER BY ts DESC, id DESC LIMIT ${size}`,
      ...values,
      ...before,
    )
    for (const row of rows) yield fromRow(row)
    const last = rows.at(-1)
    if (!last || rows.length < size) return
    before = [last.ts, last.id]
  }
}

/** The paths with a prefix, found by skipping through the index; undefined where there are many. */
function pathsUnder(db: Database, prefix: string): string[] | undefined {
  const paths: string[] = []
  let after: string | undefined
  while (paths.length <= fewPaths) {
    const row: { path: string } | undefined =
      after === undefined
        ? db.get(`SELECT path FROM snapshots WHERE path >= ? AND state = 'kept' ORDER BY path LIMIT 1`, prefix)
        : db.get(`SELECT path FROM snapshots WHERE path > ? AND state = 'kept' ORDER BY path LIMIT 1`, after)
    if (!row?.path.startsWith(prefix)) return paths
    paths.push(row.path)
    after = row.path
  }
  return undefined
}

/** The files are the truth: a lost or new database is filled from them. */
function rebuildIndex(folder: StateFolder, db: Database): void {
  if (db.get('SELECT 1 FROM snapshots LIMIT 1') !== undefined) return
  const names = folder.names().filter((name) => name.endsWith('.meta.json'))
  if (names.length === 0) return
  db.transaction(() => {
    for (const name of names) {
      try {
        const meta = JSON.parse(folder.read(name)?.toString('utf8') ?? '') as Snapshot & { sha256: string }
        if (!idForm.test(meta.id) || typeof meta.path !== 'string') continue
        db.run(
          `INSERT OR IGNORE INTO snapshots (id, path, ts, sha256, bytes, kind, call, session, idem_key, before_id, state)
           VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, 'kept')`,
          meta.id,
          meta.path,
          meta.timestamp,
          meta.sha256,
          meta.bytes,
          meta.kind,
          meta.call,
          meta.session,
          meta.idempotencyKey ?? null,
          meta.before,
        )
      } catch {
        continue
      }
    }
  })
}
