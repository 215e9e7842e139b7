import type { CapturedOutput } from '../contracts/stage.ts'

/** Keeps both ends of an output of any length in a bounded space, and counts all of it. */
export interface OutputCapture {
  add(chunk: Buffer): void
  /** What is kept so far; more may come. */
  end(): CapturedOutput
}

/** `secrets` are left out, also where the cut went through one. With a `headMost` of 0 only the newest is kept. */
export function captureBothEnds(most: number, secrets: readonly string[] = [], headMost = Math.ceil(most / 2)): OutputCapture {
  const text = (bytes: Buffer): string =>
    secrets.reduce((left, secret) => left.replaceAll(secret, '[secret]'), bytes.toString('utf8'))
  const halfSecret = Math.max(0, ...secrets.map((secret) => secret.length - 1))
  const tailMost = most - headMost
  const head: Buffer[] = []
  let headBytes = 0
  let tail: Buffer[] = []
  let tailBytes = 0
  let bytes = 0
  return {
    add(chunk) {
      bytes += chunk.length
      const first = chunk.subarray(0, headMost - headBytes)
      if (first.length) {
        head.push(first)
        headBytes += first.length
      }
      const rest = chunk.subarray(first.length)
      if (rest.length === 0) return
      tail.push(rest)
      tailBytes += rest.length
      // Cut back now and then, so that a flood costs two tails of memory and not a copy a chunk.
      if (tailBytes > 2 * tailMost + 65_536) {
        tail = [lastOf(tail, tailMost)]
        tailBytes = tail[0]?.length ?? 0
      }
    },
    end() {
      const start = Buffer.concat(head)
      const finish = lastOf(tail, tailMost)
      if (start.length + finish.length === bytes) return { text: text(Buffer.concat([start, finish])), bytes, cut: false }
      const [from, to] = [wholeStart(start), wholeEnd(finish)]
      const [before, after] = [text(from), text(to)]
      const [first, last] = [before.slice(0, Math.max(0, before.length - halfSecret)), after.slice(halfSecret)]
      const trimmed = Buffer.byteLength(before.slice(first.length)) + Buffer.byteLength(after.slice(0, halfSecret))
      const missing = bytes - from.length - to.length + trimmed
      return { text: `${first && `${first}\n`}… ${missing} bytes left out …\n${last}`, bytes, cut: true }
    },
  }
}

function lastOf(chunks: Buffer[], most: number): Buffer {
  const all = chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks)
  // A copy, so that the large chunk it is cut from can go.
  return all.length > most ? Buffer.from(all.subarray(all.length - most)) : all
}

const continues = (byte: number | undefined): boolean => byte !== undefined && (byte & 0xc0) === 0x80

/** Cut back to the end of a whole character. */
function wholeStart(bytes: Buffer): Buffer {
  let at = bytes.length
  let back = 0
  while (back < 4 && at > 0 && continues(bytes[at - 1])) {
    at--
    back++
  }
  const lead = bytes[at - 1] ?? 0
  const needs = lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : 0
  return needs > back ? bytes.subarray(0, at - 1) : bytes
}

/** Begun at the start of a whole character. */
function wholeEnd(bytes: Buffer): Buffer {
  let from = 0
  while (from < 4 && continues(bytes[from])) from++
  return bytes.subarray(from)
}
