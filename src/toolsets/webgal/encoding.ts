import { isAscii, isUtf8, transcode } from 'node:buffer'
import { Fault } from '../../contracts/faults/fault.ts'

/** The text of a script, mark and line ends included. Other encodings are refused by name, so that a person knows what to convert from. */
export function scriptText(bytes: Buffer, path: string): string {
  if (isUtf8(bytes) && !bytes.includes(0)) return utf8Text(bytes)
  const looks = looksLike(bytes)
  if (isUtf8(bytes) && looks === undefined)
    throw new Fault('parse', `Not a script: ${path} holds bytes that no text has`, {
      details: { path },
      hint: 'Scripts are text files, e.g. game/scene/start.txt.',
    })
  throw new Fault('encoding', `Not UTF-8 text: ${path}${looks ? `; it looks like ${looks}` : ''}`, {
    details: { path, ...(looks && { looksLike: looks }) },
    hint: looks
      ? `Convert it from ${looks} to UTF-8 first: \`handrail webgal convert\` does, and it can be undone.`
      : 'It does not look like text at all.',
  })
}

/** The same as `toString('utf8')`, mark included; Node 20 takes a quarter of the time for it this way where a text has Chinese in it. */
const utf8Text = (bytes: Buffer): string =>
  isAscii(bytes) ? bytes.toString('latin1') : transcode(bytes, 'utf8', 'utf16le').toString('utf16le')

/** The encodings that are told apart, and what they are called where texts are decoded. */
const decoders: Readonly<Record<string, string>> = {
  'UTF-16LE': 'utf-16le',
  'UTF-16BE': 'utf-16be',
  Shift_JIS: 'shift_jis',
  'GBK (GB18030)': 'gb18030',
  'EUC-KR': 'euc-kr',
  Big5: 'big5',
}

/** The text of a script in whatever encoding it seems to have, which is named where it is not UTF-8; nothing where it is no text. */
export function decodeScript(bytes: Buffer): { text: string; encoding?: string } | undefined {
  if (isUtf8(bytes) && !bytes.includes(0)) return { text: utf8Text(bytes) }
  const encoding = looksLike(bytes)
  const decoder = encoding === undefined ? undefined : decoders[encoding]
  if (encoding === undefined || decoder === undefined) return undefined
  return { text: new TextDecoder(decoder).decode(bytes), encoding }
}

function looksLike(bytes: Uint8Array): string | undefined {
  if (bytes[0] === 0xff && bytes[1] === 0xfe) return 'UTF-16LE'
  if (bytes[0] === 0xfe && bytes[1] === 0xff) return 'UTF-16BE'
  const start = bytes.subarray(0, 65_536)
  const zeros = [0, 0]
  for (let index = 0; index < start.length; index++) if (start[index] === 0) zeros[index % 2] = (zeros[index % 2] ?? 0) + 1
  const [even = 0, odd = 0] = zeros
  if (odd > start.length / 8 && odd > 4 * even) return 'UTF-16LE'
  if (even > start.length / 8 && even > 4 * odd) return 'UTF-16BE'
  if (even + odd > 0) return undefined
  const kana = decodes('shift_jis', start)?.match(/[\u3040-\u30ff]/g)?.length ?? 0
  const hangul = decodes('euc-kr', start)?.match(/[\uac00-\ud7a3]/g)?.length ?? 0
  const gb = decodes('gb18030', start)
  const common = gb?.match(/[的一是不了在人有我他这个们中来上大为和国地到以说时要就出会可也你]/g)?.length ?? 0
  if (kana > 8 && kana > 4 * common) return 'Shift_JIS'
  if (gb !== undefined && (common > 0 || hangul === 0)) return 'GBK (GB18030)'
  if (hangul > 0) return 'EUC-KR'
  if (decodes('big5', start) !== undefined) return 'Big5'
  return undefined
}

/** The text, or nothing where a byte does not fit. A character cut at the end of the part that is looked at does not count. */
function decodes(encoding: string, bytes: Uint8Array): string | undefined {
  for (const end of [bytes.length, bytes.length - 1])
    try {
      return new TextDecoder(encoding, { fatal: true }).decode(bytes.subarray(0, Math.max(0, end)))
    } catch {
      // Not this one.
    }
  return undefined
}
