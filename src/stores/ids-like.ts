import type { Database } from '../host/database.ts'

/** Where ids of each kind stand. Each column has an index. */
const places = {
  appr: ['approvals', 'id'],
  ask: ['questions', 'id'],
  snap: ['snapshots', 'id'],
  call: ['snapshots', 'call'],
  sess: ['sessions', 'id'],
  run: ['runs', 'id'],
  grant: ['grants', 'id'],
  plan: ['plans', 'id'],
  artifact: ['artifacts', 'id'],
} as const

type IdKind = keyof typeof places

const enough = 6

/** Ids of a kind that begin with a word, a few of them: whoever typed the beginning of one means the only one there is. */
export function idsLike(db: Database, kind: IdKind, prefix: string): string[] {
  const [table, column] = places[kind]
  const found = db.all<{ id: string }>(
    `SELECT DISTINCT ${column} AS id FROM ${table} WHERE ${column} >= ? AND ${column} < ? LIMIT ${enough}`,
    prefix,
    `${prefix}\u{10ffff}`,
  )
  // Dev servers are runs too, in a table of their own.
  if (kind !== 'run') return found.map(({ id }) => id)
  const servers = db.all<{ id: string }>(
    `SELECT id FROM server_runs WHERE id >= ? AND id < ? LIMIT ${enough}`,
    prefix,
    `${prefix}\u{10ffff}`,
  )
  return [...found, ...servers].map(({ id }) => id)
}
