import { deflateSync, inflateSync } from 'node:zlib'

// Pictures of pages and terminals have few colours: with a palette of 256 they take a third of the room a browser's screenshot takes.

/** A screenshot as a PNG with a palette; colours that do not fit become the nearest that does. */
export function smallPng(png) {
  const { width, height, pixels } = decode(png)
  const counts = new Map()
  // The last two bits of a colour are of the smoothing of letters, and nobody sees them.
  const colourAt = (at) => ((pixels[at] & 0xfc) << 16) | ((pixels[at + 1] & 0xfc) << 8) | (pixels[at + 2] & 0xfc)
  for (let at = 0; at < pixels.length; at += 3) counts.set(colourAt(at), (counts.get(colourAt(at)) ?? 0) + 1)
  const palette = [...counts]
    .sort((a, b) => b[1] - a[1])
    .slice(0, 256)
    .map(([colour]) => colour)
  const indexOf = new Map(palette.map((colour, index) => [colour, index]))
  const rows = Buffer.alloc((width + 1) * height)
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++) {
      const colour = colourAt((y * width + x) * 3)
      if (!indexOf.has(colour)) indexOf.set(colour, nearest(palette, colour))
      rows[y * (width + 1) + 1 + x] = indexOf.get(colour)
    }
  const head = Buffer.alloc(13)
  head.writeUInt32BE(width, 0)
  head.writeUInt32BE(height, 4)
  head.set([8, 3, 0, 0, 0], 8)
  const colours = Buffer.from(
    palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255].map((part) => part | (part >> 6))),
  )
  return Buffer.concat([
    png.subarray(0, 8),
    chunk('IHDR', head),
    chunk('PLTE', colours),
    chunk('IDAT', deflateSync(rows, { level: 9, memLevel: 9 })),
    chunk('IEND', Buffer.alloc(0)),
  ])
}

function nearest(palette, colour) {
  let [best, least] = [0, Number.POSITIVE_INFINITY]
  for (const [index, one] of palette.entries()) {
    const parts = [16, 8, 0].map((shift) => ((one >> shift) & 255) - ((colour >> shift) & 255))
    const far = parts.reduce((sum, part) => sum + part * part, 0)
    if (far < least) [best, least] = [index, far]
  }
  return best
}

/** Of what Chromium makes: eight bits a channel, with or without transparency, not interlaced. */
function decode(png) {
  const [width, height, depth, kind] = [png.readUInt32BE(16), png.readUInt32BE(20), png[24], png[25]]
  const channels = { 2: 3, 6: 4 }[kind]
  if (depth !== 8 || channels === undefined || png[28] !== 0) throw new Error('not a screenshot as Chromium makes them')
  const data = []
  for (let at = 8; at < png.length; at += 12 + png.readUInt32BE(at))
    if (png.toString('latin1', at + 4, at + 8) === 'IDAT') data.push(png.subarray(at + 8, at + 8 + png.readUInt32BE(at)))
  const raw = inflateSync(Buffer.concat(data))
  const length = width * channels
  const pixels = Buffer.alloc(width * height * 3)
  let above = Buffer.alloc(length)
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (length + 1)]
    const row = Buffer.from(raw.subarray(y * (length + 1) + 1, (y + 1) * (length + 1)))
    for (let x = 0; x < length; x++) row[x] += guess(filter, row[x - channels] ?? 0, above[x], above[x - channels] ?? 0)
    for (let x = 0; x < width; x++)
      for (let part = 0; part < 3; part++) pixels[(y * width + x) * 3 + part] = row[x * channels + part]
    above = row
  }
  return { width, height, pixels }
}

function guess(filter, left, up, corner) {
  if (filter === 1) return left
  if (filter === 2) return up
  if (filter === 3) return (left + up) >> 1
  if (filter !== 4) return 0
  const [a, b, c] = [Math.abs(up - corner), Math.abs(left - corner), Math.abs(left + up - 2 * corner)]
  return a <= b && a <= c ? left : b <= c ? up : corner
}

function chunk(name, data) {
  const whole = Buffer.alloc(12 + data.length)
  whole.writeUInt32BE(data.length, 0)
  whole.write(name, 4, 'latin1')
  data.copy(whole, 8)
  whole.writeUInt32BE(crc(whole.subarray(4, 8 + data.length)), 8 + data.length)
  return whole
}

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1
  return value
})

const crc = (bytes) => (bytes.reduce((sum, byte) => table[(sum ^ byte) & 255] ^ (sum >>> 8), 0xffffffff) ^ 0xffffffff) >>> 0
