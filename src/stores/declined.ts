import { bounds } from '../contracts/kept.ts'
import type { Database } from '../host/database.ts'
import { foldPath } from '../text/fold-name.ts'
import { foldersOf } from '../text/fold-paths.ts'
import { runToEnd } from '../text/steps.ts'

/** A person's no to a change of a file, and what they said. */
export interface Declined {
  approval: string
  at: number
  by: string
  note?: string
}

export interface DeclinedStore {
  /** These are kept for as long as the no to this question holds. */
  keep(approval: string, paths: readonly string[]): void
  /** The newest no that keeps this file, whoever asked; one that keeps whole folders keeps what stands in them. */
  newest(path: string, stands: boolean): Declined | undefined
  remove(approval: string): void
}

/** What a person's noes keep: a change that was declined as a whole is not made in parts. */
export function openDeclined(db: Database): DeclinedStore {
  return {
    keep(approval, paths) {
      const { each, many, few } = bounds.declined
      const all = db.get<{ n: number }>('SELECT count(*) AS n FROM declined')?.n ?? 0
      const most = all + paths.length > many ? few : each
      for (const path of runToEnd(foldersOf(paths.map(foldPath), most)))
        db.run('INSERT OR IGNORE INTO declined (path, approval) VALUES (?, ?)', path, approval)
    },
    newest(path, stands) {
      if (db.get('SELECT 1 FROM declined LIMIT 1') === undefined) return undefined
      const folded = foldPath(path)
      const folders = folded.split('/').map((_, at, names) => `${names.slice(0, at).join('/')}/`)
      const row = db.get<{ id: string; at: number; by: string; note: string | null }>(
        `SELECT a.id, a.decided_at AS at, a.decided_by AS by, a.note FROM declined d JOIN approvals a ON a.id = d.approval
         WHERE d.path IN (SELECT value FROM json_each(?)) AND a.state = 'denied' AND a.no_until > ?
         ORDER BY a.decided_at DESC, a.rowid DESC LIMIT 1`,
        [folded, ...(stands ? folders : [])],
        Date.now(),
      )
      return row && { approval: row.id, at: row.at, by: row.by, ...(row.note !== null && { note: row.note }) }
    },
    remove: (approval) => void db.run('DELETE FROM declined WHERE approval = ?', approval),
  }
}
