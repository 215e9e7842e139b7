import { closeSync, constants, fstatSync, opendirSync, openSync, readlinkSync, readSync, type Stats } from 'node:fs'
import { createHash } from 'node:crypto'
import { Fault, asFault } from '../contracts/faults/fault.ts'
import { longestFrontMatter } from '../text/front-matter.ts'
import { readSkill, type ReadSkill } from '../text/read-skill.ts'
import { openPace, type Pace } from '../text/steps.ts'
import { closeRoot, enterFolder, openFolder, openRoot, type Folder, type Root } from './walk.ts'

/** A folder in which skills lie, each in a folder of its own. */
export interface SkillBase {
  /** How it is written for people: from the project on, or with `~`. */
  label: string
  /** In an open folder, by names; or a folder on the machine. */
  at: { root: Root; names: readonly string[] } | { path: string }
}

/** A folder that holds a SKILL.md. */
export interface FoundSkill {
  id: string
  /** From its base on. */
  names: readonly string[]
  file: string
  read: ReadSkill
  scripts: readonly { name: string; relative_path: string }[]
}

export interface Scan {
  found: FoundSkill[]
  /** What was not looked at, and why. */
  left: string[]
}

/** What was read before, by path; good as long as the file is the same by time and size. */
export type SkillCache = Map<string, { stamp: string; read: ReadSkill }>

/** More than any library has; a folder of a million is not walked to its end. */
const most = { folders: 20_000, entries: 200_000, left: 1_000, depth: 6, scripts: 100, files: 1_000, bytes: 16_777_216 }
/** So much of a file is read before it is chosen: no real front matter is longer. */
const headBytes = 16_384
/** A text that a model is to read is a page or ten, not a book. */
export const longestSkill = 1_048_576
const notLookedInto = new Set(['node_modules', '.git', '.hg', '.svn', '__pycache__', '.venv', 'venv'])
const { O_RDONLY, O_NOFOLLOW, O_NONBLOCK } = constants

/** Every skill below a folder, by its front matter alone, in the order of their paths. No link is followed. */
export async function scanSkills(base: SkillBase, cache: SkillCache, pace: Pace = openPace()): Promise<Scan> {
  const scan: Scan = { found: [], left: [] }
  await within(base, [], async (top, root, names) => {
    const room = { folders: most.folders, entries: most.entries }
    await look(top, [], { base, root, names, room, scan, cache, pace })
    if (room.folders < 0 || room.entries < 0)
      scan.left.push(`${base.label} holds more than is looked through: the rest is left out`)
  })
  return scan
}

interface Looking {
  base: SkillBase
  root: Root
  names: readonly string[]
  room: { folders: number; entries: number }
  scan: Scan
  cache: SkillCache
  pace: Pace
}

async function look(folder: Folder, below: readonly string[], looking: Looking): Promise<void> {
  const { base, root, names, room, scan, cache, pace } = looking
  if (--room.folders < 0) return
  const { folders, files, links } = await listing(folder, room, pace)
  const file = files.find((name) => name === 'SKILL.md') ?? files.find((name) => /^skill\.md$/i.test(name))
  if (file !== undefined && below.length > 0) {
    scan.found.push({
      id: below.at(-1) as string,
      names: below,
      file,
      read: headOf(folder, file, below, `${base.label}/${below.join('/')}/${file}`, cache),
      scripts: folders.includes('scripts') ? await scriptsOf(root, folder, [...names, ...below], room, pace) : [],
    })
    return
  }
  for (const name of links.slice(0, Math.max(0, most.left - scan.left.length)))
    scan.left.push(`${base.label}/${[...below, name].join('/')} is a link, and links are not followed`)
  if (below.length >= most.depth) return
  for (const name of folders.sort()) {
    if (notLookedInto.has(name) || room.folders < 0 || room.entries < 0) continue
    if (pace.due()) await pace.turn()
    let inner: Folder
    try {
      inner = enterFolder(root, folder, [...names, ...below, name])
    } catch (thrown) {
      scan.left.push(`${base.label}/${[...below, name].join('/')}: ${asFault(thrown).message}`)
      continue
    }
    try {
      await look(inner, [...below, name], looking)
    } finally {
      inner.close()
    }
  }
}

