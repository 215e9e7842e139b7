import { callKey } from './dialect.ts'

interface Message {
  result?: { content?: unknown; structuredContent?: Record<string, unknown>; _meta?: object }
}

/** A text so long is most of its message. */
const longText = 4_096
/** Longer ones are left to JSON.stringify: what is kept here to work in has an end. */
const longestText = 65_536

/**
 * A message as it goes over the wire. An answer of ours says everything twice, as a value and as the JSON of that in a text. Where it holds
 * a long text, such as a file, JSON.stringify would go through that twice, and bytes would be made of it after that; here all this is one
 * pass, which is worth a quarter of a read.
 */
export function toWire(message: object, end = ''): string | Buffer {
  const { result, ...envelope } = message as Message
  const { content: _, structuredContent: output, ...rest } = result ?? {}
  if (!output || !rest._meta || !(callKey in rest._meta)) return JSON.stringify(message) + end
  const opening = `${JSON.stringify(envelope).slice(0, -1)},"result":{"content":[{"type":"text","text":"`
  const between = '"}],"structuredContent":'
  const ending = `,${JSON.stringify(rest).slice(1)}}${end}`
  const names = Object.keys(output)
  const long = names.findIndex((name) => isLong(output[name]))
  if (long < 0) {
    const text = JSON.stringify(output)
    return opening + inText(text) + between + text + ending
  }
  const name = names[long] as string
  const before = fieldsOf(output, names.slice(0, long))
  const after = fieldsOf(output, names.slice(long + 1))
  const head = `{${before}${before && ','}${JSON.stringify(name)}:"`
  const tail = `"${after && ','}${after}}`
  const { once, twice } = escaped(output[name] as string)
  return joined([opening + inText(head), twice, inText(tail) + between + head, once, tail + ending])
}

function isLong(value: unknown): boolean {
  return typeof value === 'string' && value.length >= longText && value.length <= longestText && value.isWellFormed()
}

/** These fields as they stand between the braces of an object. */
function fieldsOf(output: Record<string, unknown>, names: readonly string[]): string {
  return JSON.stringify(Object.fromEntries(names.map((name) => [name, output[name]]))).slice(1, -1)
}

/** JSON as it stands in a text. */
function inText(json: string): string {
  return JSON.stringify(json).slice(1, -1)
}

function joined(parts: readonly (string | Buffer)[]): Buffer {
  const whole = Buffer.allocUnsafe(parts.reduce((sum, part) => sum + Buffer.byteLength(part), 0))
  let at = 0
  for (const part of parts) at += typeof part === 'string' ? whole.write(part, at) : part.copy(whole, at)
  return whole
}

/** What stands behind the backslash for each byte that needs one; `u` where that is its number. */
const letters = new Uint8Array(256).fill(code('u'), 0, 0x20)
for (const [byte, letter] of ['\bb', '\tt', '\nn', '\ff', '\rr', '""', '\\\\'])
  letters[code(byte as string)] = code(letter as string)
const digits = Buffer.from('0123456789abcdef')
const [backslash, zero] = [code('\\'), code('0')]

function code(letter: string): number {
  return letter.charCodeAt(0)
}

/** Memory to work in, with a view of each that takes four bytes at once. */
interface Scratch {
  bytes: Buffer
  words: DataView
}

function scratchOf(bytes: number): Scratch {
  const buffer = Buffer.allocUnsafeSlow(bytes)
  return { bytes: buffer, words: new DataView(buffer.buffer) }
}

/** In UTF-8 a unit of a text is three bytes at most; a byte is six with one escape and seven with both. */
let scratch: { given: Scratch; first: Scratch; second: Scratch } | undefined

/** A text as it stands in JSON, and as that JSON stands in a text. What it gives holds until the next one. */
function escaped(text: string): { once: Buffer; twice: Buffer } {
  scratch ??= { given: scratchOf(3 * longestText), first: scratchOf(18 * longestText), second: scratchOf(21 * longestText) }
  const { given, first, second } = scratch
  const [from, one, two] = [given.bytes, first.bytes, second.bytes]
  const length = from.write(text, 0)
  let oneAt = 0
  let twoAt = 0
  for (let at = 0; at < length;) {
    const word = at + 4 <= length ? given.words.getInt32(at, true) : 0
    if (isPlain(word)) {
      first.words.setInt32(oneAt, word, true)
      second.words.setInt32(twoAt, word, true)
      at += 4
      oneAt += 4
      twoAt += 4
      continue
    }
    for (const end = Math.min(at + 4, length); at < end; at++) {
      const byte = from[at] as number
      const letter = letters[byte] as number
      if (letter === 0) {
        one[oneAt++] = two[twoAt++] = byte
        continue
      }
      one[oneAt++] = two[twoAt++] = two[twoAt++] = backslash
      if (letter === byte) two[twoAt++] = backslash
      one[oneAt++] = two[twoAt++] = letter
      if (letter !== code('u')) continue
      one[oneAt++] = two[twoAt++] = zero
      one[oneAt++] = two[twoAt++] = zero
      one[oneAt++] = two[twoAt++] = digits[byte >> 4] as number
      one[oneAt++] = two[twoAt++] = digits[byte & 15] as number
    }
  }
  return { once: one.subarray(0, oneAt), twice: two.subarray(0, twoAt) }
}

/** Whether none of four bytes needs an escape: no quote, no backslash, none below the blank. (Four at once: a byte less something borrows from its highest bit.) */
function isPlain(word: number): boolean {
  const quotes = word ^ 0x22222222
  const slashes = word ^ 0x5c5c5c5c
  const found = ((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes) | ((word - 0x20202020) & ~word)
  return (found & 0x80808080) === 0
}
