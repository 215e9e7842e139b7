import { closeSync, constants, existsSync, fstatSync, lstatSync, mkdirSync, openSync, realpathSync, type Stats } from 'node:fs'
import { Fault } from '../contracts/faults/fault.ts'
import { isInRoot } from '../text/root-path.ts'
import { watchMounts, type Mounts } from './mounts.ts'

const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW, O_NONBLOCK, O_CLOEXEC = 0 } = constants as typeof constants & { O_CLOEXEC?: number }
const dirFlags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
const fileFlags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC

/** A folder held open: whatever happens to its name, these bytes are the ones that were judged. */
export interface Root {
  readonly path: string
  readonly fd: number
  readonly dev: number
  /** `descriptors`: names are looked up inside open folders, so a link swapped in mid-way cannot lead out. `compare`: opened by name, then checked. */
  readonly method: 'descriptors' | 'compare'
  /** What is mounted below; nothing where entering it is allowed. */
  readonly mounts: Mounts | undefined
  /** Further roots, by what stands in front of their paths (`//NAME`): names that begin with it are looked up there. */
  readonly others?: ReadonlyMap<string, Root>
}

/** The root that names lead into. This is the one place where a path finds its root. */
export function rootFor(root: Root, names: readonly string[]): Root {
  const first = names[0]
  if (first === undefined || !isInRoot(first)) return root
  const other = root.others?.get(first)
  if (!other) throw deny(names, 'there is no such root here')
  return other
}

/** Names as seen from their own root. */
function below(names: readonly string[]): readonly string[] {
  return names[0] !== undefined && isInRoot(names[0]) ? names.slice(1) : names
}

/** Whether names lead to a root itself. */
export const isRootItself = (names: readonly string[]): boolean => below(names).length === 0

/** The folder that names lie in, and the last of them; of a root it is the root, and `.`. */
export const parentOf = (names: readonly string[]): readonly string[] => (isRootItself(names) ? names : names.slice(0, -1))
export const lastOf = (names: readonly string[]): string => (isRootItself(names) ? '.' : (names.at(-1) as string))

/** The same roots with what is mounted in them open or shut. */
export function withMounts(root: Root, mountsOf: (opened: Root) => Mounts | undefined, others = root.others): Root {
  const one = (opened: Root): Root => ({ ...opened, mounts: mountsOf(opened) })
  return { ...one(root), ...(others && { others: new Map([...others].map(([name, other]) => [name, one(other)])) }) }
}

