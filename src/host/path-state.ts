import { createHash } from 'node:crypto'
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  openSync,
  readFileSync,
  readSync,
  readlinkSync,
  statfsSync,
  type Stats,
} from 'node:fs'
import { largestInMemory, type Content } from '../contracts/content.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { Form } from '../contracts/snapshot.ts'
import { namesOn } from '../text/root-path.ts'
import type { Steps } from '../text/steps.ts'
import { sha256, tooLarge } from './files.ts'
import { lendingBits } from './owner-bits.ts'
import { hashChunks } from './chunks.ts'
import {
  fileFault,
  checkRegularFile,
  lastOf,
  openFile,
  openFolder,
  parentOf,
  rootFor,
  withMounts,
  type Folder,
  type Root,
} from './walk.ts'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants

/** What stands at a path. */
export interface PathState {
  form: Form
  /** The nine permission bits; setuid, setgid and sticky are not told. A link has all nine. */
  mode: number
  /** Of the content, of a link's target, of nothing for a folder. */
  sha256: string
  bytes: number
}

const allBits = 0o777
const nothing = Buffer.alloc(0)

/**
 * Looks without following a link: what lies behind one does not stand below its path, so there it says undefined as for
 * nothing at all. Devices, sockets and the like are refused; `judge` may refuse more.
 */
export function pathStateAt(root: Root, names: readonly string[], check?: (stat: Stats) => void): PathState | undefined {
  return inspect(root, names, (folder, path, stat, own) => {
    check?.(stat)
    if (stat.isDirectory()) return { form: 'folder', mode: stat.mode & allBits, ...hashFile(nothing) }
    if (stat.isSymbolicLink()) return { form: 'link', mode: allBits, ...hashFile(readlinkSync(path, 'buffer')) }
    return withFile(root, folder, names, stat, (fd, { mode }) => ({
      form: 'file',
      mode: (own ?? mode) & allBits,
      ...hashFilePieces(fd),
    }))
  })
}

/** Larger files are read in steps. */
const small = 262_144

/** The same in steps, however large the file is: it is opened as ever, then read through the descriptor. */
export function* pathStateInSteps(
  root: Root,
  names: readonly string[],
  check?: (stat: Stats) => void,
): Steps<PathState | undefined> {
  const found = inspect<PathState | { fd: number; mode: number }>(root, names, (folder, path, stat, own) => {
    check?.(stat)
    if (stat.isDirectory()) return { form: 'folder', mode: stat.mode & allBits, ...hashFile(nothing) }
    if (stat.isSymbolicLink()) return { form: 'link', mode: allBits, ...hashFile(readlinkSync(path, 'buffer')) }
    const opened = openRegular(root, folder, names, stat)
    const mode = (own ?? opened.stat.mode) & allBits
    if (opened.stat.size > small) return { fd: opened.fd, mode }
    try {
      return { form: 'file', mode, ...hashFilePieces(opened.fd) }
    } finally {
      closeSync(opened.fd)
    }
  })
  if (!found || !('fd' in found)) return found
  try {
    return { form: 'file', mode: found.mode, ...(yield* hashChunks(found.fd)) }
  } catch (cause) {
    throw fileFault(names, cause)
  } finally {
    closeSync(found.fd)
  }
}

/** Looking at paths of one folder, whichever mounts lie on the way there. Which of them may be used is for others to judge. */
export interface PathStates {
  inSteps(path: string): Steps<PathState | undefined>
  /** The bytes that stand there; throws where nothing does. */
  content(path: string): Buffer
}

export function pathStatesBelow(opened: Root): PathStates {
  const root = withMounts(opened, () => undefined)
  return {
    inSteps: (path) => pathStateInSteps(root, namesOn(path)),
    content: (path) => contentAt(root, namesOn(path)),
  }
}

/** What a path that was looked at holds: whole where it is small, else where it lies. `changed` is thrown where it holds something else by now. */
export function contentOfState(
  root: Root,
  names: readonly string[],
  pathState: PathState,
  changed: (found: string) => Error,
): Content {
  if (pathState.form === 'file' && pathState.bytes > largestInMemory)
    return { sha256: pathState.sha256, bytes: pathState.bytes, changed, open: () => openToRead(root, names) }
  const content = contentAt(root, names)
  const found = sha256(content)
  if (found !== pathState.sha256) throw changed(found)
  return content
}

function openToRead(root: Root, names: readonly string[]): number {
  const fd = inspect(root, names, (folder, _, stat) => openRegular(root, folder, names, stat).fd)
  if (fd === undefined) throw nothingThere(names)
  return fd
}

/** Whether anything stands there; nothing of it is read. */
export function existsAt(root: Root, names: readonly string[]): boolean {
  return inspect(root, names, () => true) ?? false
}

/** File systems on which every file looks executable: FAT, exFAT, NTFS, those of Windows and of other machines. */
const withoutBits = new Set([0x4d44, 0x2011bab0, 0x5346544e, 0x7366746e, 0x65735546, 0x01021997, 0xff534d42, 0xfe534d42, 0x517b])

