import { createHash } from 'node:crypto'
import { closeSync, existsSync, lstatSync, opendirSync, readSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { Fault } from '../contracts/faults/fault.ts'
import { longestJudged, secretIn } from '../text/secret-content.ts'
import { isInRoot, rootOf } from '../text/root-path.ts'
import { decodeText } from './utf8.ts'
import { isSecretGranted } from './secret-grants.ts'
import { byText, runInSlices, openPace, sorted, type Pace } from '../text/steps.ts'
import { deepest, letThroughHint, splitPath, type PathRules } from './paths.ts'
import {
  checkMounts,
  enterFolder,
  fileFault,
  ioFault,
  isRootItself,
  openFile,
  openFolder,
  parentOf,
  rootFor,
  type Folder,
  type Root,
} from './walk.ts'

export { decodeText, encodeText } from './utf8.ts'

export interface Entry {
  name: string
  kind: 'file' | 'folder' | 'other'
}

export interface Listing {
  entries: Entry[]
  more: boolean
}

/** Most entries of one folder that are put in order and looked at. */
export const mostInFolder = 100_000

/** What tools see of the disk: reading only, every path judged at the moment of use. Writing is a capability of the call. */
/** What to do about an entry of a walk: go on, leave out what is below it, or end the walk. */
export type Visit = (relative: string, kind: Entry['kind'], stamp: () => string | undefined) => void | 'pass' | 'stop'

export interface Files {
  readonly root: string
  readonly maxBytes: number
  /** The path as it is written down: relative, forward slashes, no `.`. Throws where the path may not be used. */
  normal(path: string): string
  /**
   * What a path leads to, where a link on the way stays inside the project; else the path itself. Only a name: whoever uses it has it judged
   * and walked as any other, so that a link swapped in meanwhile leads nowhere else.
   */
  behindLinks(path: string): string
  /** Whether a path as it is written down is in a root that is in reach; says nothing of the path itself. */
  reaches(path: string): boolean
  read(path: string, maxBytes?: number): Buffer
  /** Like `read`, but nothing where there is no such file. */
  peek(path: string): Buffer | undefined
  /** Files of one folder, which is walked to once; in the place of what cannot be read, why. */
  readSome(folder: string, names: readonly string[]): (Buffer | Fault)[]
  readText(path: string, maxBytes?: number): string
  /** A stretch of a file of any size: `choose` is told the size and says from where to where (exclusive). */
  readPart(path: string, choose: (size: number) => { start: number; end: number }): { size: number; bytes: Buffer }
  /** Throws where a file of this name with these bytes may not be shown: what is kept of files is judged like files. */
  checkContent(path: string, bytes: Buffer): void
  isFolder(path: string): boolean
  /** Whether a folder is there that may be entered. Where it is not, whatever the reason, that is no fault. */
  hasFolder(path: string): boolean
  /** The same for a file, by its name alone. */
  hasFile(path: string): boolean
  /** The entries of one folder, names sorted; of an endless one the first that were found, and that there are more. */
  list(path: string, signal?: AbortSignal, most?: number): Promise<Listing>
  /**
   * Every file and folder below, depth first, names sorted; links are never followed, forbidden names never entered. Answers whether a
   * folder had more entries than are looked at. `stamp` is another one as soon as the file is another or was written; nothing where it was
   * written so lately that a next time could go unseen.
   */
  scan(path: string, visit: Visit, signal?: AbortSignal): Promise<{ more: boolean }>
}

/** A folder with rules on its names: the only way from a tool to the disk. */
export function openFiles(root: Root, rules: PathRules, maxBytes: number): Files {
  const files: Files = {
    root: root.path,
    maxBytes,
    normal: (path) => splitPath(path, rules).join('/'),
    behindLinks(path) {
      const names = splitPath(path, rules)
      const inside = rootFor(root, names).path
      const mark = names[0] !== undefined && isInRoot(names[0]) ? [names[0]] : []
      const below = names.slice(mark.length)
      const plain = join(inside, ...below)
      const real = realPathOf(plain)
      if (real === undefined || real === plain) return names.join('/')
      // Each step of the way: a link that leads out and back in is one that leads out.
      const isInside = (step: string | undefined): boolean => step === inside || step?.startsWith(`${inside}/`) === true
      if (!below.every((_, at) => isInside(realPathOf(join(inside, ...below.slice(0, at + 1)))))) return names.join('/')
      return splitPath([...mark, real.slice(inside.length + 1)].join('/'), rules).join('/')
    },
    reaches(path) {
      const mark = rootOf(path)
      return mark === undefined || root.others?.has(mark) === true
    },
    read: (path, limit = maxBytes) => readChecked(root, rules, splitPath(path, rules), limit),
    peek(path) {
      try {
        return files.read(path)
      } catch (fault) {
        if (fault instanceof Fault && fault.reason === 'not-found') return undefined
        throw fault
      }
    },
    readSome(path, wanted) {
      const folder = openFolder(root, splitPath(path, rules))
      try {
        return wanted.map((name) => {
          try {
            const names = splitPath(`${path}/${name}`, rules)
            if (name.includes('/')) return readChecked(root, rules, names, maxBytes)
            checkMounts(root, names)
            return readFrom(root, rules, folder, names, (fd, size) => readWithin(fd, size, names, maxBytes))
          } catch (fault) {
            if (fault instanceof Fault) return fault
            throw fault
          }
        })
      } finally {
        folder.close()
      }
    },
    readText: (path, limit) => decodeText(files.read(path, limit), path),
    readPart(path, choose) {
      let size = 0
      const bytes = readOpened(root, rules, splitPath(path, rules), (fd, found) => {
        size = found
        const { start, end } = choose(found)
        return readAll(fd, Math.max(0, Math.min(end, found) - start), start)
      })
      return { size, bytes }
    },
    checkContent(path, bytes) {
      const names = splitPath(path, rules)
      if (rules.secrets) refuseSecret(bytes, names)
    },
    isFolder(path) {
      try {
        openFolder(root, splitPath(path, rules)).close()
        return true
      } catch (fault) {
        if (isNoFolder(fault)) return false
        throw fault
      }
    },
    hasFolder(path) {
      try {
        const [first] = splitPath(path, rules)
        // Mostly it is not there, and to see that takes a tenth of being refused; what is there is judged.
        if (first !== undefined && !isInRoot(first) && !existsSync(join(root.path, first))) return false
        return files.isFolder(path)
      } catch {
        return false
      }
    },
    hasFile(path) {
      try {
        files.readPart(path, () => ({ start: 0, end: 0 }))
        return true
      } catch {
        return false
      }
    },
    async list(path, signal, most = mostInFolder) {
      const names = splitPath(path, rules)
      const folder = openFolderOnly(root, names)
      try {
        return await entriesOf(folder, names, rules, openPace(signal), most)
      } finally {
        folder.close()
      }
    },
    async scan(path, visit, signal) {
      const names = splitPath(path, rules)
      const folder = openFolderOnly(root, names)
      try {
        const walk: Walk = { root, rules, visit, pace: openPace(signal), more: false }
        await scanFolder(walk, folder, names, '')
        return { more: walk.more }
      } finally {
        folder.close()
      }
    },
  }
  return files
}

function realPathOf(path: string): string | undefined {
  try {
    return realpathSync.native(path)
  } catch {
    return undefined
  }
}

function readChecked(root: Root, rules: PathRules, names: readonly string[], limit: number): Buffer {
  return readOpened(root, rules, names, (fd, size) => readWithin(fd, size, names, limit))
}

function readWithin(fd: number, size: number, names: readonly string[], limit: number): Buffer {
  if (size > limit) throw tooLarge(names.join('/'), size, limit)
  return readAll(fd, size)
}

function readOpened(root: Root, rules: PathRules, names: readonly string[], read: (fd: number, size: number) => Buffer): Buffer {
  if (isRootItself(names))
    throw new Fault('io', `Is a folder, not a file: ${names.join('/') || '.'}`, { hint: 'Name a file inside it.' })
  const folder = openFolder(root, parentOf(names), { asked: names })
  try {
    return readFrom(root, rules, folder, names, read)
  } finally {
    folder.close()
  }
}

/** One file of a folder that is open. */
function readFrom(
  root: Root,
  rules: PathRules,
  folder: Folder,
  names: readonly string[],
  read: (fd: number, size: number) => Buffer,
): Buffer {
  try {
    const { fd, stat } = openFile(root, folder, names)
    try {
      const bytes = read(fd, stat.size)
      // Judged are the very bytes that are given away, where they are all of the file.
      if (rules.secrets && stat.size <= longestJudged)
        refuseSecret(bytes.length === stat.size ? bytes : readAll(fd, stat.size), names)
      return bytes
    } finally {
      closeSync(fd)
    }
  } catch (cause) {
    throw fileFault(names, cause)
  }
}

/** Whether a file is kept from agents for what it holds. */
export function isSecretByContent(files: Pick<Files, 'readPart'>, path: string): boolean {
  try {
    files.readPart(path, () => ({ start: 0, end: 0 }))
    return false
  } catch (fault) {
    return fault instanceof Fault && fault.reason === 'path-denied'
  }
}

/** Secrets that are told by what they hold: everybody's name for them is another. */
function refuseSecret(bytes: Buffer, names: readonly string[]): void {
  const says = secretIn(bytes)
  if (says === undefined || isSecretGranted(names.join('/'))) return
  throw new Fault('path-denied', `Path not allowed: ${names.join('/')} is ${says}`, {
    details: { path: names.join('/') },
    hint: letThroughHint(names),
  })
}

function readAll(fd: number, size: number, from = 0): Buffer {
  const buffer = Buffer.allocUnsafe(size)
  let filled = 0
  while (filled < size) {
    const count = readSync(fd, buffer, filled, size - filled, from + filled)
    if (count === 0) break
    filled += count
  }
  return filled === size ? buffer : buffer.subarray(0, filled)
}

export function tooLarge(path: string, size: number, limit: number): Fault {
  return new Fault('too-large', `Too large: ${path} has ${size} bytes, the limit is ${limit}`, {
    details: { path, bytes: size, maxBytes: limit },
    hint: (name) => `Use ${name('search_files')} to find the part you need, or raise limits.maxReadBytes.`,
  })
}

function openFolderOnly(root: Root, names: readonly string[]): Folder {
  try {
    return openFolder(root, names)
  } catch (fault) {
    if (isNoFolder(fault))
      throw new Fault('io', `Is a file, not a folder: ${names.join('/')}`, {
        details: { path: names.join('/') },
        hint: (name) => `Use ${name('read_file')} to read it.`,
        cause: fault,
      })
    throw fault
  }
}

function isNoFolder(fault: unknown): boolean {
  return fault instanceof Fault && fault.reason === 'not-found' && (fault.cause as NodeJS.ErrnoException)?.code === 'ENOTDIR'
}

/** Read entry by entry: a folder of a million names neither fills the memory nor keeps anybody waiting. */
async function entriesOf(folder: Folder, names: readonly string[], rules: PathRules, pace: Pace, most: number): Promise<Listing> {
  const entries: Entry[] = []
  let more = false
  try {
    const open = opendirSync(folder.at('.'), { bufferSize: 256 })
    try {
      for (let entry = open.readSync(); entry !== null && !more; entry = open.readSync()) {
        if (pace.due()) await pace.turn()
        if (rules.refuse([...names, entry.name]) !== undefined) continue
        if (entries.length === most) more = true
        else entries.push({ name: entry.name, kind: entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : 'other' })
      }
    } finally {
      open.closeSync()
    }
  } catch (cause) {
    if (cause instanceof Error && 'syscall' in cause) throw ioFault(names, cause)
    throw cause
  }
  return { entries: await runInSlices(sorted(entries, (a, b) => byText(a.name, b.name))), more }
}

interface Walk {
  root: Root
  rules: PathRules
  visit: Visit
  pace: Pace
  more: boolean
}

async function scanFolder(walk: Walk, folder: Folder, names: readonly string[], prefix: string): Promise<'stop' | undefined> {
  const { root, rules, visit, pace } = walk
  const { entries, more } = await entriesOf(folder, names, rules, pace, mostInFolder)
  if (more) walk.more = true
  for (const entry of entries) {
    const relative = prefix + entry.name
    const said = visit(relative, entry.kind, () => stampAt(folder.at(entry.name)))
    if (said === 'stop') return 'stop'
    if (pace.due()) await pace.turn()
    if (said === 'pass') continue
    const path = [...names, entry.name]
    if (entry.kind !== 'folder' || path.length > deepest) continue
    const child = enterIfPossible(root, folder, path)
    if (!child) continue
    try {
      if ((await scanFolder(walk, child, path, `${relative}/`)) === 'stop') return 'stop'
    } finally {
      child.close()
    }
  }
  return undefined
}

/** The clock of file systems ticks in hundredths of a second. */
const settledMs = 100

function stampAt(place: string): string | undefined {
  const stat = lstatSync(place, { throwIfNoEntry: false })
  if (!stat?.isFile() || Date.now() - stat.ctimeMs < settledMs) return undefined
  return `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`
}

/** A folder that vanished, turned into a link or may not be read is passed over, as any walker does. */
function enterIfPossible(root: Root, parent: Folder, names: readonly string[]): Folder | undefined {
  try {
    return enterFolder(root, parent, names)
  } catch (fault) {
    if (fault instanceof Fault) return undefined
    throw fault
  }
}

/** The name of a content, or of a text. */
export function sha256(bytes: Uint8Array | string): string {
  return createHash('sha256').update(bytes).digest('hex')
}
