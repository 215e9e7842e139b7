import { randomBytes } from 'node:crypto'
import type { Grant } from '../contracts/grant.ts'
import { bounds } from '../contracts/kept.ts'
import type { Database } from '../host/database.ts'

export interface GrantStore {
  /** All at once; they count only if they could be recorded. The same given again counts anew from now, for the reasons it had besides. */
  give(given: readonly Given[], record: (grants: readonly Grant[]) => void): Grant[]
  /** Those in force, the newest first. */
  list(): Grant[]
  revoke(id: string, record: (grant: Grant) => void): Grant | undefined
  /** Whether a session may, by a grant of its own or one for all that was given for this reason. */
  mayChange(session: string, subject: string, reason: string): boolean
  /** Whether pages may be sent there. One that is good once belongs to whoever comes first: `by` is a run or a call. */
  mayVisit(session: string, host: string, by: string): boolean
  /** Whether it may call this tool, as it was defined when that was granted. */
  mayCall(session: string, tool: string, definition: string): boolean
  /** The same where it is made use of now: one that is good for one use is gone. */
  use(kind: Grant['kind'], session: string, subject: string): boolean
}

type Given = Omit<Grant, 'id' | 'givenAt'>

/** One that never lapses. */
const never = Number.MAX_SAFE_INTEGER
/** Whose one for all sessions is. */
const everybody = ''

type Row = Omit<Grant, 'scope' | 'session' | 'expiresAt' | 'reasons'> & {
  scope: string | null
  session: string
  expiresAt: number
  reasons: string
}

// Stores made before scopes: all that was given then was for a session.
const fields = `id, kind, COALESCE(scope, 'session') AS scope, session, path AS subject, given_by AS "by", given_at AS givenAt, expires_at AS expiresAt, COALESCE(reasons, '[]') AS reasons`
const ofKind = 'kind = ? AND path = ? AND session IN (?, ?) AND expires_at > ?'

/** Of one file; it has one or two. */
const mostReasons = 20

/** So long it is taken that there are still none, where there were none at all. What is there is looked up each time. */
const noneMs = 5

/** What people let agents do: the one store of it, shared by all processes on the project. */
export function openGrants(db: Database): GrantStore {
  let noneUntil = 0
  db.run('DELETE FROM grants WHERE expires_at <= ?', Date.now())
  const inForce = (kind: Grant['kind'], session: string, subject: string): Row[] =>
    db.all<Row>(`SELECT ${fields} FROM grants WHERE ${ofKind}`, kind, subject, session, everybody, Date.now())
  const put = ({ id, kind, scope, subject, by, reasons, givenAt, ...grant }: Grant): void => {
    const session = grant.session ?? everybody
    db.run('DELETE FROM grants WHERE kind = ? AND session = ? AND path = ?', kind, session, subject)
    db.run(
      'INSERT INTO grants (id, kind, scope, session, path, given_by, given_at, expires_at, reasons) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)',
      id,
      kind,
      scope,
      session,
      subject,
      by,
      givenAt,
      grant.expiresAt ?? never,
      JSON.stringify(reasons),
    )
  }
  return {
    give(given, record) {
      const now = Date.now()
      noneUntil = 0
      return db.transaction(() => {
        db.run('DELETE FROM grants WHERE expires_at <= ?', now)
        const grants = given.map((one): Grant => {
          const before = inForce(one.kind, one.session ?? everybody, one.subject).filter(
            (row) => row.session === (one.session ?? everybody),
          )
          const reasons = [...new Set([...one.reasons, ...before.flatMap(reasonsOf)])].slice(0, mostReasons)
          return { id: `grant_${randomBytes(8).toString('hex')}`, ...one, reasons, givenAt: now }
        })
        record(grants)
        for (const grant of grants) put(grant)
        // Those for good are the person's own work: none that came with an answer pushes one out.
        for (const alike of ['=', '<>']) {
          const beyond = `SELECT rowid FROM grants WHERE COALESCE(scope, 'session') ${alike} 'always' ORDER BY given_at DESC, rowid DESC LIMIT -1 OFFSET ${bounds.grants}`
          db.run(`DELETE FROM grants WHERE rowid IN (${beyond})`)
        }
        return grants
      }, true)
    },
    list: () =>
      db
        .all<Row>(`SELECT ${fields} FROM grants WHERE expires_at > ? ORDER BY given_at DESC, id LIMIT 500`, Date.now())
        .map(asGrant),
    // The other way round than giving: what the log says is taken back must be gone, whenever the process dies.
    revoke(id, record) {
      const revoked = db.transaction(() => {
        const row = db.get<Row>(`SELECT ${fields} FROM grants WHERE id = ?`, id)
        if (row) db.run('DELETE FROM grants WHERE id = ?', id)
        return row && asGrant(row)
      }, true)
      if (revoked) record(revoked)
      return revoked
    },
    mayChange: (session, subject, reason) => inForce('runs', session, subject).some((row) => reasonsOf(row).includes(reason)),
    mayCall: (session, tool, definition) => inForce('tool', session, tool).some((row) => reasonsOf(row).includes(definition)),
    mayVisit(session, host, by) {
      const rows = inForce('host', session, host)
      const good = (row: Row): boolean => row.scope !== 'once' || reasonsOf(row).includes(by)
      if (rows.some(good)) return true
      if (rows.length === 0) return false
      return db.transaction(() => {
        const unused = inForce('host', session, host).find((row) => reasonsOf(row).length === 0)
        if (unused) db.run('UPDATE grants SET reasons = ? WHERE id = ?', JSON.stringify([by]), unused.id)
        return unused !== undefined
      })
    },
    use(kind, session, subject) {
      // Every read asks: where nobody was granted anything, it asks the store a few hundred times a second and not thousands of times.
      if (performance.now() < noneUntil) return false
      if (db.get(`SELECT 1 FROM grants LIMIT 1`) === undefined) {
        noneUntil = performance.now() + noneMs
        return false
      }
      if (inForce(kind, session, subject).length === 0) return false
      return db.transaction(() => {
        const rows = inForce(kind, session, subject)
        const once = rows.find(({ scope }) => scope === 'once')
        if (once && rows.length === 1) db.run('DELETE FROM grants WHERE id = ?', once.id)
        return rows.length > 0
      })
    },
  }
}

/** Those of a store from before them count for none. */
const reasonsOf = ({ reasons }: Row): string[] => JSON.parse(reasons) as string[]

function asGrant(row: Row): Grant {
  const { scope, session, expiresAt } = row
  return {
    ...row,
    reasons: reasonsOf(row),
    scope: (scope ?? 'session') as Grant['scope'],
    session: session === everybody ? null : session,
    expiresAt: expiresAt === never ? null : expiresAt,
  }
}
