import { ToolError } from '../contracts/errors.ts'
import { sameState, type Form, type Snapshot } from '../contracts/snapshot.ts'
import type { Written } from '../contracts/tool.ts'
import type { Database } from '../host/database.ts'
import { sha256, type Files } from '../host/files.ts'
import { eachByItself, flushFor, type Flush } from '../host/flush.ts'
import { contentAt, standingAt, stateWord, type Standing } from '../host/standing.ts'
import { judgeFile, type Root } from '../host/walk.ts'
import { carryOut, namesOf, temporaryName, type Step } from './carry-out.ts'
import { recover, type Recovered } from './recover.ts'
import type { Intake, Plan, SnapshotStore } from './snapshots.ts'

/**
 * One path's change: what must be there now, and what shall be there. One that says neither `form` nor modes is a plain
 * write: it changes regular files of a single name only.
 */
export interface Change {
  path: string
  /** The state (`stateWord`) the change was made for; the change is refused where the path has moved on. Null is "nothing there". */
  expect: string | null
  /** Where it is given, the permission bits must be these, too. */
  expectMode?: number
  /** New content, a link's target, or empty for a folder; null removes. A function is asked once, when its turn comes. */
  after: Buffer | (() => Buffer) | null
  form?: Form
  /** Permission bits. Without them those of the same form that stood there stay. */
  mode?: number
  /** Snapshots that this change takes back. */
  undoes?: readonly string[]
}

/** What somebody else has changed: the state that was there before, null for nothing. */
export interface Changed {
  path: string
  before: { form: Form; mode: number; content: () => Buffer } | null
}

export interface Origin {
  call: string
  session: string
  idempotencyKey: string | null
}

export interface Journal {
  /**
   * All of the changes or none, each with both its states kept; whole trees in any order, a path at most once.
   * The caller holds the project's lock.
   */
  commit(
    changes: readonly Change[],
    origin: Origin,
    together?: (written: Written[]) => void,
    landed?: () => void,
  ): { written: Written[]; pruned: string[] }
  /** Keeps both states of what was changed already, by a command nobody confined, so that it can be undone. Touches no file of the project. */
  record(changes: readonly Changed[], origin: Origin): { written: Written[]; pruned: string[] }
  /** Finishes or takes back what a killed process left; says what it did. The caller holds the project's lock. */
  recover(): Recovered[]
}

/** What was found where a change is to be made. */
interface Look {
  standing: Standing | undefined
  /** Folders that come into being with it. */
  madeFolders: string[]
}

/** A new state and what it takes to bring it about. */
interface Prepared {
  snapshot: Snapshot
  /** The state before, where the timeline did not have it yet. */
  baseline: Snapshot | undefined
  plan: Plan
  step: Step
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
  const umask = process.umask()

  /** What stands there, which must be what the change was made for. */
  const look = (change: Change): Standing | undefined => {
    const names = namesOf(change.path)
    if (isPlain(change)) files.normal(change.path)
    const standing = standingAt(root, names, isPlain(change) ? (stat) => judgeFile(stat, names) : undefined)
    const found = stateWord(standing)
    if (found !== change.expect) throw moved(change.path, change.expect, found)
    if (change.expectMode !== undefined && standing?.mode !== change.expectMode)
      throw moved(change.path, modeWord(change.expectMode), modeWord(standing?.mode))
    return standing
  }

  /** Folders that will have to be made for a path, from the root down; those that are changes themselves are not among them. */
  const missingFolders = (path: string, own: ReadonlySet<string>): string[] => {
    const names = namesOf(path)
    const missing: string[] = []
    for (let depth = names.length - 1; depth > 0; depth--) {
      if (standingAt(root, names.slice(0, depth))) break
      missing.unshift(names.slice(0, depth).join('/'))
    }
    return missing.filter((folder) => !own.has(folder))
  }

