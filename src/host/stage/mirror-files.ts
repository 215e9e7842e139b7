import {
  chmodSync,
  closeSync,
  constants,
  fchmodSync,
  fstatSync,
  ftruncateSync,
  futimesSync,
  lstatSync,
  openSync,
  read,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  write,
  writeFileSync,
  writeSync,
} from 'node:fs'
import { copyFile } from 'node:fs/promises'
import { promisify } from 'node:util'
import type { Folder } from '../walk.ts'
import { isCertificate } from './classify-entry.ts'
import { isOnlyCertificates, withoutCredentials } from './content-checks.ts'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, COPYFILE_FICLONE_FORCE } = constants

/** One file of a mirror, and which file of the project it was taken from. */
export interface Mirrored {
  /** Which file it was: another one in its place is put in its place here too. */
  file: string
  /** What it held, as far as the system tells without reading it. */
  is: string
  bytes: number
  mode: number
}

/** A file that was read and is not shown yet: first it is judged whether it may be. */
export interface Brought extends Mirrored {
  /** What it holds, where that is little; else it lies at `at`. */
  content: Buffer | undefined
  at: string
  modified: number
  /** It has other names, too. */
  linked: boolean
  /** Bytes that are kept for it while it is on its way. */
  reserved: number
}

/** Where room for what is copied comes from, and what stops it. */
export interface Means {
  room(): number
  reserve(bytes: number): void
  release(bytes: number): void
  /** Asked now and then while a file is copied; throws where that is to end. */
  goOn(): void
}

/** More is copied beside the event loop, and on some disks not at all. */
const small = 262_144
const piece = 1_048_576

/** Names the file itself, whatever happens to its name. */
const byNumber = (fd: number): string => `/proc/self/fd/${fd}`

/**
 * Reads a file as it stands in an open folder: no link is followed, and what is read is of one file, the one that `file` names. Nothing where it is no
 * file, or none that a program of ours may read.
 */
