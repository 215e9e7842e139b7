import { lazy } from './lazy.ts'

/** Longer ones are no words. */
const longest = 64
const mostAsked = 32
const mostPairs = 512

const wordForm = lazy(() => /[\p{L}\p{N}\p{M}_]+/gu)
/** Written without spaces: every two neighbours are a word. */
const unspaced = lazy(() => /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Thai}]+/gu)
const parts = lazy(() => /\p{Lu}+(?!\p{Ll})|\p{Lu}?[\p{Ll}\p{Lo}\p{M}]+|\p{N}+/gu)

/** The words that a text can be found by: whole names, their parts, and what is written without spaces by its letters and pairs. */
export function wordsIn(text: string, most = Number.POSITIVE_INFINITY): Set<string> {
  return collect(text, true, most)
}

/** The words of a question: each must be among `wordsIn` of what answers it. */
export function wordsAsked(text: string): string[] {
  return [...collect(text, false, mostAsked)]
}

function collect(text: string, withParts: boolean, most: number): Set<string> {
  const found = new Set<string>()
  for (const [run] of text.normalize('NFKC').matchAll(wordForm())) {
    if (found.size >= most) break
    for (const [letters] of run.matchAll(unspaced())) addPairs(letters, withParts, found)
    for (const name of run.replace(unspaced(), ' ').split(' ')) {
      if (name === '' || name.length > longest) continue
      found.add(name.toLowerCase())
      if (withParts) for (const [part] of name.matchAll(parts())) found.add(part.toLowerCase())
    }
  }
  return found
}

function addPairs(letters: string, withParts: boolean, found: Set<string>): void {
  const each = Array.from(letters.slice(0, mostPairs))
  if (withParts || each.length === 1) for (const one of each) found.add(one)
  for (let at = 1; at < each.length; at++) found.add(`${each[at - 1]}${each[at]}`)
}

/** A number of 48 bits for a word. Two words may share one: whoever looks checks what was found. */
export function wordNumber(word: string): number {
  let [one, other] = [0x811c9dc5, 0x01000193]
  for (let at = 0; at < word.length; at++) {
    const code = word.charCodeAt(at)
    one = Math.imul(one ^ code, 0x01000193)
    other = Math.imul(other ^ code, 0x85ebca6b) ^ (other >>> 13)
  }
  return (one >>> 0) * 0x1_0000 + ((other ^ (other >>> 16)) & 0xffff)
}

/** A stretch of a text around the first of these words that stands in it. */
export function excerptOf(text: string, words: readonly string[], most = 240): string {
  const lower = text.toLowerCase()
  const at = words.reduce((least, word) => {
    const place = lower.indexOf(word)
    return place >= 0 && place < least ? place : least
  }, Number.POSITIVE_INFINITY)
  const from = Number.isFinite(at) ? Math.max(0, Math.min(at - most / 3, text.length - most)) : 0
  const cut = text.slice(from, from + most).toWellFormed()
  return `${from > 0 ? '…' : ''}${cut}${from + most < text.length ? '…' : ''}`
}
