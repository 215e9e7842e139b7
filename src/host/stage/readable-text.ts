import { isUtf8 } from 'node:buffer'

/** Longer than any card has room for, a file that is no plain text is not looked through for what could be read of it. */
const longest = 1_000_000
/** Of ten characters one may be odd, and in the shortest file three: a letter of another encoding, a NUL at the end of a script. */
const mostOdd = (length: number): number => Math.max(3, length / 10)
// oxlint-disable-next-line no-control-regex
const oddOnes = /[\udc80-\udcff\0-\x08\x0e-\x1a\x1c-\x1f\x7f]/gu

/** What a person can read of a file: lines, and how many of its bytes are no text; nothing where it is no text at all. */
export function readableText(bytes: Buffer): { text: string; odd: number } | undefined {
  if (isText(bytes)) return { text: bytes.toString('utf8'), odd: 0 }
  if (bytes.length > longest) return undefined
  const text = decodeLossless(bytes)
  const odd = text.match(oddOnes)?.length ?? 0
  return odd <= mostOdd(text.length) ? { text, odd } : undefined
}

/**
 * Bytes as text, each that is not UTF-8 as a half of a pair that no UTF-8 text holds: two files that differ in one byte differ here,
 * too. Whoever shows it writes such a half out as the byte it is.
 */
export function decodeLossless(bytes: Buffer): string {
  if (isUtf8(bytes)) return bytes.toString('utf8')
  const parts: string[] = []
  let from = 0
  for (let at = 0; at < bytes.length;) {
    const length = lengthOf(bytes[at] as number)
    if (length === 1 || (at + length <= bytes.length && length > 0 && isUtf8(bytes.subarray(at, at + length)))) {
      at += length
      continue
    }
    parts.push(bytes.toString('utf8', from, at), String.fromCharCode(0xdc00 + (bytes[at] as number)))
    from = ++at
  }
  parts.push(bytes.toString('utf8', from))
  return parts.join('')
}

/** How many bytes a character takes, by its first; none where it can be no first. */
function lengthOf(first: number): number {
  if (first < 0x80) return 1
  if (first < 0xc2 || first > 0xf4) return 0
  return first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4
}

/** Lines are for text: UTF-8 without NUL. */
export function isText(bytes: Buffer): boolean {
  return isUtf8(bytes) && !bytes.includes(0)
}
