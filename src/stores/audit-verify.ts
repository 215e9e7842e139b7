import { createHash, hash as hashOf } from 'node:crypto'
import type { Anchor, AuditVerdict } from '../contracts/audit.ts'
import { wait, type Steps } from '../text/steps.ts'
import type { AuditFiles } from './audit-files.ts'
import { behind, genesis, lost, start, type ExternalHead, type Checked, type Dropped, type Head } from './audit-heads.ts'
import { parse } from './audit-lines.ts'

/** A log as it was at one moment, so that nobody waits while it is verified. */
export interface LogCopy {
  size: number
  /** What was dropped before its first entry. */
  dropped: Dropped
  /** The name of the file that a place lies in, where the log has several. */
  nameAt(position: number): string | undefined
  read(position: number, length: number): Steps<Buffer>
  head: Head | undefined
  externalHead: ExternalHead | undefined
  /** Up to where it was verified before. */
  checked: Checked | undefined
}

const mostTail = 1 << 24
const pieceBytes = 1 << 20
/** What is only hashed costs less than a turn. */
const comparedBytes = 1 << 22

/** Taken while the lock is held. Only what lies behind the seal can still be cut off by others: that is copied, the rest never changes. */
export function copyOf(
  log: AuditFiles,
  { head, externalHead, checked, dropped }: Pick<LogCopy, 'head' | 'externalHead' | 'checked' | 'dropped'>,
): LogCopy {
  const size = log.size()
  const from = head?.sealed.end ?? size
  const tail = size > from && size - from <= mostTail ? log.readAt(from, size - from) : undefined
  const fromTail = (position: number, length: number): Buffer | undefined =>
    tail && position >= from ? Buffer.from(tail.subarray(position - from, position - from + length)) : undefined
  return {
    size,
    head,
    externalHead,
    dropped,
    checked: checked?.log === externalHead?.log ? checked : undefined,
    nameAt: (position) => (log.closed().length ? log.nameAt(position) : undefined),
    read: (position, length) => {
      const whole = tail && position < from ? Math.min(length, from - position) : length
      return wait(
        () => fromTail(position, length) ?? log.readAt(position, whole),
        async () => fromTail(position, length) ?? (await log.readSoon(position, whole)),
      )
    },
  }
}

/** A line that must be there; one whose number is known may have been pruned since. */
export type Anchored = Pick<Anchor, 'hash'> & Partial<Pick<Anchor, 'seq'>>

export interface Asked {
  /** Every line by itself, also those that were verified before. */
  full?: boolean | undefined
  anchors?: readonly Anchored[] | undefined
  onProgress?: ((done: number, total: number) => void) | undefined
}

/** The verdict, and the point up to which the log need not be taken apart again. */
export interface Verified {
  verdict: AuditVerdict
  checked?: Checked
}

/**
 * What was verified before is compared byte by byte, through one hash over all of it; what came since is verified line by line. Where the
 * bytes are no longer those, every line is, so that the first bad one is named.
 */
export function* verifyLog(copy: LogCopy, { full = false, anchors = [], onProgress }: Asked = {}): Steps<Verified> {
  if (!full && anchors.length === 0 && copy.checked && copy.head && goesOnFrom(copy, copy.checked, copy.head)) {
    const known = yield* readsAsBefore(copy, copy.checked, onProgress)
    if (known) return yield* verifyLines(copy, copy.checked, known, [], onProgress)
  }
  return yield* verifyLines(copy, undefined, createHash('sha256'), anchors, onProgress)
}

/** Whether what was verified before is about the same beginning, and not ahead of the log. */
function goesOnFrom({ dropped }: LogCopy, { from = 0, seq }: Checked, { sealed }: Head): boolean {
  return from === dropped.end && seq <= sealed.seq
}

/** The hash over the bytes up to the point, to be carried on; nothing where they were changed. */
function* readsAsBefore(copy: LogCopy, checked: Checked, onProgress: Asked['onProgress']): Steps<Digest | undefined> {
  const digest = createHash('sha256')
  for (let position = copy.dropped.end; position < checked.end;) {
    const piece = yield* copy.read(position, Math.min(comparedBytes, checked.end - position))
    if (piece.length === 0) return undefined
    digest.update(piece)
    position += piece.length
    onProgress?.(position, copy.size)
    yield
  }
  return digest.copy().digest('hex') === checked.digest ? digest : undefined
}

