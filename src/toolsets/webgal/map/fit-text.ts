import { printable } from '../../../text/printable.ts'

/** Longer than any caption: what comes after is not even measured. */
const longest = 300

/** Text of others on one line, no wider than so many pixels; cut where it is, with a sign that it was. */
export function fitText(text: string, pixels: number, size: number): string {
  const line = printable(text.slice(0, longest).replace(/\s+/g, ' ')).trim()
  const room = pixels / size
  const ellipsis = 1
  let width = 0
  let end = 0
  let fits = 0
  for (const sign of line) {
    width += emsOf(sign)
    if (width <= room - ellipsis) fits = end + sign.length
    end += sign.length
    if (width > room) return `${line.slice(0, fits)}…`
  }
  return text.length > longest ? `${line.slice(0, fits)}…` : line
}

/** A name is cut in its middle: what tells chapters apart stands at their end. */
export function fitName(name: string, pixels: number, size: number): string {
  const whole = fitText(name, pixels, size)
  if (!whole.endsWith('…') || name.endsWith('…')) return whole
  const letters = [...printable(name.slice(-12))]
  let tail = ''
  for (let width = 0; letters.length > 0; tail = (letters.pop() ?? '') + tail) {
    width += emsOf(letters.at(-1) ?? '')
    if (width * size > pixels / 4) break
  }
  return fitText(name, pixels - widthOf(tail) * size, size) + tail
}

const widthOf = (text: string): number => [...text].reduce((sum, sign) => sum + emsOf(sign), 0)

/** As wide as a sign is in any usual font, rather too much than too little. */
function emsOf(sign: string): number {
  const code = sign.codePointAt(0) ?? 0
  if (code < 0x7f) return narrow.has(sign) ? 0.42 : broad.has(sign) ? 0.98 : code >= 0x41 && code <= 0x5a ? 0.76 : 0.64
  if (/\p{M}/u.test(sign)) return 0
  if (code > 0xffff) return 1.4
  return isWide(code) ? 1.02 : 0.85
}

const narrow = new Set(" iljtfr.,:;|!'()[]/-")
const broad = new Set('mwMW@%')

function isWide(code: number): boolean {
  return (
    (code >= 0x1100 && code <= 0x115f) ||
    (code >= 0x2e80 && code <= 0xa4cf) ||
    (code >= 0xa960 && code <= 0xa97f) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff) ||
    (code >= 0xfe30 && code <= 0xffe6)
  )
}
