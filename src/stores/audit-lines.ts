import { hash as hashOf } from 'node:crypto'
import type { AuditEntry, AuditLine } from '../contracts/audit.ts'

/** What reading lines needs of a log. */
export interface Readable {
  /** Where its first byte lies; what was before it has been dropped. */
  begin(): number
  size(): number
  readAt(position: number, length: number): Buffer
}

type Stamped = AuditEntry & { at: string }

export function stamp(entry: AuditEntry): Stamped {
  const stamped = entry as Stamped
  stamped.at = new Date().toISOString()
  return stamped
}

/** The hash covers the exact bytes of the line up to the hash itself, so that any changed byte shows. */
export function compose(entry: AuditEntry, seq: number, prev: string): { text: string; hash: string } {
  const given = JSON.stringify(entry)
  // Number and event first: who looks for either need not take the line apart. Entries are made with their event first.
  const inOrder = given.startsWith('{"event":') ? given : eventFirst(entry)
  const body = `{"seq":${seq},${inOrder.slice(1, -1)},"prev":"${prev}"`
  const hash = hashOf('sha256', `${body}}`)
  return { text: `${body},"hash":"${hash}"}\n`, hash }
}

function eventFirst({ event, ...rest }: AuditEntry): string {
  return JSON.stringify({ event, ...rest })
}

export function parse(text: string): AuditLine | undefined {
  try {
    return JSON.parse(text) as AuditLine
  } catch {
    return undefined
  }
}

/** Lines with their bytes, in order, from a position on. The last one may be torn (`whole: false`). */
export function* linesOf(
  log: Readable,
  from = log.begin(),
  step = 1 << 20,
): Generator<{ bytes: Buffer; end: number; whole: boolean }> {
  const size = log.size()
  let position = from
  let rest = Buffer.alloc(0)
  let end = from
  while (position < size) {
    const chunk = log.readAt(position, Math.min(step, size - position))
    if (chunk.length === 0) break
    position += chunk.length
    const data = rest.length ? Buffer.concat([rest, chunk]) : chunk
    let start = 0
    for (let newline = data.indexOf(0x0a); newline >= 0; newline = data.indexOf(0x0a, start)) {
      end += newline - start + 1
      yield { bytes: data.subarray(start, newline), end, whole: true }
      start = newline + 1
    }
    rest = Buffer.from(data.subarray(start))
  }
  if (rest.length) yield { bytes: rest, end: end + rest.length, whole: false }
}

/**
 * Reads backwards in blocks, so that the newest lines cost the same in a log of any length. Lines without one of the words in `holding`
 * are not taken apart.
 */
export function lastLines(
  log: Readable,
  count: number,
  fits: (line: AuditLine) => boolean = () => true,
  holding: readonly string[] = [],
): AuditLine[] {
  const found: AuditLine[] = []
  const begin = log.begin()
  let position = log.size()
  let rest = Buffer.alloc(0)
  while (position > begin && found.length < count) {
    const from = Math.max(begin, position - (1 << 16))
    const data = Buffer.concat([log.readAt(from, position - from), rest])
    position = from
    const first = from === begin ? 0 : data.indexOf(0x0a) + 1
    rest = Buffer.from(data.subarray(0, first))
    if (!holding.every((word) => data.includes(word))) continue
    const texts = data.subarray(first).toString('utf8').split('\n').filter(Boolean)
    for (let index = texts.length - 1; index >= 0 && found.length < count; index--) {
      const text = texts[index] as string
      const line = holding.every((word) => text.includes(word)) ? parse(text) : undefined
      if (line && fits(line)) found.push(line)
    }
  }
  return found.reverse()
}
