import type { AuditEntry, AuditLine, AuditStream, AuditVerdict } from '../contracts/audit.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { runToEnd, runInSlices, wait, type Steps } from '../text/steps.ts'
import type { Lock } from '../host/lock.ts'
import type { LogFile, StateFolder } from '../host/state-folder.ts'
import { openAwaited } from './audit-awaited.ts'
import { openDropping, type Dropping } from './audit-drop.ts'
import { closedNames, openAuditFiles, type AuditFiles } from './audit-files.ts'
import { openFlushing } from './audit-flushing.ts'
import { firstIn, lineOf, placeOf } from './audit-find.ts'
import {
  behind,
  broken,
  foundBehind,
  lost,
  readExternalHead,
  readChecked,
  readDropped,
  readHead,
  start,
  unknown,
  writeExternalHead,
  writeChecked,
  writeHead,
  type Checked,
  type Dropped,
  type End,
  type ExternalHeadPlace,
} from './audit-heads.ts'
import { compose, lastLines, linesOf, parse, stamp } from './audit-lines.ts'
import { repair } from './audit-repair.ts'
import { openStream } from './audit-stream.ts'
import { copyOf, verifyLog, type Anchored, type Asked, type LogCopy } from './audit-verify.ts'

/** Reads are written down together; this is the most that kill -9 can take of them. */
const groupMs = 20

export interface AuditStore extends AuditStream, Pick<Dropping, 'filesUntil' | 'drop'> {
  /** For reads: written with its neighbours within a few milliseconds. */
  note(entry: AuditEntry): void
  /** In the log when it returns; with `durable` on the disk itself. */
  write(entry: AuditEntry, durable?: boolean): void
  /** In the log when it resolves, after all that was said before it: what comes with one event of the loop is one append. */
  writeTogether(entry: AuditEntry): Promise<void>
  flush(): void
  /** Every line, on the spot. */
  verify(onProgress?: (done: number, total: number) => void, anchors?: readonly Anchored[]): AuditVerdict
  /** The same in small steps; what was found whole before is compared byte by byte and not taken apart again, unless `full`. */
  check(asked?: Asked): Promise<AuditVerdict>
  /** The newest lines that fit, oldest first; of those only that hold these words, byte for byte as they stand there. */
  last(count: number, fits?: (line: AuditLine) => boolean, holding?: readonly string[]): AuditLine[]
  /** The line with this number. */
  line(seq: number): AuditLine | undefined
  /** Lines in order from a sequence number on. */
  lines(from?: number): Iterable<AuditLine>
  head(): { seq: number; hash: string; at: string }
  renew(): string[]
  close(): void
}

/** Looked at each time: they change with the settings. */
export interface AuditBounds {
  /** A file that has grown to this is closed, and the next one begun. */
  fileBytes: number
  /** Closed files whose last entry is older are dropped; 0: never. */
  keptDays: number
}

