import { parseChoices, type Statement } from '../grammar/parse.ts'

/** How much there is to read. `cjk` are signs of Chinese, Japanese and Korean, `words` those of everything else. */
export interface Amount {
  lines: number
  words: number
  cjk: number
}

/** The way it is counted, for whoever pays by it. */
export const countedHow =
  'What a player reads: dialogue, options of choices, intro texts, and the words of questions. cjk: each Han character, kana and Hangul syllable, without punctuation. words: runs of other letters and digits; an apostrophe or a hyphen inside one does not end it. Not counted: names of speakers, {variables}, what stands above a word as ruby, comments, and lines the engine misreads.'

export const nothing = (): Amount => ({ lines: 0, words: 0, cjk: 0 })

const markup = /\[([^[\]]*)\]\([^()]*\)/g
const interpolated = /\{[^{}]*\}/g

/** Adds what stands in a text. */
export function countText(text: string, into: Amount): void {
  let plain = text
  if (text.includes('[')) plain = plain.replace(markup, '$1')
  if (text.includes('{')) plain = plain.replace(interpolated, ' ')
  const kinds = (table ??= kindsOfUnits())
  let [words, cjk] = [0, 0]
  let inside = false
  for (let index = 0; index < plain.length; index++) {
    const kind = kinds[plain.charCodeAt(index)]
    if (kind === sign || (kind === high && isRareSign(plain, index))) {
      cjk++
      inside = false
    } else if (kind === letter) {
      if (!inside) words++
      inside = true
    } else if (kind !== joint) inside = false
  }
  into.words += words
  into.cjk += cjk
}

const [letter, sign, joint, high] = [1, 2, 3, 4]
let table: Uint8Array | undefined

/** What each unit of a text counts as: looked up, because every letter of a game is. */
function kindsOfUnits(): Uint8Array {
  const kinds = new Uint8Array(0x10000)
  const mark = (from: number, to: number, kind: number): void => void kinds.fill(kind, from, to + 1)
  mark(0x30, 0x39, letter)
  mark(0x41, 0x5a, letter)
  mark(0x61, 0x7a, letter)
  mark(0xc0, 0x1fff, letter)
  mark(0xd7, 0xd7, 0)
  mark(0xf7, 0xf7, 0)
  // An apostrophe or a hyphen inside a word does not end it.
  for (const code of [0x27, 0x2d, 0x2019]) kinds[code] = joint
  mark(0x3041, 0x3096, sign)
  mark(0x309d, 0x30fa, sign)
  mark(0x30fc, 0x30ff, sign)
  mark(0x31f0, 0x31ff, sign)
  mark(0x3005, 0x3007, sign)
  mark(0x3400, 0x9fff, sign)
  mark(0xac00, 0xd7a3, sign)
  mark(0xf900, 0xfaff, sign)
  mark(0xff66, 0xff9d, sign)
  mark(0xd800, 0xdbff, high)
  return kinds
}

/** The rarer Han characters take two units. */
function isRareSign(text: string, index: number): boolean {
  const code = text.codePointAt(index) ?? 0
  return code >= 0x20000 && code <= 0x3ffff
}

/** Adds what a player reads of a statement that is no dialogue; says whether there is something. */
export function countOther({ command, content, args }: Statement, into: Amount): void {
  const before = into.words + into.cjk
  if (command === 'choose') for (const { words } of parseChoices(content)) countText(words, into)
  else if (command === 'intro') countText(content, into)
  else if (command === 'getUserInput')
    for (const { key, value } of args) if (asked.has(key) && typeof value === 'string') countText(value, into)
  if (into.words + into.cjk > before) into.lines++
}

const asked = new Set(['title', 'buttonText', 'ruleText', 'ruleButtonText'])
export const isRead = (command: string): boolean => command === 'choose' || command === 'intro' || command === 'getUserInput'
