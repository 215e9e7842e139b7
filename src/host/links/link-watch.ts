import { lstatSync, readdirSync, readlinkSync, type Stats } from 'node:fs'
import { openSerialQueue } from '../../text/serial-queue.ts'
import { openPace, type Pace } from '../../text/steps.ts'
import { deepest, type PathRules } from '../paths.ts'
import { watchFolders } from '../stage/folder-watch.ts'
import type { Root } from '../walk.ts'
import { openStarterIndex, type StarterIndex } from './starter-index.ts'

/** The links of a project as they are now. */
export interface Links {
  /** What each says, by its path. */
  readonly targets: ReadonlyMap<string, string>
  /** Another number as soon as one of them is another. */
  readonly version: number
  /** False where there are more folders or links than are looked at. */
  readonly all: boolean
  /** Files that start others, by their names. */
  readonly starterIndex: StarterIndex
}

export interface LinkWatch {
  /** Folders are read again only where they have changed, and where the system says which name did, that name alone. */
  scan(): Promise<Links>
  /** Whether the links are still those of this version, as far as the system tells without a look. */
  isUnchanged(version: number): boolean
  /** We changed something ourselves: nothing that was seen before counts. */
  changed(): void
  close(): void
}

interface Folder {
  readonly names: readonly string[]
  readonly at: string
  ino: number
  ctimeMs: number
  forgotten: boolean
  readonly folders: Map<string, Folder>
  readonly links: Set<string>
  /** Those of its names that are in the starter index. */
  readonly starterNames: Set<string>
}

type Kind = 'link' | 'folder' | 'other'

/** More of a project is not kept in mind; of links that matter, as many again. */
export interface LinkBounds {
  folders: number
  links: number
}
const most: LinkBounds = { folders: 100_000, links: 200_000 }
/** A folder with more news than this is read whole. */
const mostNames = 64
/** Where the system does not tell, folders are looked at this often at most. */
const freshMs = 1_000
const settledMs = 50

/**
 * Follows all links in the folders that these rules let it enter; those below `node_modules` and the like are left alone. Where there are
 * too many, those that matter come first.
 */
