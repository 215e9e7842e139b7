import { closeSync, constants, openSync, readlinkSync, readSync } from 'node:fs'
import { join } from 'node:path'
import type { TextPart } from '../../contracts/approval.ts'
import { quotedName } from '../../text/printable.ts'
import type { Effect } from '../../contracts/stage.ts'
import { contentAt } from '../path-state.ts'
import type { Root } from '../walk.ts'
import type { Difference } from './effects.ts'
import { decodeLossless } from './readable-text.ts'
import { pictureKind } from '../readings/picture-kind.ts'
import { sha256 } from '../files.ts'
import { describeEffect } from './card-changes.ts'
import { contentsOf } from './staged.ts'

const partBytes = 65_536

/** A part of a staged file as text, read from where it lies; a path that goes away is read in the project. */
export function stagedPart(project: Root, folder: string, { path, before, after }: Difference, from: number): TextPart {
  if (after?.form === 'file') {
    const fd = openSync(join(folder, 'upper', path), constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
    try {
      const bytes = Buffer.alloc(partBytes)
      return cutAt(bytes.subarray(0, readSync(fd, bytes, 0, partBytes, from)), from, after.bytes)
    } finally {
      closeSync(fd)
    }
  }
  if (after?.form === 'link') return { text: decodeLossless(readlinkSync(join(folder, 'upper', path), 'buffer')) }
  if (after || !before) return { text: '' }
  const whole = contentAt(project, path.split('/'))
  return cutAt(whole.subarray(from, from + partBytes), from, whole.length)
}

const largestPicture = 8_388_608

/** A side of a picture that would be changed: exactly the bytes that were found when the program ended, or nothing. */
export function stagedPicture(
  project: Root,
  folder: string,
  { path, before, after }: Difference,
  side: 'before' | 'after',
): { type: string; bytes: Uint8Array } | undefined {
  const found = side === 'before' ? before : after
  if (found?.form !== 'file' || found.bytes > largestPicture) return undefined
  const contents = contentsOf(project, join(folder, 'upper'))
  const bytes = contents[side](path)
  const kind = sha256(bytes) === found.sha256 ? pictureKind(bytes) : undefined
  return kind && { type: kind.type, bytes }
}

const partLines = 500

/** Every change of a stage by name, kind, size and hash, a line each. */
export function changeList(effects: readonly Effect[], from: number): TextPart {
  const lines = effects.slice(from, from + partLines).map((effect) => {
    const [, size] = effect.sizes
    const sizeAndHash = effect.form === 'file' && size !== null ? `; ${size} bytes, sha256 ${effect.hashes[1] ?? 'none'}` : ''
    return `${quotedName(effect.path)}: ${describeEffect(effect)}${sizeAndHash}\n`
  })
  return { text: lines.join(''), ...(from + partLines < effects.length && { next: from + partLines }) }
}

/** A character that the cut would go through is left to the next part. */
function cutAt(bytes: Buffer, from: number, size: number): TextPart {
  let end = bytes.length
  if (from + end < size)
    for (let back = 1; back <= 3 && back < end; back++) {
      const byte = bytes[end - back] as number
      if (byte < 0x80) break
      if (byte < 0xc0) continue
      if (byte >= (back === 1 ? 0xc0 : back === 2 ? 0xe0 : 0xf0)) end -= back
      break
    }
  const text = decodeLossless(bytes.subarray(0, end))
  return { text, ...(end > 0 && from + end < size && { next: from + end }) }
}
