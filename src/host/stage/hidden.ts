import { lstatSync, readdirSync, writeFileSync, type Dirent, type Stats } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { secretAt } from '../../contracts/secret-files.ts'
import { turnMs } from '../files.ts'
import { deepest, isReserved, type PathRules } from '../paths.ts'
import type { Root } from '../walk.ts'
import { watchFolders } from './folder-watch.ts'
import { gitFolder, gitFiles, isOnlyCertificates, withoutCredentials } from './told-by-content.ts'

/** Something of the project that programs do not get to see. */
export interface Hidden {
  path: string
  folder: boolean
  /** Which file or folder it is: put in the place of one that is covered, another is not. */
  is: string
  /** What they see in its place; nothing by default. */
  instead?: string
}

/** The same as a program is confined with. */
export interface Covered {
  path: string
  folder: boolean
  /** The file that stands in its place; an empty one by default. */
  by?: string
}

export interface HiddenWatch {
  /** What must be hidden now. A folder is read again only where it has changed, so that a large project costs next to nothing. */
  look(): Promise<Hidden[]>
  /** Told at once where something may have come that must be hidden; gives a way to stop that. */
  follow(listener: () => void): () => void
  close(): void
}

/** How a folder is judged: like any, as one of those that programs must read to work, or as git's own. */
type Kind = 'plain' | 'visible' | 'git'

interface Folder {
  readonly names: readonly string[]
  readonly at: string
  readonly kind: Kind
  /** Which folder it was, and when anything in it or of it changed last, by a clock nobody sets. */
  ino: number
  ctimeMs: number
  /** Whether the system says when it changes. */
  told: boolean
  folders: Folder[]
  hidden: Omit<Hidden, 'is'>[]
  /** Files that must be read to know. */
  judged: Judged[]
}

interface Judged {
  path: string
  is: string
  hides: Omit<Hidden, 'is'> | undefined
}

/** A folder that changed this recently may change again within the same tick of the clock. */
const settledMs = 50

/**
 * What tools may not enter is hidden from programs too, at any depth, save the names they must read to work; and below those
 * whatever holds secrets.
 */
