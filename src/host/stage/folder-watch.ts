import { lstatSync, watch, type FSWatcher } from 'node:fs'
import { basename } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import { isOnLocalDisk } from '../local-disk.ts'
import type { Place } from './entries.ts'

/** Tells which folders have changed since they were last read, without a look at each of them. */
export interface FolderWatch<Folder extends { at: Place }> {
  /** From here on changes of its names are known. False where the system does not tell: then it must be looked at. */
  follow(folder: Folder): boolean
  forget(folder: Folder): void
  /** Waits for what the system has to say, and gives those that changed. All of them may have where so much did that words were lost. */
  changed(): Promise<{ folders: ReadonlySet<Folder>; perhapsAll: boolean }>
  close(): void
}

/** Enough for 100,000 files; what is beyond is looked at. */
const mostWatched = 16_384
/** The system drops what it has to say after 16,384 words. */
const mostHeard = 1_000

/** A name came or went in a folder; or, `renamed` being false, what one of its files holds changed. */
export type OnChanged<Folder> = (folder: Folder, name: string | undefined, renamed: boolean) => void

export function watchFolders<Folder extends { at: Place }>(root: string, onChanged: OnChanged<Folder>): FolderWatch<Folder> {
  const watchers = new Map<Folder, FSWatcher>()
  const tells = process.platform === 'linux' && isLocal(root)
  let changed = new Set<Folder>()
  let heard = 0
  let closed = false
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
      const hear = (what?: unknown, name?: unknown): void => {
        heard++
        const named = typeof name === 'string' ? name : undefined
        // What a file holds is no matter of its folder; under its own name it is told of its own permissions.
        const renamed = what !== 'change'
        if (renamed || named === own) changed.add(folder)
        onChanged(folder, named, renamed)
      }
      try {
        watchers.set(
          folder,
          watch(folder.at, { persistent: false }, hear).on('error', () => hear()),
        )
        return true
      } catch {
        // Gone, or the system has no more watches to give.
        return false
      }
    },
    forget,
    async changed() {
      // The system has told us already, but is heard between two turns only.
      await turn()
      await turn()
      const found = { folders: changed, perhapsAll: closed || heard > mostHeard }
      changed = new Set()
      heard = 0
      return found
    },
    close() {
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
