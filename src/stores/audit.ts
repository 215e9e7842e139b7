import { createHash } from 'node:crypto'
import type { AuditEntry, AuditLine, AuditVerdict } from '../contracts/audit.ts'
import type { Lock } from '../host/lock.ts'
import type { LogFile, StateFolder } from '../host/state-folder.ts'

const genesis = '0'.repeat(64)
const headBytes = 512
/** Reads are written down together; this is the most that kill -9 can take of them. */
const groupMs = 20

/** Where the log ends: after line `seq` with this hash, at this byte. */
interface End {
  seq: number
  hash: string
  end: number
}

/**
 * `sealed` is where the log surely ends; `intended` where the batch under way would end. A log shorter than its seal
 * was cut, one that goes on past it in any way not intended was added to; between the two a process died.
 */
interface Head {
  sealed: End
  intended: End
}

const start: End = { seq: 0, hash: genesis, end: 0 }

export interface AuditStore {
  /** For reads: written with its neighbours within a few milliseconds. */
  note(entry: AuditEntry): void
  /** In the log when it returns; with `durable` on the disk itself. */
  write(entry: AuditEntry, durable?: boolean): void
  flush(): void
  verify(onProgress?: (done: number, total: number) => void): AuditVerdict
  /** The newest lines that fit, oldest first. */
  last(count: number, fits?: (line: AuditLine) => boolean): AuditLine[]
  /** Lines in order from a sequence number on. */
  lines(from?: number): Iterable<AuditLine>
  head(): { seq: number; hash: string }
  close(): void
}