/** An append-only log, one JSON line an event, each carrying the hash of the line before; shared by every process on the project. */
export function openAudit(folder: StateFolder, lock: Lock, place: ExternalHeadPlace, bounds: AuditBounds): AuditStore {
  let headFile = folder.openLog('audit.head')
  let externalHeadFile = place.folder.openLog(place.name)
  let known: End = start
  let externalHead = readExternalHead(externalHeadFile) ?? unknown
  const dropped = (): Dropped => readDropped(externalHeadFile, externalHead.log)
  let log = openAuditFiles(folder, dropped)
  let waiting: AuditEntry[] = []
  let timer: NodeJS.Timeout | undefined
  let stuck = false
  let isDurable = false
  const flushing = openFlushing()
  const awaited = openAwaited(() => {
    try {
      flush()
    } catch (cause) {
      refuseAwaited(cause)
    }
  })
  const dropping = openDropping({
    folder,
    lock,
    keptDays: () => bounds.keptDays,
    now: () => ({ log, externalHeadFile, number: externalHead.log }),
    dropped,
    write: (entry, durable) => write(entry, durable),
    mustStand: () => mustStand(),
  })
  dropping.clear()

  const flush = (durable = false): void => {
    clearTimeout(timer)
    timer = undefined
    if (waiting.length === 0) return
    // A copy: what a repair adds to it must not pile up in `waiting` while the disk is full.
    const batch = [...waiting]
    lock.holdNow(() => {
      mustStand(durable)
      let at = endOfLog(log, headFile, known, (entry) => batch.unshift(entry))
      flushing.from(at.end)
      if (flushing.mayRotate(log.liveBytes(), at.end, bounds.fileBytes)) rotate(at, batch)
      const texts = batch.map((entry) => {
        const { text, hash } = compose(entry, at.seq + 1, at.hash)
        at = { seq: at.seq + 1, hash, end: at.end + Buffer.byteLength(text) }
        return text
      })
      const before = known
      const last = { seq: at.seq, hash: at.hash }
      announce(last)
      writeHead(headFile, { sealed: before, intended: at })
      if (durable) headFile.flush()
      log.append(Buffer.from(texts.join('')))
      if (durable) {
        log.flush()
        flushing.done(at.end)
      } else flushing.soon(log, at.end, isCurrent(log))
      writeHead(headFile, { sealed: at, intended: at })
      known = at
      externalHead = { ...externalHead, last, durable: durable ? last : externalHead.durable }
      writeExternalHead(externalHeadFile, externalHead)
      isDurable ||= durable
      waiting = []
      stuck = false
    })
    awaited.written()
    stream.poll()
    dropping.dropAgedSoon()
  }

  const write = (entry: AuditEntry, durable = false): void => {
    const stamped = stamp(entry)
    waiting.push(stamped)
    try {
      flush(durable)
    } catch (cause) {
      // What could not be written down is not done, so its line must not appear later.
      waiting = waiting.filter((line) => line !== stamped)
      throw cause
    }
  }

  const writeTogether = (entry: AuditEntry): Promise<void> => {
    const stamped = stamp(entry)
    waiting.push(stamped)
    return awaited.add(stamped)
  }
  /** As with `write`: what its caller is told was not written must not appear later. */
  const refuseAwaited = (cause: unknown): void => {
    const lines = awaited.refuse(cause)
    waiting = waiting.filter((line) => !lines.has(line))
  }

  const isCurrent = (file: AuditFiles) => (): boolean => file === log

  /** Said apart before a line is written: what stands there later and was never said, nobody of ours wrote. */
  function announce(next: { seq: number; hash: string }): void {
    const { closed = false, ...open } = externalHead
    externalHead = { ...open, next }
    writeExternalHead(externalHeadFile, externalHead)
    if (closed) externalHeadFile.flush()
  }

  /** Where nobody has written since, a log that what counts was written to is closed at its last line. */
  function sayClosed(): void {
    if (!isDurable) return
    try {
      lock.holdNow(() => {
        if (whyReplaced(false) !== undefined || log.size() !== known.end) return
        writeExternalHead(externalHeadFile, { ...externalHead, closed: true })
        externalHeadFile.flush()
      })
    } catch {
      // The state was taken away, or the disk is full: it stays open, and a halt of the system leaves it unsure.
    }
  }

  /** The chain goes on: the first entry of the new file carries the hash of the last of the one before. */
  function rotate(at: End, batch: AuditEntry[]): void {
    const first = firstIn(log, at.end - log.liveBytes())
    // Not a line of ours: it stays where it is, for `audit verify` to name.
    if (first === undefined) return
    const before = log.rotate(first)
    flushing.done(at.end)
    const details = { before, first, last: at.seq, hash: at.hash }
    batch.unshift(stamp({ event: 'audit.rotated', message: `the log goes on in a new file; ${before} is closed`, details }))
    dropping.fileClosed()
  }

  const whyReplaced = (closedToo: boolean): string | undefined => {
    const why = log.whyReplaced(closedToo)
    if (why !== undefined) return why
    for (const [file, name] of [
      [headFile, 'audit.head'],
      [externalHeadFile, 'its head kept apart'],
    ] as const) {
      const why = file.whyReplaced()
      if (why !== undefined) return `${name}: ${why}`
    }
    return undefined
  }

  /**
   * The files must be those at their names; closed ones are looked at before anything that changes the world, as reads are many. Where a
   * person has started a new log meanwhile, it is taken up.
   */
  function mustStand(closedToo = true): void {
    let why = whyReplaced(closedToo)
    if (why !== undefined && takeUp()) why = whyReplaced(closedToo)
    if (why !== undefined) throw broken(`The audit log was swapped under Handrail: ${why}`)
    const other = folder.swapped()
    if (other !== undefined)
      throw new Fault('io', `A file or folder of Handrail's own state was swapped under it: ${other}`, {
        hint: 'Nothing is done on a state that others replace. Stop every Handrail on this project, look what stands there, and start again.',
      })
  }

  /** Takes up the log that a person has started meanwhile; false where nobody has. */
  function takeUp(): boolean {
    const found = readExternalHead(externalHeadFile)
    if (!found || found.log === externalHead.log) return false
    externalHead = found
    reopen()
    return true
  }

  const stream = openStream(() => {
    let away = log.whyReplaced() !== undefined
    if (away && takeUp()) away = log.whyReplaced() !== undefined
    return { log, isReplaced: away }
  })

  function reopen(): void {
    log.close()
    headFile.close()
    log = openAuditFiles(folder, dropped)
    headFile = folder.openLog('audit.head')
    known = start
  }

  /** Finds the end, repairing what a killed process left half done, and remembers it in `known`. */
  function endOfLog(file: AuditFiles, head: LogFile, last: End, tell: (entry: AuditEntry) => void): End {
    const size = file.size()
    if (last.end === size && size > 0) return last
    const { sealed, intended } = readHead(head) ?? { sealed: start, intended: start }
    externalHead = readExternalHead(externalHeadFile) ?? externalHead
    if (sealed.end !== size) known = repair(file, size, sealed, intended, mustHold, tell)
    else {
      mustHold(file, sealed)
      known = sealed
    }
    if (behind(externalHead, known) !== undefined) tell(stamp(foundBehind(externalHead, known)))
    return known
  }

  /**
   * A log that ends where its own seal says may still be an older one, put back with its seal, or cut and sealed as if a process had died:
   * then nothing is added to it, since the head kept apart would forget what it knows. The same where it goes on past what was announced.
   */
  function mustHold(file: AuditFiles, end: End): void {
    const { last } = externalHead
    const gone = lost(externalHead, end)
    if (gone !== undefined) throw broken(`The audit log is not the one that was written: ${gone}`)
    if (behind(externalHead, end) === 'added')
      throw broken(`The audit log is not the one that was written: lines were added to it behind line ${last.seq}`)
    if (end.seq < last.seq || last.seq === 0) return
    const hash = end.seq === last.seq ? end.hash : lastLines(file, 1, (line) => line.seq <= last.seq)[0]?.hash
    if (hash !== last.hash) throw broken(`The audit log is not the one that was written: line ${last.seq} is another one`)
  }

  /** The lock is held for a copy of the heads only: others write on while the lines are read. */
  function* verifying(asked: Asked): Steps<AuditVerdict> {
    let fault: unknown
    try {
      flush()
    } catch (cause) {
      fault = cause
    }
    const copy = lock.holdNow((): LogCopy | string => {
      const why = whyReplaced(true)
      const heads = {
        head: readHead(headFile),
        externalHead: readExternalHead(externalHeadFile),
        checked: readChecked(externalHeadFile),
        dropped: dropped(),
      }
      return why ?? copyOf(log, heads)
    })
    if (typeof copy === 'string') return { whole: false, lines: 0, line: 0, why: `the log was swapped: ${copy}` }
    const { verdict, checked } = yield* verifyLog(copy, asked)
    // A person dropped the oldest files while they were read.
    if (!verdict.whole && dropped().end !== copy.dropped.end) return yield* verifying(asked)
    if (verdict.whole && fault) throw fault
    if (checked) yield* keepChecked(checked)
    return verdict
  }

  /** What counts as verified must be on the disk: a halt of the system must not take back what the next one is compared with. */
  function* keepChecked(checked: Checked): Steps<void> {
    try {
      for (const file of [headFile, log])
        yield* wait(
          () => file.flush(),
          () => file.flushSoon(),
        )
      writeChecked(externalHeadFile, checked)
    } catch {
      // It costs the next one more time, no more.
    }
  }

  return {
    note(entry) {
      // After a failed flush nobody may go on unrecorded: the next reader meets the same fault and is told.
      if (stuck) return write(entry)
      waiting.push(stamp(entry))
      timer ??= setTimeout(() => {
        try {
          flush()
        } catch {
          stuck = true
        }
      }, groupMs)
    },
    write,
    writeTogether,
    flush: () => flush(),
    verify: (onProgress, anchors) => runToEnd(verifying({ full: true, anchors, onProgress })),
    check: (asked = {}) => runInSlices(verifying(asked)),
    subscribe: stream.subscribe,
    line: (seq) => {
      flush()
      return lineOf(log, seq)
    },
    last: (count, fits, holding) => {
      flush()
      return lastLines(log, count, fits, holding)
    },
    *lines(from = 1) {
      flush()
      for (const { bytes } of linesOf(log, from > 1 ? placeOf(log, from) : log.begin())) {
        const line = parse(bytes.toString('utf8'))
        if (line && line.seq >= from) yield line
      }
    },
    head() {
      flush()
      const { seq, hash } = readHead(headFile)?.sealed ?? start
      return { seq, hash, at: lastLines(log, 1)[0]?.at ?? '' }
    },
    renew() {
      const kept: string[] = []
      let before: object = {}
      lock.holdNow(() => {
        const aside = new Date().toISOString().replace(/[:.]/g, '-')
        for (const name of [...closedNames(folder).map((one) => one.name), 'audit.jsonl', 'audit.head'])
          if (folder.has(name)) {
            if (!folder.link(name, `${name}.${aside}`)) folder.create(`${name}.${aside}`, folder.read(name) ?? Buffer.alloc(0))
            kept.push(`${name}.${aside}`)
            folder.remove(name)
          }
        externalHead = readExternalHead(externalHeadFile) ?? externalHead
        externalHeadFile.close()
        externalHeadFile = place.folder.openLog(place.name)
        writeExternalHead(externalHeadFile, { log: externalHead.log + 1, last: start, durable: start, next: start })
        before = { log: externalHead.log, entries: externalHead.last.seq, hash: externalHead.last.hash }
        externalHead = { ...unknown, log: externalHead.log + 1 }
        reopen()
      })
      refuseAwaited(broken('A person started a new log'))
      waiting = []
      const message = 'a person started a new log after a break; what is left of the old one is kept beside it'
      write({ event: 'audit.renewed', message, details: { kept, before } }, true)
      return kept
    },
    filesUntil: dropping.filesUntil,
    drop: dropping.drop,
    close() {
      stream.close()
      dropping.close()
      try {
        flush()
        sayClosed()
      } finally {
        refuseAwaited(broken('The audit log was closed'))
        log.close()
        headFile.close()
        externalHeadFile.close()
      }
    },
  }
}
