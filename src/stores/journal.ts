import type { Change, Changed } from '../contracts/change.ts'
import { isOnDisk, type Content } from '../contracts/content.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { sameState, type Snapshot } from '../contracts/snapshot.ts'
import { isInRoot } from '../text/root-path.ts'
import { runToEnd, runInSlices, type Steps } from '../text/steps.ts'
import type { Written } from '../contracts/tool.ts'
import type { Database } from '../host/database.ts'
import { sha256, type Files } from '../host/files.ts'
import { eachByItself, flushFor, type Flush } from '../host/flush.ts'
import { contentOfState, pathStateInSteps, existsAt, stampOf, stateFingerprint, type PathState } from '../host/path-state.ts'
import { checkRegularFile, type Root } from '../host/walk.ts'
import { applyChanges, namesOf, temporaryName, type Step } from './apply-changes.ts'
import { recover, type Recovered } from './recover.ts'
import type { Excess } from './retention.ts'
import { openRows, type NewState } from './rows.ts'
import type { Plan } from './snapshot-row.ts'
import type { SnapshotBatch, SnapshotStore } from './snapshots.ts'

export interface ChangeOrigin {
  call: string
  session: string
  idempotencyKey: string | null
}

/** What was kept, and what went for it. */
export interface Kept {
  written: Written[]
  pruned: Excess
}

/** In small steps, so that nobody else waits; the caller holds the project's lock until they are done. */
export interface Journal {
  /** All of the changes or none, each with both its states kept; whole trees in any order, a path at most once. */
  commit(
    changes: readonly Change[],
    origin: ChangeOrigin,
    together?: (written: Written[]) => void,
    landed?: () => void,
  ): Promise<Kept>
  /** Keeps both states of what was changed already, by a command nobody confined, so that it can be undone. Touches no file of the project. */
  record(changes: readonly Changed[], origin: ChangeOrigin): Promise<Kept>
  /** Finishes or takes back what a killed process left; says what it did. */
  recover(): Promise<Recovered[]>
  /** The two that are done at the start too, while nobody can call yet. */
  recoverNow(): Recovered[]
  recordNow(changes: readonly Changed[], origin: ChangeOrigin): Kept
}

/** What was found where a change is to be made. */
interface Found {
  standing: PathState | undefined
  /** Which file it was, and when it was written last. */
  seen: string
  /** Folders that come into being with it. */
  madeFolders: string[]
}

/** A new state and what it takes to bring it about. */
interface Prepared extends NewState {
  plan: Plan
  step: Step
}

