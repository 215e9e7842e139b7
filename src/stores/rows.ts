import type { Snapshot } from '../contracts/snapshot.ts'
import type { Steps } from '../text/steps.ts'
import type { Database } from '../host/database.ts'
import type { Plan } from './snapshot-row.ts'
import type { SnapshotStore } from './snapshots.ts'

/** A state on its way in. */
export interface NewState {
  snapshot: Snapshot
  /** The state before, where the timeline did not have it yet. */
  baseline: Snapshot | undefined
  plan?: Plan
}

/**
 * The rows of one call, a few in each transaction: the database is everybody's, and ten thousand rows at once would hold it. While they
 * are not all of one kind, the call is marked with what recovery has to make of them, so that they still count as one.
 */
export interface Rows {
  /** All of them pending, on the disk itself, and `together` with the last of them; or none. */
  insert(call: string, newStates: readonly NewState[], together: () => void): Steps<void>
  /** The change has landed. */
  settle(call: string, landed: readonly { id: string; mode?: number | undefined }[]): Steps<void>
  /** The change did not come about. */
  forget(call: string, ids: readonly string[]): Steps<void>
}

const few = 64

export function openRows(snapshots: SnapshotStore, db: Database): Rows {
  /** `phase` stands until the last transaction, which takes the mark away. */
  const inParts = function* <T>(
    call: string,
    phase: 'drop' | 'keep',
    items: readonly T[],
    act: (item: T) => void,
    last: { act: () => void; durable: boolean },
  ): Steps<void> {
    for (let from = 0; from === 0 || from < items.length; from += few) {
      const isLast = from + few >= items.length
      db.transaction(() => {
        if (from === 0 && !isLast) snapshots.mark(call, phase)
        for (const item of items.slice(from, from + few)) act(item)
        if (!isLast) return
        snapshots.mark(call, undefined)
        last.act()
      }, isLast && last.durable)
      yield
    }
  }
  const plainly = { act: () => undefined, durable: false }

  const rows: Rows = {
    *insert(call, newStates, together) {
      const put = ({ snapshot, baseline, plan }: NewState): void => {
        if (baseline) snapshots.insert(baseline, 'kept')
        snapshots.insert(snapshot, 'pending', plan)
      }
      try {
        // One flush of the database's log carries all that was put into it before.
        yield* inParts(call, 'drop', newStates, put, { act: together, durable: true })
      } catch (fault) {
        yield* rows.forget(
          call,
          newStates.flatMap(({ snapshot, baseline }) => (baseline ? [snapshot.id, baseline.id] : [snapshot.id])),
        )
        throw fault
      }
    },
    *settle(call, landed) {
      yield* inParts(call, 'keep', landed, ({ id, mode }) => snapshots.settle(id, mode), plainly)
    },
    *forget(call, ids) {
      yield* inParts(call, 'drop', ids, (id) => snapshots.forget(id), plainly)
    },
  }
  return rows
}
