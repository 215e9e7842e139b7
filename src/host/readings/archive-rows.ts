import { gunzipSync } from 'node:zlib'

/** Beyond these a list is cut, and says so: an archive can name millions of files in a few bytes. */
const mostEntries = 5_000
const mostUnpacked = 4_194_304
const longestName = 300

/** Which files an archive holds, with their sizes; nothing where it is none that is known. Nothing is unpacked, but a compressed tar up to a bound. */
export function archiveEntries(bytes: Buffer): Map<string, string> | undefined {
  if (bytes.length === 0) return new Map()
  if (bytes.length > 4 && bytes.readUInt32LE(0) === 0x04034b50) return ofZip(bytes)
  if (bytes[0] === 0x1f && bytes[1] === 0x8b) {
    try {
      return ofTar(gunzipSync(bytes, { maxOutputLength: mostUnpacked }))
    } catch {
      return undefined
    }
  }
  return ofTar(bytes)
}

/** A change of an archive as what comes and what goes in it. */
export function archiveRows(before: Buffer, after: Buffer): string[] | undefined {
  const [was, is] = [archiveEntries(before), archiveEntries(after)]
  if (!was || !is || was.size + is.size === 0) return undefined
  return [...new Set([...was.keys(), ...is.keys()])].sort().flatMap((name) => {
    const [old, now] = [was.get(name), is.get(name)]
    if (old === now) return []
    return [...(old === undefined ? [] : [`- ${name} ${old}`]), ...(now === undefined ? [] : [`+ ${name} ${now}`])]
  })
}

function ofZip(bytes: Buffer): Map<string, string> | undefined {
  const end = bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]))
  if (end < 0 || end + 22 > bytes.length) return undefined
  const found = new Map<string, string>()
  let at = bytes.readUInt32LE(end + 16)
  for (let left = bytes.readUInt16LE(end + 10); left > 0 && found.size < mostEntries; left--) {
    if (at + 46 > bytes.length || bytes.readUInt32LE(at) !== 0x02014b50) return undefined
    const name = bytes.readUInt16LE(at + 28)
    // The checksum too: a file of the same size may hold something else.
    const says = `${bytes.readUInt32LE(at + 24)} bytes, crc ${bytes
      .readUInt32LE(at + 16)
      .toString(16)
      .padStart(8, '0')}`
    found.set(bytes.toString('utf8', at + 46, at + 46 + Math.min(name, longestName)), says)
    at += 46 + name + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
  }
  return found
}

function ofTar(bytes: Buffer): Map<string, string> | undefined {
  if (bytes.length < 512 || bytes.toString('latin1', 257, 262) !== 'ustar') return undefined
  const found = new Map<string, string>()
  for (let at = 0; at + 512 <= bytes.length && bytes[at] !== 0 && found.size < mostEntries;) {
    const text = (from: number, length: number): string =>
      bytes.toString('utf8', at + from, at + from + length).replace(/\0[^]*$/, '')
    const size = Number.parseInt(text(124, 12), 8)
    if (!Number.isSafeInteger(size) || size < 0) return undefined
    const prefix = text(345, 155)
    const name = `${prefix === '' ? '' : `${prefix}/`}${text(0, 100)}`.slice(0, longestName)
    const link = ['1', '2'].includes(text(156, 1)) ? `link → ${text(157, 100)}` : `${size} bytes`
    found.set(name, `${link}, mode ${text(100, 8).trim()}`)
    at += 512 + Math.ceil(size / 512) * 512
  }
  return found
}
