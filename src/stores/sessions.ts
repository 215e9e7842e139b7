import { bounds } from '../contracts/kept.ts'
import type { Session, SessionNote, SessionWork } from '../contracts/session.ts'
import type { Database } from '../host/database.ts'

export interface SessionStore extends SessionWork {
  /** True where the session is new. */
  open(session: Pick<Session, 'id' | 'surface' | 'client'>): boolean
  list(): Session[]
  /** Whether or not it is among the newest. */
  get(id: string): Session | undefined
  /** Those that called, or came, since a time; the last first. */
  since(time: number, most: number): Session[]
  /** A session is at work. Written down every few seconds at most. */
  called(id: string, peer?: string): void
  refused(id: string, path: string): void
  /** Who was refused a path, the last first. */
  refusedAt(path: string, most: number): Session[]
  note(note: SessionNote): void
  notes(session: string): SessionNote[]
}

/** A dry run older than this is no longer worth remembering. */
const dryRunTtlMs = bounds.rehearsals.days * 86_400_000
/** An agent can say things, make dry runs and fail as often as it likes: what is kept of it has an end, the newest stays. */
const mostNotes = bounds.notes
const mostRows = {
  sessions: bounds.sessions,
  refusals: bounds.refusals,
  rehearsals: bounds.rehearsals.most,
  repairs: bounds.repairs,
}
/** So many rows are written before the oldest are looked for again. */
const between = 500
/** A call is not worth a write each; so much later the next one is. */
const calledEveryMs = 5_000
const mostRemembered = 1_000

const fields = 'id, surface, client, started_at AS startedAt, last_at AS lastAt, peer'

/** What belongs to one caller's visit. */
export function openSessions(db: Database): SessionStore {
  db.run('DELETE FROM rehearsals WHERE at < ?', Date.now() - dryRunTtlMs)
  const order = { sessions: 'last_at', refusals: 'at', rehearsals: 'at', repairs: 'rowid' } as const
  const written = { sessions: 0, refusals: 0, rehearsals: 0, repairs: 0 }
  const bound = (table: keyof typeof mostRows): void => {
    if (written[table]++ % between !== 0) return
    const beyond = `SELECT rowid FROM ${table} ORDER BY ${order[table]} DESC LIMIT -1 OFFSET ${mostRows[table]}`
    db.run(`DELETE FROM ${table} WHERE rowid IN (${beyond})`)
  }
  const noted = new Map<string, number>()
  return {
    open({ id, surface, client }) {
      const now = Date.now()
      if (db.run('UPDATE sessions SET last_at = ?, client = ? WHERE id = ?', now, client, id) > 0) return false
      const made = db.run(
        'INSERT OR IGNORE INTO sessions (id, surface, client, started_at, last_at) VALUES (?, ?, ?, ?, ?)',
        id,
        surface,
        client,
        now,
        now,
      )
      bound('sessions')
      return made > 0
    },
    list: () => db.all<Session>(`SELECT ${fields} FROM sessions ORDER BY last_at DESC LIMIT 200`),
    get: (id) => db.get<Session>(`SELECT ${fields} FROM sessions WHERE id = ?`, id),
    since: (time, most) =>
      db.all<Session>(`SELECT ${fields} FROM sessions WHERE last_at > ? ORDER BY last_at DESC LIMIT ?`, time, most),
    called(id, peer) {
      const now = Date.now()
      if (now - (noted.get(id) ?? 0) < calledEveryMs) return
      if (noted.size >= mostRemembered) noted.clear()
      noted.set(id, now)
      db.run('UPDATE sessions SET last_at = ?, peer = coalesce(?, peer) WHERE id = ?', now, peer ?? null, id)
    },
    refused(id, path) {
      bound('refusals')
      db.run('INSERT OR REPLACE INTO refusals (session, path, at) VALUES (?, ?, ?)', id, path, Date.now())
    },
    refusedAt: (path, most) =>
      db.all<Session>(
        `SELECT ${fields} FROM refusals JOIN sessions ON id = session WHERE path = ? ORDER BY at DESC LIMIT ?`,
        path,
        most,
      ),
    note({ session, kind, text: said, at }) {
      const text =
        said.length > mostNotes.characters
          ? `${said.slice(0, mostNotes.characters).toWellFormed()}… (cut: ${said.length} characters)`
          : said
      db.run('INSERT INTO notes (session, kind, text, at) VALUES (?, ?, ?, ?)', session, kind, text, at)
      const beyond = 'SELECT rowid FROM notes WHERE session = ? ORDER BY rowid DESC LIMIT -1 OFFSET ?'
      db.run(`DELETE FROM notes WHERE rowid IN (${beyond})`, session, mostNotes.session)
      db.run('DELETE FROM notes WHERE rowid IN (SELECT rowid FROM notes ORDER BY rowid DESC LIMIT -1 OFFSET ?)', mostNotes.all)
    },
    notes: (session) => db.all<SessionNote>('SELECT session, kind, text, at FROM notes WHERE session = ? ORDER BY at', session),
    rememberDryRun(session, tool, same, state) {
      bound('rehearsals')
      db.run(
        `INSERT INTO rehearsals (session, tool, same_digest, state_digest, at) VALUES (?, ?, ?, ?, ?)
         ON CONFLICT DO UPDATE SET state_digest = excluded.state_digest, at = excluded.at`,
        session,
        tool,
        same,
        state,
        Date.now(),
      )
    },
    dryRunState: (session, tool, same) =>
      db.get<{ state_digest: string }>(
        'SELECT state_digest FROM rehearsals WHERE session = ? AND tool = ? AND same_digest = ?',
        session,
        tool,
        same,
      )?.state_digest,
    checked(session, path, passed) {
      bound('repairs')
      if (passed) db.run('DELETE FROM repairs WHERE session = ? AND path = ?', session, path)
      else
        db.run(
          `INSERT INTO repairs (session, path, failed, rounds) VALUES (?, ?, 1, 0)
             ON CONFLICT DO UPDATE SET failed = failed + min(rounds, 1), rounds = 0`,
          session,
          path,
        )
    },
    failing: (session) => db.get('SELECT 1 FROM repairs WHERE session = ? LIMIT 1', session) !== undefined,
    repaired: (session, path) =>
      void db.run('UPDATE repairs SET rounds = rounds + 1 WHERE session = ? AND path = ?', session, path),
    failures: (session, path) =>
      db.get<{ failed: number }>('SELECT failed FROM repairs WHERE session = ? AND path = ?', session, path)?.failed ?? 0,
  }
}
