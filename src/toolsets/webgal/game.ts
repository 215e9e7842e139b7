import { ToolError } from '../../contracts/errors.ts'
import type { Files } from '../../host/files.ts'
import { folders, type Folder } from './grammar/commands.ts'
import { nearest } from './nearest.ts'

/** Where a name in a script leads. */
export type Whereabouts =
  | { is: 'there'; path: string }
  | { is: 'unknown' }
  | { is: 'missing'; file: string; nearest?: string }
  | { is: 'wrong-case' | 'wrong-extension' | 'wrong-folder'; file: string; nearest: string }

/** One game on the disk, looked at only as far as needed and only once. */
export interface Game {
  /** The folder that holds `scene`, `background` and the others, below the project; '' where it is the project itself. */
  readonly root: string
  find(folder: Folder, name: string): Whereabouts
  /** Whether a path was the answer to `find` before. */
  wasFound(path: string): boolean
  /** Whether an animation of that name can be played; nothing is known where there is no table. */
  hasAnimation(name: string): boolean | undefined
  /** Scenes relative to their folder, sorted. */
  scenes(): readonly string[]
  /** Every file of a folder, relative to it, sorted. */
  filesOf(folder: Folder): readonly string[]
  /** The text of a scene; undefined where it cannot be read. */
  sceneText(name: string): string | undefined
  /** The text of `config.txt`. */
  config(): string
}

/** Games stand in `game/`; exports and forks put something in front of it. */
const usualRoots = ['game', 'public/game', 'packages/webgal/public/game', 'dist/game', '']

/** The game a scene belongs to, or the one of the project. */
export function openGame(files: Files, scenePath?: string): Game {
  const root = rootOf(files, scenePath)
  const below = (name: string): string => (root === '' ? name : `${root}/${name}`)
  const listings = new Map<string, ReadonlySet<string>>()
  const all = new Map<Folder, string[]>()

  /** Names in one folder; empty where there is none. */
  const namesIn = (path: string): ReadonlySet<string> => {
    const known = listings.get(path)
    if (known) return known
    const names = new Set(
      listing(() => files.list(path).map((entry) => (entry.kind === 'folder' ? `${entry.name}/` : entry.name))) ?? [],
    )
    listings.set(path, names)
    return names
  }
  const exists = (path: string): boolean => {
    const cut = path.lastIndexOf('/')
    return namesIn(cut < 0 ? '.' : path.slice(0, cut)).has(path.slice(cut + 1))
  }
  const filesOf = (folder: Folder): string[] => {
    const known = all.get(folder)
    if (known) return known
    const found: string[] = []
    const walk = (prefix: string, depth: number): void => {
      for (const name of namesIn(below(`${folder}${prefix === '' ? '' : `/${prefix.slice(0, -1)}`}`)))
        if (!name.endsWith('/')) found.push(prefix + name)
        else if (depth < 20) walk(prefix + name, depth + 1)
    }
    walk('', 0)
    all.set(folder, found.toSorted())
    return all.get(folder) as string[]
  }

  const found = new Map<Folder, Map<string, Whereabouts>>()
  const there = new Set<string>()
  const look = (folder: Folder, name: string): Whereabouts => {
    if (!isLocal(name)) return { is: 'unknown' }
    const clean = cleanName(folder, name)
    if (clean === undefined) return { is: 'unknown' }
    const path = below(clean)
    if (exists(path)) return { is: 'there', path }
    const decoded = decode(path)
    if (decoded !== path && exists(decoded)) return { is: 'there', path: decoded }
    return whereElse(folder, clean, path, filesOf)
  }

  let animations: ReadonlySet<string> | undefined | 'unread' = 'unread'
  return {
    root,
    filesOf,
    scenes: () => filesOf('scene').filter((name) => name.endsWith('.txt')),
    find(folder, name) {
      const known = found.get(folder)?.get(name)
      if (known) return known
      const at = look(folder, name)
      if (at.is === 'there') there.add(at.path)
      found.set(folder, (found.get(folder) ?? new Map<string, Whereabouts>()).set(name, at))
      return at
    },
    wasFound: (path) => there.has(path),
    hasAnimation(name) {
      if (animations === 'unread') animations = readAnimations(files, below('animation/animationTable.json'))
      if (!animations) return undefined
      return animations.has(name) || exists(below(`animation/${name}.json`))
    },
    sceneText: (name) => quietly(() => files.readText(below(`scene/${name}`))),
    config: () => quietly(() => files.readText(below('config.txt'))) ?? '',
  }
}

function rootOf(files: Files, scenePath: string | undefined): string {
  const at = scenePath === undefined ? -1 : `/${scenePath}`.lastIndexOf('/scene/')
  if (at >= 0) return `/${scenePath}`.slice(1, at)
  const isGame = (root: string): boolean =>
    folders.some((folder) => quietly(() => files.isFolder(root === '' ? folder : `${root}/${folder}`)))
  return usualRoots.find(isGame) ?? 'game'
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

/** A file that is not where it should be: in other letters, with another ending, in another folder, or nowhere. */
function whereElse(folder: Folder, clean: string, file: string, filesOf: (folder: Folder) => string[]): Whereabouts {
  const name = clean.slice(folder.length + 1)
  const lower = name.toLowerCase()
  const here = filesOf(folder)
  const same = here.find((one) => one.toLowerCase() === lower)
  if (same !== undefined) return { is: 'wrong-case', file, nearest: same }
  const stem = lower.replace(/\.[^./]*$/, '')
  const ending = here.find((one) => one.toLowerCase().replace(/\.[^./]*$/, '') === stem)
  if (ending !== undefined) return { is: 'wrong-extension', file, nearest: ending }
  const base = lower.slice(lower.lastIndexOf('/') + 1)
  for (const other of folders)
    for (const one of filesOf(other)) {
      const found = one.toLowerCase()
      if (found === base || found.endsWith(`/${base}`)) return { is: 'wrong-folder', file, nearest: `${other}/${one}` }
    }
  const near = nearest(name, here, Math.min(4, Math.floor(stem.length / 2)))
  return { is: 'missing', file, ...(near !== undefined && { nearest: near }) }
}

function readAnimations(files: Files, path: string): ReadonlySet<string> | undefined {
  const names = quietly(() => JSON.parse(files.readText(path)) as unknown)
  return Array.isArray(names) ? new Set(names.filter((name) => typeof name === 'string')) : undefined
}

/** A folder that is not there is empty; one that is there and cannot be read leaves nothing to check against. */
function listing<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (fault) {
    if (fault instanceof ToolError && fault.code === 'E_IO')
      throw new ToolError('E_LINT_FAIL', `The resources of the game cannot be looked at: ${fault.message}`, {
        details: { ...fault.details },
        hint: fault.hint ?? 'Check the permissions of the folder.',
        cause: fault,
      })
    if (fault instanceof ToolError) return undefined
    throw fault
  }
}

/** What cannot be looked at is taken as not there; the file that is checked itself is read elsewhere, loudly. */
function quietly<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (fault) {
    if (fault instanceof ToolError || fault instanceof SyntaxError) return undefined
    throw fault
  }
}
