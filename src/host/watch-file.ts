import { watch, type FSWatcher } from 'node:fs'
import { isOnLocalDisk } from './local-disk.ts'

/** How often a file is looked at where the system does not tell. */
const lookMs = 1_000

/**
 * Tells when the file at a path was changed, moved, replaced or removed, by whichever process, at once and without a timer. Where the
 * system cannot tell (no file there, too many watches, a file system of another machine) it tells every second, changed or not. It
 * keeps no process alive.
 */
export function watchFile(path: string, tell: () => void): () => void {
  let watcher: FSWatcher | undefined
  let timer: NodeJS.Timeout | undefined
  let over = false
  const lay = (): void => {
    watcher?.close()
    watcher = undefined
    try {
      watcher = watch(path, { persistent: false })
      watcher.on('change', (kind) => {
        if (over) return
        // Another file may stand there now.
        if (kind === 'rename') lay()
        tell()
      })
      watcher.on('error', () => {
        watcher?.close()
        watcher = undefined
        look(true)
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
  return () => {
    over = true
    watcher?.close()
    clearInterval(timer)
  }
}
