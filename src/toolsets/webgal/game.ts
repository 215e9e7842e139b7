import { Fault } from '../../contracts/faults/fault.ts'
import type { Files } from '../../host/files.ts'
import { byText, runInSlices, sorted, type Pace } from '../../text/steps.ts'
import { decodeScript } from './encoding.ts'
import { findEngineVersion, type EngineVersion } from './engine-version.ts'
import { listing, quietly, rootOf } from './game-folders.ts'
import { folders, type Folder } from './grammar/commands.ts'
import { leftOutSentence } from './left-out.ts'
import { nearest, patience, type Patience } from '../../text/nearest.ts'

/** Where a name in a script leads. */
export type FileMatch =
  | { is: 'there'; path: string }
  | { is: 'unknown' }
  | { is: 'missing'; file: string; nearest?: string }
  | { is: 'wrong-case' | 'wrong-extension' | 'wrong-folder'; file: string; nearest: string }

/** One game on the disk, its folders looked at once. */
export interface Game {
  /** The folder that holds `scene`, `background` and the others, below the project; '' where it is the project itself. */
  readonly root: string
  find(folder: Folder, name: string): FileMatch
  /** Whether a path was the answer to `find` before. */
  wasFound(path: string): boolean
  /** Whether an animation of that name can be played; nothing is known where there is no table. */
  animation(name: string): 'there' | 'not-in-table' | 'missing' | undefined
  /** The names in the table. */
  animations(): readonly string[]
  /** A text file below the folder of the game; undefined where there is none that can be read. */
  text(name: string): string | undefined
  /** The engine the game comes with, as far as its files tell. */
  readonly engine: EngineVersion | undefined
  /** Scenes relative to their folder, sorted. */
  scenes(): readonly string[]
  /** Every file of a folder, relative to it, sorted. */
  filesOf(folder: Folder): readonly string[]
  /** The text of a scene, whatever its encoding; undefined where it cannot be read. */
  sceneText(name: string): string | undefined
  /** Every scene with its text, a few read together at a time. */
  eachScene(): Iterable<{ name: string; text: string | undefined }>
  /** The size of a file of a folder. */
  sizeOf(folder: Folder, file: string): number | undefined
  /** Whether a name with a `{variable}` in it, which was looked for, could mean this file. */
  mayBeMeant(folder: Folder, file: string): boolean
  /** The encoding of a scene that is not UTF-8, as far as it can be told. */
  encodingOf(name: string): string | undefined
  /** The beginning of `config.txt`: it is a few lines. */
  config(): string
  /** How much is still compared to find names that are nearly right. */
  readonly patience: Patience
  /** What was too much to look at, in words; empty where everything was. */
  readonly leftOut: readonly string[]
}

/** Most files of a game that are looked at, and most text of its scenes. */
const mostFiles = 100_000
export const mostText = 64 << 20
const deepest = 20
const longestConfig = 16_384

