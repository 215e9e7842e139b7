import type { Snapshot } from '../contracts/snapshot.ts'
import type { Steps } from '../text/steps.ts'
import type { Database } from '../host/database.ts'
import { fromRow, type Row } from './snapshot-row.ts'

const fewPaths = 64
const firstPage = 2
const page = 200

/** A change of many files counts once all of them are settled. */
export const settled = `coalesce(call, '') NOT IN (SELECT call FROM commits)`

/** Page by page along an index: ten thousand rows at once would keep everybody waiting. */
export function* changesOf(db: Database, where: string, value: string, along: 'rowid' | 'ts', from = 0): Steps<Snapshot[]> {
  const found: Snapshot[] = []
  for (let after = from; ;) {
    const rows = db.all<Row & { at: number }>(
      `SELECT *, ${along} AS at FROM snapshots WHERE ${where} AND ${along} > ? AND state != 'pending' AND kind != 'baseline'
       AND ${settled} ORDER BY ${along} LIMIT ${page}`,
      value,
      after,
    )
    for (const row of rows) found.push(fromRow(row))
    yield
    if (rows.length < page) return found
    after = rows.at(-1)?.at ?? 0
  }
}

/** Newest first under a path prefix. A few paths are merged from their own timelines; many are read off the common one. */
export function* newestFirst(db: Database, prefix: string): Generator<Snapshot> {
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
