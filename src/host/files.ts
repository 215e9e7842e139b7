import { createHash } from 'node:crypto'
import { isUtf8 } from 'node:buffer'
import { closeSync, readSync, readdirSync, type Dirent } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { ToolError } from '../contracts/errors.ts'
import { longestJudged, secretIn } from '../contracts/secret-content.ts'
import { isLetThrough } from './let-through.ts'
import { deepest, letThroughHint, splitPath, type PathRules } from './paths.ts'
import { enterFolder, fileFault, ioFault, openFile, openFolder, type Folder, type Root } from './walk.ts'

export interface Entry {
  name: string
  kind: 'file' | 'folder' | 'other'
}

/** What tools see of the disk: reading only, every path judged at the moment of use. Writing is a power of the call. */
export interface Files {
  readonly root: string
  readonly maxBytes: number
  /** The path as it is written down: relative, forward slashes, no `.`. Throws where the path may not be used. */
  normal(path: string): string
  read(path: string, maxBytes?: number): Buffer
  /** Like `read`, but nothing where there is no such file. */
  peek(path: string): Buffer | undefined
  readText(path: string, maxBytes?: number): string
  /** A stretch of a file of any size: `choose` is told the size and says from where to where (exclusive). */
  readPart(path: string, choose: (size: number) => { start: number; end: number }): { size: number; bytes: Buffer }
  /** Throws where a file of this name with these bytes may not be shown: what is kept of files is judged like files. */
  judge(path: string, bytes: Buffer): void
  isFolder(path: string): boolean
  list(path: string): Entry[]
  /** Every file and folder below, depth first, names sorted; links are never followed, forbidden names never entered. */
  scan(path: string, visit: (relative: string, kind: Entry['kind']) => void | 'stop', signal?: AbortSignal): Promise<void>
}

