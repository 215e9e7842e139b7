import type { AuditEntry, AuditFile } from '../contracts/audit.ts'
import type { Lock } from '../host/lock.ts'
import type { LogFile, StateFolder } from '../host/state-folder.ts'
import { closedNames, type AuditFiles } from './audit-files.ts'
import { lineOf, placeOf } from './audit-find.ts'
import { broken, writeDropped, type Dropped } from './audit-heads.ts'
import { lastLines } from './audit-lines.ts'
import { daysAgo } from './retention.ts'

/** The files of a log that are full, and how the oldest of them go. */
export interface Dropping {
  /** The files of the log that are full and whose entries are all from before a time, oldest first. */
  filesUntil(time: string): AuditFile[]
  /** Drops the files before the one that begins with this entry. The log says by whom; what is left of it verifies as before. */
  drop(before: number, by: string): AuditFile[]
  /** Removes files that were dropped and whose process died before they were gone. */
  clear(): void
  /** Drops files that are too old, once since the last one was closed, and not before whoever writes now is done. */
  dropAgedSoon(): void
  fileClosed(): void
  close(): void
}

export interface DroppingParts {
  folder: StateFolder
  lock: Lock
  /** Files whose last entry is older are dropped; 0: never. */
  keptDays(): number
  /** The log and its head kept apart as they are now: a person may have started a new one. */
  now(): { log: AuditFiles; externalHeadFile: LogFile; number: number }
  /** What was dropped before. */
  dropped(): Dropped
  write(entry: AuditEntry, durable: boolean): void
  mustStand(): void
}

export function openDropping({ folder, lock, keptDays, now, dropped, write, mustStand }: DroppingParts): Dropping {
  let ageing: NodeJS.Immediate | undefined
  /** Whether this process has looked for files that are too old since the last was closed. */
  let looked = keptDays() === 0

  /** Oldest first, up to the first that does not fit: no other is looked into. */
  const filesWhile = (fits: (file: AuditFile) => boolean): AuditFile[] => {
    const { log } = now()
    log.begin()
    const found: AuditFile[] = []
    for (const { name, first, from, bytes } of log.closed()) {
      const [line] = lastLines({ ...log, begin: () => from, size: () => from + bytes }, 1)
      const begun = lineOf(log, first)?.at ?? ''
      const until = line ? (line.at > begun ? line.at : begun) : ''
      const file = { name, bytes, first, last: line?.seq ?? 0, until }
      if (!fits(file)) break
      found.push(file)
    }
    return found
  }

  /** Up to the first that is younger, whatever a clock that was set back made of those behind it. */
  const filesUntil = (time: string): AuditFile[] => filesWhile(({ until }) => until !== '' && until < time)

  const drop = (before: number, by: string): AuditFile[] => {
    const going = filesWhile(({ last }) => last > 0 && last < before)
    const last = going.at(-1)
    if (!last) return []
    const { log } = now()
    const line = lineOf(log, last.last)
    const next = lineOf(log, last.last + 1)
    if (!line || next?.prev !== line.hash) throw broken(`${last.name} does not go on in the next file, so nothing is dropped`)
    const end = placeOf(log, line.seq + 1)
    const bytes = going.reduce((sum, file) => sum + file.bytes, 0)
    const names = going.map(({ name }) => name)
    // First the entry, then the block that counts, then the files: whenever a process dies, what is left is whole.
    const details = { upTo: line.seq, hash: line.hash, files: names.slice(-20), count: names.length, bytes }
    const message = `entries up to ${line.seq} were dropped with the files that held them`
    write({ event: 'audit.pruned', by, message, details }, true)
    lock.holdNow(() => {
      mustStand()
      if (dropped().end >= end) return
      const { externalHeadFile, number } = now()
      const point = { seq: line.seq, hash: line.hash, end, log: number, by: by.slice(0, 80), at: new Date().toISOString() }
      writeDropped(externalHeadFile, point)
      externalHeadFile.flush()
      clear()
      mustStand()
    })
    return going
  }

  const clear = (): void => {
    const { seq } = dropped()
    for (const { name, first } of closedNames(folder)) if (first <= seq) folder.remove(name)
  }

  /** By age alone: no number of entries that an agent can bring about makes an older one go. */
  const dropAged = (): void => {
    ageing = undefined
    const least = new Date(daysAgo(keptDays())).toISOString()
    try {
      const last = filesUntil(least).at(-1)
      if (last) drop(last.last + 1, 'limits.auditKeptDays')
    } catch {
      // They are still there; the next file that is closed is another occasion.
    }
  }

  return {
    filesUntil,
    drop,
    clear,
    dropAgedSoon() {
      if (!looked) ageing ??= setImmediate(dropAged)
      looked = true
    },
    fileClosed: () => void (looked = keptDays() === 0),
    close() {
      if (ageing) clearImmediate(ageing)
    },
  }
}