export function openRoot(path: string, options: { means?: Root['method'] } = {}): Root {
  let real: string
  try {
    real = realpathSync(path)
  } catch (cause) {
    throw new Fault('not-found', `No such folder: ${path}`, {
      details: { path },
      hint: 'Check the path: a project is a folder that is there.',
      cause,
    })
  }
  // A pipe or a device in its place must not make anybody wait.
  const fd = openSync(real, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
  const stat = fstatSync(fd)
  if (!stat.isDirectory()) {
    closeSync(fd)
    throw new Fault('bad-input', `Not a folder: ${path}`, {
      details: { path },
      hint: 'A project is a folder: give the one that this lies in.',
    })
  }
  const method = options.means ?? (existsSync(`/proc/self/fd/${fd}`) ? 'descriptors' : 'compare')
  return { path: real, fd, dev: stat.dev, method, mounts: watchMounts(real) }
}

export function closeRoot(root: Root): void {
  closeSync(root.fd)
}

/** A folder reached name by name. `at(name)` is a path that the system resolves inside this very folder. */
export interface Folder {
  readonly fd: number
  at(name: string): string
  close(): void
}

/** Walks down to a folder without following a single link. With `make`, missing folders are created and reported; `asked` is the path the caller named, for messages. */
export function openFolder(
  project: Root,
  names: readonly string[],
  options: { make?: (created: string) => void; asked?: readonly string[] } = {},
): Folder {
  const { make, asked = names } = options
  const root = rootFor(project, names)
  let folder = folderAt(root, root.fd, root.path)
  try {
    if (root.mounts?.crossed(below(asked))) throw mounted(asked)
    names.forEach((name, index) => {
      if (index === 0 && root !== project) return
      if (make) makeFolder(folder.at(name), () => make(names.slice(0, index + 1).join('/')))
      const next = enter(root, folder, name, asked)
      folder.close()
      folder = next
    })
    return folder
  } catch (cause) {
    folder.close()
    throw walkFault(root, asked, cause)
  }
}

/** Refuses a path that another file system is mounted on. */
export function checkMounts(project: Root, names: readonly string[]): void {
  if (rootFor(project, names).mounts?.crossed(below(names))) throw mounted(names)
}

/** One step down from a folder that is open already; `names` is the whole path of the child. */
export function enterFolder(project: Root, parent: Folder, names: readonly string[]): Folder {
  const root = rootFor(project, names)
  try {
    if (root.mounts?.crossed(below(names))) throw mounted(names)
    return enter(root, parent, names.at(-1) as string, names)
  } catch (cause) {
    throw walkFault(root, names, cause)
  }
}

function enter(root: Root, parent: Folder, name: string, asked: readonly string[]): Folder {
  const fd = openSync(parent.at(name), dirFlags)
  try {
    if (root.method === 'compare') mustBeSame(root, parent.at(name), fd)
    if (root.mounts && fstatSync(fd).dev !== root.dev) throw mounted(asked)
  } catch (cause) {
    closeSync(fd)
    throw cause
  }
  return folderAt(root, fd, parent.at(name))
}

function folderAt(root: Root, fd: number, path: string): Folder {
  const base = root.method === 'descriptors' ? `/proc/self/fd/${fd}` : path
  return {
    fd,
    at(name) {
      // No name holds a slash; one that begins with two is a root, and would be looked up in the wrong one.
      if (name.startsWith('/')) throw new Error(`not a name: ${name}`)
      return `${base}/${name}`
    },
    close: () => {
      if (fd !== root.fd) closeSync(fd)
    },
  }
}

/** Which folder stands at a name of an open one, as the system and `stat` write it; nothing where none does, a link to one included. */
export function folderIdentity(parent: Folder, name: string): string | undefined {
  const stat = lstatSync(parent.at(name), { bigint: true, throwIfNoEntry: false })
  return stat?.isDirectory() ? `${stat.dev} ${stat.ino}` : undefined
}

/** Opens a regular file for reading, judged on the descriptor itself: not a link, not a device, no second name. */
export function openFile(project: Root, folder: Folder, names: readonly string[]): { fd: number; stat: Stats } {
  const root = rootFor(project, names)
  const name = lastOf(names)
  let fd: number
  try {
    fd = openSync(folder.at(name), fileFlags)
  } catch (cause) {
    throw fileFault(names, cause)
  }
  try {
    if (root.method === 'compare') mustBeSame(root, folder.at(name), fd)
    const stat = fstatSync(fd)
    checkRegularFile(stat, names)
    if (root.mounts?.oneDevice && stat.dev !== root.dev) throw mounted(names)
    return { fd, stat }
  } catch (cause) {
    closeSync(fd)
    throw cause
  }
}

/** Refuses everything but a regular file with a single name. */
export function checkRegularFile(stat: Stats, names: readonly string[]): void {
  if (stat.isDirectory())
    throw new Fault('io', `Is a folder, not a file: ${names.join('/')}`, {
      details: { path: names.join('/') },
      hint: (name) => `Use ${name('list_files')} to see what is in it.`,
    })
  if (!stat.isFile()) throw deny(names, 'it is not a regular file')
  if (stat.nlink > 1)
    throw deny(
      names,
      'it has a second name (hard link), which may lie outside the project',
      'Copy the file to give it its own content.',
    )
}

/** Turns a refusal of the system into one of ours. */
export function fileFault(names: readonly string[], cause: unknown): Fault {
  if (cause instanceof Fault) return cause
  const { code } = cause as NodeJS.ErrnoException
  if (code === 'ELOOP' || code === 'EMLINK') return deny(names, 'it is a symbolic link', undefined, cause)
  if (code === 'ENXIO' || code === 'ENODEV') return deny(names, 'it is not a regular file', undefined, cause)
  if (code === 'ENOENT' || code === 'ENOTDIR') return notFound(names, cause)
  return ioFault(names, cause)
}

function walkFault(root: Root, names: readonly string[], cause: unknown): Fault {
  if (cause instanceof Fault) return cause
  const { code } = cause as NodeJS.ErrnoException
  if (code === 'ELOOP') return deny(names, 'it leads through a symbolic link', undefined, cause)
  if (code === 'ENOTDIR' && leadsThroughLink(root, names))
    return deny(names, 'it leads through a symbolic link', undefined, cause)
  if (code === 'ENOENT' || code === 'ENOTDIR') return notFound(names, cause)
  return ioFault(names, cause)
}

/** Only to choose the words of a refusal; the refusal itself stands already. */
function leadsThroughLink(root: Root, names: readonly string[]): boolean {
  const way = below(names)
  return way.some((_, index) => {
    try {
      return lstatSync([root.path, ...way.slice(0, index + 1)].join('/')).isSymbolicLink()
    } catch {
      return false
    }
  })
}

function makeFolder(path: string, made: () => void): void {
  try {
    mkdirSync(path)
    made()
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause
  }
}

/** Where descriptors cannot be walked: what was opened must be what the name still leads to, with no link on the way. */
function mustBeSame(root: Root, path: string, fd: number): void {
  const opened = fstatSync(fd)
  const named = lstatSync(path)
  if (opened.ino !== named.ino || opened.dev !== named.dev || realpathSync(path) !== path)
    throw deny([path.slice(root.path.length + 1)], 'it changed while it was opened')
}

function mounted(names: readonly string[]): Fault {
  return deny(names, 'another file system is mounted there', 'Allow it with policies.crossMounts.')
}

function deny(names: readonly string[], why: string, hint?: string, cause?: unknown): Fault {
  return new Fault('path-denied', `Path not allowed: ${names.join('/')}: ${why}`, {
    details: { path: names.join('/') },
    hint: hint ?? 'Only regular files and folders inside the project can be used.',
    cause,
  })
}

function notFound(names: readonly string[], cause: unknown): Fault {
  return new Fault('not-found', `File not found: ${names.join('/') || '.'}`, {
    details: { path: names.join('/') },
    hint: (name) => `Check the name; ${name('list_files')} shows what is in ${names.slice(0, -1).join('/') || 'the project'}.`,
    cause,
  })
}

export function ioFault(names: readonly string[], cause: unknown): Fault {
  const code = (cause as NodeJS.ErrnoException).code ?? 'unknown'
  const hints: Record<string, string> = {
    ENOSPC: 'The disk is full. Free some space; nothing was changed.',
    EDQUOT: 'The disk quota is used up. Free some space; nothing was changed.',
    EACCES: 'The system does not let this user do that. Check the permissions of the file and its folder.',
    EPERM: 'The system does not let this user do that. Check the permissions of the file and its folder.',
    EROFS: 'The file system is read-only.',
    EMFILE: 'Too many files are open. Try again.',
  }
  return new Fault('io', `The system refused (${code}): ${names.join('/') || '.'}`, {
    details: { path: names.join('/'), errno: code },
    hint: hints[code] ?? 'Try again; run `handrail doctor` if it stays.',
    cause,
  })
}
