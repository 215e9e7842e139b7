import { accessSync, constants, lstatSync, type Stats } from 'node:fs'
import { Fault } from '../../contracts/faults/fault.ts'
import { secretAt } from '../../text/secret-files.ts'
import { openPace } from '../../text/steps.ts'
import { deepest } from '../paths.ts'
import { asSecrets, behindLink, linksIn, outermost } from './behind-secrets.ts'
import { below, entriesIn, readable, type Entry, type Place } from './entries.ts'
import { watchFolders } from './folder-watch.ts'
import { openSerialQueue } from '../../text/serial-queue.ts'
import { isCertificate, isRepository, classifyEntry, type Kind, type VisibilityRules } from './classify-entry.ts'
import { isOnlyCertificates, withoutCredentials } from './content-checks.ts'

/** Something that programs do not get to see. */
export interface Hidden {
  /** For people, from the root on. */
  path: string
  /** Where it lies, from `/` on. */
  at: Place
  folder: boolean
  /** Which file or folder it is: put in the place of one that is covered, another is not. */
  is: string
  /** What they see in its place; nothing by default. */
  instead?: string
}

/** Told where something may have come that must be hidden; with where, if it must be by its name alone, there still or not. */
export type HiddenListener = (came?: Pick<Hidden, 'path' | 'at'>) => void

export interface HiddenWatch {
  /** What must be hidden now. A folder is read again only where it has changed, so that a large project costs next to nothing. */
  scan(): Promise<Hidden[]>
  /** What the last look found. */
  known(): readonly Hidden[] | undefined
  /** Gives a way to stop that. */
  follow(listener: HiddenListener): () => void
  close(): void
}

type Found = Omit<Hidden, 'is'>

interface Folder {
  readonly names: readonly string[]
  readonly path: string
  readonly at: Place
  readonly depth: number
  readonly kind: Kind
  /** Whether git keeps a repository right there. */
  repository: boolean
  /** Which folder it was, and when anything in it or of it changed last, by a clock nobody sets. */
  ino: number
  ctimeMs: number
  /** Whether the system says when it changes. */
  told: boolean
  /** It is no part of the tree any more, and none to look at. */
  gone: boolean
  folders: Folder[]
  hidden: Found[]
  /** Links that are called like secrets. */
  links: Place[]
  /** Folders that are secrets: whatever a link in there leads to is one. */
  secretFolders: Place[]
  /** Files that must be read to know. */
  judged: ContentChecked[]
}

interface ContentChecked extends Found {
  name: string
  is: string
  hides: Found | undefined
}

const unread: Omit<Folder, 'names' | 'path' | 'at' | 'depth' | 'kind'> = {
  repository: false,
  ino: 0,
  ctimeMs: Number.NaN,
  told: false,
  gone: false,
  folders: [],
  hidden: [],
  links: [],
  secretFolders: [],
  judged: [],
}

/** A folder that changed this recently may change again within the same tick of the clock. */
const settledMs = 50
/** The system takes paths of 4,095 bytes, and bubblewrap and one more name need some of them. */
const longestPath = 3_600

/**
 * What tools may not enter is hidden from programs too, at any depth, save the names they must read to work; and below those
 * whatever holds secrets. A folder that cannot be looked into, for its permissions or its depth, is hidden whole.
 */
