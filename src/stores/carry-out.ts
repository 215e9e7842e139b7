import { randomBytes } from 'node:crypto'
import { ToolError } from '../contracts/errors.ts'
import { formOf, sameContent, sameState, type State } from '../contracts/snapshot.ts'
import type { Flush } from '../host/flush.ts'
import {
  layBeside,
  makeFolder,
  moveInto,
  placeFile,
  removeFile,
  removeFolder,
  removeIfEmpty,
  setFileMode,
  setFolderMode,
  sweepTemporary,
  type How,
} from '../host/place.ts'
import { standingAt } from '../host/standing.ts'
import type { Root } from '../host/walk.ts'

/** One path on its way from one state to another. */
export interface Step {
  names: readonly string[]
  before: State | undefined
  after: State | undefined
  /** The bytes of the state after, and of the state before. */
  content: () => Buffer
  former: () => Buffer
  temporary: string
  anyName: boolean
  /** The file it replaces hands its bits on, the special ones too. */
  keepsBits: boolean
  /** Folders that go with it where they are empty. */
  folders: readonly string[]
  /** Filled in on the way: the permission bits it really got. */
  mode?: number
}

export const temporaryName = (): string => `.handrail-${randomBytes(8).toString('hex')}.tmp`

/** The names on the way to a path. It was judged before it came here; one that climbs, or leads to our own state, is a mistake of ours. */
export function namesOf(path: string): readonly string[] {
  const names = path.split('/')
  const climbs = names.some((name) => name === '' || name === '.' || name === '..')
  if (climbs || names[0] === '.handrail') throw new Error(`not a judged path: ${path}`)
  return names
}

/** Does one thing and says how it is taken back. */
type Act = () => () => void

/** All of the steps or none: what was done before a fault is taken back, the last first. */
export function carryOut(root: Root, steps: readonly Step[], flush: Flush): void {
  const done: (() => void)[] = []
  try {
    inOrder(root, steps, flush, (act) => done.push(act()))
  } catch (fault) {
    const left = done.toReversed().filter((takeBack) => !attempt(takeBack)).length
    throw left === 0 ? fault : halfDone(left, fault)
  }
}

/** As much of the steps as can be done: what somebody else has made impossible is left as it is. */
export function carryOn(root: Root, steps: readonly Step[], flush: Flush): void {
  inOrder(root, steps, flush, attempt)
}

/** The others are not held up by one that fails. */
function attempt(act: () => unknown): boolean {
  try {
    act()
    return true
  } catch {
    return false
  }
}

function halfDone(left: number, cause: unknown): ToolError {
  return new ToolError('E_IO', `A change failed half way, and ${left} part(s) of it could not be taken back`, {
    hint: 'Somebody else changed the same files meanwhile. The states before are kept: `handrail snapshots` lists them.',
    cause,
  })
}

/**
 * The order in which a tree can be changed: what goes, from the leaves up; new folders, from the root down; then files and
 * links. Folders among them are open for writing meanwhile and get their own bits last. Of many files, all lie on the disk
 * before the first is moved into its place, so that no power cut leaves half of one.
 */
function inOrder(root: Root, steps: readonly Step[], flush: Flush, run: (act: Act) => void): void {
  const fromLeaves = steps.toSorted((a, b) => b.names.length - a.names.length)
  const fromRoot = fromLeaves.toReversed()
  const folders = fromRoot.filter((step) => isFolder(step.after))
  const pieces = steps.filter((step) => step.after && !isFolder(step.after) && !staysItself(step))
  for (const step of fromRoot) if (isFolder(step.before)) run(() => openUp(root, step))
  for (const step of fromLeaves) if (makesWay(step)) run(() => remove(root, step, flush))
  for (const path of foldersAlong(steps)) run(() => removeAlong(root, path))
  for (const step of folders) if (!isFolder(step.before)) run(() => make(root, step, flush))
  if (flush.together) {
    for (const step of pieces) run(() => lay(root, step, flush))
    flush.all()
    for (const step of pieces) run(() => move(root, step, flush))
  } else for (const step of pieces) run(() => place(root, step, flush))
  for (const step of steps) if (staysItself(step)) run(() => dress(root, step, flush))
  for (const step of folders.toReversed()) run(() => dressFolder(root, step, flush))
  flush.all()
}

