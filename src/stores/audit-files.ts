import { Fault } from '../contracts/faults/fault.ts'
import type { LogFile, ReadFile, StateFolder } from '../host/state-folder.ts'
import type { Dropped } from './audit-heads.ts'
import type { Readable } from './audit-lines.ts'

const liveName = 'audit.jsonl'
const closedForm = /^audit\.(\d{15})\.jsonl$/
/** Others rotate and prune while one looks; more often than that in a row they do not. */
const mostTries = 20

/** A file of the log that is full: nothing is ever added to it. Its name tells its first entry. */
export interface ClosedFile {
  name: string
  first: number
  /** Where it begins in the log as a whole. */
  from: number
  bytes: number
}

/**
 * The log as one run of bytes over all its files: the closed ones, oldest first, and the one that grows. Places count from the very first
 * entry there ever was, so none moves when a file is closed or the oldest are dropped.
 */
export interface AuditFiles extends Readable, Omit<LogFile, 'writeAt' | 'id' | 'whyReplaced'> {
  /** Why the file that grows is not the one at its name; with `closedToo`, the same for each of the others. */
  whyReplaced(closedToo?: boolean): string | undefined
  closed(): readonly ClosedFile[]
  /** What stands in the file that grows. */
  liveBytes(): number
  /** Closes the file that grows, whose first entry this is, and begins the next; returns its name. The caller holds the log's lock. */
  rotate(first: number): string
  /** The name of the file a place lies in. */
  nameAt(position: number): string
}

interface View {
  live: LogFile
  liveFrom: number
  closed: (ClosedFile & { id: string })[]
  dropped: Dropped
}

/** The names of all closed files of a folder, also of those that were dropped and are not gone yet. */
export function closedNames(folder: StateFolder): { name: string; first: number }[] {
  return folder
    .names()
    .flatMap((name) => {
      const first = closedForm.exec(name)?.[1]
      return first === undefined ? [] : [{ name, first: Number(first) }]
    })
    .sort((a, b) => a.first - b.first)
}

export function openAuditFiles(folder: StateFolder, dropped: () => Dropped): AuditFiles {
  const open = new Map<string, ReadFile>()
  let view = look()

  function look(): View {
    for (let tries = 1; ; tries++) {
      const was = dropped()
      const live = folder.openLog(liveName)
      let liveFrom = was.end
      let stands = true
      const closed = closedNames(folder)
        .filter(({ first }) => first > was.seq)
        .map(({ name, first }) => {
          const stat = folder.stat(name)
          stands &&= stat !== undefined
          const bytes = stat?.bytes ?? 0
          liveFrom += bytes
          return { name, first, from: liveFrom - bytes, bytes, id: stat?.id ?? '' }
        })
      if (tries === mostTries || (stands && live.id() === folder.stat(liveName)?.id && dropped().end === was.end))
        return { live, liveFrom, closed, dropped: was }
      live.close()
    }
  }
  function take(next: View): void {
    if (next.live !== view.live) view.live.close()
    for (const [name, file] of open)
      if (!next.closed.some((one) => one.name === name)) {
        file.close()
        open.delete(name)
      }
    view = next
  }

  const wrong = (closedToo: boolean): string | undefined => {
    const why = view.live.whyReplaced()
    if (why !== undefined) return `${liveName}: ${why}`
    if (!closedToo) return undefined
    for (const { name, id, bytes } of view.closed) {
      const stat = folder.stat(name)
      if (!stat) return `${name}: it was removed or moved away`
      if (stat.id !== id) return `${name}: another file was put in its place`
      if (stat.bytes !== bytes) return `${name}: it was closed with ${bytes} bytes and has ${stat.bytes} now`
      if (stat.links > 1) return `${name}: it has ${stat.links} names, so it can be changed under another one`
    }
    return undefined
  }
  /** Takes up what others did by right: the file that grew is closed, the oldest are dropped. False where it is nothing of that kind. */
  const goOn = (): boolean => {
    const was = view.live.id()
    // A log that was taken away is not made anew; one that was closed by a process that died is.
    if (!folder.has(liveName) && !closedNames(folder).some(({ name }) => folder.stat(name)?.id === was)) return false
    let next: View
    try {
      next = look()
    } catch {
      // A link or a pipe stands there: that is no file of the log.
      return false
    }
    const kept = view.closed.filter(({ first }) => first > next.dropped.seq)
    const fits =
      next.dropped.end >= view.dropped.end &&
      kept.every((one) =>
        next.closed.some(({ name, id: now, bytes }) => name === one.name && now === one.id && bytes === one.bytes),
      ) &&
      (next.live.id() === was || next.closed.some(({ id }) => id === was) || next.dropped.end > view.liveFrom)
    if (fits) take(next)
    else next.live.close()
    return fits
  }
  /** For readers: where others went on meanwhile, so do they. */
  const settle = (): void => {
    if (view.live.whyReplaced() !== undefined || dropped().end !== view.dropped.end) goOn()
  }

  const fileOf = (name: string): ReadFile | undefined => {
    const known = open.get(name)
    if (known) return known
    const file = folder.openToRead(name)
    if (file) open.set(name, file)
    return file
  }
  /** The parts of a stretch by file, in order. */
  const partsOf = (
    position: number,
    length: number,
  ): { file: Pick<ReadFile, 'readAt' | 'readSoon'>; at: number; length: number }[] => {
    const parts: ReturnType<typeof partsOf> = []
    const end = position + length
    if (position < view.dropped.end) return parts
    for (const { name, from, bytes } of view.closed) {
      if (from + bytes <= position || from >= end) continue
      const file = fileOf(name)
      // Gone, or never there: what lies behind a gap is no answer to what was asked.
      if (!file) return parts
      const start = Math.max(position, from)
      parts.push({ file, at: start - from, length: Math.min(end, from + bytes) - start })
    }
    const start = Math.max(position, view.liveFrom)
    if (start < end) parts.push({ file: view.live, at: start - view.liveFrom, length: end - start })
    return parts
  }
  const joined = (pieces: Buffer[]): Buffer => (pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces))

  return {
    begin() {
      settle()
      return view.dropped.end
    },
    size: () => view.liveFrom + view.live.size(),
    liveBytes: () => view.live.size(),
    closed: () => view.closed,
    nameAt: (position) => view.closed.find(({ from, bytes }) => position < from + bytes)?.name ?? liveName,
    whyReplaced(closedToo = false) {
      const why = wrong(closedToo)
      return why === undefined || !goOn() ? why : wrong(closedToo)
    },
    rotate(first) {
      const name = `audit.${String(first).padStart(15, '0')}.jsonl`
      if (folder.has(name))
        throw new Fault('io', `The audit log cannot go on in a new file: ${name} is there already`, {
          hint: 'Nothing is done that cannot be written down. A person can look with `handrail audit verify`.',
        })
      // What the next durable line is on top of must be on the disk, too.
      view.live.flush()
      folder.move(liveName, name)
      take(look())
      return name
    },
    append: (bytes) => view.live.append(bytes),
    readAt: (position, length) => joined(partsOf(position, length).map((part) => part.file.readAt(part.at, part.length))),
    readSoon: async (position, length) =>
      joined(await Promise.all(partsOf(position, length).map((part) => part.file.readSoon(part.at, part.length)))),
    truncate: (size) => view.live.truncate(Math.max(0, size - view.liveFrom)),
    flush: () => view.live.flush(),
    flushSoon: () => view.live.flushSoon(),
    watch: (tell) => view.live.watch(tell),
    close() {
      view.live.close()
      for (const file of open.values()) file.close()
      open.clear()
    },
  }
}
