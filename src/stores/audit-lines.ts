import { createHash } from 'node:crypto'
import type { Anchor, AuditLine, AuditVerdict } from '../contracts/audit.ts'
import type { LogFile } from '../host/state-folder.ts'
import { genesis, lost, start, type Apart, type Head } from './audit-heads.ts'

export function parse(text: string): AuditLine | undefined {
  try {
    return JSON.parse(text) as AuditLine
  } catch {
    return undefined
  }
}

/** Lines with their bytes, in order. The last one may be torn (`whole: false`). */
export function* linesOf(log: LogFile): Generator<{ bytes: Buffer; end: number; whole: boolean }> {
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

export function verifyLog(
  log: LogFile,
  head: Head | undefined,
  apart: Apart | undefined,
  anchors: readonly Pick<Anchor, 'hash'>[] = [],
  onProgress?: (done: number, total: number) => void,
): AuditVerdict {
  const total = log.size()
  let lines = 0
  let prev = genesis
  const bad = (line: number, why: string): AuditVerdict => ({ whole: false, lines, line, why })
  const missing = new Set(anchors.map(({ hash }) => hash))
  if (!head) {
    if (total > 0) return bad(1, 'the seal (audit.head) is missing or unreadable')
    const gone = apart && lost(apart, start)
    if (gone) return bad(1, gone)
    return missing.size ? notThere(missing, lines) : { whole: true, lines: 0, head: genesis }
  }
  for (const { bytes, end, whole } of linesOf(log)) {
    const number = lines + 1
    if (!whole) {
      // A cut that is made to look like a crash leaves less than the head kept apart knows of.
      const cut = apart && lost(apart, { seq: lines, hash: prev })
      if (cut) return bad(number, cut)
      if (end <= head.intended.end && end > head.sealed.end)
        return missing.size
          ? notThere(missing, lines)
          : {
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
    if (number === apart?.last.seq && hash !== apart.last.hash)
      return bad(number, 'it is not the line that was written: the head kept apart has another hash')
    prev = hash
    lines = number
    missing.delete(hash)
    if (onProgress && lines % 20_000 === 0) onProgress(end, total)
  }
  if (lines < head.sealed.seq)
    return bad(lines + 1, `it is missing: the log was sealed at line ${head.sealed.seq} and its tail was cut`)
  const gone = apart && lost(apart, { seq: lines, hash: prev })
  if (gone) return bad(lines + 1, gone)
  return missing.size ? notThere(missing, lines) : { whole: true, lines, head: prev }
}

function notThere(missing: Set<string>, lines: number): AuditVerdict {
  const [hash] = missing
  return { whole: false, lines, line: 0, why: `the log does not hold the line that was anchored as ${hash}` }
}

/** Reads backwards in blocks, so that the newest lines cost the same in a log of any length. */
export function lastLines(log: LogFile, count: number, fits: (line: AuditLine) => boolean = () => true): AuditLine[] {
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
