import { accessSync, constants, lstatSync, type Stats } from 'node:fs'
import { Fault } from '../../contracts/faults/fault.ts'
import { secretAt } from '../../text/secret-files.ts'
import { openPace } from '../../text/steps.ts'
import { deepest } from '../paths.ts'
import { asSecrets, behindLink, linksIn, outermost } from './behind-secrets.ts'
import { below, entriesIn, readable, type Entry, type Place } from './entries.ts'
import { watchFolders, type OnChanged } from './folder-watch.ts'
import { openTransientNames } from './transient-names.ts'
import { openSerialQueue } from '../../text/serial-queue.ts'
import { isCertificate, isRepository, classifyEntry, type Kind, type VisibilityRules } from './classify-entry.ts'
import { digestOf, isAppended, isOnlyCertificates, withoutCredentials } from './content-checks.ts'

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

/**
 * Told where something may have come that must be hidden; with where, if it must be, there still or not. `unseen` came and went before it
 * could be looked at, so nobody knows.
 */
export type HiddenListener = (came?: Came) => void

export interface Came extends Pick<Hidden, 'path' | 'at'>, Partial<Pick<Hidden, 'is'>> {
  unseen?: boolean
}

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
  /** How many there were when it was read. */
  entries: number
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
  /** What it held, and when that was written: where only the second is another, it held something else between. */
  read: { written: string; digest: string } | undefined
}

const unread: Omit<Folder, 'names' | 'path' | 'at' | 'depth' | 'kind'> = {
  repository: false,
  ino: 0,
  ctimeMs: Number.NaN,
  told: false,
  gone: false,
  entries: 0,
  folders: [],
  hidden: [],
  links: [],
  secretFolders: [],
  judged: [],
}

/** A folder that changed this recently may change again within the same tick of the clock. */
const settledMs = 50
/** A folder that is older was emptied before it came. */
const justMadeMs = 2_000
/** So long new folders are read on the spot. */
const atOnceMs = 5
/** The system takes paths of 4,095 bytes, and bubblewrap and one more name need some of them. */
const longestPath = 3_600

/**
 * What tools may not enter is hidden from programs too, at any depth, save the names they must read to work; and below those
 * whatever holds secrets. A folder that cannot be looked into, for its permissions or its depth, is hidden whole.
 */