export function watchHidden(root: string, sorting: VisibilityRules, kind: Kind = 'plain'): HiddenWatch {
  const listeners = new Set<HiddenListener>()
  const told = watchFolders<Folder>(root, (folder, name, renamed) => {
    if (!renamed && !folder.judged.some((one) => one.name === name)) return
    const came = renamed && name !== undefined && isHiddenByName(folder, name)
    for (const listener of listeners)
      listener(came ? { path: join(folder.path, name), at: below(folder.at, { name }) } : undefined)
  })
  /** Those that must be looked at each time, and those in which something is hidden. */
  const looked = new Set<Folder>()
  const holding = new Set<Folder>()
  // Outside of the project the names on the way to the root count too.
  const outside = kind === 'outside'
  const names = outside ? root.split('/').filter(Boolean) : []
  const top: Folder = { names, path: outside ? root : '', at: root, depth: 0, kind, ...unread }
  looked.add(top)
  let known: readonly Hidden[] | undefined

  const isHiddenByName = (folder: Folder, name: string): boolean =>
    classifyEntry(sorting, folder, { name, form: 'file' }) === 'hidden'

  const forget = (folder: Folder): void => {
    folder.gone = true
    told.forget(folder)
    looked.delete(folder)
    holding.delete(folder)
    for (const one of folder.folders) forget(one)
  }

  /** Nothing is known of what is in it; it is looked at again each time. */
  const clear = (folder: Folder): void => {
    const { folders } = folder
    folder.folders = folder.hidden = folder.judged = []
    folder.links = folder.secretFolders = []
    folder.ctimeMs = Number.NaN
    holding.delete(folder)
    for (const one of folders) forget(one)
  }

  /** Nobody knows what is in it, so a program finds nothing there. */
  const shut = (folder: Folder): Folder[] => {
    if (folder === top)
      throw new Fault('io', `${root} cannot be listed, so it is not known what programs must not see there`, {
        details: { path: root },
        hint: 'Nothing was run. Let your user list that folder: chmod u+rx.',
      })
    clear(folder)
    looked.add(folder)
    holding.add(folder)
    folder.hidden = [{ path: folder.path, at: folder.at, folder: true }]
    return []
  }

  const read = (folder: Folder): void => {
    const entries = entriesIn(folder.at)
    const before = new Map(folder.folders.map((one) => [keyOf(one), one]))
    folder.folders = []
    folder.hidden = []
    folder.links = []
    folder.secretFolders = []
    folder.judged = []
    folder.repository = isRepository(folder, entries)
    for (const entry of entries) {
      const what = classifyEntry(sorting, folder, entry)
      if (what === undefined) continue
      const found = { path: join(folder.path, readable(entry)), at: below(folder.at, entry), folder: entry.form === 'folder' }
      if (what === 'hidden') {
        folder.hidden.push(found)
        if (found.folder && secretAt([entry.name]) !== undefined) folder.secretFolders.push(found.at)
      } else if (what === 'behind') folder.links.push(...asSecrets(entry.name, found.at))
      else if (what === 'read') folder.judged.push({ ...found, name: entry.name, is: '', hides: undefined })
      else if (isTooDeep(folder, found)) folder.hidden.push(found)
      else folder.folders.push(reused(before, found) ?? into(folder, entry, found, what))
    }
    for (const gone of before.values()) forget(gone)
    if (folder.hidden.length + folder.judged.length + folder.links.length) holding.add(folder)
    else holding.delete(folder)
  }

  const into = (folder: Folder, entry: Entry, { path, at }: Found, what: Kind): Folder => ({
    names: [...folder.names, entry.name],
    path,
    at,
    depth: folder.depth + 1,
    kind: what,
    ...unread,
  })

  /** Reads a folder where it is another than it was; gives those that must be looked at next. */
  const update = (folder: Folder, surely: boolean): Folder[] => {
    if (folder.gone) return []
    const stat = statOf(folder.at)
    if (stat === 'closed') return shut(folder)
    if (!stat?.isDirectory()) {
      clear(folder)
      return []
    }
    if (!surely && folder.ctimeMs === stat.ctimeMs && folder.ino === stat.ino) return []
    // First followed, then read: what changes in between is heard of. A folder that was replaced is not the one we followed.
    folder.told = told.follow(folder)
    if (folder.told && folder !== top) looked.delete(folder)
    else looked.add(folder)
    try {
      // Names may be read where nothing behind them may be.
      accessSync(folder.at, constants.R_OK | constants.X_OK)
      read(folder)
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'ENOENT') return shut(folder)
      clear(folder)
      return []
    }
    folder.ino = stat.ino
    folder.ctimeMs = folder.told || Date.now() - stat.ctimeMs > settledMs ? stat.ctimeMs : Number.NaN
    return folder.folders
  }

  const lookOnce = async (): Promise<Hidden[]> => {
    const { folders: changed, perhapsAll } = await told.changed()
    const pace = openPace()
    const waiting: Folder[] = perhapsAll ? everyFolder(top) : [...looked, ...changed]
    for (let folder = waiting.pop(); folder; folder = waiting.pop()) {
      waiting.push(...update(folder, changed.has(folder)))
      if (pace.due()) await pace.turn()
    }
    const led = [...holding].flatMap(({ links, secretFolders }) =>
      [...links, ...secretFolders.flatMap(linksIn)].flatMap((at) => behindLink(at, root)),
    )
    const named = [...holding].flatMap((folder): Hidden[] => [
      ...folder.hidden.map((one) => ({ ...one, is: identity(one) })),
      ...folder.judged.flatMap((one) => hiddenByContent(one)),
    ])
    const found = led.length ? outermost([...named, ...led.map((one) => ({ ...one, is: identity(one) }))]) : named
    known = found.sort((a, b) => (a.path < b.path ? -1 : 1))
    return found
  }

  const inTurn = openSerialQueue()
  return {
    // Whoever asks wants to know what is now, not what a look found that had begun before.
    scan: () => inTurn(lookOnce),
    known: () => known,
    follow(listener) {
      listeners.add(listener)
      return () => void listeners.delete(listener)
    },
    close: () => told.close(),
  }
}

