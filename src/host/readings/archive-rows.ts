import { gunzipSync } from 'node:zlib'
import { sha256 } from '../files.ts'

/** Beyond these nothing is told of an archive: it can name millions of files in a few bytes, and a list that is cut hides what it leaves out. */
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

/** Where programs that unpack could see something else than is told here, nothing is told. */
function ofZip(bytes: Buffer): Map<string, string> | undefined {
  const end = bytes.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]))
  // A second end in the words behind the first: some programs go by the one, some by the other.
  if (end < 0 || end + 22 > bytes.length || end + 22 + bytes.readUInt16LE(end + 20) !== bytes.length) return undefined
  const found = openEntries()
  let at = bytes.readUInt32LE(end + 16)
  for (let left = bytes.readUInt16LE(end + 10); left > 0; left--) {
    if (at + 46 > end || bytes.readUInt32LE(at) !== 0x02014b50) return undefined
    const name = bytes.readUInt16LE(at + 28)
    // The checksum too: a file of the same size may hold something else.
    const says = `${bytes.readUInt32LE(at + 24)} bytes, crc ${bytes
      .readUInt32LE(at + 16)
      .toString(16)
      .padStart(8, '0')}`
    if (!found.add(bytes.toString('utf8', at + 46, at + 46 + name), says)) return undefined
    at += 46 + name + bytes.readUInt16LE(at + 30) + bytes.readUInt16LE(at + 32)
  }
  // What stands between the last that was counted and the end is read by those who do not count.
  return at === end ? found.entries : undefined
}

function ofTar(bytes: Buffer): Map<string, string> | undefined {
  if (bytes.length < 512 || bytes.toString('latin1', 257, 262) !== 'ustar') return undefined
  const found = openEntries()
  let named: { path?: string; linkpath?: string } = {}
  let at = 0
  for (; at + 512 <= bytes.length && bytes[at] !== 0;) {
    const text = (from: number, length: number): string =>
      bytes.toString('utf8', at + from, at + from + length).replace(/\0[^]*$/, '')
    const size = Number.parseInt(text(124, 12), 8)
    const content = bytes.subarray(at + 512, at + 512 + size)
    if (!Number.isSafeInteger(size) || size < 0 || content.length < size) return undefined
    const kind = text(156, 1)
    // Names that do not fit stand in an entry of their own, before the one that is called so.
    if (kind === 'L') named.path = withoutEnd(content)
    else if (kind === 'K') named.linkpath = withoutEnd(content)
    else if (kind === 'x' || kind === 'g') {
      const said = paxRecords(content)
      if (!said || 'size' in said || (kind === 'g' && ('path' in said || 'linkpath' in said))) return undefined
      if (kind === 'x') Object.assign(named, said)
    } else {
      const prefix = text(345, 155)
      const name = named.path ?? `${prefix === '' ? '' : `${prefix}/`}${text(0, 100)}`
      const to = named.linkpath ?? text(157, 100)
      const holds = kind === '1' || kind === '2' ? `link → ${to}` : `${size} bytes, sha256 ${sha256(content).slice(0, 8)}`
      if (!found.add(name, `${holds}, mode ${text(100, 8).trim()}`)) return undefined
      named = {}
    }
    at += 512 + Math.ceil(size / 512) * 512
  }
  // Some programs stop at an end that has something behind it, others go on.
  return bytes.subarray(at).every((byte) => byte === 0) ? found.entries : undefined
}

const withoutEnd = (content: Buffer): string => content.toString('utf8').replace(/\0[^]*$/, '')

/** `LENGTH KEY=VALUE\n`, one after the other. */
function paxRecords(content: Buffer): Record<string, string> | undefined {
  const found: Record<string, string> = {}
  for (let at = 0; at < content.length;) {
    const [whole, length = ''] = /^(\d{1,9}) /.exec(content.toString('latin1', at, at + 10)) ?? []
    const end = at + Number(length)
    if (whole === undefined || end <= at + whole.length || end > content.length) return undefined
    const [key = '', ...value] = content.toString('utf8', at + whole.length, end - 1).split('=')
    if (key === 'path' || key === 'linkpath' || key === 'size') found[key] = value.join('=')
    at = end
  }
  return found
}

/** By name. What is there twice is told twice: which of them counts is up to whoever unpacks it. */
function openEntries(): { entries: Map<string, string>; add(name: string, says: string): boolean } {
  const entries = new Map<string, string>()
  const times = new Map<string, number>()
  return {
    entries,
    add(name, says) {
      const time = (times.get(name) ?? 0) + 1
      times.set(name, time)
      const shown = name.length > longestName ? `${name.slice(0, longestName)}… (${sha256(Buffer.from(name)).slice(0, 8)})` : name
      entries.set(time === 1 ? shown : `${shown} (${time})`, says)
      return entries.size <= mostEntries
    },
  }
}
