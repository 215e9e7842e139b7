import { each, type Steps } from '../text/steps.ts'
import { snapshotIdPattern, type Snapshot } from '../contracts/snapshot.ts'
import type { Database } from '../host/database.ts'
import type { StateFolder } from '../host/state-folder.ts'

/** Kept states that may go. */
export interface OldStates {
  /** Written through Handrail, old, and neither the original of their file nor its newest two. */
  aged: { id: string; path: string }[]
  /** Files of states that were dropped, or whose change never came about: no row names them. */
  leftovers: string[]
  /** States nobody wrote through Handrail, of which the index has lost the row. They are taken up again. */
  strays: Snapshot[]
}

const few = 200
const fileForm = new RegExp(`^(${snapshotIdPattern.replace(/^\^|\$$/g, '')})\\.(txt|meta\\.json)$`)

export function* findOldStates(folder: StateFolder, db: Database, before: number): Steps<OldStates> {
  const found: OldStates = { aged: [], leftovers: [], strays: [] }
  for (let after = ''; ;) {
    const paths = db.all<{ path: string }>(
      `SELECT DISTINCT path FROM snapshots WHERE path > ? AND state = 'kept' AND kind != 'baseline' AND ts < ? ORDER BY path LIMIT ${few}`,
      after,
      before,
    )
    for (const { path } of paths) {
      for (const id of agedOf(db, path, before)) found.aged.push({ id, path })
      yield
    }
    if (paths.length < few) break
    after = paths.at(-1)?.path ?? ''
  }
  const seen = new Set<string>()
  for (const name of folder.names()) {
    const id = fileForm.exec(name)?.[1]
    if (id === undefined || seen.has(id)) continue
    seen.add(id)
    yield
    const stray = unnamed(folder, db, id)
    if (stray === 'leftover') found.leftovers.push(id)
    else if (stray) found.strays.push(stray)
  }
  return found
}

/**
 * Never the original, nor the newest two that were written, nor any that Handrail did not write. Of a file that is gone, and of which nobody
 * else ever made a state, nothing is the original of anything: all its states go, else an agent could make and remove files without an end.
 */
export function agedOf(db: Database, path: string, before: number): string[] {
  const rows = db.all<{ id: string; ts: number; sha256: string | null; state: string; kind: string }>(
    'SELECT id, ts, sha256, state, kind FROM snapshots WHERE path = ? ORDER BY ts',
    path,
  )
  const last = rows.at(-1)
  const wasOurs =
    last?.state === 'kept' && last.sha256 === null && last.ts < before && rows.every(({ kind }) => kind !== 'baseline')
  const original = rows.find(({ state, sha256 }) => state === 'kept' && sha256 !== null)?.id
  return rows
    .filter(({ state, kind }) => state === 'kept' && kind !== 'baseline')
    .slice(0, wasOurs ? undefined : -2)
    .filter(({ id, ts, sha256 }) => (wasOurs || id !== original) && sha256 !== null && ts < before)
    .map(({ id }) => id)
}

/** What the files of an id are that no row needs; nothing where one does. Sure only while the project's lock is held. */
export function unnamed(folder: StateFolder, db: Database, id: string): Snapshot | 'leftover' | undefined {
  const row = db.get<{ state: string }>('SELECT state FROM snapshots WHERE id = ?', id)
  if (row) return row.state === 'dropped' ? 'leftover' : undefined
  try {
    const meta = JSON.parse(folder.read(`${id}.meta.json`)?.toString('utf8') ?? '') as Snapshot
    const whole = meta.id === id && typeof meta.path === 'string' && typeof meta.sha256 === 'string'
    // Perhaps the only copy of somebody's work, where the database is older than its files.
    if (whole && meta.kind === 'baseline' && folder.has(`${id}.txt`)) return meta
  } catch {
    // Half written: its change never came about.
  }
  return 'leftover'
}

/** What goes with these states, to the byte: a content that other states share stays. */
export function* bytesOf(folder: StateFolder, ids: readonly string[]): Steps<number> {
  const shared = new Map<string, { left: number; bytes: number }>()
  let sum = 0
  for (const id of ids) {
    sum += folder.stat(`${id}.meta.json`)?.bytes ?? 0
    const stat = folder.stat(`${id}.txt`)
    if (stat) {
      const one = shared.get(stat.id) ?? { left: stat.links, bytes: stat.bytes }
      one.left--
      shared.set(stat.id, one)
    }
    yield
  }
  for (const { left, bytes } of shared.values()) if (left === 0) sum += bytes
  return sum
}

/** The files of a state; says what that freed. */
export function discard(folder: StateFolder, id: string): number {
  let freed = 0
  for (const name of [`${id}.meta.json`, `${id}.txt`]) {
    const stat = folder.stat(name)
    folder.remove(name)
    if (stat?.links === 1) freed += stat.bytes
  }
  return freed
}

export function* discardAll(folder: StateFolder, ids: readonly string[]): Steps<number> {
  return (yield* each(ids, (id) => discard(folder, id))).reduce((sum, one) => sum + one, 0)
}