const isFolder = (state: State | undefined): boolean => state !== undefined && formOf(state) === 'folder'

/** Nothing can be renamed over a folder, and no folder over anything else: the old one goes first. */
export const makesWay = ({ before, after }: Step): boolean =>
  before !== undefined && (!after || isFolder(before) !== isFolder(after))

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
function openUp(root: Root, { names, before }: Step): () => void {
  const mode = before?.mode ?? ownersBits
  if (process.getuid?.() === 0 || (mode & ownersBits) === ownersBits) return () => undefined
  setFolderMode(root, names, mode | ownersBits)
  return () => setFolderMode(root, names, mode)
}

function remove(root: Root, step: Step, flush: Flush): () => void {
  const { names, before } = step
  if (isFolder(before)) {
    const mode = standingAt(root, names)?.mode ?? ownersBits
    removeFolder(root, names, flush)
    return () => makeFolder(root, names, mode)
  }
  removeFile(root, names, { anyName: step.anyName, flush })
  return () => bringBack(root, step)
}

/** A folder that only ever held what goes now; one that holds more stays. */
function removeAlong(root: Root, path: string): () => void {
  const went = removeIfEmpty(root, path.split('/'))
  return () => went && makeFolder(root, path.split('/'), went.mode)
}

function make(root: Root, step: Step, flush: Flush): () => void {
  const { madeFolders } = makeFolder(root, step.names, (step.after?.mode ?? 0) | ownersBits, flush)
  return () => {
    removeFolder(root, step.names)
    unmake(root, madeFolders)
  }
}

/** Given from the root down. */
function unmake(root: Root, folders: readonly string[]): void {
  for (const path of folders.toReversed()) removeIfEmpty(root, path.split('/'))
}

function place(root: Root, step: Step, flush: Flush): () => void {
  const { madeFolders, mode } = placeFile(root, step.names, step.content(), step.temporary, howOf(step, step.after, flush))
  step.mode = mode
  return () => {
    bringBack(root, step)
    unmake(root, madeFolders)
  }
}

function lay(root: Root, step: Step, flush: Flush): () => void {
  const { madeFolders, mode } = layBeside(root, step.names, step.content(), step.temporary, howOf(step, step.after, flush))
  step.mode = mode
  return () => {
    sweepTemporary(root, step.names, step.temporary)
    unmake(root, madeFolders)
  }
}

function move(root: Root, step: Step, flush: Flush): () => void {
  moveInto(root, step.names, step.temporary, howOf(step, step.after, flush))
  return () => bringBack(root, step)
}

function dress(root: Root, step: Step, flush: Flush): () => void {
  const { names, before, after } = step
  if (typeof after?.mode !== 'number' || sameState(before, after)) return () => undefined
  step.mode = setFileMode(root, names, after.mode, flush)
  if (step.mode === undefined) return place(root, step, flush)
  return () => typeof before?.mode === 'number' && setFileMode(root, names, before.mode)
}

function dressFolder(root: Root, step: Step, flush: Flush): () => void {
  const { names, after } = step
  const now = standingAt(root, names)?.mode
  if (typeof after?.mode !== 'number' || now === undefined) return () => undefined
  step.mode = now === after.mode ? now : setFolderMode(root, names, after.mode, flush)
  return () => setFolderMode(root, names, now)
}

/** The file or link that stood there before, or nothing where nothing did or where a folder follows. */
function bringBack(root: Root, step: Step): void {
  const { names, before } = step
  if (before && !isFolder(before))
    placeFile(root, names, step.former(), temporaryName(), howOf({ ...step, anyName: true }, before))
  else removeFile(root, names, { anyName: true })
}

function howOf({ anyName, keepsBits }: Pick<Step, 'anyName' | 'keepsBits'>, state: State | undefined, flush?: Flush): How {
  return {
    anyName,
    form: state?.form === 'link' ? 'link' : 'file',
    ...(typeof state?.mode === 'number' && !keepsBits && { mode: state.mode }),
    ...(flush && { flush }),
  }
}