/** The game a scene belongs to, or the one of the project, with what lies in its folders. */
export async function openGame(files: Files, pace: Pace, scenePath?: string, chosen?: string): Promise<Game> {
  const root = chosen === undefined ? rootOf(files, scenePath) : files.normal(chosen)
  const below = (name: string): string => (root === '' ? name : `${root}/${name}`)
  const index = await indexResources(files, below, pace)
  const engine = await findEngineVersion(files, root)
  /** What the look at the folders does not tell is asked of the disk. */
  const exists = (path: string): boolean => {
    if (index.paths.has(path)) return true
    const known = folders.some((folder) => path.startsWith(below(`${folder}/`)))
    if (known && index.leftOut.length === 0 && path.split('/').length < deepest) return false
    return quietly(() => files.readPart(path, () => ({ start: 0, end: 0 }))) !== undefined
  }
  const filesOf = (folder: Folder): readonly string[] => {
    const fault = index.faults.get(folder)
    if (fault) throw fault
    return index.files.get(folder) ?? []
  }
  const lookup = lookupIn(filesOf)
  const near = patience()

  const found = new Map<Folder, Map<string, FileMatch>>()
  const there = new Set<string>()
  const look = (folder: Folder, name: string): FileMatch => {
    if (!isLocal(name)) return { is: 'unknown' }
    const clean = cleanName(folder, name)
    if (clean === undefined) return { is: 'unknown' }
    filesOf(folder)
    const path = below(clean)
    if (exists(path)) return { is: 'there', path }
    const decoded = decode(path)
    if (decoded !== path && exists(decoded)) return { is: 'there', path: decoded }
    return whereElse(folder, clean, path, lookup, near)
  }

  const encodings = new Map<string, string>()
  const decoded = (name: string, bytes: Buffer | undefined): string | undefined => {
    const found = bytes && decodeScript(bytes)
    if (found?.encoding !== undefined) encodings.set(name, found.encoding)
    return found?.text
  }
  const open = openNames()
  let config: string | undefined
  let scenes: readonly string[] | undefined
  const listed = (): readonly string[] => (scenes ??= filesOf('scene').filter((name) => name.endsWith('.txt')))
  let animations: ReadonlySet<string> | undefined | 'unread' = 'unread'
  const table = (): ReadonlySet<string> | undefined => {
    if (animations === 'unread') animations = readAnimations(files, below('animation/animationTable.json'))
    return animations
  }
  return {
    root,
    filesOf,
    patience: near,
    leftOut: index.leftOut,
    scenes: listed,
    find(folder, name) {
      const known = found.get(folder)?.get(name)
      if (known) return known
      const at = look(folder, name)
      if (at.is === 'unknown') open.add(folder, name)
      if (at.is === 'there') there.add(at.path)
      found.set(folder, (found.get(folder) ?? new Map<string, FileMatch>()).set(name, at))
      return at
    },
    wasFound: (path) => there.has(path),
    engine,
    text: (name) => quietly(() => files.readText(below(name))),
    animations: () => [...(table() ?? [])],
    animation(name) {
      const names = table()
      if (!names) return undefined
      if (names.has(name)) return 'there'
      return exists(below(`animation/${name}.json`)) ? 'not-in-table' : 'missing'
    },
    sceneText: (name) =>
      decoded(
        name,
        quietly(() => files.read(below(`scene/${name}`))),
      ),
    *eachScene() {
      for (const { folder, names } of together(listed())) {
        const read = quietly(() => files.readSome(below(`scene/${folder}`), names))
        for (const [index, name] of names.entries()) {
          const bytes = read?.[index]
          yield { name: folder + name, text: decoded(folder + name, bytes instanceof Buffer ? bytes : undefined) }
        }
      }
    },
    sizeOf: (folder, file) => quietly(() => files.readPart(below(`${folder}/${file}`), () => ({ start: 0, end: 0 })).size),
    mayBeMeant: open.mayMean,
    encodingOf: (name) => encodings.get(name),
    config: () => (config ??= (quietly(() => files.readText(below('config.txt'))) ?? '').slice(0, longestConfig)),
  }
}

/** So many files of one folder are read in one go. */
const mostTogether = 32

/** Names in their order, those that follow each other in one folder together. */
function* together(names: readonly string[]): Generator<{ folder: string; names: string[] }> {
  let some: { folder: string; names: string[] } = { folder: '', names: [] }
  for (const name of names) {
    const folder = name.slice(0, name.lastIndexOf('/') + 1)
    if (some.folder !== folder || some.names.length === mostTogether) {
      if (some.names.length > 0) yield some
      some = { folder, names: [] }
    }
    some.names.push(name.slice(folder.length))
  }
  if (some.names.length > 0) yield some
}

/** More names with variables in them than a game has. */
const mostOpen = 500

/** Names that are known only while the game runs: `{who}.png` may mean any file that begins and ends so. */
function openNames(): { add(folder: Folder, name: string): void; mayMean(folder: Folder, file: string): boolean } {
  const ends: { folder: Folder; start: string; end: string }[] = []
  return {
    add(folder, name) {
      const [from, to] = [name.indexOf('{'), name.lastIndexOf('}')]
      if (from >= 0 && to > from && ends.length < mostOpen)
        ends.push({ folder, start: name.slice(0, from), end: name.slice(to + 1).split('?', 1)[0] ?? '' })
    },
    mayMean: (folder, file) => ends.some((one) => one.folder === folder && file.startsWith(one.start) && file.endsWith(one.end)),
  }
}

interface ResourceIndex {
  /** Every name below the project. */
  paths: Set<string>
  files: Map<Folder, string[]>
  /** Folders that are there and cannot be looked at. */
  faults: Map<Folder, Fault>
  leftOut: string[]
}