export function watchHidden(root: string, sorting: VisibilityRules, kind: Kind = 'plain'): HiddenWatch {
  const listeners = new Set<HiddenListener>()
  const transient = openTransientNames<Folder>()
  const tell = (came?: Came): void => {
    for (const listener of listeners) listener(came)
  }
  const hear: OnChanged<Folder> = (folder, name, renamed) => {
    if (listeners.size === 0) return
    const judged = folder.judged.find((one) => one.name === name)
    if (judged) glanceAt(judged)
    else if (name !== undefined && isHiddenByName(folder, name)) {
      if (renamed) return tell({ path: join(folder.path, name), at: below(folder.at, { name }) })
    } else if (name !== undefined && !isItsEnd(folder, name)) {
      const isThere = renamed && statOf(below(folder.at, { name })) !== undefined
      if (isThere) glanceInto(folder, name)
      transient.heard(folder, name, renamed, isThere)
    }
    if (renamed || judged) tell()
  }
  const told = watchFolders<Folder>(root, hear, tell)
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

  /** A folder that goes says so itself, under its own name. */
  const isItsEnd = (folder: Folder, name: string): boolean => {
    if (name !== folder.names.at(-1)) return false
    const stat = statOf(folder.at)
    return stat === undefined || (stat !== 'closed' && stat.ino !== folder.ino)
  }

  /** A folder that is new is read on the spot, and what is new in there: it may be gone before the next look. */
  const glanceInto = (folder: Folder, name: string): void => {
    const entry = { name, form: 'folder' } as const
    const found = { path: join(folder.path, name), at: below(folder.at, entry), folder: true }
    const what = classifyEntry(sorting, folder, entry)
    if (what === undefined || what === 'hidden' || what === 'behind' || what === 'read') return
    const stat = statOf(found.at)
    if (!stat || stat === 'closed' || !stat.isDirectory() || isTooDeep(folder, found)) return
    if (folder.folders.some((one) => keyOf(one) === keyOf(found))) return
    const made = into(folder, entry, found, what)
    folder.folders.push(made)
    const waiting = [made]
    const since = performance.now()
    for (let one = waiting.pop(); one; one = waiting.pop()) {
      // A whole tree was moved in: what is left of it waits for the next look.
      if (one !== made && performance.now() - since > atOnceMs) {
        for (const left of [one, ...waiting]) looked.add(left)
        return
      }
      waiting.push(...update(one, true))
      for (const hidden of hiddenIn([one])) tell(hidden)
      if (isHalfGone(one)) tell({ path: one.path, at: one.at, unseen: true })
    }
  }

  /** It went while it was read, or something had been in it and was gone before. */
  const isHalfGone = (folder: Folder): boolean => {
    const stat = statOf(folder.at)
    if (!stat || stat === 'closed') return stat === undefined
    if (stat.ino !== folder.ino) return true
    const { birthtimeMs: made, mtimeMs: changed } = stat
    return folder.entries === 0 && changed > made && Date.now() - made < justMadeMs
  }

  /** What was written into a file that is judged by that is read on the spot, too. */
  const glanceAt = (one: ContentChecked): void => {
    for (const hidden of hiddenByContent(one, tell)) tell(hidden)
  }

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
    folder.entries = entries.length
    folder.folders = []
    folder.hidden = []
    folder.links = []
    folder.secretFolders = []
    const judged = new Map(folder.judged.map((one) => [one.name, one]))
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
      else if (what === 'read')
        folder.judged.push({ ...found, name: entry.name, is: '', hides: undefined, read: judged.get(entry.name)?.read })
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
    folder.ctimeMs = Date.now() - stat.ctimeMs > settledMs ? stat.ctimeMs : Number.NaN
    return folder.folders
  }

  const lookOnce = async (): Promise<Hidden[]> => {
    const { folders: changed, perhapsAll, lost } = await told.changed()
    if (lost) tell({ path: top.path || '.', at: top.at, unseen: true })
    for (const { folder, name } of transient.take())
      tell({ path: join(folder.path, name), at: below(folder.at, { name }), unseen: true })
    const pace = openPace()
    const waiting: Folder[] = perhapsAll ? everyFolder(top) : [...looked, ...changed]
    for (let folder = waiting.pop(); folder; folder = waiting.pop()) {
      waiting.push(...update(folder, changed.has(folder)))
      if (pace.due()) await pace.turn()
    }
    const found = hiddenIn([...holding])
    known = found.sort((a, b) => (a.path < b.path ? -1 : 1))
    return found
  }

  const hiddenIn = (folders: readonly Folder[]): Hidden[] => {
    const led = folders.flatMap(({ links, secretFolders }) =>
      [...links, ...secretFolders.flatMap(linksIn)].flatMap((at) => behindLink(at, root)),
    )
    const named = folders.flatMap((folder): Hidden[] => [
      ...folder.hidden.map((one) => ({ ...one, is: identity(one) })),
      ...folder.judged.flatMap((one) => hiddenByContent(one, tell)),
    ])
    return led.length ? outermost([...named, ...led.map((one) => ({ ...one, is: identity(one) }))]) : named
  }

  const inTurn = openSerialQueue()
  return {
    // Whoever asks wants to know what is now, not what a look found that had begun before.
    scan: () => inTurn(lookOnce),
    known: () => known,
    follow(listener) {
      listeners.add(listener)
      return () => {
        listeners.delete(listener)
        if (listeners.size === 0) transient.clear()
      }
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

/**
 * A file that is hidden for what it holds is read again where anything about it has changed. Where it holds what it held before, and was
 * written since, that is told: nobody knows what it held between.
 */
function hiddenByContent(one: ContentChecked, tell: (came: Came) => void): Hidden[] {
  const stat = statOf(one.at)
  if (!stat || stat === 'closed' || !stat.isFile()) return []
  const is = `${stat.dev} ${stat.ino} ${stat.ctimeMs} ${stat.size}`
  if (one.is !== is) {
    one.is = Date.now() - stat.ctimeMs > settledMs ? is : ''
    if (!isAppended(one.path)) {
      const read = { written: `${stat.ino} ${stat.mtimeMs}`, digest: digestOf(one.at) }
      if (one.read && one.read.written !== read.written && one.read.digest === read.digest)
        tell({ path: one.path, at: one.at, unseen: true })
      // Emptied to be written anew: what it holds next is compared with what it held before.
      if (stat.size > 0 || !one.read) one.read = read
    }
    const hides = { path: one.path, at: one.at, folder: false }
    if (!isCertificate(one.name)) {
      const instead = withoutCredentials(one.at, one.path)
      one.hides = instead === undefined ? undefined : { ...hides, instead }
    } else one.hides = isOnlyCertificates(one.at, stat.size) ? undefined : hides
  }
  return one.hides ? [{ ...one.hides, is }] : []
}
