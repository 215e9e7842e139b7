/** A picture that a browser may show: of a kind that runs nothing, and not so large that decoding it is an attack. */
export interface PictureKind {
  type: 'image/png' | 'image/gif' | 'image/jpeg' | 'image/webp'
  width: number
  height: number
}

const mostPixels = 40_000_000

/** What kind of picture it is, by its own first bytes and never by its name; nothing where it is none that is known, or too large. */
export function pictureKind(bytes: Buffer): PictureKind | undefined {
  const kind = bytes.length < 30 ? undefined : (ofPng(bytes) ?? ofGif(bytes) ?? ofWebp(bytes) ?? ofJpeg(bytes))
  return kind && kind.width > 0 && kind.height > 0 && kind.width * kind.height <= mostPixels ? kind : undefined
}

function ofPng(bytes: Buffer): PictureKind | undefined {
  if (bytes.toString('latin1', 0, 8) !== '\x89PNG\r\n\x1a\n' || bytes.toString('latin1', 12, 16) !== 'IHDR') return undefined
  return { type: 'image/png', width: bytes.readUInt32BE(16), height: bytes.readUInt32BE(20) }
}

function ofGif(bytes: Buffer): PictureKind | undefined {
  if (!/^GIF8[79]a$/.test(bytes.toString('latin1', 0, 6))) return undefined
  return { type: 'image/gif', width: bytes.readUInt16LE(6), height: bytes.readUInt16LE(8) }
}

function ofWebp(bytes: Buffer): PictureKind | undefined {
  if (bytes.toString('latin1', 0, 4) !== 'RIFF' || bytes.toString('latin1', 8, 12) !== 'WEBP') return undefined
  const form = bytes.toString('latin1', 12, 16)
  if (form === 'VP8X') return { type: 'image/webp', width: bytes.readUIntLE(24, 3) + 1, height: bytes.readUIntLE(27, 3) + 1 }
  if (form === 'VP8 ')
    return { type: 'image/webp', width: bytes.readUInt16LE(26) & 0x3fff, height: bytes.readUInt16LE(28) & 0x3fff }
  const bits = bytes.readUInt32LE(21)
  return form === 'VP8L' ? { type: 'image/webp', width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 } : undefined
}

function ofJpeg(bytes: Buffer): PictureKind | undefined {
  if (bytes.readUInt16BE(0) !== 0xffd8) return undefined
  for (let at = 2; at + 9 < bytes.length;) {
    const marker = bytes.readUInt16BE(at)
    // The frames that say how large a picture is; those between are tables.
    if (marker >= 0xffc0 && marker <= 0xffcf && ![0xffc4, 0xffc8, 0xffcc].includes(marker))
      return { type: 'image/jpeg', width: bytes.readUInt16BE(at + 7), height: bytes.readUInt16BE(at + 5) }
    if (marker < 0xff00) return undefined
    at += 2 + bytes.readUInt16BE(at + 2)
  }
  return undefined
}