export function openJournal(parts: {
  root: Root
  files: Files
  snapshots: SnapshotStore
  db: Database
  /** Looked at each time: it changes with the settings. */
  readonly retention: number
  /** A call whose change did not come about. */
  onDropped: (call: string) => void
}): Journal {
  const { root, files, snapshots, db } = parts
  const rows = openRows(snapshots, db)
  const umask = process.umask()

  /** What stands there, which must be what the change was made for. */
  const look = function* (change: Change): Steps<Pick<Found, 'standing' | 'seen'>> {
    const names = namesOf(change.path)
    if (isPlain(change)) files.normal(change.path)
    let seen = stampOf(undefined)
    const pathState = yield* pathStateInSteps(root, names, (stat) => {
      if (isPlain(change)) checkRegularFile(stat, names)
      seen = stampOf(stat)
    })
    const found = stateFingerprint(pathState)
    if (found !== change.expect) throw moved(change.path, change.expect, found)
    if (change.expectMode !== undefined && pathState?.mode !== change.expectMode)
      throw moved(change.path, modeWord(change.expectMode), modeWord(pathState?.mode))
    return { standing: pathState, seen }
  }

  /** Folders that will have to be made for a path, from the root down; those that are changes themselves are not among them. */
  const missingFolders = (path: string, own: ReadonlySet<string>): string[] => {
    const names = namesOf(path)
    const missing: string[] = []
    for (let depth = names.length - 1; depth > 0; depth--) {
      if (existsAt(root, names.slice(0, depth))) break
      missing.unshift(names.slice(0, depth).join('/'))
    }
    return missing.filter((folder) => !own.has(folder))
  }

  /** The state before as an entry of the timeline; a new one where it is not there yet, so that an original is never lost. */
  const baselineOf = function* (
    batch: SnapshotBatch,
    path: string,
    state: PathState | undefined,
    content: () => Content,
  ): Steps<{ id: string | null; added?: Snapshot }> {
    if (!state) return { id: null }
    const latest = snapshots.latest(path)
    if (latest && typeof latest.mode === 'number' && sameState(latest, state)) return { id: latest.id }
    const added: Snapshot = {
      ...blank(batch, path, state),
      kind: 'baseline',
      before: latest?.id ?? null,
    }
    yield* batch.keep(added, content())
    return { id: added.id, added }
  }

  /** What stands at a path that was looked at; bytes that are read later must be the ones that were judged. */
  const standingContent = (path: string, pathState: PathState): Content =>
    contentOfState(root, namesOf(path), pathState, (found) => moved(path, pathState.sha256, found))

  /** Both states on their way in; nothing of it counts before the rows are there. */
  const prepare = function* (
    batch: SnapshotBatch,
    change: Change,
    { standing: pathState, seen, madeFolders }: Found,
    origin: ChangeOrigin,
  ): Steps<Prepared> {
    const { path } = change
    const { id: before, added } = yield* baselineOf(batch, path, pathState, () => standingContent(path, pathState as PathState))
    const content = typeof change.after === 'function' ? change.after() : change.after
    const after = content === null ? undefined : stateAfter(change, pathState, content, umask)
    const snapshot: Snapshot = {
      ...blank(batch, path, after),
      ...originOf(origin),
      kind: after ? 'write' : 'remove',
      before,
    }
    if (after && content) yield* batch.keep(snapshot, after.form === 'folder' ? nothing : content)
    const undoes = change.undoes ?? []
    const step: Step = {
      names: namesOf(path),
      before: pathState,
      after,
      content: contentOf(change.after, snapshot),
      former: () => snapshots.contentOnDisk(before ?? ''),
      temporary: temporaryName(),
      // It took a while to come here: what somebody saved meanwhile is in no snapshot.
      checkUnchanged: (now) => {
        if (stampOf(now) !== seen) throw movedMeanwhile(path)
      },
      anyName: !isPlain(change),
      keepsBits: change.mode === undefined && pathState?.form === 'file' && after?.form === 'file',
      folders: !after && before && undoes.length ? snapshots.madeWith(before) : [],
    }
    return { snapshot, baseline: added, plan: { temporary: step.temporary, undoes, madeFolders }, step }
  }

  /** A content that was not given at once does not stay in memory: it is stored by then. */
  const contentOf = (after: Change['after'], snapshot: Snapshot): (() => Content) =>
    typeof after === 'function' ? () => snapshots.stored(snapshot) : () => after ?? nothing

  /** Takes states in, contents before rows; where that fails, nothing of them is left. */
  const storeBatch = function* <T extends NewState>(
    count: number,
    fill: (batch: SnapshotBatch, newStates: T[]) => Steps<void>,
    insert: (newStates: T[]) => Steps<void>,
  ): Steps<T[]> {
    const batch = yield* snapshots.beginBatch(count)
    const newStates: T[] = []
    try {
      yield* fill(batch, newStates)
      yield* batch.flush.all()
      yield* insert(newStates)
    } catch (fault) {
      for (const id of batch.kept) {
        snapshots.discard(id)
        yield
      }
      throw fault
    }
    return newStates
  }

  const flushing = function* (paths: readonly string[]): Steps<Flush> {
    // Where other file systems may be entered, or other roots are, one flush would not reach them all.
    if (!root.mounts || paths.some(isInRoot)) return eachByItself
    return yield* flushFor(paths.length, root.method === 'descriptors' ? `/proc/self/fd/${root.fd}` : root.path)
  }

  const pruned = function* (newStates: readonly NewState[]): Steps<Excess> {
    const all: Excess = { written: [], others: [] }
    for (const { snapshot } of newStates) {
      const { written, others } = snapshots.prune(snapshot.path, parts.retention)
      all.written.push(...written)
      all.others.push(...others)
      yield
    }
    return all
  }

  const commit = function* (
    changes: readonly Change[],
    origin: ChangeOrigin,
    together?: (written: Written[]) => void,
    landed?: () => void,
  ): Steps<Kept> {
    refuseTwice(changes)
    // Every path is looked at before anything is stored.
    const own = new Set(changes.map((change) => change.path))
    const looks: Found[] = []
    for (const change of changes) {
      const { standing: pathState, seen } = yield* look(change)
      looks.push({
        standing: pathState,
        seen,
        madeFolders: pathState || change.after === null ? [] : missingFolders(change.path, own),
      })
      yield
    }
    const prepared = yield* storeBatch<Prepared>(
      changes.length,
      function* (batch, newStates) {
        for (const [index, change] of changes.entries()) {
          newStates.push(yield* prepare(batch, change, looks[index] as Found, origin))
          yield
        }
      },
      (newStates) => rows.insert(origin.call, newStates, () => together?.(newStates.map(({ snapshot }) => writtenAs(snapshot)))),
    )
    try {
      const steps = prepared.map(({ step }) => step)
      yield* applyChanges(root, steps, yield* flushing([...own]))
    } catch (fault) {
      yield* rows.forget(
        origin.call,
        prepared.map(({ snapshot }) => snapshot.id),
      )
      parts.onDropped(origin.call)
      throw fault
    }
    // Where this fails, what a killed process left is what is here: the next holder of the lock settles it.
    landed?.()
    yield* rows.settle(
      origin.call,
      prepared.map(({ snapshot, step }) => ({ id: snapshot.id, mode: step.mode })),
    )
    return { written: prepared.map(({ snapshot }) => writtenAs(snapshot)), pruned: yield* pruned(prepared) }
  }

  const record = function* (changes: readonly Changed[], origin: ChangeOrigin): Steps<Kept> {
    refuseTwice(changes)
    const recorded = yield* storeBatch<NewState>(
      changes.length,
      function* (batch, newStates) {
        for (const { path, before } of changes) {
          yield
          const pathState = yield* pathStateInSteps(root, namesOf(path))
          const former = before ? stateGiven(before) : undefined
          if (sameState(former, pathState)) continue
          const { id, added } = yield* baselineOf(batch, path, former, () => before?.content() ?? nothing)
          const snapshot: Snapshot = {
            ...blank(batch, path, pathState),
            ...originOf(origin),
            kind: pathState ? 'write' : 'remove',
            before: id,
          }
          if (pathState) yield* batch.keep(snapshot, standingContent(path, pathState))
          newStates.push({ snapshot, baseline: added })
        }
      },
      // It is done already, so there is nothing to take back.
      (newStates) => rows.insert(origin.call, newStates, () => snapshots.mark(origin.call, 'keep')),
    )
    yield* rows.settle(
      origin.call,
      recorded.map(({ snapshot }) => ({ id: snapshot.id })),
    )
    return { written: recorded.map(({ snapshot }) => writtenAs(snapshot)), pruned: yield* pruned(recorded) }
  }

  const recovering = (): Steps<Recovered[]> => recover({ root, snapshots, rows, flushing, onDropped: parts.onDropped })

  return {
    commit: (...given) => runInSlices(commit(...given)),
    record: (...given) => runInSlices(record(...given)),
    recover: () => runInSlices(recovering()),
    recoverNow: () => runToEnd(recovering()),
    recordNow: (...given) => runToEnd(record(...given)),
  }
}

