import type { AuditLine, AuditListener, AuditStream, Subscription } from '../contracts/audit.ts'
import type { AuditFiles } from './audit-files.ts'
import { endOf, headingOf, mostBytes, placeOf } from './audit-find.ts'
import { parse } from './audit-lines.ts'

/** What is read at a time, for all who stand at the same place. */
const blockBytes = 1 << 16
/** How soon it is looked for a log that is not at its name. */
const missingMs = 1_000

interface Follower extends Subscription {
  listener: AuditListener
  /** The log it reads, the byte it goes on at, and the last line before that, where it is known. */
  log: AuditFiles
  at: number
  seq: number
  /** The first line that is wanted. */
  least: number
  busy: boolean
}

interface Entry {
  seq: number
  event: string
  line(): AuditLine | undefined
}

interface Block {
  from: number
  end: number
  entries: (Entry | undefined)[]
}

export interface OpenStream extends AuditStream {
  /** There may be news. */
  poll(): void
  close(): void
}

/**
 * Lines for whoever follows the log, read from the file itself, so that all processes hear the same in the same order. `current` is the log
 * as it stands, a renewed one where a person started that; `astray` says that it is not the file at its name.
 */
export function openStream(current: () => { log: AuditFiles; astray: boolean }): OpenStream {
  const followers = new Set<Follower>()
  let watched: { log: AuditFiles; stop: () => void } | undefined
  let missing: NodeJS.Timeout | undefined
  let due: NodeJS.Immediate | undefined
  let last: Block | undefined

  /** In a turn of its own: whoever wrote a line has finished what it stands for, and a burst is read once. */
  const poll = (): void => {
    if (followers.size > 0) due ??= setImmediate(run)
  }
  const watch = (log: AuditFiles, astray: boolean): void => {
    if (watched?.log !== log) {
      watched?.stop()
      watched = { log, stop: log.watch(poll) }
      // What came before the watch was laid.
      poll()
    }
    clearTimeout(missing)
    // The new one says nothing to who watches the old one.
    missing = astray ? setTimeout(poll, missingMs).unref() : undefined
  }
  const rest = (): void => {
    watched?.stop()
    clearTimeout(missing)
    if (due) clearImmediate(due)
    watched = missing = due = last = undefined
  }
  const run = (): void => {
    due = last = undefined
    try {
      const { log, astray } = current()
      watch(log, astray)
      for (const follower of followers) if (!follower.busy) goOn(follower, log)
    } catch {
      // The disk fails, or the log is no file: whoever acts is told; here it is looked at again.
      clearTimeout(missing)
      missing = setTimeout(poll, missingMs).unref()
    }
  }
  const goOn = (follower: Follower, log: AuditFiles): void => {
    if (follower.log !== log) {
      // Every line of a new log is news.
      Object.assign(follower, { log, at: 0, seq: 0, least: 0 })
      poll()
      return follower.onLost?.('a new log was started')
    }
    const block = last?.from === follower.at ? last : readBlock(log, follower.at)
    if (!block) return
    last = block
    const [first] = block.entries
    if (block.end < 0 || (follower.seq > 0 && (first?.seq ?? 0) <= follower.seq)) {
      const { seq, end } = endOf(log)
      Object.assign(follower, { at: end, seq })
      return follower.onLost?.('the log was cut or changed where it was being read')
    }
    const { least, events } = follower
    const lines: AuditLine[] = []
    for (const entry of block.entries)
      if (entry && entry.seq >= least && (!events || events(entry.event))) {
        const line = entry.line()
        if (line) lines.push(line)
      }
    follower.at = block.end
    follower.seq = block.entries.findLast((entry) => entry !== undefined)?.seq ?? follower.seq
    poll()
    hand(follower, lines)
  }
  const hand = (follower: Follower, lines: AuditLine[]): void => {
    try {
      const doing = follower.listener(lines, follower.seq)
      if (doing) void waitFor(follower, doing)
    } catch (fault) {
      complain(fault)
    }
  }
  const waitFor = async (follower: Follower, doing: Promise<void>): Promise<void> => {
    follower.busy = true
    await doing.catch(complain)
    follower.busy = false
    poll()
  }

  return {
    poll,
    subscribe(wanted, listener) {
      const { log, astray } = current()
      const { from: least = 0 } = wanted
      const { end: at, seq } = least > 0 ? { end: placeOf(log, least), seq: 0 } : endOf(log)
      const follower: Follower = { ...wanted, listener, log, at, seq, least, busy: false }
      followers.add(follower)
      watch(log, astray)
      poll()
      return () => {
        if (followers.delete(follower) && followers.size === 0) rest()
      }
    },
    close() {
      const all = [...followers]
      followers.clear()
      rest()
      for (const { onEnd } of all) onEnd?.()
    },
  }
}

/** One that fails must not keep the others from hearing. */
function complain(fault: unknown): void {
  console.error('handrail: who follows the log failed:', fault)
}

/** Whole lines from a place on. Nothing where there are none yet; an end below 0 where there can be none. */
function readBlock(log: AuditFiles, from: number): Block | undefined {
  const size = log.size()
  if (from === size) return undefined
  const nowhere: Block = { from, end: -1, entries: [] }
  if (from > size) return nowhere
  for (let length = blockBytes; ; length *= 2) {
    const data = log.readAt(from, Math.min(length, size - from))
    const whole = data.lastIndexOf(0x0a) + 1
    // A line that is being written, or was torn: its writer, or the next one, sees to it.
    if (whole === 0 && data.length === size - from) return undefined
    if (whole === 0 && length < mostBytes) continue
    if (whole === 0) return nowhere
    return { from, end: from + whole, entries: entriesIn(data.subarray(0, whole)) }
  }
}

function entriesIn(data: Buffer): Block['entries'] {
  const entries: Block['entries'] = []
  let start = 0
  for (let newline = data.indexOf(0x0a); newline >= 0; newline = data.indexOf(0x0a, start)) {
    const bytes = data.subarray(start, newline)
    const heading = headingOf(bytes)
    let line: AuditLine | undefined
    entries.push(heading && { ...heading, line: () => (line ??= parse(bytes.toString('utf8'))) })
    start = newline + 1
  }
  return entries
}
