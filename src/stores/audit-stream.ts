import type { AuditLine, AuditListener, AuditStream, Subscription } from '../contracts/audit.ts'
import type { AuditFiles } from './audit-files.ts'
import { endOf, headingOf, mostBytes, placeOf } from './audit-find.ts'
import { parse } from './audit-lines.ts'

/** What is read at a time, for all who stand at the same place. */
const blockBytes = 1 << 16
/** How soon it is looked for a log that is not at its name. */
const missingMs = 1_000
/** So long followers are served in one turn of the event loop; the others have theirs in the next. */
const sliceMs = 5
/** So much more one who is behind gets in a round than the others, to stand where they do. */
const mostInARound = 8

interface Follower extends Subscription {
  listener: AuditListener
  /** The log it reads, the byte it goes on at, and the last line before that, where it is known. */
  log: AuditFiles
  at: number
  seq: number
  /** The first line that is wanted. */
  least: number
  busy: boolean
  /** Blocks it was given in this round. */
  had: number
}

interface Entry {
  seq: number
  event: string
  line(): AuditLine | undefined
}

interface Block {
  from: number
  end: number
  /** The numbers of its first and last line; 0 where those are none of ours. */
  first: number
  last: number
  entries: readonly Entry[]
  /** Those that name a session, found once for all who ask. */
  naming(session: string): readonly Entry[]
  /** The lines that those who want everything from it hear, by session: one list for all of them, so that what they make of it can be made once. */
  told: Map<string | undefined, AuditLine[]>
}

export interface OpenStream extends AuditStream {
  /** There may be news. */
  poll(): void
  close(): void
}

/**
 * Lines for whoever follows the log, read from the file itself, so that all processes hear the same in the same order. `current` is the log
 * as it stands, a renewed one where a person started that; `isReplaced` says that it is not the file at its name.
 */