async function listing(
  folder: Folder,
  room: { entries: number },
  pace: Pace,
): Promise<{ folders: string[]; files: string[]; links: string[] }> {
  const found = { folders: [] as string[], files: [] as string[], links: [] as string[] }
  let open: ReturnType<typeof opendirSync>
  try {
    // Whole at once would be quicker, and has no end where there are a million.
    open = opendirSync(folder.at('.'), { bufferSize: 256 })
  } catch {
    // Not ours to read.
    return found
  }
  try {
    for (let entry = open.readSync(); entry !== null && --room.entries >= 0; entry = open.readSync()) {
      if (pace.due()) await pace.turn()
      if (entry.isDirectory()) found.folders.push(entry.name)
      else if (entry.isFile()) found.files.push(entry.name)
      else if (entry.isSymbolicLink()) found.links.push(entry.name)
    }
  } finally {
    open.closeSync()
  }
  return found
}

/** What a SKILL.md says of itself, by its beginning. What cannot be read says why. */
function headOf(folder: Folder, file: string, names: readonly string[], path: string, cache: SkillCache): ReadSkill {
  const id = names.at(-1) as string
  try {
    return reading(folder.at(file), (fd, stat) => {
      // Whoever writes a file says when it was changed; when that was said is the system's own word.
      const stamp = `${stat.dev}:${stat.ino}:${stat.size}:${stat.mtimeMs}:${stat.ctimeMs}`
      const known = cache.get(path)
      if (known?.stamp === stamp) return known.read
      let text = textOf(bytesOf(fd, Math.min(stat.size, headBytes)))
      const isOpen = /^\uFEFF?\s*---/.test(text) && !/\n(?:---|\.\.\.)[ \t]*\r?\n/.test(text)
      if (isOpen && stat.size > headBytes) text = textOf(bytesOf(fd, Math.min(stat.size, 2 * longestFrontMatter)))
      const read = readSkill(id, file, text)
      // Of the body nothing is kept before the skill is chosen.
      const head = { ...read, body: '' }
      cache.set(path, { stamp, read: head })
      return head
    })
  } catch (thrown) {
    const why = thrown instanceof Fault ? thrown.message : 'it cannot be read'
    return { body: '', bodyLine: 1, diagnostics: [{ level: 'skipped', says: why }] }
  }
}