  /** The state before as an entry of the timeline; a new one where it is not there yet, so that an original is never lost. */
  const baselineOf = (
    intake: Intake,
    path: string,
    state: Standing | undefined,
    content: () => Buffer,
  ): { id: string | null; added?: Snapshot } => {
    if (!state) return { id: null }
    const latest = snapshots.latest(path)
    if (latest && typeof latest.mode === 'number' && sameState(latest, state)) return { id: latest.id }
    const added: Snapshot = {
      ...blank(intake, path, state),
      kind: 'baseline',
      before: latest?.id ?? null,
    }
    intake.keep(added, unchanged(content(), state, path))
    return { id: added.id, added }
  }

  /** Both states on their way in; nothing of it counts before the rows are there. */
  const prepare = (intake: Intake, change: Change, { standing, madeFolders }: Look, origin: Origin): Prepared => {
    const names = namesOf(change.path)
    const { id: before, added } = baselineOf(intake, change.path, standing, () => contentAt(root, names))
    const content = typeof change.after === 'function' ? change.after() : change.after
    const after = content === null ? undefined : stateAfter(change, standing, content, umask)
    const snapshot: Snapshot = {
      ...blank(intake, change.path, after),
      ...originOf(origin),
      kind: after ? 'write' : 'remove',
      before,
    }
    if (after && content) intake.keep(snapshot, after.form === 'folder' ? nothing : content)
    const undoes = change.undoes ?? []
    const step: Step = {
      names,
      before: standing,
      after,
      content: contentOf(change.after, snapshot),
      former: () => snapshots.content(before ?? ''),
      temporary: temporaryName(),
      anyName: !isPlain(change),
      keepsBits: change.mode === undefined && standing?.form === 'file' && after?.form === 'file',
      folders: !after && before && undoes.length ? snapshots.madeWith(before) : [],
    }
    return { snapshot, baseline: added, plan: { temporary: step.temporary, undoes, madeFolders }, step }
  }

  /** A content that was not given at once does not stay in memory: it is stored by then. */
  const contentOf = (after: Change['after'], snapshot: Snapshot): (() => Buffer) =>
    typeof after === 'function' ? () => snapshots.stored(snapshot) : () => after ?? nothing

  /** Takes states in, contents before rows; where that fails, nothing of them is left. */
  const takeIn = <T extends { snapshot: Snapshot; baseline: Snapshot | undefined }>(
    count: number,
    fill: (intake: Intake, taken: T[]) => void,
    insert: (taken: T[]) => void,
  ): T[] => {
    const intake = snapshots.takeIn(count)
    const taken: T[] = []
    try {
      fill(intake, taken)
      intake.flush.all()
      db.transaction(() => {
        for (const { baseline } of taken) if (baseline) snapshots.insert(baseline, 'kept')
        insert(taken)
      }, true)
    } catch (fault) {
      for (const id of intake.kept) snapshots.discard(id)
      throw fault
    }
    return taken
  }

  const forget = (ids: readonly string[]): void => db.transaction(() => ids.forEach((id) => snapshots.forget(id)))

  const flushing = (count: number): Flush =>
    // Where other file systems may be entered, one flush would not reach them all.
    root.mounts ? flushFor(count, root.means === 'descriptors' ? `/proc/self/fd/${root.fd}` : root.path) : eachByItself

  const pruned = (taken: readonly { snapshot: Snapshot }[]): string[] =>
    taken.flatMap(({ snapshot }) => snapshots.prune(snapshot.path, parts.retention))

