import { closeSync, constants, fstatSync, openSync, readSync, readdirSync, writeSync } from 'node:fs'
import { openFolder, type Folder, type Root } from './walk.ts'

const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK, O_WRONLY, O_CREAT, O_EXCL } = constants

/** The folder in which older versions kept state, in a project. Whoever made the project wrote it, so it is read as an enemy's: no links, bounded sizes, no database. */
export interface OldFolder {
  /** Names of kept states' descriptions, at most so many. */
  descriptions(most: number): string[]
  /** A file among the kept states; nothing where it is missing, no regular file, or larger. */
  read(name: string, mostBytes: number): Buffer | undefined
  auditBytes(): number
  /** Copies the old log to a new file. */
  copyAudit(to: string, mostBytes: number): boolean
  close(): void
}

export function openOldFolder(root: Root): OldFolder | undefined {
  const enter = (names: readonly string[]): Folder | undefined => {
    try {
      return openFolder(root, names)
    } catch {
      return undefined
    }
  }
  const top = enter(['.handrail'])
  if (!top) return undefined
  const states = enter(['.handrail', 'snapshots'])
  return {
    descriptions: (most) =>
      states
        ? readdirSync(states.at('.'))
            .filter((name) => name.endsWith('.meta.json'))
            .slice(0, most)
        : [],
    read: (name, most) => (states ? readPlain(states.at(name), most) : undefined),
    auditBytes: () => withPlain(top.at('audit.jsonl'), (_, size) => size) ?? 0,
    copyAudit: (to, most) =>
      withPlain(top.at('audit.jsonl'), (fd, size) => {
        const out = openSync(to, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0o400)
        try {
          const chunk = Buffer.allocUnsafe(1_048_576)
          for (let at = 0; at < Math.min(size, most);) {
            const count = readSync(fd, chunk, 0, Math.min(chunk.length, most - at), at)
            if (count === 0) break
            writeSync(out, chunk, 0, count)
            at += count
          }
        } finally {
          closeSync(out)
        }
        return true
      }) ?? false,
    close() {
      states?.close()
      top.close()
    },
  }
}

function readPlain(path: string, most: number): Buffer | undefined {
  return withPlain(path, (fd, size) => {
    if (size > most) return undefined
    const content = Buffer.alloc(size)
    let done = 0
    while (done < size) {
      const count = readSync(fd, content, done, size - done, done)
      if (count === 0) break
      done += count
    }
    return content.subarray(0, done)
  })
}

function withPlain<T>(path: string, act: (fd: number, size: number) => T): T | undefined {
  let fd: number
  try {
    fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch {
    return undefined
  }
  try {
    const stat = fstatSync(fd)
    return stat.isFile() ? act(fd, stat.size) : undefined
  } finally {
    closeSync(fd)
  }
}
