import { opendirSync, statSync, type Dirent, type Stats } from 'node:fs'

const mostNames = 1_000
/** So many are looked at to find them: a folder may hold millions. */
const mostEntries = 4_000
const settledMs = 50

/** The first thousand names in a folder; none where there is no folder. */
export function namesAt(folder: string): string[] {
  return firstIn(folder, () => true)
}

/** Those that are no folders. */
export function filesIn(folder: string): string[] {
  return firstIn(folder, (entry) => !entry.isDirectory())
}

function firstIn(folder: string, fits: (entry: Dirent) => boolean): string[] {
  const names: string[] = []
  try {
    const opened = opendirSync(folder, { bufferSize: 1_024 })
    try {
      for (let seen = 0; seen < mostEntries && names.length < mostNames; seen++) {
        const entry = opened.readSync()
        if (!entry) break
        if (fits(entry)) names.push(entry.name)
      }
    } finally {
      opened.closeSync()
    }
  } catch {
    // No folder, or one that nobody may read.
  }
  return names
}

/** Which file or folder it is and when it changed; nothing where there is none. One that changed this moment may change again within the same tick. */
export function stampOf(at: string): string | undefined {
  const stat = statAt(at)
  if (!stat) return undefined
  const fresh = Date.now() - stat.ctimeMs < settledMs ? performance.now() : ''
  return `${stat.dev} ${stat.ino} ${stat.size} ${stat.ctimeMs} ${fresh}`
}

export const hasOneName = (at: string): boolean => statAt(at)?.nlink === 1
export const isFile = (at: string): boolean => statAt(at)?.isFile() ?? false
export const isFolder = (at: string): boolean => statAt(at)?.isDirectory() ?? false

function statAt(at: string): Stats | undefined {
  try {
    return statSync(at, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}
