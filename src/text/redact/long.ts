import { openPace } from '../steps.ts'
import { redact } from './redact.ts'

/** So much is looked at before others have their turn. */
const piece = 64_000
/** A word longer than this is not kept: it cannot be looked at in one go. */
const longestWord = 256_000

const beginning = /-----BEGIN [A-Z0-9 ]{0,60}?PRIVATE KEY(?: BLOCK)?-----/g

/** A text of any length without its secrets, kept whole. */
export async function redactLong(text: string): Promise<string> {
  const made: string[] = []
  const pace = openPace()
  let at = 0
  while (at < text.length) {
    const { end, whole } = endOfPiece(text, at)
    made.push(whole ? redact(text.slice(at, end)) : `[a word of ${end - at} characters]`)
    at = end
    if (at < text.length) await pace.turn()
  }
  return made.join('')
}

/** Pieces end at a line, at least at a blank, never inside a private key. */
function endOfPiece(text: string, at: number): { end: number; whole: boolean } {
  if (text.length - at <= piece) return { end: text.length, whole: true }
  const line = text.lastIndexOf('\n', at + piece)
  let end = line > at ? line + 1 : blankAfter(text, at + piece)
  if (end - at > longestWord) return { end, whole: false }
  let open = -1
  for (const match of text.slice(at, end).matchAll(beginning)) open = at + match.index
  const close = open < 0 ? 0 : text.indexOf('-----END', open)
  if (open >= 0 && (close < 0 || close > end)) end = close < 0 ? text.length : blankAfter(text, close + 8)
  return { end, whole: true }
}

function blankAfter(text: string, from: number): number {
  const blank = /\s|$/g
  blank.lastIndex = from
  return blank.exec(text)?.index ?? text.length
}
