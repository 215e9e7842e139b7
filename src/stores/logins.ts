import { bounds } from '../contracts/kept.ts'
import type { SavedLogin } from '../contracts/saved-login.ts'
import type { Database } from '../host/database.ts'
import type { Sealing } from './sealing.ts'

/** Logins that were saved on request. What is on the disk says nothing without the key of the project. */
export interface LoginStore {
  /** False where there is too much of it to be kept. */
  save(login: { id: string; site: string; state: unknown }, owner: string): boolean
  /** What it is known by has changed meanwhile. */
  refresh(id: string, state: unknown): void
  /** For a session that may use it. */
  load(id: string, owner: string): unknown
  /** Whether a session may use it now, or once a person agreed; undefined where nothing is saved under this id. */
  standing(id: string, session: string): 'now' | 'asks' | undefined
  /** A person let this session use it. Undefined where there is none. */
  admit(id: string, session: string): SavedLogin | undefined
  get(id: string): SavedLogin | undefined
  list(): SavedLogin[]
  remove(id: string): SavedLogin | undefined
}

interface Row extends SavedLogin {
  sealed: string
  owners: string
}

const fields = 'id, site, sealed, owners, saved_at AS savedAt, used_at AS usedAt'
const { most, days, bytes } = bounds.logins
/** Sessions that may use one; of more the oldest ask again. */
const mostOwners = 20

export function openLogins(db: Database, { seal, open }: Sealing): LoginStore {
  const tooOld = (): number => Date.now() - days * 86_400_000
  const row = (id: string): Row | undefined =>
    db.get<Row>(`SELECT ${fields} FROM logins WHERE id = ? AND used_at > ?`, id, tooOld())
  const ownersOf = ({ owners }: Row): string[] => JSON.parse(owners) as string[]
  const plain = ({ id, site, savedAt, usedAt }: Row): SavedLogin => ({ id, site, savedAt, usedAt })
  // With its own id in it, so that none passes for another.
  const sealed = (id: string, state: unknown): string | undefined => {
    const text = seal({ id, state })
    return text.length > bytes ? undefined : text
  }
  return {
    save({ id, site, state }, owner) {
      const text = sealed(id, state)
      if (text === undefined) return false
      const now = Date.now()
      db.transaction(() => {
        db.run('DELETE FROM logins WHERE id = ? OR used_at <= ?', id, tooOld())
        db.run(
          'INSERT INTO logins (id, site, sealed, owners, saved_at, used_at) VALUES (?, ?, ?, ?, ?, ?)',
          id,
          site,
          text,
          JSON.stringify([owner]),
          now,
          now,
        )
        db.run('DELETE FROM logins WHERE id IN (SELECT id FROM logins ORDER BY used_at DESC, id LIMIT -1 OFFSET ?)', most)
      }, true)
      return true
    },
    refresh(id, state) {
      const text = sealed(id, state)
      if (text !== undefined) db.run('UPDATE logins SET sealed = ?, used_at = ? WHERE id = ?', text, Date.now(), id)
    },
    load(id, owner) {
      const found = row(id)
      if (!found || !ownersOf(found).includes(owner)) return undefined
      const kept = open(found.sealed) as { id: string; state: unknown }
      if (kept.id !== id) return undefined
      db.run('UPDATE logins SET used_at = ? WHERE id = ?', Date.now(), id)
      return kept.state
    },
    standing(id, session) {
      const found = row(id)
      return found && (ownersOf(found).includes(session) ? 'now' : 'asks')
    },
    admit: (id, session) =>
      db.transaction(() => {
        const found = row(id)
        if (!found) return undefined
        const owners = [...ownersOf(found).filter((one) => one !== session), session].slice(-mostOwners)
        db.run('UPDATE logins SET owners = ?, used_at = ? WHERE id = ?', JSON.stringify(owners), Date.now(), id)
        return plain(found)
      }, true),
    get(id) {
      const found = row(id)
      return found && plain(found)
    },
    list: () => db.all<Row>(`SELECT ${fields} FROM logins WHERE used_at > ? ORDER BY used_at DESC, id`, tooOld()).map(plain),
    remove: (id) =>
      db.transaction(() => {
        const found = row(id)
        db.run('DELETE FROM logins WHERE id = ?', id)
        return found && plain(found)
      }, true),
  }
}