type Digest = ReturnType<typeof createHash>

function* verifyLines(
  copy: LogCopy,
  from: Checked | undefined,
  digest: Digest,
  anchors: readonly Anchored[],
  onProgress: Asked['onProgress'],
): Steps<Verified> {
  const { head, externalHead, dropped, size: total } = copy
  let { seq: lines, hash: prev, end } = from ?? dropped
  const bad = (line: number, why: string): Verified => {
    const name = copy.nameAt(end)
    return { verdict: { whole: false, lines, line, why: name === undefined ? why : `${why} (${name})` } }
  }
  const pruned = dropped.seq > 0 && { pruned: { upTo: dropped.seq, by: dropped.by, at: dropped.at } }
  /** What was dropped must be said by an entry that is kept: the block that names it is not believed by itself. */
  let isSaid = from !== undefined || dropped.seq === 0
  const unsaid = (): Verified => bad(dropped.seq + 1, 'what came before it is missing, and no entry says that it was pruned')
  // Of the dropped entries only the last has a hash that is still known; what was said of earlier ones can no longer be compared.
  const gone = anchors.filter(({ seq = 0 }) => seq > 0 && seq < dropped.seq)
  const missing = new Set(anchors.filter((one) => !gone.includes(one)).map(({ hash }) => hash))
  missing.delete(dropped.hash)
  const notes = gone.length
    ? [`${gone.length} of the anchors are of entries that were pruned since, and could not be compared`]
    : []
  if (!head) {
    if (total > 0) return bad(1, 'the seal (audit.head) is missing or unreadable')
    const shorter = externalHead && lost(externalHead, start)
    if (shorter) return bad(1, shorter)
    return { verdict: missing.size ? notThere(missing, lines) : { whole: true, lines: 0, head: genesis } }
  }
  const early = from && misplaced(copy, head, from.seq, from.hash)
  if (early !== undefined) return bad(lines, early)
  let rest: Buffer = Buffer.alloc(0)
  for (let position = end; position < total;) {
    const piece = yield* copy.read(position, Math.min(pieceBytes, total - position))
    if (piece.length === 0) break
    position += piece.length
    const data = rest.length ? Buffer.concat([rest, piece]) : piece
    let begin = 0
    for (let newline = data.indexOf(0x0a); newline >= 0; newline = data.indexOf(0x0a, begin)) {
      const number = lines + 1
      const bytes = data.subarray(begin, newline)
      const hash = followingHash(bytes, number, prev)
      if (hash === undefined) return bad(number, whatIsWrong(bytes, number, prev))
      const why = misplaced(copy, head, number, hash)
      if (why !== undefined) return bad(number, why)
      isSaid ||= saysDropped(bytes, dropped)
      prev = hash
      lines = number
      missing.delete(hash)
      end += newline + 1 - begin
      begin = newline + 1
      if (lines % 64 === 0) yield
    }
    digest.update(data.subarray(0, begin))
    rest = Buffer.from(data.subarray(begin))
    onProgress?.(position, total)
  }
  if (rest.length) {
    // A cut that is made to look like a crash leaves less than the head kept apart knows of.
    const cut = externalHead && lost(externalHead, { seq: lines, hash: prev })
    if (cut) return bad(lines + 1, cut)
    const torn = end + rest.length
    if (torn > head.intended.end || torn <= head.sealed.end)
      return bad(lines + 1, 'it has no end: bytes were cut from it or added to it')
    if (missing.size) return { verdict: notThere(missing, lines) }
    if (!isSaid) return unsaid()
    notes.push(...unsealed(externalHead, { seq: lines, hash: prev }))
    notes.push(`line ${lines + 1} was torn by a process that died; the next write cuts it off`)
    return { verdict: { whole: true, lines, head: prev, note: notes.join('; '), ...pruned } }
  }
  if (lines < head.sealed.seq)
    return bad(lines + 1, `it is missing: the log was sealed at line ${head.sealed.seq} and its tail was cut`)
  const shorter = externalHead && lost(externalHead, { seq: lines, hash: prev })
  if (shorter) return bad(lines + 1, shorter)
  if (copy.checked && lines < copy.checked.seq)
    return bad(lines + 1, `it is missing: the log had ${copy.checked.seq} entries when it was last verified`)
  if (missing.size) return { verdict: notThere(missing, lines) }
  if (!isSaid) return unsaid()
  notes.push(...unsealed(externalHead, { seq: lines, hash: prev }))
  const checked =
    externalHead && lines > 0
      ? { log: externalHead.log, seq: lines, hash: prev, end, digest: digest.digest('hex'), from: dropped.end }
      : undefined
  const note = notes.length > 0 && { note: notes.join('; ') }
  return { verdict: { whole: true, lines, head: prev, ...note, ...pruned }, ...(checked && { checked }) }
}