  return {
    commit(changes, origin, together, landed) {
      refuseTwice(changes)
      // Every path is looked at before anything is stored.
      const own = new Set(changes.map((change) => change.path))
      const looks = changes.map((change): Look => {
        const standing = look(change)
        return { standing, madeFolders: standing || change.after === null ? [] : missingFolders(change.path, own) }
      })
      const prepared = takeIn<Prepared>(
        changes.length,
        (intake, taken) => changes.forEach((change, index) => taken.push(prepare(intake, change, looks[index] as Look, origin))),
        (taken) => {
          for (const { snapshot, plan } of taken) snapshots.insert(snapshot, 'pending', plan)
          together?.(taken.map(({ snapshot }) => writtenAs(snapshot)))
        },
      )
      try {
        carryOut(
          root,
          prepared.map(({ step }) => step),
          flushing(changes.length),
        )
      } catch (fault) {
        forget(prepared.map(({ snapshot }) => snapshot.id))
        parts.onDropped(origin.call)
        throw fault
      }
      // Where this fails, what a killed process left is what is here: the next holder of the lock settles it.
      landed?.()
      return db.transaction(() => {
        for (const { snapshot, step } of prepared) snapshots.settle(snapshot.id, step.mode)
        return { written: prepared.map(({ snapshot }) => writtenAs(snapshot)), pruned: pruned(prepared) }
      })
    },

    record(changes, origin) {
      refuseTwice(changes)
      const recorded = takeIn<{ snapshot: Snapshot; baseline: Snapshot | undefined }>(
        changes.length,
        (intake, taken) => {
          for (const { path, before } of changes) {
            const names = namesOf(path)
            const standing = standingAt(root, names)
            const former = before ? stateGiven(before) : undefined
            if (sameState(former, standing)) continue
            const { id, added } = baselineOf(intake, path, former, () => before?.content() ?? nothing)
            const snapshot: Snapshot = {
              ...blank(intake, path, standing),
              ...originOf(origin),
              kind: standing ? 'write' : 'remove',
              before: id,
            }
            if (standing) intake.keep(snapshot, unchanged(contentAt(root, names), standing, path))
            taken.push({ snapshot, baseline: added })
          }
        },
        (taken) => taken.forEach(({ snapshot }) => snapshots.insert(snapshot, 'kept')),
      )
      return { written: recorded.map(({ snapshot }) => writtenAs(snapshot)), pruned: db.transaction(() => pruned(recorded)) }
    },

    recover: () => recover({ root, snapshots, db, flushing, onDropped: parts.onDropped }),
  }
}

const nothing = Buffer.alloc(0)

const isPlain = ({ form, mode, expectMode }: Change): boolean =>
  form === undefined && mode === undefined && expectMode === undefined

function stateAfter(change: Change, before: Standing | undefined, content: Buffer, umask: number): Standing {
  const form = change.form ?? 'file'
  const fresh = form === 'link' ? 0o777 : (form === 'folder' ? 0o777 : 0o666) & ~umask
  const stays = before?.form === form ? before.mode : fresh
  const own = form === 'folder' ? nothing : content
  return { form, mode: form === 'link' ? fresh : (change.mode ?? stays) & 0o777, sha256: sha256(own), bytes: own.length }
}

function stateGiven({ form, mode, content }: NonNullable<Changed['before']>): Standing {
  const own = form === 'folder' ? nothing : content()
  return { form, mode: form === 'link' ? 0o777 : mode & 0o777, sha256: sha256(own), bytes: own.length }
}

/** A state of a path without its place in a story. */
function blank(intake: Intake, path: string, state: Standing | undefined): Omit<Snapshot, 'kind' | 'before'> {
  return {
    ...intake.mint(),
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

const originOf = ({ call, session, idempotencyKey }: Origin): Origin => ({ call, session, idempotencyKey })

/** Bytes that were read a moment later must be the ones that were judged. */
function unchanged(content: Buffer, state: Standing, path: string): Buffer {
  const found = sha256(content)
  if (found !== state.sha256) throw moved(path, state.sha256, found)
  return content
}

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

function moved(path: string, expected: string | null, found: string | null): ToolError {
  const word = (state: string | null): string => (state === null ? 'absent' : state.replace(/[0-9a-f]{56}$/, ''))
  return new ToolError('E_CONFLICT', `${path} changed since it was looked at`, {
    details: { path, expected: word(expected), found: word(found) },
    hint: 'Read the file again, make the dry run again, look at the new diff, then write.',
  })
}
