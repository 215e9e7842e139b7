import type { Database } from '../host/database.ts'
import { rootMark, rootOf } from '../text/root-path.ts'

/** Which folder each root's name stands for in the records of this project. */
export interface RootNames {
  /** False where states of files are kept under that name which are of another folder: they would be taken for this one's. */
  bind(name: string, path: string): boolean
  path(name: string): string | undefined
  all(): { name: string; path: string }[]
  /** The names under which a killed process left a change. */
  pending(): string[]
}

export function openRootNames(db: Database, named: (name: string, path: string) => void): RootNames {
  const path: RootNames['path'] = (name) => db.get<{ path: string }>('SELECT path FROM roots WHERE name = ?', name)?.path
  const isUsed = (name: string): boolean =>
    // A slash is the sign before the zero.
    db.get('SELECT 1 FROM snapshots WHERE path > ? AND path < ? LIMIT 1', `${rootMark(name)}/`, `${rootMark(name)}0`) !==
    undefined
  return {
    path,
    all: () => db.all<{ name: string; path: string }>('SELECT name, path FROM roots'),
    bind(name, folder) {
      const known = path(name)
      if (known === folder) return true
      if (known !== undefined && isUsed(name)) return false
      // The log first: what cannot be written down there does not count.
      named(name, folder)
      db.run('INSERT OR REPLACE INTO roots (name, path) VALUES (?, ?)', name, folder)
      return true
    },
    pending() {
      const rows = db.all<{ path: string }>(`SELECT path FROM snapshots WHERE state = 'pending' AND path >= '//' AND path < '/0'`)
      return [...new Set(rows.map((row) => rootOf(row.path)?.slice(rootMark('').length) ?? ''))]
    },
  }
}
