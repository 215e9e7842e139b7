import { formOf, sameContent, sameState } from '../contracts/snapshot.ts'
import { namesOn, rootOf } from '../text/root-path.ts'
import type { Steps } from '../text/steps.ts'
import type { Flush } from '../host/flush.ts'
import { removeIfEmpty, sweepTemporary } from '../host/place.ts'
import { pathStateInSteps, type PathState } from '../host/path-state.ts'
import type { Root } from '../host/walk.ts'
import { applyWhatCanBe, makesWay, namesOf, temporaryName, type Step } from './apply-changes.ts'
import type { Rows } from './rows.ts'
import { fromRow, type Row } from './snapshot-row.ts'
import type { SnapshotStore } from './snapshots.ts'

/** What became of the changes of one call whose process died. */
export interface Recovered {
  call: string | null
  landed: boolean
  /** Those that count from now on or, where it did not land, that count no longer. */
  changes: { id: string; path: string }[]
  /** What somebody else has changed by now: it stays as it was found, and no state of it is said to be of this call. */
  leftAsFound: string[]
}

/** Finishes or takes back what a killed process left; says what it did. The caller holds the project's lock, so its owner is dead. */
export function* recover(parts: {
  root: Root
  snapshots: SnapshotStore
  rows: Rows
  flushing: (paths: readonly string[]) => Steps<Flush>
  onDropped: (call: string) => void
}): Steps<Recovered[]> {
  const { root, snapshots, flushing } = parts
  const found: Recovered[] = []
  for (const rows of groupByCall(snapshots.pending())) if (rows.every(isWithinReach)) found.push(yield* putRight(rows))
  return found

  /** Where a root is not there, nobody can tell what became of a change in it: it waits until the root is back. */
  function isWithinReach({ path }: Row): boolean {
    const of = rootOf(path)
    return of === undefined || root.others?.has(of) === true
  }

  function* putRight(rows: readonly Row[]): Steps<Recovered> {
    const call = rows[0]?.call ?? null
    const phase = call === null ? undefined : snapshots.phase(call)
    const steps: Step[] = []
    for (const row of rows) {
      steps.push(stepOf(row))
      yield
    }
    for (const { names, temporary } of steps) {
      sweepTemporary(root, names, temporary)
      yield
    }
    // One path of several in place: the rest follows, since every new content was stored before the first move.
    const forward = phase === 'keep' || (phase === undefined && (yield* some(steps, hasBegun)))
    if (!forward) yield* takeBack(rows, steps)
    // What was being settled had landed, all of it: what differs by now is somebody's later change.
    else if (phase === undefined) yield* applyWhatCanBe(root, yield* filtered(steps, isOurs), yield* flushing(pathsOf(steps)))
    // Looked at again: what could not be carried on was passed over.
    const diverged = new Set(phase === undefined ? yield* filtered(steps, forward ? hasNotLanded : isNeither) : [])
    const entries = rows.map(({ id, path }, index) => ({ id, path, step: steps[index] as Step }))
    const theirs = entries.filter(({ step }) => diverged.has(step))
    const changes = forward ? entries.filter(({ step }) => !diverged.has(step)) : entries
    const dropped = forward ? theirs : entries
    if (forward)
      yield* parts.rows.settle(
        call ?? '',
        changes.map(({ id, step }) => ({ id, mode: step.mode })),
      )
    if (dropped.length) {
      yield* parts.rows.forget(
        call ?? '',
        dropped.map(({ id }) => id),
      )
      parts.onDropped(call ?? '')
    }
    return {
      call,
      landed: forward,
      changes: changes.map(({ id, path }) => ({ id, path })),
      leftAsFound: theirs.map(({ path }) => path),
    }
  }

  function* takeBack(rows: readonly Row[], steps: readonly Step[]): Steps<void> {
    const opened = yield* filtered(steps, isHalfOpen)
    yield* applyWhatCanBe(root, opened.map(backwards), yield* flushing(pathsOf(steps)))
    for (const { id } of rows) {
      for (const path of snapshots.madeFolders(id).toReversed()) removeIfEmpty(root, namesOn(path))
      yield
    }
  }

  function stepOf(row: Row): Step {
    const before = row.before_id === null ? undefined : snapshots.get(row.before_id)
    const undoes = row.undoes !== null && row.sha256 === null && before
    return {
      names: namesOf(row.path),
      before: before?.sha256 === null ? undefined : before,
      after: row.sha256 === null ? undefined : fromRow(row),
      content: () => snapshots.contentOnDisk(row.id),
      former: () => snapshots.contentOnDisk(row.before_id ?? ''),
      temporary: row.temporary ?? temporaryName(),
      anyName: true,
      keepsBits: before !== undefined && formOf(before) === 'file' && before.mode === row.mode,
      folders: undoes ? snapshots.madeWith(before.id) : [],
    }
  }

  /** What stands there now; what may not be looked at is no state of ours. */
  function* now({ names }: Step): Steps<PathState | 'not ours' | undefined> {
    try {
      return yield* pathStateInSteps(root, names)
    } catch {
      return 'not ours'
    }
  }

  /** Whether the path is in the state the change was to bring about. Bits come with the content, so they count alone only where nothing else changes. */
  function* landed(step: Step): Steps<boolean> {
    const pathState = yield* now(step)
    if (pathState === 'not ours') return false
    return sameContent(step.before, step.after) ? sameState(pathState, step.after) : sameContent(pathState, step.after)
  }

  /** Whether something of the change was done: it is there, or what stood there has made way for it. */
  function* hasBegun(step: Step): Steps<boolean> {
    return (yield* landed(step)) || (makesWay(step) && (yield* now(step)) === undefined)
  }

  function* hasNotLanded(step: Step): Steps<boolean> {
    return !(yield* landed(step))
  }

  /** Neither as it was nor as it was to become. */
  function* isNeither(step: Step): Steps<boolean> {
    const pathState = yield* now(step)
    return pathState === 'not ours' || !(sameState(pathState, step.before) || sameState(pathState, step.after))
  }

  /** Whether a change is still to be carried out, and nobody else has changed the path since. */
  function* isOurs(step: Step): Steps<boolean> {
    const pathState = yield* now(step)
    if (pathState === 'not ours') return false
    // What has gone may have left folders behind that go with it.
    if (sameState(pathState, step.after)) return step.folders.length > 0
    const between = pathState === undefined && makesWay(step)
    return between || sameState(pathState, step.before) || (yield* isHalfOpen(step))
  }

  /** A folder that was made or opened for its owner to work in, and has not got its own bits yet. */
  function* isHalfOpen(step: Step): Steps<boolean> {
    const pathState = yield* now(step)
    if (pathState === 'not ours' || pathState?.form !== 'folder') return false
    const state = step.before?.form === 'folder' ? step.before : step.after
    if (state?.form !== 'folder' || state.mode === null || state.mode === pathState.mode) return false
    return pathState.mode === (state.mode | 0o700) || (state === step.after && pathState.mode === 0o700)
  }
}

function* filtered(steps: readonly Step[], fits: (step: Step) => Steps<boolean>): Steps<Step[]> {
  const found: Step[] = []
  for (const step of steps) {
    if (yield* fits(step)) found.push(step)
    yield
  }
  return found
}

function* some(steps: readonly Step[], fits: (step: Step) => Steps<boolean>): Steps<boolean> {
  for (const step of steps) {
    if (yield* fits(step)) return true
    yield
  }
  return false
}

const pathsOf = (steps: readonly Step[]): string[] => steps.map(({ names }) => names.join('/'))

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