async function indexResources(files: Files, below: (name: string) => string, pace: Pace): Promise<ResourceIndex> {
  const index: ResourceIndex = { paths: new Set(), files: new Map(), faults: new Map(), leftOut: [] }
  let left = mostFiles
  for (const folder of folders) {
    const found: string[] = []
    const walk = async (prefix: string, depth: number): Promise<void> => {
      const path = below(`${folder}/${prefix}`.replace(/\/$/, ''))
      const listed = await listing(files, path, left)
      if (!listed) return
      if (listed.more && left >= 0)
        index.leftOut.push(
          leftOutSentence('Of {path} only the first {n} entries were looked at.', { path, n: listed.entries.length }),
        )
      left -= listed.entries.length
      for (const { name, kind } of listed.entries) {
        if (pace.due()) await pace.turn()
        if (kind !== 'folder') {
          found.push(prefix + name)
          index.paths.add(`${path}/${name}`)
        } else if (depth >= deepest)
          index.leftOut.push(
            leftOutSentence('{path} is more than {deepest} folders deep and was not looked at.', {
              path: `${path}/${name}`,
              deepest,
            }),
          )
        else if (left > 0) await walk(`${prefix}${name}/`, depth + 1)
      }
    }
    try {
      await walk('', 0)
    } catch (fault) {
      if (!(fault instanceof Fault) || fault.reason !== 'lint') throw fault
      index.faults.set(folder, fault)
    }
    index.files.set(folder, await runInSlices(sorted(found, byText)))
  }
  if (left <= 0)
    index.leftOut.splice(
      0,
      index.leftOut.length,
      leftOutSentence('Of the game’s files only the first {n} were looked at.', { n: mostFiles }),
    )
  return index
}

/** Addresses, `{variables}` and nothing at all are not looked for. */
function isLocal(name: string): boolean {
  return (
    name !== '' && name !== 'none' && !name.includes('{') && !/^(?:https?|data|blob):/i.test(name) && !/https?:\/\//.test(name)
  )
}

/** The path below the game as a browser would ask for it; undefined where it leads out of the game. */
function cleanName(folder: Folder, name: string): string | undefined {
  const parts: string[] = []
  for (const part of `${folder}/${(name.split(/[?#]/, 1)[0] ?? '').replaceAll('\\', '/')}`.split('/')) {
    if (part === '' || part === '.') continue
    if (part !== '..') parts.push(part.trimEnd())
    else if (parts.pop() === undefined) return undefined
  }
  return parts.join('/')
}

function decode(path: string): string {
  try {
    return path.includes('%') ? decodeURIComponent(path) : path
  } catch {
    return path
  }
}

interface Lookup {
  files(folder: Folder): readonly string[]
  /** The first file of a folder that has this name in other letters, or with another ending. */
  lowered(folder: Folder): ReadonlyMap<string, string>
  stems(folder: Folder): ReadonlyMap<string, string>
  /** The first file of any folder with this last name in whatever letters, with its folder. */
  bases(): ReadonlyMap<string, string>
}

/** Tables of all names, made when the first name is not where it should be: looking through every file for each would take squares. */
function lookupIn(files: (folder: Folder) => readonly string[]): Lookup {
  const tables = new Map<string, ReadonlyMap<string, string>>()
  const table = (name: string, entries: () => Iterable<readonly [string, string]>): ReadonlyMap<string, string> => {
    const known = tables.get(name)
    if (known) return known
    const made = new Map<string, string>()
    for (const [key, value] of entries()) if (!made.has(key)) made.set(key, value)
    tables.set(name, made)
    return made
  }
  return {
    files,
    lowered: (folder) => table(`lowered ${folder}`, () => files(folder).map((one) => [one.toLowerCase(), one] as const)),
    stems: (folder) => table(`stems ${folder}`, () => files(folder).map((one) => [stemOf(one.toLowerCase()), one] as const)),
    bases: () =>
      table('bases', () =>
        folders.flatMap((folder) => files(folder).map((one) => [baseOf(one.toLowerCase()), `${folder}/${one}`] as const)),
      ),
  }
}

const stemOf = (name: string): string => name.replace(/\.[^./]*$/, '')
const baseOf = (name: string): string => name.slice(name.lastIndexOf('/') + 1)

/** A file that is not where it should be: in other letters, with another ending, in another folder, or nowhere. */
function whereElse(folder: Folder, clean: string, file: string, lookup: Lookup, patience: Patience): FileMatch {
  const name = clean.slice(folder.length + 1)
  const lower = name.toLowerCase()
  const same = lookup.lowered(folder).get(lower)
  if (same !== undefined) return { is: 'wrong-case', file, nearest: same }
  const stem = stemOf(lower)
  const ending = lookup.stems(folder).get(stem)
  if (ending !== undefined) return { is: 'wrong-extension', file, nearest: ending }
  const elsewhere = lookup.bases().get(baseOf(lower))
  if (elsewhere !== undefined) return { is: 'wrong-folder', file, nearest: elsewhere }
  const near = nearest(name, lookup.files(folder), Math.min(4, Math.floor(stem.length / 2)), patience)
  return { is: 'missing', file, ...(near !== undefined && { nearest: near }) }
}

function readAnimations(files: Files, path: string): ReadonlySet<string> | undefined {
  const names = quietly(() => JSON.parse(files.readText(path)) as unknown)
  return Array.isArray(names) ? new Set(names.filter((name) => typeof name === 'string')) : undefined
}
