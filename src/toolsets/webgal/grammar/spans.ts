import type { Piece } from './fold.ts'

/** A stretch of the text of a statement; `end` is not part of it. */
export interface Span {
  start: number
  end: number
}

/** Where the parts of a statement stand in its text, by the same rules as `parseStatement`. */
export interface StatementSpans {
  head: Span
  hasColon: boolean
  content: Span
  args: { key: Span; value: Span | undefined }[]
  /** Where the body ends: at the semicolon, or with the line. */
  end: number
}

export function spansOf(text: string): StatementSpans {
  const end = bodyEnd(text)
  const body = text.slice(0, end)
  const colon = body.indexOf(':')
  const hasColon = colon >= 0
  const from = hasColon ? colon + 1 : 0
  const dash = body.indexOf(' -', from)
  const args: StatementSpans['args'] = []
  for (let at = dash; at >= 0;) {
    const next = body.indexOf(' -', at + 2)
    const raw: Span = { start: at + 2, end: next < 0 ? end : next }
    if (raw.end > raw.start) {
      const equals = body.slice(raw.start, raw.end).indexOf('=')
      const key = trimmed(text, equals < 0 ? raw : { start: raw.start, end: raw.start + equals })
      args.push({ key, value: equals < 0 ? undefined : trimmed(text, { start: raw.start + equals + 1, end: raw.end }) })
    }
    at = next
  }
  return {
    head: { start: 0, end: hasColon ? colon : end },
    hasColon,
    content: trimmed(text, { start: from, end: dash < 0 ? end : dash }),
    args,
    end,
  }
}

function bodyEnd(text: string): number {
  for (let at = text.indexOf(';'); at >= 0; at = text.indexOf(';', at + 1))
    if (at === 0 || text.charCodeAt(at - 1) !== 0x5c) return at
  return text.length
}

/** The same without the blanks around it. */
export function trimmed(text: string, { start, end }: Span): Span {
  const part = text.slice(start, end)
  const left = part.length - part.trimStart().length
  return { start: start + left, end: start + Math.max(left, part.trimEnd().length) }
}

/** Parts of a span at a sign that has no backslash before it. */
export function partsOf(text: string, { start, end }: Span, sign: string): Span[] {
  const parts: Span[] = []
  let from = start
  for (let at = text.indexOf(sign, start); at >= 0 && at < end; at = text.indexOf(sign, at + 1)) {
    if (at > start && text.charCodeAt(at - 1) === 0x5c) continue
    parts.push({ start: from, end: at })
    from = at + 1
  }
  return [...parts, { start: from, end }]
}

/** Where a place in the text of a statement stands in the file: 1-based line, 0-based column. */
export function placeIn(pieces: readonly Piece[] | undefined, line: number, at: number): { line: number; column: number } {
  const piece = pieces?.findLast((one) => one.at <= at)
  return piece ? { line: piece.line, column: piece.column + at - piece.at } : { line, column: at }
}