function reading<T>(path: string, act: (fd: number, stat: Stats) => T): T {
  let fd: number
  try {
    fd = openSync(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
  } catch (cause) {
    throw new Fault('io', 'it cannot be opened, or is a link', { cause })
  }
  try {
    const stat = fstatSync(fd)
    if (!stat.isFile()) throw new Fault('io', 'it is no plain file')
    return act(fd, stat)
  } finally {
    closeSync(fd)
  }
}

function bytesOf(fd: number, length: number): Buffer {
  const bytes = Buffer.alloc(length)
  let at = 0
  while (at < length) {
    const read = readSync(fd, bytes, at, length - at, at)
    if (read === 0) break
    at += read
  }
  return bytes.subarray(0, at)
}

/** A file of a skill as text. Throws where it is none. */
export function textOf(bytes: Uint8Array): string {
  const isWide = bytes[0] === 0xff && bytes[1] === 0xfe
  const text = new TextDecoder(isWide ? 'utf-16le' : 'utf-8', { ignoreBOM: true }).decode(bytes)
  if (text.includes('\0')) throw new Fault('encoding', 'it is no text')
  return text
}

/** By name and path; nobody reads them. */
async function scriptsOf(
  root: Root,
  skill: Folder,
  names: readonly string[],
  room: { entries: number },
  pace: Pace,
): Promise<FoundSkill['scripts']> {
  const scripts: { name: string; relative_path: string }[] = []
  const walk = async (parent: Folder, at: readonly string[]): Promise<void> => {
    let folder: Folder
    try {
      folder = enterFolder(root, parent, [...names, ...at])
    } catch {
      return
    }
    try {
      const { folders, files } = await listing(folder, room, pace)
      for (const name of files.sort()) {
        if (scripts.length >= most.scripts) return
        if (!name.startsWith('.')) scripts.push({ name, relative_path: [...at, name].join('/') })
      }
      if (at.length < 3) for (const name of folders.sort()) if (!notLookedInto.has(name)) await walk(folder, [...at, name])
    } finally {
      folder.close()
    }
  }
  await walk(skill, ['scripts'])
  return scripts
}

/** One skill with all of its files: what a person trusts, and what is read of a project's is read from these very bytes. */
export interface WholeSkill {
  files: ReadonlyMap<string, Buffer>
  digest: string
}

/** All files of a skill, and a digest over them: a single changed byte makes another one. */
export async function readWholeSkill(base: SkillBase, names: readonly string[]): Promise<WholeSkill> {
  const files = new Map<string, Buffer>()
  const marks: string[] = []
  const pace = openPace()
  await within(base, names, async (top, root, above) => {
    let room = most.bytes
    const entries = { entries: most.files * 2 }
    const walk = async (folder: Folder, at: readonly string[]): Promise<void> => {
      const { folders, files: here, links } = await listing(folder, entries, pace)
      if (entries.entries < 0) throw tooMuch(names)
      for (const name of links.sort()) marks.push(`link ${written(...at, name)} ${written(readlinkSync(folder.at(name)))}`)
      for (const name of here.sort()) {
        if (pace.due()) await pace.turn()
        const bytes = reading(folder.at(name), (fd, stat) => {
          if (stat.size > room || files.size >= most.files) throw tooMuch(names)
          return bytesOf(fd, stat.size)
        })
        room -= bytes.length
        files.set([...at, name].join('/'), bytes)
        marks.push(`file ${written(...at, name)} ${createHash('sha256').update(bytes).digest('hex')}`)
      }
      for (const name of folders.sort()) {
        if (notLookedInto.has(name) || at.length >= most.depth) {
          marks.push(`left ${written(...at, name)}`)
          continue
        }
        const inner = enterFolder(root, folder, [...above, ...at, name])
        try {
          await walk(inner, [...at, name])
        } finally {
          inner.close()
        }
      }
    }
    await walk(top, [])
  })
  return { files, digest: createHash('sha256').update(marks.join('\n')).digest('hex') }
}

/** A name on one line: it may hold anything, also what looks like the line of another file. */
function written(...names: readonly string[]): string {
  const path = names.join('/')
  return /[\n"]/.test(path) ? JSON.stringify(path) : path
}

/** One file of a skill, by its path in it. Nothing where there is none. */
export async function readSkillFile(base: SkillBase, names: readonly string[], path: string): Promise<Buffer | undefined> {
  const parts = path.split('/')
  if (parts.some((part) => part === '' || part === '.' || part === '..')) return undefined
  let found: Buffer | undefined
  await within(base, [...names, ...parts.slice(0, -1)], async (folder) => {
    found = reading(folder.at(parts.at(-1) as string), (fd, stat) => {
      if (stat.size > longestSkill) throw new Fault('too-large', `${path} has more than ${longestSkill} bytes`)
      return bytesOf(fd, stat.size)
    })
  })
  return found
}

/** A folder of a base, held open meanwhile; nothing happens where it is not there. */
async function within(
  { at }: SkillBase,
  names: readonly string[],
  act: (folder: Folder, root: Root, names: readonly string[]) => Promise<void>,
): Promise<void> {
  let root: Root
  try {
    root = 'root' in at ? at.root : openRoot(at.path)
  } catch (thrown) {
    if (['not-found', 'bad-input'].includes(asFault(thrown).reason)) return
    throw thrown
  }
  const all = [...('root' in at ? at.names : []), ...names]
  try {
    let folder: Folder
    try {
      folder = openFolder(root, all)
    } catch {
      return
    }
    try {
      await act(folder, root, all)
    } finally {
      folder.close()
    }
  } finally {
    if (!('root' in at)) closeRoot(root)
  }
}

const tooMuch = (names: readonly string[]): Fault =>
  new Fault(
    'too-large',
    `${names.join('/')} holds more than ${most.files} files or ${most.bytes} bytes, which nobody can look through`,
    {
      hint: 'Keep large files elsewhere, and name them in the skill.',
    },
  )