const nothing = Buffer.alloc(0)

function movedMeanwhile(path: string): Fault {
  return new Fault('conflict', `${path} was changed by somebody else while this change was being made`, {
    details: { path },
    hint: 'Nothing of it was done. Look at the file again and make the call again.',
  })
}

const isPlain = ({ form, mode, expectMode }: Change): boolean =>
  form === undefined && mode === undefined && expectMode === undefined

function stateAfter(change: Change, before: PathState | undefined, content: Content, umask: number): PathState {
  const form = change.form ?? 'file'
  const fresh = form === 'link' ? 0o777 : (form === 'folder' ? 0o777 : 0o666) & ~umask
  const stays = before?.form === form ? before.mode : fresh
  const own = form === 'folder' ? nothing : content
  const hashed = isOnDisk(own) ? { sha256: own.sha256, bytes: own.bytes } : { sha256: sha256(own), bytes: own.length }
  return { form, mode: form === 'link' ? fresh : (change.mode ?? stays) & 0o777, ...hashed }
}

function stateGiven({ form, mode, sha256: hash, bytes }: NonNullable<Changed['before']>): PathState {
  return { form, mode: form === 'link' ? 0o777 : mode & 0o777, sha256: hash, bytes }
}

/** A state of a path without its place in a story. */
function blank(batch: SnapshotBatch, path: string, state: PathState | undefined): Omit<Snapshot, 'kind' | 'before'> {
  return {
    ...batch.mint(),
    path,
    sha256: state?.sha256 ?? null,
    bytes: state?.bytes ?? 0,
    form: state?.form ?? null,
    mode: state?.mode ?? null,
    call: null,
    session: null,
    idempotencyKey: null,
    undoneBy: null,
  }
}

const originOf = ({ call, session, idempotencyKey }: ChangeOrigin): ChangeOrigin => ({ call, session, idempotencyKey })

function refuseTwice(changes: readonly { path: string }[]): void {
  const seen = new Set<string>()
  for (const { path } of changes) {
    if (seen.has(path)) throw new Error(`two changes of one path in one commit: ${path}`)
    seen.add(path)
  }
}

function writtenAs({ path, id, bytes }: Snapshot): Written {
  return { path, snapshotId: id, bytes }
}

const modeWord = (mode: number | undefined): string | null => (mode === undefined ? null : `mode ${mode.toString(8)}`)

function moved(path: string, expected: string | null, found: string | null): Fault {
  const word = (state: string | null): string => (state === null ? 'absent' : state.replace(/[0-9a-f]{56}$/, ''))
  return new Fault('conflict', `${path} changed since it was looked at`, {
    details: { path, expected: word(expected), found: word(found) },
    hint: 'Read the file again, make the dry run again, look at the new diff, then write.',
  })
}
