import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  renameSync,
  rmdirSync,
  symlinkSync,
  unlinkSync,
  type Stats,
} from 'node:fs'
import { rename, unlink } from 'node:fs/promises'
import { largestInMemory, type Content } from '../contracts/content.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { namesOn } from '../text/root-path.ts'
import { wait, type Steps } from '../text/steps.ts'
import { eachByItself, type Flush } from './flush.ts'
import { givingBits } from './owner-bits.ts'
import { writeChunks } from './chunks.ts'
import { fileFault, ioFault, checkRegularFile, lastOf, openFile, openFolder, parentOf, type Folder, type Root } from './walk.ts'

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants
const allBits = 0o777

/** How something is put in place, where it is not a plain file that keeps its mode. */
export interface How {
  form?: 'file' | 'link'
  /** Permission bits, and no others; without them all bits of the file that is replaced, or what the system gives a new one. */
  mode?: number
  /** Links and files with a second name may be replaced or removed too; the other name keeps its content. */
  anyName?: boolean
  flush?: Flush
  /** Asked with what stands there, right before it goes or is replaced; throws where it may not. */
  checkUnchanged?: (now: Stats | undefined) => void
}

/** What came of it: folders made on the way, and the permission bits the file system really gave. */
export interface Placed {
  madeFolders: string[]
  mode: number
}

/** Puts content (or a link) in a name's place, all or nothing and durable: temporary file beside it, flush, rename, flush the folder. Owner stays. */
export function placeFile(
  root: Root,
  names: readonly string[],
  content: Content,
  temporary: string,
  how: How = {},
): Steps<Placed> {
  return making(root, names, function* (folder) {
    const mode = yield* writeTemporary(folder, names, content, temporary, how)
    yield* moveIn(folder, names, temporary, how)
    return mode
  })
}

/** The first half of `placeFile`: the content lies beside its place, under the temporary name. */
export function writeTempBeside(
  root: Root,
  names: readonly string[],
  content: Content,
  temporary: string,
  how: How = {},
): Steps<Placed> {
  return making(root, names, (folder) => writeTemporary(folder, names, content, temporary, how))
}

/** The second half of `placeFile`. */
export function moveTempIntoPlace(root: Root, names: readonly string[], temporary: string, how: How = {}): Steps<void> {
  return within(root, names, (folder) => moveIn(folder, names, temporary, how))
}

/** Makes a folder that must not be there yet, and those that lead to it. */
export function makeFolder(root: Root, names: readonly string[], mode: number, flush: Flush = eachByItself): Steps<Placed> {
  return making(root, names, function* (folder) {
    mkdirSync(folder.at(lastOf(names)), 0o700)
    const given = yield* setFolderMode(root, names, mode, flush)
    yield* flush.one(folder.fd)
    return given
  })
}

/** Removes a file or, where any name may go, a link. */
export function removeFile(
  root: Root,
  names: readonly string[],
  { anyName = false, flush = eachByItself, checkUnchanged }: How = {},
): Steps<void> {
  return within(root, names, function* (folder) {
    const stat = lstatSync(folder.at(lastOf(names)))
    checkReplaceable(stat, names, anyName)
    checkUnchanged?.(stat)
    yield* releasing(stat, unlinkSync, unlink, folder.at(lastOf(names)))
    yield* flush.one(folder.fd)
  })
}

/** Removes a folder, which must be empty by now. */
export function removeFolder(root: Root, names: readonly string[], flush: Flush = eachByItself): Steps<void> {
  return within(root, names, function* (folder) {
    try {
      rmdirSync(folder.at(lastOf(names)))
    } catch (cause) {
      if (!['ENOTEMPTY', 'EEXIST'].includes((cause as NodeJS.ErrnoException).code ?? '')) throw cause
      throw new Fault('conflict', `${names.join('/')} is not empty`, {
        details: { path: names.join('/') },
        hint: 'Something in it is not part of this change. Look at the folder again.',
        cause,
      })
    }
    yield* flush.one(folder.fd)
  })
}

/** Removes a folder where it is empty, and gives the bits it had. */
export function removeIfEmpty(root: Root, names: readonly string[]): { mode: number } | undefined {
  try {
    return inside(root, names, (parent) => {
      const { mode } = lstatSync(parent.at(lastOf(names)))
      rmdirSync(parent.at(lastOf(names)))
      return { mode: mode & allBits }
    })
  } catch {
    // Not empty, or gone already: it stays as it is.
    return undefined
  }
}

/** Sets a folder's permission bits; setgid and sticky bits it has stay, none is added. Gives the bits it has then. */
export function* setFolderMode(root: Root, names: readonly string[], mode: number, flush: Flush = eachByItself): Steps<number> {
  const folder = givingBits(root, names, () => openFolder(root, names))
  try {
    return yield* setMode(folder.fd, (fstatSync(folder.fd).mode & 0o7000) | (mode & allBits), flush)
  } catch (cause) {
    throw fileFault(names, cause)
  } finally {
    folder.close()
  }
}