export function watchLinks(
  root: Root,
  rules: PathRules,
  matters: (names: readonly string[]) => boolean = () => false,
  bounds: Partial<LinkBounds> = {},
): LinkWatch {
  const { folders: mostFolders, links: mostLinks } = { ...most, ...bounds }
  const targets = new Map<string, string>()
  let version = 0
  let count = 0
  let left = false
  let idle = true
  let lookedAt = Number.NEGATIVE_INFINITY
  /** Names that changed in a folder; undefined where all of them may have. */
  let news = new Map<Folder, Set<string> | undefined>()
  /** The folder whose names are being gone through. */
  let reading: Folder | undefined
  const told = watchFolders<Folder>(root.path, (folder, name, renamed, calm) => {
    if (!renamed) {
      // What a file holds matters where it starts others.
      if (name === undefined || folder.starterNames.has(name))
        starters.heard(name === undefined ? undefined : pathIn(folder, name))
      return calm && name !== undefined ? 'settled' : undefined
    }
    if (calm && name !== undefined && settleFile(folder, name)) return 'settled'
    const heard = news.has(folder) ? news.get(folder) : new Set<string>()
    if (!heard || name === undefined || name.includes('\ufffd') || heard.size >= mostNames) news.set(folder, undefined)
    else news.set(folder, heard.add(name))
    return undefined
  })
  /** A file that came or went is taken up at once: while very many do, a read must not wait for a look at each of them. */
  const settleFile = (folder: Folder, name: string): boolean => {
    if (folder === reading || folder.forgotten || untold.has(folder)) return false
    // Under its own name a folder says that it goes itself.
    if (folder.folders.has(name) || name === folder.names.at(-1) || name.includes('\ufffd')) return false
    const now = statOf(`${folder.at}/${name}`)
    if (now?.isSymbolicLink() || now?.isDirectory()) return false
    note(folder, name, now && 'other')
    take(folder, name, 'other')
    return true
  }
  /** Those that must be looked at, since the system does not tell. */
  const untold = new Set<Folder>()

  const make = (names: readonly string[]): Folder => {
    count++
    const at = [root.path, ...names].join('/')
    return {
      names,
      at,
      ino: 0,
      ctimeMs: Number.NaN,
      forgotten: false,
      folders: new Map(),
      links: new Set(),
      starterNames: new Set(),
    }
  }
  const top = make([])
  const toldOf = new Set<string>()
  const starters = openStarterIndex((path) => toldOf.has(path.slice(0, Math.max(0, path.lastIndexOf('/')))))
  untold.add(top)

  const pathIn = (folder: Folder, name: string): string => [...folder.names, name].join('/')
  const unlink = (folder: Folder, name: string): void => {
    if (!folder.links.delete(name)) return
    targets.delete(pathIn(folder, name))
    version++
  }
  const note = (folder: Folder, name: string, kind: Kind | undefined): void => {
    const isStarter = kind !== undefined && starters.note(folder.names, name, kind)
    if (isStarter) folder.starterNames.add(name)
    else if (folder.starterNames.delete(name)) starters.forget(folder.names, name)
  }
  const empty = (folder: Folder): void => {
    for (const name of folder.links) unlink(folder, name)
    for (const name of folder.starterNames) note(folder, name, undefined)
    for (const one of folder.folders.values()) forget(one)
    folder.folders.clear()
    folder.ctimeMs = Number.NaN
  }
  const forget = (folder: Folder): void => {
    count--
    folder.forgotten = true
    told.forget(folder)
    untold.delete(folder)
    toldOf.delete(folder.names.join('/'))
    news.delete(folder)
    empty(folder)
  }

  /** Takes up what stands under a name; gives the folder it is, where it must be looked into. */
  const take = (folder: Folder, name: string, kind: Kind): Folder | undefined => {
    if (kind !== 'folder') {
      const was = folder.folders.get(name)
      if (was) forget(was)
      folder.folders.delete(name)
    }
    if (kind !== 'link') unlink(folder, name)
    if (kind === 'link') {
      const path = pathIn(folder, name)
      const target = targetOf(`${folder.at}/${name}`)
      if (target === undefined) unlink(folder, name)
      if (target === undefined || targets.get(path) === target) return undefined
      if (targets.size >= mostLinks) {
        left = true
        if (targets.size >= 2 * mostLinks || !matters([...folder.names, name])) return undefined
      }
      targets.set(path, target)
      folder.links.add(name)
      version++
    }
    if (kind !== 'folder') return undefined
    const known = folder.folders.get(name)
    if (known) return known
    const names = [...folder.names, name]
    if (names.length >= deepest || rules.refuseByName(names) !== undefined) return undefined
    if (count >= mostFolders) return void (left = true)
    const made = make(names)
    folder.folders.set(name, made)
    return made
  }

  const readWhole = async (folder: Folder, pace: Pace): Promise<Folder[]> => {
    const gone = new Set([...folder.links, ...folder.folders.keys()])
    const unseen = new Set(folder.starterNames)
    const found: Folder[] = []
    for (const entry of readdirSync(folder.at, { withFileTypes: true })) {
      if (pace.due()) await pace.turn()
      const kind = entry.isSymbolicLink() ? 'link' : entry.isDirectory() ? 'folder' : 'other'
      unseen.delete(entry.name)
      note(folder, entry.name, kind)
      if (kind === 'other' && !gone.has(entry.name)) continue
      gone.delete(entry.name)
      const next = take(folder, entry.name, kind)
      if (next) found.push(next)
    }
    for (const name of gone) take(folder, name, 'other')
    for (const name of unseen) note(folder, name, undefined)
    return found
  }

  /** Looks at one folder where it is another than it was; gives those that must be looked at next. */
  const update = async (folder: Folder, names: Set<string> | undefined | 'none', pace: Pace): Promise<Folder[]> => {
    if (folder.forgotten) return []
    const stat = statOf(folder.at)
    if (!stat?.isDirectory()) {
      empty(folder)
      return []
    }
    const isSame = folder.ino === stat.ino
    if (names === 'none' && isSame && folder.ctimeMs === stat.ctimeMs) return []
    folder.ino = stat.ino
    folder.ctimeMs = Date.now() - stat.ctimeMs > settledMs ? stat.ctimeMs : Number.NaN
    if (names instanceof Set && isSame && !untold.has(folder))
      return [...names].flatMap((name) => {
        const now = statOf(`${folder.at}/${name}`)
        const kind = now?.isSymbolicLink() ? 'link' : now?.isDirectory() ? 'folder' : 'other'
        note(folder, name, now && kind)
        return take(folder, name, kind) ?? []
      })
    // First followed, then read: what changes in between is heard of.
    const isTold = told.follow(folder)
    const path = folder.names.join('/')
    if (isTold) untold.delete(folder)
    else untold.add(folder)
    if (isTold) toldOf.add(path)
    else toldOf.delete(path)
    reading = folder
    try {
      return await readWhole(folder, pace)
    } catch {
      // A folder nobody may read.
      empty(folder)
      return []
    } finally {
      reading = undefined
    }
  }

  const lookOnce = async (): Promise<Links> => {
    idle = false
    const { perhapsAll } = await told.changed()
    const heard = news
    news = new Map()
    if (perhapsAll) starters.heard()
    const now = performance.now()
    const stale = now - lookedAt > freshMs
    if (stale) lookedAt = now
    const waiting: Folder[] = perhapsAll ? everyFolder(top) : [...heard.keys(), ...(stale ? untold : [])]
    const pace = openPace()
    // The nearest first: where there are too many, it is the farthest that are left out.
    for (let at = 0; at < waiting.length; at++) {
      const folder = waiting[at] as Folder
      waiting.push(...(await update(folder, !heard.has(folder) ? 'none' : perhapsAll ? undefined : heard.get(folder), pace)))
      heard.delete(folder)
      if (pace.due()) await pace.turn()
    }
    idle = true
    return { targets, version, all: !left, starterIndex: starters }
  }

  const inTurn = openSerialQueue()
  return {
    scan() {
      return inTurn(lookOnce)
    },
    isUnchanged: (since) =>
      since === version &&
      idle &&
      told.isSure() &&
      news.size === 0 &&
      (untold.size > 0 ? performance.now() - lookedAt < freshMs : lookedAt !== Number.NEGATIVE_INFINITY),
    changed: () => void (lookedAt = Number.NEGATIVE_INFINITY),
    close() {
      toldOf.clear()
      told.close()
    },
  }
}

function everyFolder(top: Folder): Folder[] {
  const all = [top]
  for (const folder of all) all.push(...folder.folders.values())
  return all
}

function statOf(at: string): Stats | undefined {
  try {
    return lstatSync(at, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

function targetOf(at: string): string | undefined {
  try {
    const target = readlinkSync(at)
    return process.platform === 'win32' ? target.replaceAll('\\', '/') : target
  } catch {
    return undefined
  }
}
