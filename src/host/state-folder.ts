import {
  closeSync,
  constants,
  existsSync,
  fchmodSync,
  fdatasync,
  fdatasyncSync,
  fstatSync,
  ftruncateSync,
  linkSync,
  lstatSync,
  mkdirSync,
  open,
  openSync,
  fsync,
  read,
  readFileSync,
  readSync,
  readdirSync,
  renameSync,
  unlinkSync,
  write,
  writeSync,
  fsyncSync,
} from 'node:fs'
import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { Fault } from '../contracts/faults/fault.ts'
import { watchFile } from './watch-file.ts'

const littleBytes = 65_536

const [readSoon, flushSoon, writeSoon, syncSoon] = [promisify(read), promisify(fdatasync), promisify(write), promisify(fsync)]
const openSoon = promisify<string, number, number, number>(open)

const { O_RDONLY, O_RDWR, O_CREAT, O_EXCL, O_WRONLY, O_NOFOLLOW, O_DIRECTORY, O_APPEND, O_NONBLOCK } = constants

/** One folder of Handrail's own state, held open. Tools cannot name it; links in its place, and folders of others, are refused. */
export interface StateFolder {
  /** Where it lay when it was opened; for people, and for programs that must be told. */
  readonly path: string
  /** A path that leads to a name inside this very folder. */
  at(name: string): string
  /** The same for a database: made where it is missing; a link in its place, or beside it, is refused. One that can be made anew from others may go. */
  file(name: string, mayGo?: true): string
  /** With `label`, faults name what is inside by names below that; agents read those, and need not learn where the state lies. */
  sub(name: string, label?: string): StateFolder
  has(name: string): boolean
  names(): string[]
  read(name: string): Buffer | undefined
  /** A descriptor to read a file from; whoever asks closes it. */
  open(name: string): number | undefined
  /** Creates a file that must not exist yet, flushed to disk. False where it exists. */
  create(name: string, content: Uint8Array): boolean
  /** The same beside the event loop: nobody else waits for the disk. */
  createSoon(name: string, content: Uint8Array): Promise<void>
  /** Puts content in place of a file through a temporary one. */
  replace(name: string, content: Uint8Array): void
  /** Removes what was left where a `replace` was killed in between; for whoever knows that nobody else is in the middle of one. */
  sweep(name: string): void
  /** A second name for the same content; `EMLINK` and file systems without links fall back to false. */
  link(from: string, to: string): boolean
  remove(name: string): void
  /** Another name for a file, on the disk when it returns. */
  move(from: string, to: string): void
  /** What stands at a name, whatever it is: which file, how long, and how many names it has. */
  stat(name: string): { id: string; bytes: number; links: number; changedMs: number } | undefined
  openLog(name: string): LogFile
  openToRead(name: string): ReadFile | undefined
  /** The database, lock or folder opened here, or below, that is no longer the one at its name. */
  swapped(): string | undefined
  /** Lets go of this folder and of those opened inside it. */
  close(): void
}

/** A file that is read at any place. */
export interface ReadFile {
  /** Which file it is, whatever its name. */
  id(): string
  readAt(position: number, length: number): Buffer
  readSoon(position: number, length: number): Promise<Buffer>
  close(): void
}

/** A file that only grows, with positioned reads and writes for its head. */
export interface LogFile extends ReadFile {
  size(): number
  /** Why the open file is not, or not only, the one at its name; undefined where it is. */
  whyReplaced(): string | undefined
  append(bytes: Uint8Array): void
  writeAt(bytes: Uint8Array, position: number): void
  truncate(size: number): void
  flush(): void
  flushSoon(): Promise<void>
  /** Tells of every change to the file at this name, whichever process makes it, and now and then of none. Returns how to stop. */
  watch(tell: () => void): () => void
}

/** Opens (and where needed makes, 0700) a folder of ours; a link in its place, or a folder of somebody else, is refused. */
export function openStateFolder(path: string): StateFolder {
  return openAt(path, path, path)
}

/** `where` is the name of what `path` leads to, `shown` what it is called in faults. */
function openAt(path: string, where: string, shown: string, label = shown): StateFolder {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw stateFault(shown, cause)
  }
  let fd: number
  try {
    fd = openSync(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
  } catch (cause) {
    throw stateFault(shown, cause)
  }
  try {
    const stat = fstatSync(fd)
    const us = process.geteuid?.()
    if (us !== undefined && stat.uid !== us) throw notOurs(shown, stat.uid, us)
    if ((stat.mode & 0o077) !== 0 && us !== undefined) fchmodSync(fd, 0o700)
    return folderAt(existsSync(`/proc/self/fd/${fd}`) ? `/proc/self/fd/${fd}` : path, where, label, fd)
  } catch (cause) {
    closeSync(fd)
    throw stateFault(shown, cause)
  }
}