export function watchHidden(root: Root, rules: PathRules, visible: readonly string[]): HiddenWatch {
  const listeners = new Set<() => void>()
  const told = watchFolders<Folder>(root.path, () => {
    for (const listener of listeners) listener()
  })
  /** Those that must be looked at each time, and those in which something is hidden. */
  const looked = new Set<Folder>()
  const holding = new Set<Folder>()
  const make = (names: readonly string[], kind: Kind): Folder => ({
    names,
    at: [root.path, ...names].join('/'),
    kind,
    ino: 0,
    ctimeMs: Number.NaN,
    told: false,
    folders: [],
    hidden: [],
    judged: [],
  })
  const top = make([], 'plain')
  looked.add(top)

  const forget = (folder: Folder): void => {
    told.forget(folder)
    looked.delete(folder)
    holding.delete(folder)
    for (const one of folder.folders) forget(one)
  }

  /** What an entry of a folder is to a program: hidden, looked into, to be read first, or nothing of these. */
  const sort = (folder: Folder, entry: Dirent, here: string[]): 'hidden' | 'read' | Kind | undefined => {
    const isFolder = entry.isDirectory()
    if (!isFolder && !entry.isFile()) return undefined
    if (folder.kind === 'git') return isFolder ? gitFolder(folder.names, entry.name) : gitFiles(folder.names, entry.name)
    if (entry.name === '.gitmodules' && !isFolder) return 'read'
    if (visible.includes(entry.name) && !isReserved(entry.name))
      return isFolder ? (entry.name === '.git' ? 'git' : 'visible') : undefined
    const hides = folder.kind === 'visible' ? secretAt(here) !== undefined : rules.refuse(here) !== undefined
    if (!hides) return isFolder ? folder.kind : undefined
    return !isFolder && folder.kind === 'visible' && /\.pem$/i.test(entry.name) ? 'read' : 'hidden'
  }

  const read = (folder: Folder): void => {
    const before = new Map(folder.folders.map((one) => [one.names.at(-1), one]))
    folder.folders = []
    folder.hidden = []
    folder.judged = []
    for (const entry of readdirSync(folder.at, { withFileTypes: true })) {
      const here = [...folder.names, entry.name]
      const what = sort(folder, entry, here)
      const path = here.join('/')
      if (what === 'hidden') folder.hidden.push({ path, folder: entry.isDirectory() })
      else if (what === 'read') folder.judged.push({ path, is: '', hides: undefined })
      else if (what !== undefined && here.length < deepest) {
        folder.folders.push(before.get(entry.name) ?? make(here, what))
        before.delete(entry.name)
      }
    }
    for (const gone of before.values()) forget(gone)
    if (folder.hidden.length + folder.judged.length) holding.add(folder)
    else holding.delete(folder)
  }

  /** Reads a folder where it is another than it was; gives those that must be looked at next. */
  const update = (folder: Folder, surely: boolean): Folder[] => {
    const stat = statOf(folder.at)
    if (!stat?.isDirectory()) {
      const { folders } = folder
      folder.folders = folder.hidden = folder.judged = []
      folder.ctimeMs = Number.NaN
      holding.delete(folder)
      for (const one of folders) forget(one)
      return []
    }
    if (!surely && folder.ctimeMs === stat.ctimeMs && folder.ino === stat.ino) return []
    // First followed, then read: what changes in between is heard of. A folder that was replaced is not the one we followed.
    folder.told = told.follow(folder)
    if (folder.told && folder !== top) looked.delete(folder)
    else looked.add(folder)
    try {
      read(folder)
    } catch {
      // A folder nobody may read is none to look into either.
      folder.ctimeMs = Number.NaN
      looked.add(folder)
      return []
    }
    folder.ino = stat.ino
    folder.ctimeMs = folder.told || Date.now() - stat.ctimeMs > settledMs ? stat.ctimeMs : Number.NaN
    return folder.folders
  }

  const lookOnce = async (): Promise<Hidden[]> => {
    const { folders: changed, perhapsAll } = await told.changed()
    let since = performance.now()
    const waiting: Folder[] = perhapsAll ? everyFolder(top) : [...looked, ...changed]
    for (let folder = waiting.pop(); folder; folder = waiting.pop()) {
      waiting.push(...update(folder, changed.has(folder)))
      if (performance.now() - since < turnMs) continue
      await turn()
      since = performance.now()
    }
    const found = [...holding].flatMap((folder) => [
      ...folder.hidden.map((one) => ({ ...one, is: identity(root, one.path) })),
      ...folder.judged.flatMap((one) => judge(root, one, folder.kind)),
    ])
    return found.sort((a, b) => (a.path < b.path ? -1 : 1))
  }

  let looking: Promise<unknown> = Promise.resolve()
  return {
    look() {
      // Whoever asks wants to know what is now, not what a look found that had begun before.
      const found = looking.then(lookOnce)
      looking = found.catch(() => undefined)
      return found
    },
    follow(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close: () => told.close(),
  }
}

/** Lays down what stands in the place of hidden files, in the folder of a stage. */
export function coverFrom(stage: string, hidden: readonly Hidden[]): Covered[] {
  return hidden.map(({ path, folder, instead }, index) => {
    if (instead === undefined) return { path, folder }
    const by = `${stage}/cover-${index}`
    writeFileSync(by, instead, { mode: 0o600 })
    return { path, folder, by }
  })
}

function everyFolder(folder: Folder): Folder[] {
  return [folder, ...folder.folders.flatMap(everyFolder)]
}

/** Nothing where it is gone, or lies where nobody may look. */
function statOf(at: string): Stats | undefined {
  try {
    return lstatSync(at, { throwIfNoEntry: false })
  } catch {
    return undefined
  }
}

function identity(root: Root, path: string): string {
  const stat = statOf(`${root.path}/${path}`)
  return stat ? `${stat.dev} ${stat.ino}` : ''
}

/** A file that is hidden for what it holds is read again where anything about it has changed. */
function judge(root: Root, one: Judged, kind: Kind): Hidden[] {
  const at = `${root.path}/${one.path}`
  const stat = statOf(at)
  if (!stat?.isFile()) return []
  const is = `${stat.dev} ${stat.ino} ${stat.ctimeMs} ${stat.size}`
  if (one.is !== is) {
    one.is = Date.now() - stat.ctimeMs > settledMs ? is : ''
    const hides = { path: one.path, folder: false }
    if (kind === 'git' || one.path.endsWith('.gitmodules')) {
      const instead = withoutCredentials(at, one.path)
      one.hides = instead === undefined ? undefined : { ...hides, instead }
    } else one.hides = isOnlyCertificates(at, stat.size) ? undefined : hides
  }
  return one.hides ? [{ ...one.hides, is }] : []
}
