import { isAscii, isUtf8 } from 'node:buffer'
import { Fault } from '../contracts/faults/fault.ts'

/** Strict UTF-8. A byte order mark stays in the text, so that writing it back gives the same bytes. */
export function decodeText(bytes: Buffer, path: string): string {
  // Most files are plain ASCII, which is the quicker to read as what it is.
  if (isUtf8(bytes) && !bytes.includes(0)) return bytes.toString(isAscii(bytes) ? 'latin1' : 'utf8')
  const looksLike = guessEncoding(bytes)
  throw new Fault('encoding', `Not UTF-8 text: ${path}`, {
    details: { path, looksLike },
    hint: `It looks like ${looksLike}. Convert text to UTF-8 first; binary files cannot be read as text.`,
  })
}

function guessEncoding(bytes: Buffer): string {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'UTF-16 LE'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'UTF-16 BE'
  if (bytes.includes(0)) return 'a binary file'
  // The beginning tells; a character that is cut at its end does not count.
  const start = bytes.subarray(0, 65_536)
  for (const label of ['gb18030', 'shift_jis', 'euc-kr']) {
    try {
      new TextDecoder(label, { fatal: true }).decode(start, { stream: start.length < bytes.length })
      return label === 'gb18030' ? 'GBK/GB18030' : label === 'shift_jis' ? 'Shift_JIS' : 'EUC-KR'
    } catch {
      continue
    }
  }
  return 'a binary file or a legacy encoding'
}

/** Text to bytes, refusing what UTF-8 cannot hold. */
export function encodeText(text: string, path: string): Buffer {
  if (!text.isWellFormed())
    throw new Fault('encoding', `The content for ${path} holds half of a surrogate pair`, {
      details: { path },
      hint: 'Send well-formed Unicode text.',
    })
  return Buffer.from(text, 'utf8')
}