/** An append-only log, one JSON line an event, each carrying the hash of the line before; shared by every process on the project. */
export function openAudit(folder: StateFolder, lock: Lock): AuditStore {
  const log = folder.openLog('audit.jsonl')
  const headFile = folder.openLog('audit.head')
  let known: End = start
  let waiting: AuditEntry[] = []
  let timer: NodeJS.Timeout | undefined
  let stuck = false

  const flush = (durable = false): void => {
    clearTimeout(timer)
    timer = undefined
    if (waiting.length === 0) return
    // A copy: what a repair adds to it must not pile up in `waiting` while the disk is full.
    const batch = [...waiting]
    lock.holdNow(() => {
      let at = endOfLog(log, headFile, known, (entry) => batch.unshift(entry))
      const texts = batch.map((entry) => {
        const { text, hash } = compose(entry, at.seq + 1, at.hash)
        at = { seq: at.seq + 1, hash, end: at.end + Buffer.byteLength(text) }
        return text
      })
      const before = known
      writeHead(headFile, { sealed: before, intended: at })
      if (durable) headFile.flush()
      log.append(Buffer.from(texts.join('')))
      if (durable) log.flush()
      writeHead(headFile, { sealed: at, intended: at })
      known = at
      waiting = []
      stuck = false
    })
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

  /** Finds the end, repairing what a killed process left half done, and remembers it in `known`. */
  function endOfLog(file: LogFile, head: LogFile, last: End, tell: (entry: AuditEntry) => void): End {
    const size = file.size()
    if (last.end === size && size > 0) return last
    const { sealed, intended } = readHead(head) ?? { sealed: start, intended: start }
    if (sealed.end !== size) {
      known = repair(file, size, sealed, intended, tell)
      return known
    }
    known = sealed
    return sealed
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
    flush: () => flush(),
    verify: (onProgress) => {
      flush()
      return lock.holdNow(() => verifyLog(log, readHead(headFile), onProgress))
    },
    last: (count, fits) => {
      flush()
      return lastLines(log, count, fits)
    },
    *lines(from = 1) {
      flush()
      for (const { bytes } of linesOf(log)) {
        const line = parse(bytes.toString('utf8'))
        if (line && line.seq >= from) yield line
      }
    },
    head() {
      flush()
      const head = readHead(headFile)?.sealed ?? start
      return { seq: head.seq, hash: head.hash }
    },
    close() {
      flush()
      log.close()
      headFile.close()
    },
  }
}

type Stamped = AuditEntry & { at: string }

function stamp(entry: AuditEntry): Stamped {
  return Object.assign(entry, { at: new Date().toISOString() })
}

/** The hash covers the exact bytes of the line up to the hash itself, so that any changed byte shows. */
function compose(entry: AuditEntry, seq: number, prev: string): { text: string; hash: string } {
  const body = JSON.stringify({ seq, ...entry, prev })
  const hash = createHash('sha256').update(body).digest('hex')
  return { text: `${body.slice(0, -1)},"hash":"${hash}"}\n`, hash }
}

function writeHead(file: LogFile, head: Head): void {
  file.writeAt(Buffer.from(JSON.stringify(head).padEnd(headBytes - 1) + '\n'), 0)
}

function readHead(file: LogFile): Head | undefined {
  const text = file.readAt(0, headBytes).toString('utf8').trim()
  if (text === '') return undefined
  try {
    const head = JSON.parse(text) as Head
    return isEnd(head.sealed) && isEnd(head.intended) ? head : undefined
  } catch {
    return undefined
  }
}

function isEnd(end: Partial<End> | undefined): boolean {
  return Number.isSafeInteger(end?.seq) && Number.isSafeInteger(end?.end) && /^[0-9a-f]{64}$/.test(end?.hash ?? '')
}

/** Goes on from what a killed process left: whole lines count, a torn one is cut off, and that it happened is written down. */
function repair(file: LogFile, size: number, sealed: End, intended: End, tell: (entry: AuditEntry) => void): End {
  if (size < sealed.end || size > Math.max(sealed.end, intended.end)) {
    // Not a crash of ours: leave every byte as evidence and go on behind it. `audit verify` names the line.
    const tail = file.size() > 0 ? file.readAt(size - 1, 1).toString() : '\n'
    const patch = tail === '\n' ? '' : '\n'
    if (patch) file.append(Buffer.from(patch))
    tell(
      stamp({
        event: 'recovered',
        message: 'the log does not end where it was sealed; see audit verify',
        details: { sealed: sealed.seq, bytes: size, sealedBytes: sealed.end },
      }),
    )
    return { seq: sealed.seq, hash: sealed.hash, end: size + patch.length }
  }
  const rest = file.readAt(sealed.end, size - sealed.end)
  const whole = rest.lastIndexOf(0x0a) + 1
  let at = sealed
  for (const text of rest.subarray(0, whole).toString('utf8').split('\n').filter(Boolean)) {
    const line = parse(text)
    at = { seq: at.seq + 1, hash: line?.hash ?? at.hash, end: at.end + Buffer.byteLength(text) + 1 }
  }
  if (whole < rest.length) file.truncate(sealed.end + whole)
  tell(
    stamp({
      event: 'recovered',
      message: 'a process died while it wrote to this log',
      details: { lines: at.seq - sealed.seq, tornBytes: rest.length - whole },
    }),
  )
  return at
}

function parse(text: string): AuditLine | undefined {
  try {
    return JSON.parse(text) as AuditLine
  } catch {
    return undefined
  }
}

/** Lines with their bytes, in order. The last one may be torn (`whole: false`). */
function* linesOf(log: LogFile): Generator<{ bytes: Buffer; end: number; whole: boolean }> {
  const size = log.size()
  let position = 0
  let rest = Buffer.alloc(0)
  let end = 0
  while (position < size) {
    const chunk = log.readAt(position, Math.min(1 << 20, size - position))
    if (chunk.length === 0) break
    position += chunk.length
    const data = rest.length ? Buffer.concat([rest, chunk]) : chunk
    let from = 0
    for (let newline = data.indexOf(0x0a); newline >= 0; newline = data.indexOf(0x0a, from)) {
      end += newline - from + 1
      yield { bytes: data.subarray(from, newline), end, whole: true }
      from = newline + 1
    }
    rest = Buffer.from(data.subarray(from))
  }
  if (rest.length) yield { bytes: rest, end: end + rest.length, whole: false }
}

function verifyLog(log: LogFile, head: Head | undefined, onProgress?: (done: number, total: number) => void): AuditVerdict {
  const total = log.size()
  let lines = 0
  let prev = genesis
  const bad = (line: number, why: string): AuditVerdict => ({ whole: false, lines, line, why })
  if (!head)
    return total === 0 ? { whole: true, lines: 0, head: genesis } : bad(1, 'the seal (audit.head) is missing or unreadable')
  for (const { bytes, end, whole } of linesOf(log)) {
    const number = lines + 1
    if (!whole) {
      if (end <= head.intended.end && end > head.sealed.end)
        return {
          whole: true,
          lines,
          head: prev,
          note: `line ${number} was torn by a process that died; the next write cuts it off`,
        }
      return bad(number, 'it has no end: bytes were cut from it or added to it')
    }
    const cut = bytes.lastIndexOf(',"hash":"')
    const line = cut < 0 ? undefined : parse(bytes.toString('utf8'))
    if (!line) return bad(number, 'it is not a line of this log')
    if (line.seq !== number) return bad(number, `it says it is line ${line.seq}: a line was removed or inserted here`)
    if (line.prev !== prev) return bad(number, 'it does not follow from the line before')
    const hash = createHash('sha256').update(bytes.subarray(0, cut)).update('}').digest('hex')
    if (bytes.toString('latin1', cut) !== `,"hash":"${hash}"}`)
      return bad(number, 'its content does not match its hash: it was changed')
    if (number === head.sealed.seq && hash !== head.sealed.hash) return bad(number, 'it is not the line that was sealed')
    if (number > head.sealed.seq && (number > head.intended.seq || (number === head.intended.seq && hash !== head.intended.hash)))
      return bad(number, 'it was added after the log was sealed')
    prev = hash
    lines = number
    if (onProgress && lines % 20_000 === 0) onProgress(end, total)
  }
  if (lines < head.sealed.seq)
    return bad(lines + 1, `it is missing: the log was sealed at line ${head.sealed.seq} and its tail was cut`)
  return { whole: true, lines, head: prev }
}

/** Reads backwards in blocks, so that the newest lines cost the same in a log of any length. */
function lastLines(log: LogFile, count: number, fits: (line: AuditLine) => boolean = () => true): AuditLine[] {
  const found: AuditLine[] = []
  let position = log.size()
  let rest = Buffer.alloc(0)
  while (position > 0 && found.length < count) {
    const from = Math.max(0, position - (1 << 16))
    const data = Buffer.concat([log.readAt(from, position - from), rest])
    position = from
    const first = from === 0 ? 0 : data.indexOf(0x0a) + 1
    rest = Buffer.from(data.subarray(0, first))
    const texts = data.subarray(first).toString('utf8').split('\n').filter(Boolean)
    for (let index = texts.length - 1; index >= 0 && found.length < count; index--) {
      const line = parse(texts[index] as string)
      if (line && fits(line)) found.push(line)
    }
  }
  return found.reverse()
}