/** A folder with rules on its names: the only way from a tool to the disk. */
export function judgedFiles(root: Root, rules: PathRules, maxBytes: number): Files {
  const files: Files = {
    root: root.path,
    maxBytes,
    normal: (path) => splitPath(path, rules).join('/'),
    read: (path, limit = maxBytes) => readJudged(root, rules, splitPath(path, rules), limit),
    peek(path) {
      try {
        return files.read(path)
      } catch (fault) {
        if (fault instanceof ToolError && fault.code === 'E_NOT_FOUND') return undefined
        throw fault
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
    judge(path, bytes) {
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
    list(path) {
      const names = splitPath(path, rules)
      const folder = openFolderOnly(root, names)
      try {
        return entriesOf(folder, names, rules)
      } finally {
        folder.close()
      }
    },
    async scan(path, visit, signal) {
      const names = splitPath(path, rules)
      const folder = openFolderOnly(root, names)
      try {
        await scanFolder(root, folder, names, '', rules, visit, { signal, since: performance.now() })
      } finally {
        folder.close()
      }
    },
  }
  return files
}

function readJudged(root: Root, rules: PathRules, names: readonly string[], limit: number): Buffer {
  return readOpened(root, rules, names, (fd, size) => {
    if (size > limit) throw tooLarge(names.join('/'), size, limit)
    return readAll(fd, size)
  })
}

function readOpened(root: Root, rules: PathRules, names: readonly string[], read: (fd: number, size: number) => Buffer): Buffer {
  if (names.length === 0) throw new ToolError('E_IO', 'Is a folder, not a file: .', { hint: 'Name a file inside it.' })
  const folder = openFolder(root, names.slice(0, -1), { asked: names })
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
  } finally {
    folder.close()
  }
}

/** Secrets that are told by what they hold: everybody's name for them is another. */
function refuseSecret(bytes: Buffer, names: readonly string[]): void {
  const says = secretIn(bytes)
  if (says === undefined || isLetThrough(names.join('/'))) return
  throw new ToolError('E_DENY_PATH', `Path not allowed: ${names.join('/')} is ${says}`, {
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

export function tooLarge(path: string, size: number, limit: number): ToolError {
  return new ToolError('E_TOO_LARGE', `Too large: ${path} has ${size} bytes, the limit is ${limit}`, {
    details: { path, bytes: size, maxBytes: limit },
    hint: 'Use search_files to find the part you need, or raise limits.maxReadBytes.',
  })
}

function openFolderOnly(root: Root, names: readonly string[]): Folder {
  try {
    return openFolder(root, names)
  } catch (fault) {
    if (isNoFolder(fault))
      throw new ToolError('E_IO', `Is a file, not a folder: ${names.join('/')}`, {
        details: { path: names.join('/') },
        hint: 'Use read_file to read it.',
        cause: fault,
      })
    throw fault
  }
}

function isNoFolder(fault: unknown): boolean {
  return fault instanceof ToolError && fault.code === 'E_NOT_FOUND' && (fault.cause as NodeJS.ErrnoException)?.code === 'ENOTDIR'
}

function entriesOf(folder: Folder, names: readonly string[], rules: PathRules): Entry[] {
  let found: Dirent[]
  try {
    found = readdirSync(folder.at('.'), { withFileTypes: true })
  } catch (cause) {
    throw ioFault(names, cause)
  }
  return found
    .filter((entry) => rules.refuse([...names, entry.name]) === undefined)
    .map((entry): Entry => ({ name: entry.name, kind: entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : 'other' }))
    .sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0))
}

/** Longest stretch one piece of work may keep other calls waiting. */
export const turnMs = 8

async function scanFolder(
  root: Root,
  folder: Folder,
  names: readonly string[],
  prefix: string,
  rules: PathRules,
  visit: (relative: string, kind: Entry['kind']) => void | 'stop',
  pace: { signal: AbortSignal | undefined; since: number },
): Promise<'stop' | undefined> {
  for (const entry of entriesOf(folder, names, rules)) {
    const relative = prefix + entry.name
    if (visit(relative, entry.kind) === 'stop') return 'stop'
    if (performance.now() - pace.since > turnMs) {
      await nextTurn()
      pace.signal?.throwIfAborted()
      pace.since = performance.now()
    }
    const path = [...names, entry.name]
    if (entry.kind !== 'folder' || path.length > deepest) continue
    const child = enterIfPossible(root, folder, path)
    if (!child) continue
    try {
      if ((await scanFolder(root, child, path, `${relative}/`, rules, visit, pace)) === 'stop') return 'stop'
    } finally {
      child.close()
    }
  }
  return undefined
}

/** A folder that vanished, turned into a link or may not be read is passed over, as any walker does. */
function enterIfPossible(root: Root, parent: Folder, names: readonly string[]): Folder | undefined {
  try {
    return enterFolder(root, parent, names)
  } catch (fault) {
    if (fault instanceof ToolError) return undefined
    throw fault
  }
}

/** Strict UTF-8. A byte order mark stays in the text, so that writing it back gives the same bytes. */
export function decodeText(bytes: Buffer, path: string): string {
  if (!isUtf8(bytes) || bytes.includes(0))
    throw new ToolError('E_ENCODING', `Not UTF-8 text: ${path}`, {
      details: { path, looksLike: guessEncoding(bytes) },
      hint: `It looks like ${guessEncoding(bytes)}. Convert text to UTF-8 first; binary files cannot be read as text.`,
    })
  return bytes.toString('utf8')
}

function guessEncoding(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'UTF-16 LE'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'UTF-16 BE'
  if (bytes.includes(0)) return 'a binary file'
  for (const label of ['gb18030', 'shift_jis', 'euc-kr']) {
    try {
      new TextDecoder(label, { fatal: true }).decode(bytes)
      return label === 'gb18030' ? 'GBK/GB18030' : label === 'shift_jis' ? 'Shift_JIS' : 'EUC-KR'
    } catch {
      continue
    }
  }
  return 'a binary file or a legacy encoding'
}

/** Text to bytes, refusing what UTF-8 cannot hold. */
export function encodeText(text: string, path: string): Buffer {
  if (!text.isWellFormed())
    throw new ToolError('E_ENCODING', `The content for ${path} holds half of a surrogate pair`, {
      details: { path },
      hint: 'Send well-formed Unicode text.',
    })
  return Buffer.from(text, 'utf8')
}

/** The name of a content. */
export function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
