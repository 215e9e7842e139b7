import { opendirSync, statSync, type Dirent, type Stats } from 'node:fs'

const mostNames = 5_000
/** So many are looked at to find them: a folder may hold millions. */
const mostEntries = 20_000
const settledMs = 50

/** Some of the names in a folder, and whether there may be more; none where there is no folder. */
export interface NamesIn {
  names: string[]
  cut: boolean
}

/** Those that fit. */
export function namesAt(folder: string, fits: (name: string) => boolean = () => true): NamesIn {
  return firstIn(folder, ({ name }) => fits(name))
}

/** Those that are no folders. */
export function filesIn(folder: string): NamesIn {
  return firstIn(folder, (entry) => !entry.isDirectory())
}

function firstIn(folder: string, fits: (entry: Dirent) => boolean): NamesIn {
  const names: string[] = []
  try {
    const opened = opendirSync(folder, { bufferSize: 1_024 })
    try {
      for (let seen = 0; seen < mostEntries && names.length < mostNames; seen++) {
        const entry = opened.readSync()
        if (!entry) return { names, cut: false }
        if (fits(entry)) names.push(entry.name)
      }
      return { names, cut: true }
    } finally {
      opened.closeSync()
    }
  } catch {
    // No folder, or one that nobody may read.
    return { names, cut: false }
  }
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
