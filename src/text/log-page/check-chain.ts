/** What a page found out about the log it carries. */
export type ChainVerdict =
  | { whole: true; from: number; entries: number; head: string }
  | { whole: false; entry: number; why: string }

export interface ChainClaim {
  /** How many entries there are, and the hash of the last: what the page says of itself. */
  entries: number
  head: string
}

/**
 * Checks a log line by line, as `handrail audit verify` does: each entry carries the hash of the one before, and its own over its exact words.
 * It uses nothing from outside itself, because it is put into the exported page as it stands, where there may be no `crypto`.
 */
export function checkChain(lines: readonly string[], claim: ChainClaim): ChainVerdict {
  const roots = (power: number): number[] => {
    const found: number[] = []
    for (let candidate = 2; found.length < 64; candidate++) {
      let isPrime = true
      for (let by = 2; by * by <= candidate; by++) if (candidate % by === 0) isPrime = false
      if (isPrime) found.push(((candidate ** power % 1) * 2 ** 32) | 0)
    }
    return found
  }
  const [initial, constants] = [roots(1 / 2).slice(0, 8), roots(1 / 3)]
  const turned = (word: number, by: number): number => (word >>> by) | (word << (32 - by))
  const sha256 = (text: string): string => {
    const bytes = new TextEncoder().encode(text)
    const size = ((bytes.length + 72) >> 6) << 6
    const padded = new Uint8Array(size)
    padded.set(bytes)
    padded[bytes.length] = 0x80
    const view = new DataView(padded.buffer)
    view.setUint32(size - 8, Math.floor(bytes.length / 2 ** 29))
    view.setUint32(size - 4, bytes.length * 8)
    const state = [...initial]
    const words = new Int32Array(64)
    for (let block = 0; block < size; block += 64) {
      for (let at = 0; at < 64; at++) {
        if (at < 16) words[at] = view.getInt32(block + at * 4)
        else {
          const [early, late] = [words[at - 15] as number, words[at - 2] as number]
          const mixed =
            (turned(early, 7) ^ turned(early, 18) ^ (early >>> 3)) + (turned(late, 17) ^ turned(late, 19) ^ (late >>> 10))
          words[at] = (words[at - 16] as number) + (words[at - 7] as number) + mixed
        }
      }
      let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
      for (let at = 0; at < 64; at++) {
        const choice = (turned(e, 6) ^ turned(e, 11) ^ turned(e, 25)) + ((e & f) ^ (~e & g))
        const first = (h + choice + (constants[at] as number) + (words[at] as number)) | 0
        const second = ((turned(a, 2) ^ turned(a, 13) ^ turned(a, 22)) + ((a & b) ^ (a & c) ^ (b & c))) | 0
        ;[h, g, f, e, d, c, b, a] = [g, f, e, (d + first) | 0, c, b, a, (first + second) | 0]
      }
      for (const [at, word] of [a, b, c, d, e, f, g, h].entries()) state[at] = ((state[at] as number) + word) | 0
    }
    return state.map((word) => (word >>> 0).toString(16).padStart(8, '0')).join('')
  }

  // A parser forgives much (blanks, a name twice, other spellings of the same); the page was written in one way.
  const inPage = (json: string): string =>
    json.replaceAll('<', '\\u003c').replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')
  const genesis = '0'.repeat(64)
  let prev: string | undefined
  let seq: number | undefined
  let from = 1
  for (const [at, text] of lines.entries()) {
    const entry = (seq ?? at) + 1
    let line: { seq?: unknown; prev?: unknown; hash?: unknown }
    let exact: string
    try {
      line = (JSON.parse(text) ?? {}) as typeof line
      exact = JSON.stringify(line)
    } catch {
      return { whole: false, entry, why: 'is not an entry' }
    }
    if (typeof line.seq !== 'number' || typeof line.hash !== 'string' || typeof line.prev !== 'string')
      return { whole: false, entry, why: 'is not an entry' }
    if (seq !== undefined && line.seq !== seq + 1)
      return { whole: false, entry, why: 'has another number: entries are missing or added' }
    if (seq === undefined) from = line.seq
    if (line.prev !== (prev ?? (line.seq === 1 ? genesis : line.prev)))
      return { whole: false, entry: line.seq, why: 'does not follow the entry before it' }
    const end = `,"hash":"${line.hash}"}`
    if (text !== inPage(exact) || !exact.endsWith(end) || sha256(`${exact.slice(0, -end.length)}}`) !== line.hash)
      return { whole: false, entry: line.seq, why: 'was changed' }
    prev = line.hash
    seq = line.seq
  }
  if (lines.length !== claim.entries) return { whole: false, entry: (seq ?? 0) + 1, why: 'is missing or was added at the end' }
  if (prev !== undefined && prev !== claim.head)
    return { whole: false, entry: seq ?? 0, why: 'is not the one that the log ended with' }
  return { whole: true, from, entries: lines.length, head: prev ?? claim.head }
}