/** Sets a file's permission bits in place. Undefined, and nothing done, where another name would get them too. */
export function setFileMode(
  root: Root,
  names: readonly string[],
  mode: number,
  flush: Flush = eachByItself,
): Steps<number | undefined> {
  return within(root, names, function* (folder) {
    if (lstatSync(folder.at(lastOf(names))).nlink > 1) return undefined
    const { fd } = givingBits(root, names, () => openFile(root, folder, names))
    try {
      return yield* setMode(fd, mode & allBits, flush)
    } finally {
      closeSync(fd)
    }
  })
}

/** Takes away a temporary file that a killed process left beside its target. */
export function sweepTemporary(root: Root, names: readonly string[], temporary: string): void {
  try {
    inside(root, names, (folder) => unlinkSync(folder.at(temporary)))
  } catch {
    // It never came to be.
  }
}

/** Writes a file that must not exist yet; nothing of it is left where that fails. */
export function* writeNew(path: string, content: Content, mode: number, finish: (fd: number) => Steps<void>): Steps<void> {
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  try {
    yield* writeChunks(fd, content)
    yield* finish(fd)
  } catch (cause) {
    unlinkSync(path)
    throw cause
  } finally {
    closeSync(fd)
  }
}

/** A large file takes its time to go; it is waited for beside the event loop. */
function* releasing<T extends string[]>(
  goes: Stats | undefined,
  now: (...paths: T) => void,
  soon: (...paths: T) => Promise<void>,
  ...paths: T
): Steps<void> {
  if ((goes?.size ?? 0) <= largestInMemory) return now(...paths)
  yield* wait(
    () => now(...paths),
    () => soon(...paths),
  )
}

/** Acts in the folder a path lies in. */
function* within<T>(root: Root, names: readonly string[], act: (folder: Folder) => Steps<T>): Steps<T> {
  const folder = openFolder(root, parentOf(names), { asked: names })
  try {
    return yield* act(folder)
  } catch (cause) {
    throw fileFault(names, cause)
  } finally {
    folder.close()
  }
}

/** The same for what takes no time. */
function inside<T>(root: Root, names: readonly string[], act: (folder: Folder) => T): T {
  const folder = openFolder(root, parentOf(names), { asked: names })
  try {
    return act(folder)
  } catch (cause) {
    throw fileFault(names, cause)
  } finally {
    folder.close()
  }
}

/** Acts in the folder a path lies in, made where it is missing; a failure takes those folders back. */
function* making(root: Root, names: readonly string[], act: (folder: Folder) => Steps<number>): Steps<Placed> {
  const madeFolders: string[] = []
  const folder = openFolder(root, parentOf(names), { make: (made) => madeFolders.push(made), asked: names })
  try {
    return { mode: yield* act(folder), madeFolders }
  } catch (cause) {
    for (const made of madeFolders.toReversed()) removeIfEmpty(root, namesOn(made))
    throw cause instanceof Fault ? cause : ioFault(names, cause)
  } finally {
    folder.close()
  }
}

function* writeTemporary(folder: Folder, names: readonly string[], content: Content, temporary: string, how: How): Steps<number> {
  const before = statIfThere(folder.at(lastOf(names)))
  if (before) checkReplaceable(before, names, how.anyName)
  if (how.form === 'link') {
    symlinkSync(Buffer.from(content as Uint8Array), folder.at(temporary))
    return allBits
  }
  const like = before?.isFile() ? before : undefined
  // Not a bit that lends the rights of its owner: that was given to other content.
  const mode = how.mode ?? like?.mode
  const bits = mode === undefined ? undefined : mode & allBits
  let given = 0
  yield* writeNew(folder.at(temporary), content, (bits ?? 0o666) & allBits, function* (fd) {
    if (like && process.getuid?.() === 0) fchownSync(fd, like.uid, like.gid)
    if (bits !== undefined) fchmodSync(fd, bits)
    given = fstatSync(fd).mode & allBits
    yield* (how.flush ?? eachByItself).one(fd)
  })
  return given
}

function* moveIn(
  folder: Folder,
  names: readonly string[],
  temporary: string,
  { anyName, flush = eachByItself, checkUnchanged }: How,
): Steps<void> {
  const name = lastOf(names)
  try {
    const before = statIfThere(folder.at(name))
    if (before) checkReplaceable(before, names, anyName)
    checkUnchanged?.(before)
    yield* releasing(before, renameSync, rename, folder.at(temporary), folder.at(name))
  } catch (cause) {
    unlinkSync(folder.at(temporary))
    throw cause
  }
  yield* flush.one(folder.fd)
}

function* setMode(fd: number, mode: number, flush: Flush): Steps<number> {
  fchmodSync(fd, mode)
  yield* flush.one(fd)
  return fstatSync(fd).mode & allBits
}

function checkReplaceable(stat: Stats, names: readonly string[], anyName = false): void {
  if (!anyName || !(stat.isFile() || stat.isSymbolicLink())) checkRegularFile(stat, names)
}

function statIfThere(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw cause
  }
}