function folderAt(own: string, path: string, label: string, fd: number): StateFolder {
  const at = (name: string): string => `${own}/${name}`
  const shown = (name: string): string => join(label, name)
  const inside: StateFolder[] = []
  const used = new Map<string, { dev: number; ino: number } | undefined>()
  const use = (name: string): void => void used.set(name, lstatSync(at(name), { throwIfNoEntry: false }))
  const put = (name: string, content: Uint8Array): void => {
    const file = openSync(at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    try {
      for (let done = 0; done < content.byteLength;) done += writeSync(file, content, done)
      fsyncSync(file)
    } catch (cause) {
      unlinkSync(at(name))
      throw cause
    } finally {
      closeSync(file)
    }
  }
  const putSoon = async (name: string, content: Uint8Array): Promise<void> => {
    // A new name waits for the disk as well, where that is just writing down other names.
    const file = await openSoon(at(name), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o600)
    try {
      // A little of it is only copied: the disk is what takes its time.
      if (content.byteLength <= littleBytes) for (let done = 0; done < content.byteLength;) done += writeSync(file, content, done)
      else for (let done = 0; done < content.byteLength;) done += (await writeSoon(file, content, done)).bytesWritten
      await syncSoon(file)
    } catch (cause) {
      unlinkSync(at(name))
      throw cause
    } finally {
      closeSync(file)
    }
  }
  const guarded = <T>(name: string, act: () => T): T => {
    try {
      return act()
    } catch (cause) {
      throw stateFault(shown(name), cause)
    }
  }
  return {
    path,
    at,
    file(name, mayGo) {
      for (const one of [name, `${name}-wal`, `${name}-shm`, `${name}-journal`]) refuseLink(at(one), shown(one))
      guarded(name, () => closeSync(openSync(at(name), O_RDWR | O_CREAT | O_NOFOLLOW, 0o600)))
      if (!mayGo) use(name)
      return at(name)
    },
    sub(name, called) {
      const folder = openAt(at(name), join(path, name), shown(name), called)
      inside.push(folder)
      use(name)
      return folder
    },
    close() {
      for (const folder of inside) folder.close()
      closeSync(fd)
    },
    swapped() {
      for (const [name, was] of used) {
        const now = lstatSync(at(name), { throwIfNoEntry: false })
        if (was && (now?.ino !== was.ino || now.dev !== was.dev)) return name
      }
      for (const folder of inside) {
        const found = folder.swapped()
        if (found !== undefined) return found
      }
      return undefined
    },
    has: (name) => existsSync(at(name)),
    names: () => guarded('.', () => readdirSync(own)),
    read(name) {
      try {
        const file = openPlain(at(name))
        try {
          return readFileSync(file)
        } finally {
          closeSync(file)
        }
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw stateFault(shown(name), cause)
      }
    },
    open(name) {
      try {
        return openPlain(at(name))
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw stateFault(shown(name), cause)
      }
    },
    createSoon: (name, content) =>
      putSoon(name, content).catch((cause: unknown) => {
        throw stateFault(shown(name), cause)
      }),
    create(name, content) {
      try {
        put(name, content)
        return true
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code === 'EEXIST') return false
        throw stateFault(shown(name), cause)
      }
    },
    replace: (name, content) =>
      guarded(name, () => {
        // Not by the number of the process: where those begin anew, as in a container, one that was killed would stand in the way of the next.
        const temporary = `${name}.${randomBytes(8).toString('hex')}.tmp`
        put(temporary, content)
        renameSync(at(temporary), at(name))
        fsyncSync(fd)
      }),
    sweep: (name) =>
      guarded(name, () => {
        for (const one of readdirSync(own))
          if (one.startsWith(`${name}.`) && /^\.[\da-f]+\.tmp$/.test(one.slice(name.length))) unlinkSync(at(one))
      }),
    link(from, to) {
      try {
        linkSync(at(from), at(to))
        return true
      } catch (cause) {
        const { code } = cause as NodeJS.ErrnoException
        if (code === 'EEXIST') return true
        if (code === 'EMLINK' || code === 'ENOTSUP' || code === 'EPERM') return false
        throw stateFault(to, cause)
      }
    },
    remove(name) {
      try {
        unlinkSync(at(name))
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') throw stateFault(shown(name), cause)
      }
    },
    move: (from, to) =>
      guarded(from, () => {
        renameSync(at(from), at(to))
        fsyncSync(fd)
      }),
    stat(name) {
      const stat = guarded(name, () => lstatSync(at(name), { throwIfNoEntry: false }))
      return stat && { id: idOf(stat), bytes: stat.size, links: stat.nlink, changedMs: stat.mtimeMs }
    },
    openLog: (name) => guarded(name, () => logAt(at(name), shown(name))),
    openToRead(name) {
      try {
        const file = openPlain(at(name))
        return { ...readingOf(file, shown(name)), close: () => closeSync(file) }
      } catch (cause) {
        if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return undefined
        throw stateFault(shown(name), cause)
      }
    },
  }
}

