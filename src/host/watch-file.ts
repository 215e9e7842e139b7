import { onDoubt, watchCounted, type CountedWatch } from './inotify-pressure.ts'
import { isOnLocalDisk } from './local-disk.ts'

/** How often a file is looked at where the system does not tell. */
const lookMs = 1_000

/**
 * Tells when the file at a path was changed, moved, replaced or removed, by whichever process, at once and without a timer. Where the
 * system cannot tell (no file there, too many watches, a file system of another machine) it tells every second, changed or not. It
 * keeps no process alive.
 */
export function watchFile(path: string, tell: () => void): () => void {
  let watcher: CountedWatch | undefined
  let timer: NodeJS.Timeout | undefined
  let over = false
  const lay = (): void => {
    watcher?.close()
    watcher = undefined
    try {
      watcher = watchCounted(path, (kind) => {
        if (over) return
        if (kind === undefined) {
          watcher?.close()
          watcher = undefined
          return look(true)
        }
        // Another file may stand there now.
        if (kind === 'rename') lay()
        tell()
      })
      look(!isOnLocalDisk(path))
    } catch {
      look(true)
    }
  }
  const look = (on: boolean): void => {
    if (!on || over) {
      clearInterval(timer)
      timer = undefined
    } else
      timer ??= setInterval(() => {
        if (!watcher) lay()
        tell()
      }, lookMs).unref()
  }
  lay()
  // What was said of it may be lost in a flood elsewhere, and that another file stands there too.
  const stopDoubting = onDoubt(() => {
    lay()
    tell()
  })
  return () => {
    over = true
    stopDoubting()
    watcher?.close()
    clearInterval(timer)
  }
}
