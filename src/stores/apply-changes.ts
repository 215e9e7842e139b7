import { randomBytes } from 'node:crypto'
import type { Content } from '../contracts/content.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { formOf, sameContent, sameState, type State } from '../contracts/snapshot.ts'
import { isInRoot, namesOn } from '../text/root-path.ts'
import type { Steps } from '../text/steps.ts'
import type { Flush } from '../host/flush.ts'
import {
  writeTempBeside,
  makeFolder,
  moveTempIntoPlace,
  placeFile,
  removeFile,
  removeFolder,
  removeIfEmpty,
  setFileMode,
  setFolderMode,
  sweepTemporary,
  type How,
} from '../host/place.ts'
import { pathStateAt, pathStateInSteps } from '../host/path-state.ts'
import type { Root } from '../host/walk.ts'

/** One path on its way from one state to another. */
export interface Step {
  names: readonly string[]
  before: State | undefined
  after: State | undefined
  /** The bytes of the state after, and of the state before. */
  content: () => Content
  former: () => Content
  temporary: string
  anyName: boolean
  /** The file it replaces hands its bits on, the special ones too. */
  keepsBits: boolean
  /** Folders that go with it where they are empty. */
  folders: readonly string[]
  /** Asked with what stands there, right before it goes or is replaced: throws where that is no longer what was looked at. */
  checkUnchanged?: NonNullable<How['checkUnchanged']>
  /** Filled in on the way: the permission bits it really got. */
  mode?: number
}

export const temporaryName = (): string => `.handrail-${randomBytes(8).toString('hex')}.tmp`

/** The names on the way to a path. It was judged before it came here; one that climbs, or leads to our own state, is a mistake of ours. */
export function namesOf(path: string): readonly string[] {
  const names = namesOn(path)
  const climbs = names.some((name) => name === '' || name === '.' || name === '..')
  const isRoot = isInRoot(path) && names.length === 1
  if (climbs || isRoot || names[0] === '.handrail') throw new Error(`not a judged path: ${path}`)
  return names
}

/** Does one thing and says how it is taken back. */
type Act = () => Steps<TakeBack>
type TakeBack = () => Steps<unknown>
/** Carries one act out, and says whether it could. */
type Run = (act: Act) => Steps<unknown>

function* nothingToTakeBack(): Steps<void> {}

/** All of the steps or none: what was done before a fault is taken back, the last first. */
export function* applyChanges(root: Root, steps: readonly Step[], flush: Flush): Steps<void> {
  const done: TakeBack[] = []
  try {
    yield* inOrder(root, steps, flush, function* (act) {
      done.push(yield* act())
    })
  } catch (fault) {
    let left = 0
    for (const takeBack of done.toReversed()) {
      if (!(yield* attempt(takeBack))) left++
      yield
    }
    throw left === 0 ? fault : halfDone(left, fault)
  }
}

/** As much of the steps as can be done: what somebody else has made impossible is left as it is. */
export function applyWhatCanBe(root: Root, steps: readonly Step[], flush: Flush): Steps<void> {
  return inOrder(root, steps, flush, attempt)
}

/** The others are not held up by one that fails. */
function* attempt(act: () => Steps<unknown>): Steps<boolean> {
  try {
    yield* act()
    return true
  } catch {
    return false
  }
}

function halfDone(left: number, cause: unknown): Fault {
  return new Fault('io', `A change failed half way, and ${left} part(s) of it could not be taken back`, {
    hint: 'Somebody else changed the same files meanwhile. The states before are kept: `handrail snapshots` lists them.',
    cause,
  })
}

/**
 * The order in which a tree can be changed: what goes, from the leaves up; new folders, from the root down; then files and
 * links. Folders among them are open for writing meanwhile and get their own bits last. Of many files, all lie on the disk
 * before the first is moved into its place, so that no power cut leaves half of one.
 */
function* inOrder(root: Root, steps: readonly Step[], flush: Flush, run: Run): Steps<void> {
  const fromLeaves = steps.toSorted((a, b) => b.names.length - a.names.length)
  const fromRoot = fromLeaves.toReversed()
  const folders = fromRoot.filter((step) => isFolder(step.after))
  const pieces = steps.filter((step) => step.after && !isFolder(step.after) && !staysItself(step))
  const opened = fromRoot.filter((step) => isFolder(step.before))
  const all = function* (some: readonly Step[], act: (step: Step) => Steps<TakeBack>): Steps<void> {
    for (const step of some) {
      yield* run(() => act(step))
      yield
    }
  }
  yield* all(opened, (step) => openUp(root, step))
  yield* all(fromLeaves.filter(makesWay), (step) => remove(root, step, flush))
  for (const path of foldersAlong(steps)) yield* run(() => removeAlong(root, path))
  const made = folders.filter((step) => !isFolder(step.before))
  yield* all(made, (step) => make(root, step, flush))
  if (flush.together) {
    yield* all(pieces, (step) => writeTemp(root, step, flush))
    yield* flush.all()
    yield* all(pieces, (step) => renameIntoPlace(root, step, flush))
  } else yield* all(pieces, (step) => place(root, step, flush))
  yield* all(steps.filter(staysItself), (step) => applyMode(root, step, flush))
  yield* all(folders.toReversed(), (step) => applyFolderMode(root, step, flush))
  yield* flush.all()
}

const isFolder = (state: State | undefined): boolean => state !== undefined && formOf(state) === 'folder'

/** Nothing can be renamed over a folder, and no folder over anything else: the old one goes first. */
export const makesWay = ({ before, after }: Step): boolean =>
  before !== undefined && (!after || isFolder(before) !== isFolder(after))