export function openStream(current: () => { log: AuditFiles; isReplaced: boolean }): OpenStream {
  const followers = new Set<Follower>()
  let watched: { log: AuditFiles; stop: () => void } | undefined
  let missing: NodeJS.Timeout | undefined
  let due: NodeJS.Immediate | undefined
  let last: Block | undefined
  /** Those who have not had their turn in this round; who stand at the same place come one after the other. */
  let round: Follower[] = []
  let news = false

  /** In a turn of its own: whoever wrote a line has finished what it stands for, and a burst is read once. */
  const poll = (): void => {
    if (followers.size === 0) return
    news = true
    due ??= setImmediate(run)
  }
  const watch = (log: AuditFiles, isReplaced: boolean): void => {
    if (watched?.log !== log) {
      watched?.stop()
      watched = { log, stop: log.watch(poll) }
      // What came before the watch was laid.
      poll()
    }
    clearTimeout(missing)
    // The new one says nothing to who watches the old one.
    missing = isReplaced ? setTimeout(poll, missingMs).unref() : undefined
  }
  const rest = (): void => {
    watched?.stop()
    clearTimeout(missing)
    if (due) clearImmediate(due)
    watched = missing = due = last = undefined
    round = []
  }
  /** The hindmost comes first, and goes on until it stands where others do: from there on they share what is read. */
  const begin = (): void => {
    last = undefined
    news = false
    round = [...followers].toSorted((one, other) => other.at - one.at)
    for (const follower of round) follower.had = 0
  }
  /** One who has moved on and is still behind, or beside, somebody else is put back where it stands now. */
  const catchUp = (follower: Follower, from: number): void => {
    const { at, busy } = follower
    if (busy || at <= from || at > (round[0]?.at ?? -1) || ++follower.had >= mostInARound) return
    let low = 0
    for (let high = round.length; low < high;) {
      const middle = (low + high) >> 1
      if ((round[middle] as Follower).at > at) low = middle + 1
      else high = middle
    }
    round.splice(low, 0, follower)
  }
  const run = (): void => {
    due = undefined
    if (round.length === 0) begin()
    const until = performance.now() + sliceMs
    try {
      const { log, isReplaced } = current()
      watch(log, isReplaced)
      do {
        const follower = round.pop()
        if (!follower || follower.busy || !followers.has(follower)) continue
        const { at } = follower
        goOn(follower, log)
        catchUp(follower, at)
      } while (round.length > 0 && performance.now() < until)
      if (round.length > 0 || news) due ??= setImmediate(run)
      else last = undefined
    } catch {
      round = []
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
    if (block.end < 0 || (follower.seq > 0 && block.first <= follower.seq)) {
      const { seq, end } = endOf(log)
      Object.assign(follower, { at: end, seq })
      return follower.onLost?.('the log was cut or changed where it was being read')
    }
    follower.at = block.end
    follower.seq = block.last || follower.seq
    poll()
    hand(follower, linesFor(follower, block))
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
      const { log, isReplaced } = current()
      const { from: least = 0 } = wanted
      const { end: at, seq } = least > 0 ? { end: placeOf(log, least), seq: 0 } : endOf(log)
      const follower: Follower = { ...wanted, listener, log, at, seq, least, busy: false, had: 0 }
      followers.add(follower)
      watch(log, isReplaced)
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

/** What of a block a follower wants to hear. Whoever wants the same is handed the same list. */
function linesFor({ least, events, session }: Follower, block: Block): AuditLine[] {
  const shared = !events && block.first >= least
  const known = shared ? block.told.get(session) : undefined
  if (known) return known
  const lines: AuditLine[] = []
  for (const entry of session === undefined ? block.entries : block.naming(session)) {
    if (entry.seq < least || events?.(entry.event) === false) continue
    const line = entry.line()
    if (line && (session === undefined || line.session === session)) lines.push(line)
  }
  if (shared) block.told.set(session, lines)
  return lines
}

/** Whole lines from a place on. Nothing where there are none yet; an end below 0 where there can be none. */
function readBlock(log: AuditFiles, from: number): Block | undefined {
  const size = log.size()
  if (from === size) return undefined
  if (from > size) return blockOf(from, -1, Buffer.alloc(0))
  // To where a block of the file ends: whoever began elsewhere stands at the same place from the second one on, and shares what is read.
  for (let more = blockBytes, length = more - (from % more); ; length += more, more *= 2) {
    const data = log.readAt(from, Math.min(length, size - from))
    const whole = data.lastIndexOf(0x0a) + 1
    // A line that is being written, or was torn: its writer, or the next one, sees to it.
    if (whole === 0 && data.length === size - from) return undefined
    if (whole === 0 && length < mostBytes) continue
    if (whole === 0) return blockOf(from, -1, data.subarray(0, 0))
    return blockOf(from, from + whole, data.subarray(0, whole))
  }
}

function blockOf(from: number, end: number, data: Buffer): Block {
  const found: (Entry | undefined)[] = []
  const starts: number[] = []
  for (let start = 0, newline = data.indexOf(0x0a); newline >= 0; newline = data.indexOf(0x0a, start)) {
    const bytes = data.subarray(start, newline)
    const heading = headingOf(bytes)
    let line: AuditLine | undefined
    found.push(heading && { ...heading, line: () => (line ??= parse(bytes.toString('utf8'))) })
    starts.push(start)
    start = newline + 1
  }
  let names: Map<string, Set<Entry>> | undefined
  return {
    from,
    end,
    first: found[0]?.seq ?? 0,
    last: found.findLast((entry) => entry !== undefined)?.seq ?? 0,
    entries: found.filter((entry) => entry !== undefined),
    naming(session) {
      names ??= sessionsIn(data, (at) => found[lastAtMost(starts, at)])
      return [...(names.get(JSON.stringify(session)) ?? [])]
    },
    told: new Map(),
  }
}

const sessionField = Buffer.from('"session":"')

/** The entries by every session that is named in them, be it in their own field or elsewhere, as JSON writes it. */
function sessionsIn(data: Buffer, entryAt: (at: number) => Entry | undefined): Map<string, Set<Entry>> {
  const names = new Map<string, Set<Entry>>()
  for (let at = data.indexOf(sessionField); at >= 0; at = data.indexOf(sessionField, at + sessionField.length)) {
    const start = at + sessionField.length - 1
    let end = start + 1
    while (end < data.length && data[end] !== 0x22 && data[end] !== 0x0a) end += data[end] === 0x5c ? 2 : 1
    const name = data.toString('utf8', start, end + 1)
    const entry = entryAt(at)
    if (entry) names.set(name, (names.get(name) ?? new Set()).add(entry))
  }
  return names
}

/** Which of the rising numbers is the last that is not beyond this one. */
function lastAtMost(numbers: readonly number[], most: number): number {
  let low = 0
  let high = numbers.length - 1
  while (low < high) {
    const middle = Math.ceil((low + high) / 2)
    if ((numbers[middle] as number) <= most) low = middle
    else high = middle - 1
  }
  return low
}
