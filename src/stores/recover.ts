import { formOf, sameContent, sameState } from '../contracts/snapshot.ts'
import type { Database } from '../host/database.ts'
import type { Flush } from '../host/flush.ts'
import { removeIfEmpty, sweepTemporary } from '../host/place.ts'
import { standingAt, type Standing } from '../host/standing.ts'
import type { Root } from '../host/walk.ts'
import { carryOn, makesWay, namesOf, temporaryName, type Step } from './carry-out.ts'
import { fromRow, type Row, type SnapshotStore } from './snapshots.ts'

/** What became of the changes of one call whose process died. */
export interface Recovered {
  call: string | null
  landed: boolean
  changes: { id: string; path: string }[]
}

/** Finishes or takes back what a killed process left; says what it did. The caller holds the project's lock, so its owner is dead. */
export function recover(parts: {
  root: Root
  snapshots: SnapshotStore
  db: Database
  flushing: (count: number) => Flush
  onDropped: (call: string) => void
}): Recovered[] {
  const { root, snapshots, db, flushing } = parts
  const left = snapshots.pending()
  return groupByCall(left).map((rows) => {
    const steps = rows.map(stepOf)
    // One path of several in place: the rest follows, since every new content was stored before the first move.
    const forward = steps.some(landed)
    for (const { names, temporary } of steps) sweepTemporary(root, names, temporary)
    if (forward) carryOn(root, steps.filter(isOurs), flushing(steps.length))
    else {
      carryOn(root, steps.filter(isHalfOpen).map(backwards), flushing(steps.length))
      for (const { id } of rows) for (const path of snapshots.madeFolders(id).toReversed()) removeIfEmpty(root, path.split('/'))
    }
    db.transaction(() =>
      rows.forEach((row, index) => (forward ? snapshots.settle(row.id, steps[index]?.mode) : snapshots.forget(row.id))),
    )
    if (!forward) parts.onDropped(rows[0]?.call ?? '')
    return { call: rows[0]?.call ?? null, landed: forward, changes: rows.map(({ id, path }) => ({ id, path })) }
  })

  function stepOf(row: Row): Step {
    const before = row.before_id === null ? undefined : snapshots.get(row.before_id)
    const undoes = row.undoes !== null && row.sha256 === null && before
    return {
      names: namesOf(row.path),
      before: before?.sha256 === null ? undefined : before,
      after: row.sha256 === null ? undefined : fromRow(row),
      content: () => snapshots.content(row.id),
      former: () => snapshots.content(row.before_id ?? ''),
      temporary: row.temporary ?? temporaryName(),
      anyName: true,
      keepsBits: before !== undefined && formOf(before) === 'file' && before.mode === row.mode,
      folders: undoes ? snapshots.madeWith(before.id) : [],
    }
  }

  /** What stands there now; what may not be looked at is no state of ours. */
  function now({ names }: Step): Standing | 'not ours' | undefined {
    try {
      return standingAt(root, names)
    } catch {
      return 'not ours'
    }
  }

  /** Whether the path is in the state the change was to bring about. Bits come with the content, so they count alone only where nothing else changes. */
  function landed(step: Step): boolean {
    const standing = now(step)
    if (standing === 'not ours') return false
    return sameContent(step.before, step.after) ? sameState(standing, step.after) : sameContent(standing, step.after)
  }

  /** Whether a change is still to be carried out, and nobody else has changed the path since. */
  function isOurs(step: Step): boolean {
    const standing = now(step)
    if (standing === 'not ours') return false
    // What has gone may have left folders behind that go with it.
    if (sameState(standing, step.after)) return step.folders.length > 0
    const between = standing === undefined && makesWay(step)
    return between || sameState(standing, step.before) || isHalfOpen(step)
  }

  /** A folder that was made or opened for its owner to work in, and has not got its own bits yet. */
  function isHalfOpen(step: Step): boolean {
    const standing = now(step)
    if (standing === 'not ours' || standing?.form !== 'folder') return false
    const state = step.before?.form === 'folder' ? step.before : step.after
    if (state?.form !== 'folder' || state.mode === null || state.mode === standing.mode) return false
    return standing.mode === (state.mode | 0o700) || (state === step.after && standing.mode === 0o700)
  }
}

/** A folder that keeps the bits it had. */
const backwards = (step: Step): Step => ({ ...step, after: step.before })

function groupByCall(rows: Row[]): Row[][] {
  const groups = new Map<string, Row[]>()
  for (const row of rows) {
    const group = groups.get(row.call ?? row.id)
    if (group) group.push(row)
    else groups.set(row.call ?? row.id, [row])
  }
  return [...groups.values()]
}
