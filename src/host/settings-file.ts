import { closeSync, constants, fstatSync, openSync, readSync, lstatSync } from 'node:fs'
import { Fault } from '../contracts/faults/fault.ts'
import { sha256 } from './files.ts'

const largest = 1 << 20

export interface SettingsFile {
  name: string
  text: string
  /** SHA-256 of the very bytes the text was made from. */
  digest: string
}

/** A settings file, read once, or nothing where there is none. A link in its place is refused. */
export function readSettingsFile(path: string, name: string): SettingsFile | undefined {
  let fd: number
  try {
    fd = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK)
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined
    throw new Fault('io', `${name} cannot be read (${code})`, {
      hint: code === 'ELOOP' ? 'It must be a file, not a link.' : 'Check its permissions.',
      cause,
    })
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile() || stat.size > largest) throw noSettings(name)
    const bytes = readWhole(fd, name)
    return { name, text: decode(bytes, name), digest: sha256(bytes) }
  } finally {
    closeSync(fd)
  }
}

/** A file that grows while it is read is not read further than a settings file goes. */
function readWhole(fd: number, name: string): Buffer {
  const bytes = Buffer.alloc(largest + 1)
  let length = 0
  for (let read = -1; read !== 0 && length < bytes.length; length += read)
    read = readSync(fd, bytes, length, bytes.length - length, null)
  if (length > largest) throw noSettings(name)
  return bytes.subarray(0, length)
}

function decode(bytes: Uint8Array, name: string): string {
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(bytes)
  } catch (cause) {
    throw new Fault('bad-input', `${name} is not valid JSON: it is not UTF-8 text`, { hint: 'Save it as UTF-8.', cause })
  }
}

function noSettings(name: string): Fault {
  return new Fault('bad-input', `${name} is not a settings file`, { hint: 'It must be a regular file of at most 1 MB.' })
}

/** Differs where any of the files was written, replaced, made or removed. */
export function stampOf(paths: readonly string[]): string {
  return paths
    .map((path) => {
      try {
        const { ino, size, mtimeNs, ctimeNs } = lstatSync(path, { bigint: true })
        return `${ino}:${size}:${mtimeNs}:${ctimeNs}`
      } catch {
        return ''
      }
    })
    .join('|')
}
