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

/** What each unit of a text counts as, in bits: every letter of a game is looked up, and nothing is decided about it. */
const [letter, sign, joint, notPlain] = [1, 2, 4, 8]
let table: Uint8Array | undefined

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
  // The rarer Han characters, U+20000 to U+3FFFF, take two units: the first is counted.
  mark(0xd840, 0xd8bf, sign)
  // Where one of these stands, a text is not yet what a player reads: `[word](ruby)`, `{variable}`, `\\;`.
  for (const code of [0x5b, 0x7b, 0x5c]) kinds[code] = notPlain
  return kinds
}

/** Units that are counted, and what there was among them. */
const seen = { words: 0, cjk: 0, isPlain: true }

/** Counts without a branch: what a letter is cannot be guessed, and each wrong guess costs as much as ten letters. */
function countUnits(units: Uint16Array, from: number, to: number): void {
  const kinds = (table ??= kindsOfUnits())
  let [words, cjk, inside, all] = [0, 0, 0, 0]
  for (let index = from; index < to; index++) {
    const kind = kinds[units[index] as number] as number
    const isLetter = kind & letter
    words += isLetter & ~inside
    cjk += (kind >> 1) & 1
    inside = isLetter | ((kind >> 2) & inside)
    all |= kind
  }
  seen.words = words
  seen.cjk = cjk
  seen.isPlain = (all & notPlain) === 0
}

const roomFor = (length: number): { units: Uint16Array; bytes: Buffer } => {
  const units = new Uint16Array(length)
  return { units, bytes: Buffer.from(units.buffer) }
}

/** Where units of texts are put, again and again. */
const rooms = { text: roomFor(0), scene: roomFor(0) }

/** The units of a text, side by side: a line is a part of its scene, and gives its letters one by one only slowly. */
function unitsOf(text: string, room: keyof typeof rooms): Uint16Array {
  if (rooms[room].units.length < text.length) rooms[room] = roomFor(Math.max(1_024, 2 * text.length))
  rooms[room].bytes.write(text, 'utf16le')
  return rooms[room].units
}

const markup = /\[([^[\]]*)\]\([^()]*\)/g
const interpolated = /\{[^{}]*\}/g

/** Adds what stands in a text. */
function countText(text: string, into: Amount): void {
  let plain = text
  if (text.includes('[')) plain = plain.replace(markup, '$1')
  if (text.includes('{')) plain = plain.replace(interpolated, ' ')
  countUnits(unitsOf(plain, 'text'), 0, plain.length)
  into.words += seen.words
  into.cjk += seen.cjk
}

/** A scene whose statements are passed from the first to the last: where the one that is looked at begins, and where the next one does. */
export interface Laid {
  units: Uint16Array | undefined
  at: number
  next: number
}

/** A longer scene is counted line by line: no room of such a size is kept. */
const longestLaid = 1 << 20

/** The text of a scene, until the next one is laid out. */
export function layOut(text: string): Laid {
  const plain = text.includes('\r') ? text.replaceAll('\r', '') : text
  return {
    units: plain.length > longestLaid ? undefined : unitsOf(plain, 'scene'),
    at: 0,
    next: plain.startsWith('\uFEFF') ? 1 : 0,
  }
}

/** Goes on to this statement, which is the next one. */
export function pass(laid: Laid, { text, line, endLine, cut }: Statement): void {
  laid.at = laid.next
  laid.next += text.length + 1
  // What was put together of several lines, or cut off, is not as long as it stands there.
  if (line !== endLine || cut) {
    laid.next = laid.at
    for (let lines = line; lines <= endLine; lines++) laid.next = (laid.units?.indexOf(0x0a, laid.next) ?? 0) + 1
  }
}

/** Adds what is said in a line of dialogue, which was passed last. */
export function countDialogue({ units, at }: Laid, { head, hasColon, content, line, endLine }: Statement, into: Amount): void {
  if (content === '') return
  let from = hasColon ? at + head.length + 1 : at
  // Of several lines, or with something taken out of the name: it does not stand there as it is.
  if (units === undefined || line !== endLine || (hasColon && units[from - 1] !== 0x3a)) return countText(content, into)
  // Only blanks stand before it.
  const first = content.charCodeAt(0)
  while (from < units.length && units[from] !== first) from++
  countUnits(units, from, from + content.length)
  if (!seen.isPlain) return countText(content, into)
  into.words += seen.words
  into.cjk += seen.cjk
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
