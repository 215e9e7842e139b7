import {
  closeSync,
  constants,
  fchmodSync,
  fchownSync,
  fsyncSync,
  lstatSync,
  openSync,
  renameSync,
  rmdirSync,
  unlinkSync,
  writeSync,
  type Stats,
} from 'node:fs'
import { ToolError } from '../contracts/errors.ts'
import { fileFault, ioFault, judgeFile, openFolder, type Root } from './walk.ts'

const { O_WRONLY, O_CREAT, O_EXCL, O_NOFOLLOW } = constants

/** Puts content in a file's place, all or nothing and durable: temporary file beside it, flush, rename, flush the folder. Mode and owner stay. */
export function placeFile(
  root: Root,
  names: readonly string[],
  content: Uint8Array,
  temporary: string,
): { madeFolders: string[] } {
  const madeFolders: string[] = []
  const folder = openFolder(root, names.slice(0, -1), { make: (made) => madeFolders.push(made), asked: names })
  const name = names.at(-1) as string
  try {
    const before = statIfThere(folder.at(name))
    if (before) judgeFile(before, names)
    writeTemporary(folder.at(temporary), content, before)
    try {
      renameSync(folder.at(temporary), folder.at(name))
    } catch (cause) {
      unlinkSync(folder.at(temporary))
      throw cause
    }
    fsyncSync(folder.fd)
    return { madeFolders }
  } catch (cause) {
    for (const made of madeFolders.toReversed()) removeEmptyFolder(root, made.split('/'))
    throw cause instanceof ToolError ? cause : ioFault(names, cause)
  } finally {
    folder.close()
  }
}

function writeTemporary(path: string, content: Uint8Array, like: Stats | undefined): void {
  const mode = like ? like.mode & 0o7777 : 0o666
  const fd = openSync(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, mode)
  try {
    for (let done = 0; done < content.byteLength;) done += writeSync(fd, content, done)
    if (like) {
      if (process.getuid?.() === 0) fchownSync(fd, like.uid, like.gid)
      fchmodSync(fd, mode)
    }
    fsyncSync(fd)
  } catch (cause) {
    unlinkSync(path)
    throw cause
  } finally {
    closeSync(fd)
  }
}

/** Removes a regular file, and then the folders given (deepest last) where they are empty. */
export function removeFile(root: Root, names: readonly string[], folders: readonly string[] = []): void {
  const folder = openFolder(root, names.slice(0, -1), { asked: names })
  const name = names.at(-1) as string
  try {
    judgeFile(lstatSync(folder.at(name)), names)
    unlinkSync(folder.at(name))
    fsyncSync(folder.fd)
  } catch (cause) {
    throw fileFault(names, cause)
  } finally {
    folder.close()
  }
  for (const path of folders.toReversed()) removeEmptyFolder(root, path.split('/'))
}

function removeEmptyFolder(root: Root, names: string[]): void {
  try {
    const parent = openFolder(root, names.slice(0, -1))
    try {
      rmdirSync(parent.at(names.at(-1) as string))
    } finally {
      parent.close()
    }
  } catch {
    // Not empty, or gone already: it stays as it is.
  }
}

/** Takes away a temporary file that a killed process left beside its target. */
export function sweepTemporary(root: Root, names: readonly string[], temporary: string): void {
  try {
    const folder = openFolder(root, names.slice(0, -1))
    try {
      unlinkSync(folder.at(temporary))
    } finally {
      folder.close()
    }
  } catch {
    // It never came to be.
  }
}

function statIfThere(path: string): Stats | undefined {
  try {
    return lstatSync(path)
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
    throw cause
  }
}
