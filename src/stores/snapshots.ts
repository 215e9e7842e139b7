import { randomBytes } from 'node:crypto'
import { largestInMemory, type Content } from '../contracts/content.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { formOf, snapshotIdPattern, type Snapshot } from '../contracts/snapshot.ts'
import type { Steps } from '../text/steps.ts'
import type { Database } from '../host/database.ts'
import { sha256 } from '../host/files.ts'
import { flushFor, type Flush } from '../host/flush.ts'
import { writeNew } from '../host/place.ts'
import { stateFault, type StateFolder } from '../host/state-folder.ts'
import { ioFault } from '../host/walk.ts'
import { excessStates, excessPlaces, type Excess } from './retention.ts'
import { fromRow, insertRow, type Plan, type Row } from './snapshot-row.ts'
import { changesOf, newestFirst, settled } from './snapshot-timeline.ts'

const idForm = new RegExp(snapshotIdPattern)

/** What becomes of the pending rows of a call whose process died in the middle of many: see `commits` in the schema. */
export type Phase = 'drop' | 'keep'

/** New states on their way in: all contents first, then `flush.all()`, then the rows. */
export interface SnapshotBatch {
  flush: Flush
  mint(): { id: string; timestamp: number }
  /** Stores content and its description; the row is the caller's to insert. */
  keep(snapshot: Snapshot, content: Content): Steps<void>
  /** Ids of what was stored, half stored included. */
  readonly kept: readonly string[]
}

export interface SnapshotStore {
  /** States of files only: what an agent can open. */
  list(limit: number, prefix: string, among?: (path: string) => boolean): Snapshot[]
  get(id: string): Snapshot | undefined
  latest(path: string): Snapshot | undefined
  /** The content, checked against its hash. */
  content(id: string): Buffer
  /** The same; a large one stays where it lies and is checked when it is read. */
  contentOnDisk(id: string): Content
  /** What a call, or a session, changed, oldest first. */
  ofCall(call: string): Steps<Snapshot[]>
  ofSession(session: string): Steps<Snapshot[]>
  /** What was written at a path after a time, oldest first. */
  after(path: string, timestamp: number): Steps<Snapshot[]>
  /** When the newest state was kept, of one file or of any. */
  newest(path?: string): number
  /** When the oldest was that is left of a file; nothing where none is. */
  oldest(path: string): number | undefined
  /** The newest change that was not taken back and is not itself a taking back; up to a time, where one is given. */
  lastChange(upTo?: number): Snapshot | undefined
  /** False where its content was dropped, and only its place in the timeline is left. */
  isKept(id: string): boolean
  madeFolders(id: string): string[]
  /** Folders that came into being with the file whose state this is, looked up back to its creation. */
  madeWith(id: string): string[]
  /** The caller holds the project's lock until the rows are in. */
  beginBatch(count: number): Steps<SnapshotBatch>
  /** The content of a state whose row may not be there yet. */
  stored(snapshot: Pick<Snapshot, 'id' | 'sha256' | 'bytes'>): Content
  forget(id: string): void
  /** Takes away the two files of a state; its row, where it has one, stays. */
  discard(id: string): void
  insert(snapshot: Snapshot, state: Row['state'], plan?: Plan): void
  pending(): Row[]
  hasPending(): boolean
  /** Marks a call whose rows are put in or settled a few at a time; undefined takes the mark away. */
  mark(call: string, phase: Phase | undefined): void
  phase(call: string): Phase | undefined
  /** The change has landed: its state counts, with the mode it really got, and what it takes back is taken back. */
  settle(id: string, mode?: number): void
  /** Drops states of a path beyond the limit (`excessStates`), never its original. */
  prune(path: string, most: number): Excess
}