/** Its hash, where this is the line with this number that follows the one with the hash `prev`, down to the last byte. */
function followingHash(bytes: Buffer, number: number, prev: string): string | undefined {
  const cut = bytes.length - `,"hash":"${genesis}"}`.length
  const first = `{"seq":${number},`
  if (cut < first.length || bytes.toString('latin1', 0, first.length) !== first) return undefined
  const [comma] = bytes.subarray(cut)
  bytes[cut] = 0x7d
  const hash = hashOf('sha256', bytes.subarray(0, cut + 1))
  bytes[cut] = comma as number
  const last = `,"prev":"${prev}","hash":"${hash}"}`
  return bytes.toString('latin1', bytes.length - last.length) === last ? hash : undefined
}

function saysDropped(bytes: Buffer, { seq, hash }: Dropped): boolean {
  if (!bytes.includes('"event":"audit.pruned"')) return false
  const line = parse(bytes.toString('utf8'))
  const details = line?.details as { upTo?: number; hash?: string } | undefined
  return line?.event === 'audit.pruned' && details?.upTo === seq && details.hash === hash
}

function whatIsWrong(bytes: Buffer, number: number, prev: string): string {
  const line = bytes.lastIndexOf(',"hash":"') < 0 ? undefined : parse(bytes.toString('utf8'))
  if (!line) return 'it is not a line of this log'
  if (line.seq !== number) return `it says it is line ${line.seq}: a line was removed or inserted here`
  if (line.prev !== prev) return 'it does not follow from the line before'
  return 'its content does not match its hash: it was changed'
}

/** Why a line that is right in itself does not belong there. */
function misplaced(
  { externalHead, checked }: LogCopy,
  { sealed, intended }: Head,
  number: number,
  hash: string,
): string | undefined {
  if (number === sealed.seq && hash !== sealed.hash) return 'it is not the line that was sealed'
  if (number > sealed.seq && (number > intended.seq || (number === intended.seq && hash !== intended.hash)))
    return 'it was added after the log was sealed'
  if (number === externalHead?.last.seq && hash !== externalHead.last.hash)
    return 'it is not the line that was written: the head kept apart has another hash'
  if (externalHead && behind(externalHead, { seq: number, hash }) === 'added')
    return `it was added: the head kept apart knows of ${externalHead.last.seq} entries, and of none on their way`
  if (number === checked?.seq && hash !== checked.hash)
    return 'it is not the line that was there when the log was last verified: its hashes were made anew'
  return undefined
}

/** What the last lines rest on where the head kept apart does not know them yet. */
function unsealed(externalHead: ExternalHead | undefined, end: { seq: number; hash: string }): string[] {
  if (!externalHead?.next || end.seq <= externalHead.last.seq) return []
  const which = `entries ${externalHead.last.seq + 1} to ${end.seq} stand behind the head kept apart`
  return behind(externalHead, end) === undefined
    ? [`${which}: a process died while it wrote them`]
    : [`${which}: the system stopped before it was on the disk, or somebody added them`]
}

function notThere(missing: Set<string>, lines: number): AuditVerdict {
  const [hash] = missing
  return { whole: false, lines, line: 0, why: `the log does not hold the line that was anchored as ${hash}` }
}