export async function bring(
  folder: Folder,
  name: string,
  known: Mirrored | undefined,
  at: string,
  means: Means,
): Promise<Brought | 'as known' | 'too large' | undefined> {
  let fd: number
  try {
    fd = openSync(folder.at(name), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch {
    return undefined
  }
  try {
    const stat = fstatSync(fd, { bigint: true })
    const bits = Number(stat.mode) & 0o777
    if (!stat.isFile() || !isReadable(Number(stat.uid), bits)) return undefined
    const is = `${stat.size} ${stat.mtimeNs} ${stat.ctimeNs}`
    const file = `${stat.dev} ${stat.ino}`
    // It is ours to write to; the program is shown it read-only.
    const mode = bits | 0o600
    const brought = {
      file,
      is,
      bytes: Number(stat.size),
      at,
      mode,
      modified: Number(stat.mtimeMs) / 1_000,
      linked: stat.nlink > 1n,
      reserved: Number(stat.size),
    }
    if (known?.file === file && known.is === is) return 'as known'
    if (stat.size > means.room() + (known?.bytes ?? 0)) return 'too large'
    means.reserve(brought.reserved)
    if (stat.size <= small) {
      const content = readFileSync(fd)
      return { ...brought, bytes: content.length, content }
    }
    try {
      return { ...brought, bytes: await copy(fd, at, brought.bytes, means), content: undefined }
    } catch (fault) {
      rmSync(at, { force: true })
      means.release(brought.reserved)
      throw fault
    }
  } finally {
    closeSync(fd)
  }
}

const readSome = promisify(read)
const writeSome = promisify(write)

/** No more than the size it had: whoever writes to it meanwhile does not fill the disk. Tells how much that was. */
async function copy(fd: number, at: string, size: number, { goOn }: Means): Promise<number> {
  goOn()
  if (
    await copyFile(byNumber(fd), at, COPYFILE_FICLONE_FORCE).then(
      () => true,
      () => false,
    )
  )
    return size
  const target = openSync(at, 'w', 0o600)
  try {
    const buffer = Buffer.allocUnsafe(piece)
    let done = 0
    while (done < size) {
      goOn()
      const { bytesRead } = await readSome(fd, buffer, 0, Math.min(piece, size - done), done)
      if (bytesRead === 0) break
      for (let out = 0; out < bytesRead;) out += (await writeSome(target, buffer, out, bytesRead - out, done + out)).bytesWritten
      done += bytesRead
    }
    return done
  } finally {
    closeSync(target)
  }
}

/** Root reads everything; its programs, who are root of nothing, do not. */
function isReadable(owner: number, mode: number): boolean {
  return owner === process.getuid?.() ? (mode & 0o400) !== 0 : process.getuid?.() !== 0 || (mode & 0o004) !== 0
}

/** Whether the file that was read is the one at its name, now. */
export function isStillThere(folder: Folder, name: string, { file }: Mirrored): boolean {
  try {
    const stat = lstatSync(folder.at(name), { bigint: true })
    return stat.isFile() && `${stat.dev} ${stat.ino}` === file
  } catch {
    return false
  }
}

/**
 * Puts it at its place in the mirror as it came to its place in the project: a file that was written to is written to, so that who watches
 * the file itself hears of it; a new one takes the place of the old one whole.
 */
export function show(brought: Brought, target: string, known: Mirrored | undefined): void {
  const { content, at, mode, modified } = brought
  if (content && known?.file === brought.file && known.bytes <= small && rewrite(target, content)) {
    if (known.mode !== mode) chmodSync(target, mode)
    return
  }
  // One opening for all of it: on many disks that is what takes the time.
  const fd = openSync(at, content ? 'w' : 'r', mode)
  try {
    if (content) writeAll(fd, content)
    else fchmodSync(fd, mode)
    futimesSync(fd, modified, modified)
  } finally {
    closeSync(fd)
  }
  if (at !== target) renameSync(at, target)
}

function writeAll(fd: number, content: Buffer): void {
  for (let done = 0; done < content.length;) done += writeSync(fd, content, done, content.length - done, done)
}

function rewrite(target: string, content: Buffer): boolean {
  try {
    const fd = openSync(target, 'r+')
    try {
      // Never empty in between, and whole as soon as one write makes it so.
      writeAll(fd, content)
      ftruncateSync(fd, content.length)
      return true
    } finally {
      closeSync(fd)
    }
  } catch {
    // It is being executed.
    return false
  }
}

/** A link is words, which lead from where it stands in the mirror as they do in the project. */
export function showLink(folder: Folder, name: string, target: string, at: string): boolean {
  let to: string
  try {
    to = readlinkSync(folder.at(name))
  } catch {
    return false
  }
  if (linkAt(target) === to) return true
  rmSync(at, { force: true })
  symlinkSync(to, at)
  renameSync(at, target)
  return true
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** A file that is judged by what it holds, as it was read: what programs may see of it, if anything. */
export function withoutSecrets(brought: Brought, path: string): Brought | undefined {
  if (brought.content) writeFileSync(brought.at, brought.content, { mode: 0o600 })
  const isFine = isCertificate(path) && isOnlyCertificates(brought.at, brought.bytes)
  const words = isCertificate(path) ? undefined : withoutCredentials(brought.at, path)
  // Where it is little it is in memory, and does not lie about.
  if (brought.content || (isCertificate(path) && !isFine)) rmSync(brought.at, { force: true })
  if (isCertificate(path)) return isFine ? brought : undefined
  return words === undefined ? brought : withWords(brought, words)
}

/** The same file as programs may read it. */
export function withWords(brought: Brought, words: string): Brought {
  if (!brought.content) rmSync(brought.at, { force: true })
  const content = Buffer.from(words)
  return { ...brought, content, bytes: content.length }
}