/** A timeline of states per file: `<id>.txt` holds the content (one copy however many states share it), `<id>.meta.json` describes it. */
export function openSnapshots(
  folder: StateFolder,
  db: Database,
  /** Does it while nobody changes anything. */
  alone: (act: () => void) => void = (act) => act(),
): SnapshotStore {
  if (isLost(folder, db)) alone(() => rebuildIndex(folder, db))
  let pruned = 0
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
    list(limit, prefix, among = () => true) {
      const found: Snapshot[] = []
      for (const snapshot of newestFirst(db, prefix)) {
        if (found.length >= limit) break
        if (formOf(snapshot) === 'file' && among(snapshot.path) && healthy(snapshot)) found.push(snapshot)
      }
      return found
    },
    get: (id) => rows(`SELECT * FROM snapshots WHERE id = ? AND state != 'pending'`, id)[0],
    latest: (path) => rows(`SELECT * FROM snapshots WHERE path = ? AND state = 'kept' ORDER BY ts DESC LIMIT 1`, path)[0],
    content(id) {
      if (!idForm.test(id))
        throw new Fault('bad-input', 'Not a snapshot id', { hint: 'Ids look like snap_20251101T093210_ab12cd34.' })
      const content = folder.read(`${id}.txt`)
      const described = folder.read(`${id}.meta.json`)
      if (!content || !described) throw gone(id)
      let meta: { path?: unknown; sha256?: unknown; contentHash?: unknown }
      try {
        meta = JSON.parse(described.toString('utf8')) as typeof meta
      } catch {
        throw broken(id, 'its description cannot be read')
      }
      const row = db.get<Row>('SELECT * FROM snapshots WHERE id = ?', id)
      if (!row) throw gone(id)
      if (meta.path !== row.path || meta.sha256 !== row.sha256) throw broken(id, 'its description was changed')
      return intact(content, row)
    },
    contentOnDisk(id) {
      const row = db.get<Row>(`SELECT * FROM snapshots WHERE id = ?`, id)
      return row && row.bytes > largestInMemory ? store.stored(row) : store.content(id)
    },
    stored(snapshot) {
      const { id, sha256: hash, bytes } = snapshot
      if (hash !== null && bytes > largestInMemory)
        return {
          sha256: hash,
          bytes,
          open: () => folder.open(`${id}.txt`) ?? raise(gone(id)),
          changed: () => broken(id, 'its content was changed'),
        }
      const content = folder.read(`${id}.txt`)
      if (!content) throw gone(id)
      return intact(content, snapshot)
    },
    // Rows of one call are put in as their states are minted.
    ofCall: (call) => changesOf(db, 'call = ?', call, 'rowid'),
    ofSession: (session) => changesOf(db, 'session = ?', session, 'ts'),
    after: (path, timestamp) => changesOf(db, 'path = ?', path, 'ts', timestamp),
    newest: (path) =>
      (path === undefined
        ? db.get<{ ts: number }>(
            `SELECT ts FROM snapshots INDEXED BY snapshots_newest WHERE state = 'kept' ORDER BY ts DESC LIMIT 1`,
          )
        : db.get<{ ts: number }>(`SELECT ts FROM snapshots WHERE path = ? AND state = 'kept' ORDER BY ts DESC LIMIT 1`, path)
      )?.ts ?? 0,
    oldest: (path) =>
      db.get<{ ts: number }>(`SELECT ts FROM snapshots WHERE path = ? AND state = 'kept' ORDER BY ts LIMIT 1`, path)?.ts,
    isKept: (id) => db.get(`SELECT 1 FROM snapshots WHERE id = ? AND state = 'kept'`, id) !== undefined,
    lastChange: (upTo = Number.MAX_SAFE_INTEGER) =>
      rows(
        `SELECT * FROM snapshots s INDEXED BY snapshots_newest WHERE state = 'kept' AND kind != 'baseline' AND undone_by IS NULL
         AND ts <= ? AND ${settled} AND NOT EXISTS (SELECT 1 FROM snapshots u WHERE u.undone_by = s.call) ORDER BY ts DESC LIMIT 1`,
        upTo,
      )[0],
    madeFolders: (id) => JSON.parse(db.get<Row>('SELECT * FROM snapshots WHERE id = ?', id)?.made_folders ?? '[]') as string[],
    madeWith(id) {
      for (let at: string | null = id; at !== null; at = store.get(at)?.before ?? null) {
        const made = store.madeFolders(at)
        if (made.length) return made
      }
      return []
    },
    *beginBatch(count) {
      const flush = yield* flushFor(count, folder.at('.'))
      const kept: string[] = []
      return { flush, mint: openMint(db), keep: openKeep(folder, db, flush, kept), kept }
    },
    forget(id) {
      db.run('DELETE FROM snapshots WHERE id = ?', id)
      store.discard(id)
    },
    discard(id) {
      folder.remove(`${id}.meta.json`)
      folder.remove(`${id}.txt`)
    },
    insert: (snapshot, state, plan) => insertRow(db, 'INSERT', snapshot, state, plan),
    pending: () => db.all<Row>(`SELECT * FROM snapshots WHERE state = 'pending' ORDER BY ts`),
    hasPending: () => db.get(`SELECT 1 FROM snapshots WHERE state = 'pending' LIMIT 1`) !== undefined,
    mark(call, phase) {
      if (phase) db.run('INSERT OR REPLACE INTO commits (call, phase) VALUES (?, ?)', call, phase)
      else db.run('DELETE FROM commits WHERE call = ?', call)
    },
    phase: (call) => db.get<{ phase: Phase }>('SELECT phase FROM commits WHERE call = ?', call)?.phase,
    settle(id, mode) {
      const bits = mode ?? null
      db.run(`UPDATE snapshots SET state = 'kept', temporary = NULL, mode = coalesce(?, mode) WHERE id = ?`, bits, id)
      const row = db.get<Row>('SELECT * FROM snapshots WHERE id = ?', id)
      for (const undone of JSON.parse(row?.undoes ?? '[]') as string[]) {
        // What an undone undo had taken back stands again.
        db.run(
          `UPDATE snapshots INDEXED BY snapshots_by_path SET undone_by = NULL
           WHERE undone_by = (SELECT call FROM snapshots WHERE id = ?) AND path = ?`,
          undone,
          row?.path ?? '',
        )
        db.run('UPDATE snapshots SET undone_by = ? WHERE id = ?', row?.call ?? null, undone)
      }
    },
    prune(path, most) {
      const { written, others } = excessStates(db, path, most)
      for (const id of [...written, ...others]) {
        db.run(`UPDATE snapshots SET state = 'dropped' WHERE id = ?`, id)
        store.discard(id)
      }
      if (written.length && pruned++ % between === 0)
        for (const id of excessPlaces(db, path)) db.run(`DELETE FROM snapshots WHERE id = ? AND state = 'dropped'`, id)
      return { written, others }
    },
  }
  return store
}

