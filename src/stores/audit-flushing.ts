import type { AuditFiles } from './audit-files.ts'

/** What is written and not flushed goes to the disk beside the event loop whenever it is this much; so little is flushed on it. */
const unflushedBytes = 1_048_576

/** How much of what this process wrote to the log is on the disk. */
export interface Flushing {
  /** Where the log ended when this process began to write, or a new file was begun. */
  from(end: number): void
  done(end: number): void
  /** Flushes beside the event loop where enough was written since. */
  soon(file: AuditFiles, end: number, isCurrent: () => boolean): void
  /** A full file is closed once nearly all of it is on the disk; it does not grow without end where the disk is slow. */
  mayRotate(bytes: number, end: number, fileBytes: number): boolean
}

export function openFlushing(): Flushing {
  let flushedTo: number | undefined
  let flushing = false
  return {
    from: (end) => void (flushedTo ??= end),
    done: (end) => void (flushedTo = end),
    soon(file, end, isCurrent) {
      if (flushing || end - (flushedTo ?? end) < unflushedBytes) return
      flushing = true
      file
        .flushSoon()
        .then(() => void (flushedTo = isCurrent() ? Math.max(flushedTo ?? end, end) : flushedTo))
        // Whoever needs it on the disk flushes it, and is told.
        .catch(() => undefined)
        .finally(() => void (flushing = false))
    },
    mayRotate(bytes, end, fileBytes) {
      if (bytes < fileBytes) return false
      return bytes >= 2 * fileBytes || (!flushing && end - (flushedTo ?? end) < 2 * unflushedBytes)
    },
  }
}