/** Whether a file stands there that may be executed, where its permissions mean that. */
export function mayExecuteAt(root: Root, names: readonly string[]): boolean {
  const bits = inspect(root, names, (_folder, _path, stat) => (stat.isFile() ? stat.mode & 0o111 : 0)) ?? 0
  return bits !== 0 && process.platform !== 'win32' && !withoutBits.has(statfsSync(rootFor(root, names).path).type >>> 0)
}

/** The bytes that stand there: a file's content, a link's target, nothing for a folder. */
export function contentAt(root: Root, names: readonly string[]): Buffer {
  const found = inspect(root, names, (folder, path, stat) => {
    if (stat.isDirectory()) return nothing
    if (stat.isSymbolicLink()) return readlinkSync(path, 'buffer')
    return withFile(root, folder, names, stat, (fd) => readFileSync(fd))
  })
  if (!found) throw nothingThere(names)
  return found
}

const nothingThere = (names: readonly string[]): Fault =>
  fileFault(names, Object.assign(new Error('nothing there'), { code: 'ENOENT' }))

/** A file of a terabyte costs nothing to make and days to hash; nothing that large can be changed or kept anyway. */
const largestHashed = 1 << 30

/** The fingerprints of many paths. */
export function* fingerprintsAt(
  root: Root,
  paths: readonly string[],
  split: (path: string) => readonly string[],
): Steps<Record<string, string | null>> {
  // No prototype: `__proto__` is a file name like any other.
  const states = Object.create(null) as Record<string, string | null>
  for (const path of paths) {
    const mayBeWeighed = ({ size }: Stats): void => {
      if (size > largestHashed) throw tooLarge(path, size, largestHashed)
    }
    states[path] = stateFingerprint(yield* pathStateInSteps(root, split(path), mayBeWeighed))
    yield
  }
  return states
}

/** Which file stands there and when it was written last. Not its ctime: reading may lend a file bits for a moment, which changes that. */
export function stampOf(stat: Stats | undefined): string {
  if (!stat) return 'nothing'
  return stat.isDirectory() ? 'folder' : `${stat.dev} ${stat.ino} ${stat.size} ${stat.mtimeMs}`
}

/** A state as a fingerprint: a file is its hash alone; null is nothing there. */
export function stateFingerprint(standing: Pick<PathState, 'form' | 'sha256'> | undefined): string | null {
  if (!standing) return null
  if (standing.form === 'folder') return 'folder'
  return standing.form === 'link' ? `link:${standing.sha256}` : standing.sha256
}

/** `own` are the bits of a file that could be read only because some were lent. */
type See<T> = (folder: Folder, path: string, stat: Stats, own?: number) => T | undefined

function inspect<T>(root: Root, names: readonly string[], see: See<T>): T | undefined {
  return lendingBits(root, names, (own) => inspectOnce(root, names, (folder, path, stat) => see(folder, path, stat, own)))
}

function inspectOnce<T>(root: Root, names: readonly string[], see: See<T>): T | undefined {
  let folder: Folder
  try {
    folder = openFolder(root, parentOf(names), { asked: names })
  } catch (fault) {
    if (leadsNowhere((fault as Fault).cause)) return undefined
    throw fault
  }
  try {
    const path = folder.at(lastOf(names))
    return see(folder, path, lstatSync(path))
  } catch (cause) {
    if (leadsNowhere(cause)) return undefined
    throw fileFault(names, cause)
  } finally {
    folder.close()
  }
}

const leadsNowhere = (cause: unknown): boolean =>
  ['ENOENT', 'ENOTDIR', 'ELOOP'].includes((cause as NodeJS.ErrnoException | undefined)?.code ?? '')

/** A file with a second name is read too: whoever removes or replaces this name leaves the other one alone. */
function openRegular(root: Root, folder: Folder, names: readonly string[], seen: Stats): { fd: number; stat: Stats } {
  if (!seen.isFile()) checkRegularFile(seen, names)
  return seen.nlink > 1 ? openNamedTwice(folder, names, seen) : openFile(root, folder, names)
}

function withFile<T>(root: Root, folder: Folder, names: readonly string[], seen: Stats, read: (fd: number, stat: Stats) => T): T {
  const { fd, stat } = openRegular(root, folder, names, seen)
  try {
    return read(fd, stat)
  } finally {
    closeSync(fd)
  }
}

function openNamedTwice(folder: Folder, names: readonly string[], seen: Stats): { fd: number; stat: Stats } {
  const fd = openSync(folder.at(lastOf(names)), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  const stat = fstatSync(fd)
  if (stat.ino === seen.ino && stat.dev === seen.dev && stat.isFile()) return { fd, stat }
  closeSync(fd)
  throw new Fault('conflict', `${names.join('/')} changed while it was opened`, { hint: 'Try again.' })
}

const hashFile = (bytes: Buffer): { sha256: string; bytes: number } => ({ sha256: sha256(bytes), bytes: bytes.length })

/** Piece by piece, since only the hash is wanted. */
function hashFilePieces(fd: number): { sha256: string; bytes: number } {
  const hash = createHash('sha256')
  const piece = Buffer.allocUnsafe(1 << 16)
  let bytes = 0
  for (let count = readSync(fd, piece); count > 0; count = readSync(fd, piece)) {
    hash.update(piece.subarray(0, count))
    bytes += count
  }
  return { sha256: hash.digest('hex'), bytes }
}
