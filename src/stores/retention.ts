import { bounds } from '../contracts/kept.ts'
import type { Database } from '../host/database.ts'

const dayMs = 86_400_000

/** However many days: a date before the first there is would be none. */
export const daysAgo = (days: number): number => Math.max(0, Date.now() - days * dayMs)

/** What goes of one path: states that were written through Handrail, and states of others, which are said apart. */
export interface Excess {
  written: string[]
  others: string[]
}

/**
 * A baseline is a state that Handrail did not write: often the only copy of somebody's work. No number of writes pushes one out. Only
 * other programs make them, so the newest stay whatever their age, the rest for a month, and there is an end to them even then.
 */
export const others = bounds.others

/** What is to be dropped of a path where `most` states are kept: the original, and otherwise what was written. */
export function excessStates(db: Database, path: string, most: number): Excess {
  const original = db.get<{ id: string }>(
    `SELECT id FROM snapshots WHERE path = ? AND state = 'kept' AND sha256 IS NOT NULL ORDER BY ts LIMIT 1`,
    path,
  )?.id
  return { written: excessWritten(db, path, most - 1, original ?? ''), others: excessOthers(db, path, original ?? '') }
}

interface Row {
  id: string
  session: string | null
}

/**
 * First what lies in the middle of one session's writes, oldest first: no undo goes back to it but that of a single write. Then the
 * states that another session began from. Never the newest two.
 */
function excessWritten(db: Database, path: string, room: number, original: string): string[] {
  const kept = `path = ? AND state = 'kept' AND kind != 'baseline' AND id != ?`
  const count = db.get<{ n: number }>(`SELECT count(*) AS n FROM snapshots WHERE ${kept}`, path, original)?.n ?? 0
  const excess = count - room
  if (excess <= 0) return []
  const rows = db.all<Row>(`SELECT id, session FROM snapshots WHERE ${kept} ORDER BY ts`, path, original)
  const older = rows.slice(0, -2)
  const isMiddle = ({ session }: Row, index: number): boolean => rows[index + 1]?.session === session
  const inOrder = [...older.filter(isMiddle), ...older.filter((row, index) => !isMiddle(row, index))]
  return inOrder.slice(0, excess).map(({ id }) => id)
}

function excessOthers(db: Database, path: string, original: string): string[] {
  return db
    .all<{ id: string; ts: number }>(
      `SELECT id, ts FROM snapshots WHERE path = ? AND state = 'kept' AND kind = 'baseline' AND id != ?
       ORDER BY ts DESC LIMIT -1 OFFSET ${others.stay}`,
      path,
      original,
    )
    .filter(({ ts }, index) => index >= others.ever - others.stay || ts < daysAgo(others.days))
    .map(({ id }) => id)
}

/**
 * Places of states that were dropped, of which there are too many at a path. One between two writes of its own session is no state that any
 * undo goes back to; the others go where there is no end to them, oldest first. A few at a time.
 */
export function excessPlaces(db: Database, path: string): string[] {
  const { most, ever } = bounds.places
  const dropped = `path = ? AND state = 'dropped'`
  const count = db.get<{ n: number }>(`SELECT count(*) AS n FROM snapshots WHERE ${dropped}`, path)?.n ?? 0
  if (count <= most) return []
  const middle = db.all<{ id: string }>(
    `SELECT id FROM (
       SELECT id, ts, state, session, lag(session) OVER w AS earlier, lead(session) OVER w AS later
       FROM snapshots WHERE path = ? WINDOW w AS (ORDER BY ts)
     ) WHERE state = 'dropped' AND session = earlier AND session = later ORDER BY ts LIMIT ?`,
    path,
    Math.min(few, count - most),
  )
  const rest =
    middle.length || count <= ever
      ? []
      : db.all<{ id: string }>(`SELECT id FROM snapshots WHERE ${dropped} ORDER BY ts LIMIT ?`, path, Math.min(few, count - ever))
  return [...middle, ...rest].map(({ id }) => id)
}

const few = 512