/** Times rise by one at least, also past the clock, so that they alone give the order; ids of one mint never meet. */
function openMint(db: Database): SnapshotBatch['mint'] {
  let newest = db.get<{ ts: number | null }>('SELECT max(ts) AS ts FROM snapshots')?.ts ?? 0
  let mark = randomBytes(4).readUInt32BE()
  return () => {
    newest = Math.max(Date.now(), newest + 1)
    mark = (mark + 1) % 2 ** 32
    const clock = new Date(newest).toISOString().replace(/[-:]|\.\d+Z$/g, '')
    return { id: `snap_${clock}_${mark.toString(16).padStart(8, '0')}`, timestamp: newest }
  }
}

/** Stores a state's two files. Equal contents are one file under several names. */
function openKeep(folder: StateFolder, db: Database, flush: Flush, kept: string[]): SnapshotBatch['keep'] {
  const twins = new Map<string, string>()
  const create = function* (name: string, content: Content): Steps<void> {
    try {
      yield* writeNew(folder.at(name), content, 0o600, (fd) => flush.one(fd))
    } catch (cause) {
      if (cause instanceof Fault) throw cause
      throw flush.together ? ioFault(['snapshots', name], cause) : stateFault(`snapshots/${name}`, cause)
    }
  }
  const twinOf = (hash: string): string | undefined => {
    const known = twins.get(hash)
    if (known !== undefined) return known
    // The newest: where a file can have no more names, a copy was begun.
    const row = db.get<{ id: string }>(
      `SELECT id FROM snapshots WHERE sha256 = ? AND state != 'dropped' ORDER BY rowid DESC LIMIT 1`,
      hash,
    )
    return row && folder.has(`${row.id}.txt`) ? row.id : undefined
  }
  return function* (snapshot, content) {
    const hash = snapshot.sha256 as string
    kept.push(snapshot.id)
    const twin = twinOf(hash)
    const shared = twin !== undefined && folder.link(`${twin}.txt`, `${snapshot.id}.txt`)
    if (!shared) yield* create(`${snapshot.id}.txt`, content)
    twins.set(hash, shared ? twin : snapshot.id)
    yield* create(`${snapshot.id}.meta.json`, Buffer.from(JSON.stringify(describe(snapshot))))
  }
}

function intact(content: Buffer, { id, sha256: hash }: Pick<Snapshot, 'id' | 'sha256'>): Buffer {
  if (sha256(content) !== hash) throw broken(id, 'its content was changed')
  return content
}

function raise(fault: Error): never {
  throw fault
}

function gone(id: string): Fault {
  return new Fault('not-found', `No such snapshot: ${id}`, {
    details: { snapshotId: id },
    hint: (name) => `${name('list_snapshots')} shows what is kept; old states are dropped by limits.snapshotRetention.`,
  })
}

function broken(id: string, why: string): Fault {
  return new Fault('parse', `Snapshot ${id} is damaged: ${why}`, {
    details: { snapshotId: id },
    hint: 'Choose a neighbouring snapshot of the same file.',
  })
}

/** What `.meta.json` says: the contract's fields first, then what it takes to rebuild the index from the files alone. */
function describe(snapshot: Snapshot): Record<string, unknown> {
  const { id, path, timestamp, sha256: hash, idempotencyKey, bytes, kind, call, session, before, form, mode } = snapshot
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
    form,
    mode,
  }
}

/** So many writes drop something before it is looked for places to go. */
const between = 128
/** The files are the truth: a lost or new database is filled from them. */
function isLost(folder: StateFolder, db: Database): boolean {
  return db.get('SELECT 1 FROM snapshots LIMIT 1') === undefined && metaFiles(folder).length > 0
}

function metaFiles(folder: StateFolder): string[] {
  return folder.names().filter((name) => name.endsWith('.meta.json'))
}

/** The first change of another process may have made the files, and its rows by now. */
function rebuildIndex(folder: StateFolder, db: Database): void {
  if (!isLost(folder, db)) return
  db.transaction(() => {
    for (const name of metaFiles(folder)) {
      try {
        const meta = JSON.parse(folder.read(name)?.toString('utf8') ?? '') as Snapshot & { sha256: string }
        if (!idForm.test(meta.id) || typeof meta.path !== 'string') continue
        insertRow(db, 'INSERT OR IGNORE', meta, 'kept')
      } catch {
        continue
      }
    }
  })
}
