import type { ToolResult } from './dialect.ts'

/** What one answer carries of a text, by the bytes it takes where it is encoded most. */
export interface PayloadLimit {
  most: number
  /** The text stands in JSON that is itself a text in JSON. */
  twice: boolean
}

/** Contract 001's own: a read as long as the settings allow comes whole, unless it is made of what JSON writes in six bytes. */
export const plainPayload: PayloadLimit = { most: 8 << 20, twice: false }
/** The other dialects say the same text up to seven times over. */
export const nestedPayload: PayloadLimit = { most: 1 << 20, twice: true }

/** Where a text must end to take no more than `most` bytes: never within a character. The whole length where it fits. */
export function fits(text: string, { most, twice }: PayloadLimit): number {
  if (text.length * 7 <= most) return text.length
  let bytes = 0
  for (let at = 0; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    const begins = at
    let takes: number
    if (unit === 0x22 || unit === 0x5c) takes = twice ? 4 : 2
    else if (unit < 0x20) takes = (unit >= 0x08 && unit <= 0x0d && unit !== 0x0b ? 2 : 6) + (twice ? 1 : 0)
    else if (unit < 0x80) takes = 1
    else if (unit < 0x800) takes = 2
    else if (unit < 0xd800 || unit > 0xdfff) takes = 3
    else if (unit < 0xdc00 && isLow(text.charCodeAt(at + 1))) {
      takes = 4
      at++
    } else takes = twice ? 7 : 6
    bytes += takes
    if (bytes > most) return begins
  }
  return text.length
}

const isLow = (unit: number): boolean => unit >= 0xdc00 && unit <= 0xdfff

/** A copy: a slice would keep the whole in memory. */
const cutAt = (text: string, end: number): string => Buffer.from(text.slice(0, end)).toString()

/** A result within what an answer carries. What is cut says so, with how much there is. */
export function limitResult(result: ToolResult, payload: PayloadLimit): ToolResult {
  const { content, output, text, size } = result
  if (typeof content === 'string') {
    const end = fits(content, payload)
    if (end === content.length) return result
    const cut = cutAt(content, end)
    return { ...result, truncated: true, content: cut, text: `${cut}\n[truncated: the file has ${String(size)} bytes]` }
  }
  const end = fits(text, payload)
  if (end === text.length) return result
  const bytes = Buffer.byteLength(text)
  return {
    ...result,
    ...(typeof output === 'string' && { output: cutAt(output, fits(output, payload)) }),
    truncated: true,
    size: bytes,
    text: `${cutAt(text, end)}\n[truncated: there are ${bytes} bytes]`,
  }
}

const longestShown = 4_096
const mostShown = 32

/** A call's input as it is told again: what was sent is the caller's already. Only what is long, or no tool takes, is not there. */
export function shown(input: Readonly<Record<string, unknown>>): Record<string, unknown> {
  const names = Object.keys(input)
  const some = names.slice(0, mostShown).map((name): [string, unknown] => [cutText(name, 100), shownValue(input[name])])
  if (names.length > mostShown) some.push(['…', `(cut: ${names.length} fields)`])
  return Object.fromEntries(some)
}

function shownValue(value: unknown): unknown {
  if (typeof value === 'string') return cutText(value, longestShown)
  if (Array.isArray(value)) return `(a list of ${value.length})`
  return typeof value === 'object' && value !== null ? '(an object)' : value
}

const cutText = (text: string, most: number): string =>
  text.length > most ? `${text.slice(0, most).toWellFormed()}… (cut: ${text.length} characters)` : text
