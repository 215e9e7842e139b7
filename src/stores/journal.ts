import { randomBytes } from 'node:crypto'
import { ToolError } from '../contracts/errors.ts'
import type { Snapshot } from '../contracts/snapshot.ts'
import type { Written } from '../contracts/tool.ts'
import type { Database } from '../host/database.ts'
import { sha256, type Files } from '../host/files.ts'
import { placeFile, removeFile, sweepTemporary } from '../host/place.ts'
import type { Root } from '../host/walk.ts'
import type { Row, SnapshotStore } from './snapshots.ts'

/** One file's change: what must be there now, and what shall be there. `null` is "no such file". */
export interface Change {
  path: string
  /** Content hash the change was made for; the change is refused where the file has moved on. */
  expect: string | null
  after: Buffer | null
  /** Snapshots that this change takes back. */
  undoes?: readonly string[]
}

export interface Origin {
  call: string
  session: string
  idempotencyKey: string | null
}

export interface Journal {
  /** All of the changes or none, each with both its states kept. The caller holds the project's lock. */
  commit(
    changes: readonly Change[],
    origin: Origin,
    together?: (written: Written[]) => void,
  ): { written: Written[]; pruned: string[] }
  /** Finishes or takes back what a killed process left; says what it did. The caller holds the project's lock. */
  recover(): { id: string; path: string; landed: boolean }[]
}

export function openJournal(parts: {
  root: Root
  files: Files
  snapshots: SnapshotStore
  db: Database
  retention: number
  /** A call whose change did not come about. */
  onDropped: (call: string) => void
}): Journal {
  const { root, files, snapshots, db } = parts

  const current = (path: string): Buffer | null => files.peek(path) ?? null

  /** The state a file is in now, as an entry of its timeline; added where it is not there yet, so that an original is never lost. */
  const baseline = (path: string, content: Buffer | null): string | null => {
    if (content === null) return null
    const hash = sha256(content)
    const latest = snapshots.latest(path)
    if (latest?.sha256 === hash) return latest.id
    const minted = snapshots.mint(path)
    const snapshot: Snapshot = {
      ...minted,
      path,
      sha256: hash,
      bytes: content.length,
      kind: 'baseline',
      call: null,
      session: null,
      idempotencyKey: null,
      before: latest?.id ?? null,
      undoneBy: null,
    }
    snapshots.keep(snapshot, content)
    snapshots.insert(snapshot, 'kept')
    return snapshot.id
  }

  const prepare = (
    change: Change,
    origin: Origin,
  ): { change: Change; snapshot: Snapshot; temporary: string; before: Buffer | null } => {
    const before = current(change.path)
    const found = before === null ? null : sha256(before)
    if (found !== change.expect) throw moved(change.path, change.expect, found)
    const beforeId = baseline(change.path, before)
    const snapshot: Snapshot = {
      ...snapshots.mint(change.path),
      path: change.path,
      sha256: change.after === null ? null : sha256(change.after),
      bytes: change.after?.length ?? 0,
      kind: change.after === null ? 'remove' : 'write',
      call: origin.call,
      session: origin.session,
      idempotencyKey: origin.idempotencyKey,
      before: beforeId,
      undoneBy: null,
    }
    snapshots.keep(snapshot, change.after)
    const temporary = temporaryName()
    snapshots.insert(snapshot, 'pending', { temporary, undoes: change.undoes ?? [] })
    return { change, snapshot, temporary, before }
  }

  const apply = (path: string, content: Buffer | null, temporary: string, folders: string[] = []): string[] => {
    const names = path.split('/')
    if (content !== null) return placeFile(root, names, content, temporary).madeFolders
    removeFile(root, names, folders)
    return []
  }

  return {
    commit(changes, origin, together) {
      const prepared = db.transaction(() => {
        const ready = changes.map((change) => prepare(change, origin))
        together?.(ready.map(({ snapshot }) => writtenAs(snapshot)))
        return ready
      }, true)
      const done: { path: string; before: Buffer | null; made: string[] }[] = []
      try {
        for (const { change, snapshot, temporary, before } of prepared) {
          const folders = change.after === null && snapshot.before ? madeWith(snapshots, snapshot.before) : []
          done.push({ path: change.path, before, made: apply(change.path, change.after, temporary, folders) })
        }
      } catch (fault) {
        for (const { path, before, made } of done.toReversed()) apply(path, before, temporaryName(), made)
        for (const { snapshot } of prepared) snapshots.forget(snapshot.id)
        parts.onDropped(origin.call)
        throw fault
      }
      const pruned = db.transaction(() => {
        prepared.forEach(({ snapshot }, index) => snapshots.settle(snapshot.id, done[index]?.made ?? []))
        return prepared.flatMap(({ change }) => snapshots.prune(change.path, parts.retention))
      })
      return { written: prepared.map(({ snapshot }) => writtenAs(snapshot)), pruned }
    },

    recover() {
      const left = snapshots.pending()
      if (left.length === 0) return []
      return groupByCall(left).flatMap((rows) => {
        // One file of several in place: the rest follows, since every new content was stored before the first move.
        const forward = rows.some(landed)
        const end = rows.map((row) => {
          sweepTemporary(root, row.path.split('/'), row.temporary ?? '')
          if (!forward) snapshots.forget(row.id)
          else {
            if (!landed(row)) finish(row)
            snapshots.settle(row.id, [])
          }
          return { id: row.id, path: row.path, landed: forward }
        })
        if (!forward) parts.onDropped(rows[0]?.call ?? '')
        return end
      })
    },
  }

  /** Whether the file is in the state the change was to bring about. What cannot be read is in none. */
  function landed(row: Row): boolean {
    try {
      return hashOf(current(row.path)) === row.sha256
    } catch {
      return false
    }
  }

  /** Carries out one recorded change, unless somebody else has changed the file since. */
  function finish(row: Row): void {
    const before = row.before_id === null ? null : (snapshots.get(row.before_id)?.sha256 ?? null)
    try {
      if (hashOf(current(row.path)) === before)
        apply(row.path, row.sha256 === null ? null : snapshots.content(row.id), temporaryName())
    } catch {
      // It became something no file tool touches; it stays as somebody left it.
    }
  }
}

function temporaryName(): string {
  return `.handrail-${randomBytes(8).toString('hex')}.tmp`
}

function writtenAs({ path, id, bytes }: Snapshot): Written {
  return { path, snapshotId: id, bytes }
}

/** Folders that came into being with the file whose state this is, looked up back to its creation. */
function madeWith(snapshots: SnapshotStore, id: string): string[] {
  for (let at: string | null = id; at !== null; at = snapshots.get(at)?.before ?? null) {
    const made = snapshots.madeFolders(at)
    if (made.length) return made
  }
  return []
}

function groupByCall(rows: Row[]): Row[][] {
  const groups = new Map<string, Row[]>()
  for (const row of rows) groups.set(row.call ?? row.id, [...(groups.get(row.call ?? row.id) ?? []), row])
  return [...groups.values()]
}

function hashOf(content: Buffer | null): string | null {
  return content === null ? null : sha256(content)
}

function moved(path: string, expected: string | null, found: string | null): ToolError {
  const word = (hash: string | null): string => (hash === null ? 'absent' : hash.slice(0, 8))
  return new ToolError('E_CONFLICT', `${path} changed since it was looked at`, {
    details: { path, expected: word(expected), found: word(found) },
    hint: 'Read the file again, make the dry run again, look at the new diff, then write.',
  })
}
