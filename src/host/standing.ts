import { createHash } from 'node:crypto'
import { closeSync, constants, fstatSync, lstatSync, openSync, readFileSync, readSync, readlinkSync, type Stats } from 'node:fs'
import { ToolError } from '../contracts/errors.ts'
import type { Form } from '../contracts/snapshot.ts'
import { sha256 } from './files.ts'
import { lendingBits } from './owner-bits.ts'
import { fileFault, judgeFile, openFile, openFolder, type Folder, type Root } from './walk.ts'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants

/** What stands at a path. */
export interface Standing {
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
export function standingAt(root: Root, names: readonly string[], judge?: (stat: Stats) => void): Standing | undefined {
  return look(root, names, (folder, path, stat, own) => {
    judge?.(stat)
    if (stat.isDirectory()) return { form: 'folder', mode: stat.mode & allBits, ...weigh(nothing) }
    if (stat.isSymbolicLink()) return { form: 'link', mode: allBits, ...weigh(readlinkSync(path, 'buffer')) }
    return withFile(root, folder, names, stat, (fd, { mode }) => ({
      form: 'file',
      mode: (own ?? mode) & allBits,
      ...weighFile(fd),
    }))
  })
}

/** Whether anything stands there; nothing of it is read. */
export function standsAt(root: Root, names: readonly string[]): boolean {
  return look(root, names, () => true) ?? false
}

/** The bytes that stand there: a file's content, a link's target, nothing for a folder. */
export function contentAt(root: Root, names: readonly string[]): Buffer {
  const found = look(root, names, (folder, path, stat) => {
    if (stat.isDirectory()) return nothing
    if (stat.isSymbolicLink()) return readlinkSync(path, 'buffer')
    return withFile(root, folder, names, stat, (fd) => readFileSync(fd))
  })
  if (!found) throw fileFault(names, Object.assign(new Error('nothing there'), { code: 'ENOENT' }))
  return found
}

/** A state in a word: a file is its bare hash; null is nothing there. */
export function stateWord(standing: Pick<Standing, 'form' | 'sha256'> | undefined): string | null {
  if (!standing) return null
  if (standing.form === 'folder') return 'folder'
  return standing.form === 'link' ? `link:${standing.sha256}` : standing.sha256
}

/** `own` are the bits of a file that could be read only because some were lent. */
type See<T> = (folder: Folder, path: string, stat: Stats, own?: number) => T | undefined

function look<T>(root: Root, names: readonly string[], see: See<T>): T | undefined {
  return lendingBits(root, names, (own) => lookOnce(root, names, (folder, path, stat) => see(folder, path, stat, own)))
}

function lookOnce<T>(root: Root, names: readonly string[], see: See<T>): T | undefined {
  let folder: Folder
  try {
    folder = openFolder(root, names.slice(0, -1), { asked: names })
  } catch (fault) {
    if (leadsNowhere((fault as ToolError).cause)) return undefined
    throw fault
  }
  try {
    const path = folder.at(names.at(-1) ?? '.')
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
function withFile<T>(root: Root, folder: Folder, names: readonly string[], seen: Stats, read: (fd: number, stat: Stats) => T): T {
  if (!seen.isFile()) judgeFile(seen, names)
  const { fd, stat } = seen.nlink > 1 ? openNamedTwice(folder, names, seen) : openFile(root, folder, names)
  try {
    return read(fd, stat)
  } finally {
    closeSync(fd)
  }
}

function openNamedTwice(folder: Folder, names: readonly string[], seen: Stats): { fd: number; stat: Stats } {
  const fd = openSync(folder.at(names.at(-1) as string), O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  const stat = fstatSync(fd)
  if (stat.ino === seen.ino && stat.dev === seen.dev && stat.isFile()) return { fd, stat }
  closeSync(fd)
  throw new ToolError('E_CONFLICT', `${names.join('/')} changed while it was opened`, { hint: 'Try again.' })
}

const weigh = (bytes: Buffer): { sha256: string; bytes: number } => ({ sha256: sha256(bytes), bytes: bytes.length })

/** Piece by piece, since only the hash is wanted. */
function weighFile(fd: number): { sha256: string; bytes: number } {
  const hash = createHash('sha256')
  const piece = Buffer.allocUnsafe(1 << 16)
  let bytes = 0
  for (let count = readSync(fd, piece); count > 0; count = readSync(fd, piece)) {
    hash.update(piece.subarray(0, count))
    bytes += count
  }
  return { sha256: hash.digest('hex'), bytes }
}