/** What one thing is known by: its place, under which no other lies at the same time. */
export function keyOf({ at }: Pick<Hidden, 'at'>): string {
  return typeof at === 'string' ? at : `\0${at.toString('latin1')}`
}

function join(folder: string, name: string): string {
  return folder === '' ? name : `${folder}/${name}`
}

function reused(before: Map<string, Folder>, found: Found): Folder | undefined {
  const folder = before.get(keyOf(found))
  before.delete(keyOf(found))
  return folder
}

function isTooDeep(folder: Folder, { at }: Found): boolean {
  return folder.depth + 1 >= deepest || (at.length > longestPath / 4 && Buffer.byteLength(at) > longestPath)
}

function everyFolder(folder: Folder): Folder[] {
  return [folder, ...folder.folders.flatMap(everyFolder)]
}

/** Nothing where it is gone; `closed` where nobody may look. */
function statOf(at: Place): Stats | 'closed' | undefined {
  try {
    return lstatSync(at, { throwIfNoEntry: false })
  } catch {
    return 'closed'
  }
}

/** A file that got a second name lies in two places, and only one of them is covered. */
function identity({ at, folder }: Found): string {
  const stat = statOf(at)
  if (!stat || stat === 'closed') return ''
  return folder ? `${stat.dev} ${stat.ino}` : `${stat.dev} ${stat.ino} ${stat.nlink}`
}

/** A file that is hidden for what it holds is read again where anything about it has changed. */
function hiddenByContent(one: ContentChecked): Hidden[] {
  const stat = statOf(one.at)
  if (!stat || stat === 'closed' || !stat.isFile()) return []
  const is = `${stat.dev} ${stat.ino} ${stat.ctimeMs} ${stat.size}`
  if (one.is !== is) {
    one.is = Date.now() - stat.ctimeMs > settledMs ? is : ''
    const hides = { path: one.path, at: one.at, folder: false }
    if (!isCertificate(one.name)) {
      const instead = withoutCredentials(one.at, one.path)
      one.hides = instead === undefined ? undefined : { ...hides, instead }
    } else one.hides = isOnlyCertificates(one.at, stat.size) ? undefined : hides
  }
  return one.hides ? [{ ...one.hides, is }] : []
}
