import { randomBytes } from 'node:crypto'
import type { Grant } from '../contracts/grant.ts'
import { bounds } from '../contracts/kept.ts'
import type { Database } from '../host/database.ts'

export interface GrantStore {
  /** It counts only if it could be recorded. The same given again counts anew from now. */
  give(given: Pick<Grant, 'kind' | 'session' | 'path' | 'by'>, ttlMs: number, record: (grant: Grant) => void): Grant
  /** Those in force, the newest first. */
  list(): Grant[]
  revoke(id: string, record: (grant: Grant) => void): Grant | undefined
  holds(kind: Grant['kind'], session: string, path: string): boolean
  /** Every path of a kind that a session has. */
  paths(kind: Grant['kind'], session: string): ReadonlySet<string>
}

const fields = 'id, kind, session, path, given_by AS "by", given_at AS givenAt, expires_at AS expiresAt'

/** What people let sessions do. Shared by all processes on the project; it lapses by itself. */
export function openGrants(db: Database): GrantStore {
  db.run('DELETE FROM grants WHERE expires_at <= ?', Date.now())
  return {
    give(given, ttlMs, record) {
      const now = Date.now()
      const grant: Grant = { id: `grant_${randomBytes(8).toString('hex')}`, ...given, givenAt: now, expiresAt: now + ttlMs }
      db.transaction(() => {
        record(grant)
        const { id, kind, session, path, by } = grant
        db.run('DELETE FROM grants WHERE expires_at <= ?', now)
        db.run('DELETE FROM grants WHERE kind = ? AND session = ? AND path = ?', kind, session, path)
        db.run(
          'INSERT INTO grants (id, kind, session, path, given_by, given_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?)',
          id,
          kind,
          session,
          path,
          by,
          now,
          grant.expiresAt,
        )
        const beyond = `SELECT rowid FROM grants ORDER BY given_at DESC, rowid DESC LIMIT -1 OFFSET ${bounds.grants}`
        db.run(`DELETE FROM grants WHERE rowid IN (${beyond})`)
      }, true)
      return grant
    },
    list: () =>
      db.all<Grant>(`SELECT ${fields} FROM grants WHERE expires_at > ? ORDER BY given_at DESC, id LIMIT 500`, Date.now()),
    // The other way round than giving: what the log says is taken back must be gone, whenever the process dies.
    revoke(id, record) {
      const revoked = db.transaction(() => {
        const grant = db.get<Grant>(`SELECT ${fields} FROM grants WHERE id = ?`, id)
        if (grant) db.run('DELETE FROM grants WHERE id = ?', id)
        return grant
      }, true)
      if (revoked) record(revoked)
      return revoked
    },
    holds: (kind, session, path) =>
      db.get(
        'SELECT 1 FROM grants WHERE kind = ? AND session = ? AND path = ? AND expires_at > ?',
        kind,
        session,
        path,
        Date.now(),
      ) !== undefined,
    paths: (kind, session) =>
      new Set(
        db
          .all<{ path: string }>(
            'SELECT path FROM grants WHERE kind = ? AND session = ? AND expires_at > ? LIMIT 500',
            kind,
            session,
            Date.now(),
          )
          .map(({ path }) => path),
      ),
  }
}