/** Where the old one has made way already, nothing stands there any more. */
const guarded = (step: Step): Step => (makesWay(step) ? { ...step, checkUnchanged: () => undefined } : step)

/** A file or link that keeps its content and changes its bits at most. */
const staysItself = ({ before, after }: Step): boolean =>
  before !== undefined && after !== undefined && !isFolder(after) && sameContent(before, after)

/** The folders that go with what goes, from the leaves up; what is a step itself is no such folder. */
function foldersAlong(steps: readonly Step[]): string[] {
  const along = new Set(steps.flatMap((step) => step.folders))
  if (along.size) for (const { names } of steps) along.delete(names.join('/'))
  return [...along].toSorted((a, b) => b.split('/').length - a.split('/').length)
}

const ownersBits = 0o700

/** Its owner must be able to work in a folder while it is changed; root always is. */
function* openUp(root: Root, { names, before }: Step): Steps<TakeBack> {
  const mode = before?.mode ?? ownersBits
  if (process.getuid?.() === 0 || (mode & ownersBits) === ownersBits) return nothingToTakeBack
  yield* setFolderMode(root, names, mode | ownersBits)
  return () => setFolderMode(root, names, mode)
}

function* remove(root: Root, step: Step, flush: Flush): Steps<TakeBack> {
  const { names, before } = step
  if (isFolder(before)) {
    const mode = pathStateAt(root, names)?.mode ?? ownersBits
    yield* removeFolder(root, names, flush)
    return () => makeFolder(root, names, mode)
  }
  yield* removeFile(root, names, {
    anyName: step.anyName,
    flush,
    ...(step.checkUnchanged && { checkUnchanged: step.checkUnchanged }),
  })
  return () => restoreFormer(root, step)
}

/** A folder that only ever held what goes now; one that holds more stays. */
function* removeAlong(root: Root, path: string): Steps<TakeBack> {
  yield
  const went = removeIfEmpty(root, namesOn(path))
  return went ? () => makeFolder(root, namesOn(path), went.mode) : nothingToTakeBack
}

function* make(root: Root, step: Step, flush: Flush): Steps<TakeBack> {
  const { madeFolders } = yield* makeFolder(root, step.names, (step.after?.mode ?? 0) | ownersBits, flush)
  return function* () {
    yield* removeFolder(root, step.names)
    unmake(root, madeFolders)
  }
}

/** Given from the root down. */
function unmake(root: Root, folders: readonly string[]): void {
  for (const path of folders.toReversed()) removeIfEmpty(root, namesOn(path))
}

function* place(root: Root, step: Step, flush: Flush): Steps<TakeBack> {
  const how = howOf(guarded(step), step.after, flush)
  const { madeFolders, mode } = yield* placeFile(root, step.names, step.content(), step.temporary, how)
  step.mode = mode
  return function* () {
    yield* restoreFormer(root, step)
    unmake(root, madeFolders)
  }
}

function* writeTemp(root: Root, step: Step, flush: Flush): Steps<TakeBack> {
  const how = howOf(guarded(step), step.after, flush)
  const { madeFolders, mode } = yield* writeTempBeside(root, step.names, step.content(), step.temporary, how)
  step.mode = mode
  return function* () {
    yield
    sweepTemporary(root, step.names, step.temporary)
    unmake(root, madeFolders)
  }
}

function* renameIntoPlace(root: Root, step: Step, flush: Flush): Steps<TakeBack> {
  yield* moveTempIntoPlace(root, step.names, step.temporary, howOf(guarded(step), step.after, flush))
  return () => restoreFormer(root, step)
}

function* applyMode(root: Root, step: Step, flush: Flush): Steps<TakeBack> {
  const { names, before, after } = step
  if (typeof after?.mode !== 'number' || sameState(before, after)) return nothingToTakeBack
  step.mode = yield* setFileMode(root, names, after.mode, flush)
  if (step.mode === undefined) return yield* place(root, step, flush)
  const was = before?.mode
  return typeof was === 'number' ? () => setFileMode(root, names, was) : nothingToTakeBack
}

function* applyFolderMode(root: Root, step: Step, flush: Flush): Steps<TakeBack> {
  const { names, after } = step
  const now = pathStateAt(root, names)?.mode
  if (typeof after?.mode !== 'number' || now === undefined) return nothingToTakeBack
  step.mode = now === after.mode ? now : yield* setFolderMode(root, names, after.mode, flush)
  return () => setFolderMode(root, names, now)
}

/** The file or link that stood there before, or nothing where nothing did or where a folder follows. */
function* restoreFormer(root: Root, step: Step): Steps<void> {
  const { names, before, after } = step
  const now = yield* pathStateInSteps(root, names)
  // What somebody has saved there meanwhile is theirs.
  if (now && !(after && now.form === formOf(after) && now.sha256 === after.sha256))
    throw new Error(`${names.join('/')} was changed while it was being taken back`)
  if (before && !isFolder(before))
    yield* placeFile(root, names, step.former(), temporaryName(), howOf({ anyName: true, keepsBits: step.keepsBits }, before))
  else yield* removeFile(root, names, { anyName: true })
}

function howOf(
  { anyName, keepsBits, checkUnchanged }: Pick<Step, 'anyName' | 'keepsBits' | 'checkUnchanged'>,
  state: State | undefined,
  flush?: Flush,
): How {
  return {
    anyName,
    form: state?.form === 'link' ? 'link' : 'file',
    ...(typeof state?.mode === 'number' && !keepsBits && { mode: state.mode }),
    ...(flush && { flush }),
    ...(checkUnchanged && { checkUnchanged }),
  }
}
