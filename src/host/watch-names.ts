import { basename, dirname, relative, sep } from 'node:path'
import { onDoubt, watchCounted, type CountedWatch } from './inotify-pressure.ts'
import { isOnLocalDisk } from './local-disk.ts'

const lookMs = 1_000
/** What no folder tells of: one further up was put in another's place. */
const seldomMs = 30_000
/** A file is emptied and written, or several are: told once they are at rest. */
const restMs = 50

/**
 * Tells when something was done at one of these paths, there or not there yet, and now and then without that. The folders are watched, not
 * the files: editors replace files rather than write to them. Where the system cannot tell, it tells every second. It keeps no
 * process alive.
 */
export function watchNames(paths: readonly string[], tell: () => void, seldom = seldomMs): () => void {
  let due: NodeJS.Timeout | undefined
  const soon = (): void => {
    clearTimeout(due)
    due = setTimeout(tell, restMs).unref()
  }
  const watches = paths.map((path) => watchName(path, soon))
  const told = watches.every(({ tells }) => tells)
  // What was said of it may be lost in a flood elsewhere, and that there is more of the way by now.
  const stopDoubting = onDoubt(() => {
    for (const one of watches) one.layAgain()
    soon()
  })
  const timer = setInterval(tell, told ? seldom : lookMs).unref()
  return () => {
    stopDoubting()
    clearInterval(timer)
    clearTimeout(due)
    for (const one of watches) one.stop()
  }
}

function watchName(path: string, tell: () => void): { tells: boolean; layAgain(): void; stop(): void } {
  let watcher: CountedWatch | undefined
  let over = false
  /** Watches the nearest folder that is there: `name` is what leads on from it. */
  const lay = (folder = dirname(path)): boolean => {
    watcher?.close()
    watcher = undefined
    if (over) return false
    try {
      const name = relative(folder, path).split(sep)[0]
      watcher = watchCounted(folder, (kind, changed) => {
        if (kind === undefined) return watcher?.close()
        if (changed !== null && changed !== undefined && changed !== name && changed !== basename(folder)) return
        // What is missing on the way may be there now, or the folder itself be gone.
        if (folder !== dirname(path) || changed === basename(folder)) lay()
        tell()
      })
      return isOnLocalDisk(folder)
    } catch (cause) {
      const { code } = cause as NodeJS.ErrnoException
      return (code === 'ENOENT' || code === 'ENOTDIR') && dirname(folder) !== folder && lay(dirname(folder))
    }
  }
  return {
    tells: lay(),
    layAgain: () => void lay(),
    stop() {
      over = true
      watcher?.close()
    },
  }
}
