import { isUtf8 } from 'node:buffer'
import { readdirSync, type Dirent } from 'node:fs'

/** A path as the system takes it: text, or bytes where a name on the way is no text. */
export type Place = string | Buffer

export interface Entry {
  /** As text, with marks for what is none. */
  name: string
  /** The name itself, where it is no text. */
  bytes?: Buffer
  form: 'file' | 'folder' | 'link' | 'other'
}

const mark = '\ufffd'

/** What is in a folder. Names are read as text, and once more as bytes only where one of them is none: most never are. */
export function entriesIn(at: Place): Entry[] {
  const entries = readdirSync(at, { withFileTypes: true })
  if (!entries.some(({ name }) => name.includes(mark))) return entries.map((one) => ({ name: one.name, form: formOf(one) }))
  return (readdirSync(at, { withFileTypes: true, encoding: 'buffer' as never }) as unknown as (Dirent & { name: Buffer })[]).map(
    (one) => ({
      name: one.name.toString('utf8'),
      form: formOf(one),
      ...(!isUtf8(one.name) && { bytes: one.name }),
    }),
  )
}

function formOf(entry: Pick<Dirent, 'isFile' | 'isDirectory' | 'isSymbolicLink'>): Entry['form'] {
  return entry.isFile() ? 'file' : entry.isDirectory() ? 'folder' : entry.isSymbolicLink() ? 'link' : 'other'
}

/** A name for people: bytes that are no text are written as numbers. */
export function readable({ name, bytes }: Entry): string {
  if (!bytes) return name
  return Array.from(bytes, (byte) =>
    byte > 0x1f && byte < 0x7f ? String.fromCharCode(byte) : `\\x${byte.toString(16).padStart(2, '0')}`,
  ).join('')
}

/** One name further down. */
export function below(folder: Place, { name, bytes }: Pick<Entry, 'name' | 'bytes'>): Place {
  if (typeof folder === 'string' && !bytes) return folder === '' ? name : `${folder}/${name}`
  const parts = [Buffer.from(folder as string), Buffer.from('/'), bytes ?? Buffer.from(name)]
  return Buffer.concat(folder.length === 0 ? parts.slice(2) : parts)
}