function idOf({ dev, ino }: { dev: number; ino: number }): string {
  return `${dev} ${ino}`
}

function readingOf(file: number, shown: string): Omit<ReadFile, 'close'> {
  const at = <T>(act: () => T): T => {
    try {
      return act()
    } catch (cause) {
      throw stateFault(shown, cause)
    }
  }
  return {
    id: () => at(() => idOf(fstatSync(file))),
    readAt: (position, length) =>
      at(() => {
        const buffer = Buffer.allocUnsafe(length)
        return buffer.subarray(0, readSync(file, buffer, 0, length, position))
      }),
    async readSoon(position, length) {
      const buffer = Buffer.allocUnsafe(length)
      try {
        return buffer.subarray(0, (await readSoon(file, buffer, 0, length, position)).bytesRead)
      } catch (cause) {
        throw stateFault(shown, cause)
      }
    },
  }
}

function logAt(path: string, shown: string): LogFile {
  // A pipe in its place must not make anybody wait.
  const grow = openSync(path, O_RDWR | O_CREAT | O_APPEND | O_NOFOLLOW | O_NONBLOCK, 0o600)
  const place = openSync(path, O_RDWR | O_NOFOLLOW | O_NONBLOCK)
  const guarded = <T>(act: () => T): T => {
    try {
      return act()
    } catch (cause) {
      throw stateFault(shown, cause)
    }
  }
  const soon = <T>(act: () => Promise<T>): Promise<T> =>
    act().catch((cause: unknown) => {
      throw stateFault(shown, cause)
    })
  return {
    ...readingOf(place, shown),
    size: () => guarded(() => fstatSync(place).size),
    whyReplaced: () =>
      guarded(() => {
        const open = fstatSync(grow)
        if (!open.isFile()) return 'it is not a regular file'
        const there = lstatSync(path, { throwIfNoEntry: false })
        if (!there) return 'it was removed or moved away'
        if (there.ino !== open.ino || there.dev !== open.dev) return 'another file was put in its place'
        return open.nlink > 1 ? `it has ${open.nlink} names, so it can be changed under another one` : undefined
      }),
    append: (bytes) =>
      guarded(() => {
        for (let done = 0; done < bytes.byteLength;) done += writeSync(grow, bytes, done)
      }),
    writeAt: (bytes, position) => guarded(() => void writeSync(place, bytes, 0, bytes.byteLength, position)),
    truncate: (size) => guarded(() => ftruncateSync(place, size)),
    flush: () => guarded(() => fdatasyncSync(place)),
    flushSoon: () => soon(() => flushSoon(place)),
    watch: (tell) => watchFile(path, tell),
    close() {
      closeSync(grow)
      closeSync(place)
    },
  }
}

/** Only a file: a pipe in its place must not make anybody wait. */
function openPlain(path: string): number {
  const file = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  if (fstatSync(file).isFile()) return file
  closeSync(file)
  throw Object.assign(new Error('not a regular file'), { code: 'ELOOP' })
}

function refuseLink(path: string, shown: string): void {
  const stat = lstatSync(path, { throwIfNoEntry: false })
  if (stat && !stat.isFile()) throw stateFault(shown, Object.assign(new Error('not a regular file'), { code: 'ELOOP' }))
}

function notOurs(path: string, owner: number, us: number): Fault {
  return new Fault('io', `Handrail's own state cannot be used: ${path} belongs to another user (${owner}, not ${us})`, {
    details: { path, owner, user: us },
    hint: 'Whoever owns it could change what you agreed to. Start Handrail as that user, or give another folder with --state.',
  })
}

export function stateFault(path: string, cause: unknown): Fault {
  if (cause instanceof Fault) return cause
  const { code = 'unknown' } = cause as NodeJS.ErrnoException
  const link = code === 'ELOOP' || code === 'ENOTDIR'
  return new Fault('io', `Handrail's own state cannot be used (${code}): ${path}`, {
    details: { errno: code },
    hint: link
      ? 'A link or something else stands where a folder or file of Handrail should be. Remove it.'
      : code === 'ENOSPC'
        ? 'The disk is full. Nothing was changed: what cannot be written down is not done.'
        : 'It must be a folder this user may write to. Give another one with --state DIR or HANDRAIL_STATE.',
    cause,
  })
}
