import { sha256 } from './files.ts'
import { openLock, type Lock } from './lock.ts'
import type { StateFolder } from './state-folder.ts'

/** The folder of the shared state that these locks lie in. Nothing of ours is written into a root. */
export const rootLocksFolder = 'root-locks'

/** Several projects may share a root, and a root may be somebody's project: one commit at a time in each, whoever makes it. */
export interface RootLocks {
  /** Those of these folders, and of the project's own where others have it as a root; all in one order, so that nobody waits in a circle. */
  hold<T>(folders: readonly string[], act: () => T | Promise<T>, signal?: AbortSignal): Promise<T>
  /** For short work only: waits on the spot. */
  holdNow<T>(folders: readonly string[], act: () => T): T
  close(): void
}

export function openRootLocks(base: StateFolder, project: string, patienceMs?: number): RootLocks {
  const opened = new Map<string, Lock>()
  let folder: StateFolder | undefined
  const inside = (): StateFolder => (folder ??= base.sub(rootLocksFolder))
  const fileOf = (path: string): string => `${sha256(path).slice(0, 32)}.db`
  const own = fileOf(project)
  const lockOf = (file: string): Lock => {
    const known = opened.get(file) ?? openLock(inside().file(file), patienceMs)
    opened.set(file, known)
    return known
  }
  const wanted = (folders: readonly string[]): Lock[] => {
    const isShared = opened.has(own) || base.has(`${rootLocksFolder}/${own}`)
    return [...new Set([...folders.map(fileOf), ...(isShared ? [own] : [])])].toSorted().map(lockOf)
  }
  return {
    async hold<T>(folders: readonly string[], act: () => T | Promise<T>, signal?: AbortSignal): Promise<T> {
      const inside = (then: () => T | Promise<T>, lock: Lock) => () => lock.hold(then, signal)
      return wanted(folders).reduceRight<() => T | Promise<T>>(inside, act)()
    },
    holdNow<T>(folders: readonly string[], act: () => T): T {
      const inside = (then: () => T, lock: Lock) => () => lock.holdNow(then)
      return wanted(folders).reduceRight<() => T>(inside, act)()
    },
    close() {
      for (const lock of opened.values()) lock.close()
    },
  }
}
