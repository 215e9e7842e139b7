import { readdirSync, statSync, type Stats } from 'node:fs'

/** More than anybody looks at, so that whoever does notices that there are too many. */
const mostNames = 5_000
const settledMs = 50

/** The first names in a folder that fit; none where there is no folder. */
export function namesAt(folder: string, fits: (name: string) => boolean = () => true): string[] {
  try {
    return readdirSync(folder).filter(fits).slice(0, mostNames)
  } catch {
    return []
  }
}

/** Those that are no folders. */
export function filesIn(folder: string): string[] {
  try {
    const entries = readdirSync(folder, { withFileTypes: true })
    return entries.flatMap((entry) => (entry.isDirectory() ? [] : [entry.name])).slice(0, mostNames)
  } catch {
    return []
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
