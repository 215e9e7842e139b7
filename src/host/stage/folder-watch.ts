import { lstatSync } from 'node:fs'
import { basename } from 'node:path'
import { doubts, isCalm, onDoubt, polled, watchCounted, type CountedWatch } from '../inotify-pressure.ts'
import { isOnLocalDisk } from '../local-disk.ts'
import type { Place } from './entries.ts'

/** Tells which folders have changed since they were last read, without a look at each of them. */
export interface FolderWatch<Folder extends { at: Place }> {
  /** From here on changes of its names are known. False where the system does not tell: then it must be looked at. */
  follow(folder: Folder): boolean
  forget(folder: Folder): void
  /**
   * Waits for what the system has to say, and gives those that changed. All of them may have where so much did that words may be `lost`.
   */
  changed(): Promise<{ folders: ReadonlySet<Folder>; perhapsAll: boolean; lost: boolean }>
  /** False once words may have been lost since `changed` was asked last, in whichever folder of the process. */
  isSure(): boolean
  close(): void
}

/** Enough for 100,000 files; what is beyond is looked at. */
const mostWatched = 16_384
/** The system drops what it has to say after so many words, or fewer where it is told to. */
const mostTold = 16_384
const mostHeard = 1_000

/**
 * A name came or went in a folder; or, `renamed` being false, what one of its files holds changed. Who has dealt with it on the spot says so,
 * and it counts no more; `calm` as long as so little is heard in this turn of the event loop that nothing can have been lost.
 */
export type OnChanged<Folder> = (folder: Folder, name: string | undefined, renamed: boolean, calm: boolean) => 'settled' | void

export function watchFolders<Folder extends { at: Place }>(
  root: string,
  onChanged: OnChanged<Folder>,
  /** All of it may be another, though nothing was heard: words of this watch may be lost in a flood that only another one follows. */
  onUnsure: () => void = () => undefined,
): FolderWatch<Folder> {
  const watchers = new Map<Folder, CountedWatch>()
  const tells = process.platform === 'linux' && isLocal(root)
  let changed = new Set<Folder>()
  let heard = 0
  /** How many of this turn were settled. */
  let settledInTurn = 0
  let known = doubts()
  let closed = false
  const unfollow = onDoubt(() => {
    if (watchers.size > 0) onUnsure()
  })
  const count = (settled: boolean): void => {
    if (settled) {
      if (settledInTurn++ === 0) setImmediate(() => (settledInTurn = 0))
    } else {
      // Something may be lost after all, so those before it count as well.
      heard += 1 + settledInTurn
      settledInTurn = 0
    }
  }
  const forget = (folder: Folder): void => {
    watchers.get(folder)?.close()
    watchers.delete(folder)
    changed.delete(folder)
  }
  return {
    follow(folder) {
      forget(folder)
      if (closed || !tells || watchers.size >= mostWatched) return false
      const own = basename(folder.at.toString())
      const hear = (what?: string, name?: string | null): void => {
        const named = name ?? undefined
        // What a file holds is no matter of its folder; under its own name it is told of its own permissions.
        const renamed = what !== 'change'
        if (renamed || named === own) changed.add(folder)
        count(onChanged(folder, named, renamed, isCalm()) === 'settled')
      }
      try {
        watchers.set(folder, watchCounted(folder.at, hear))
        return true
      } catch {
        // Gone, or the system has no more watches to give.
        return false
      }
    },
    forget,
    async changed() {
      // The system has told us already, but is heard between two turns only.
      await polled()
      const now = doubts()
      const found = {
        folders: changed,
        perhapsAll: closed || heard > mostHeard || now.times !== known.times,
        lost: heard >= mostTold || now.lost !== known.lost,
      }
      known = now
      changed = new Set()
      heard = 0
      return found
    },
    isSure: () => doubts().times === known.times,
    close() {
      unfollow()
      // Whoever still asks looks at everything.
      closed = true
      for (const watcher of watchers.values()) watcher.close()
      watchers.clear()
    },
  }
}

function isLocal(root: string): boolean {
  return isOnLocalDisk(root) && lstatSync(root, { throwIfNoEntry: false })?.isDirectory() === true
}
