import { lstatSync, mkdirSync, rmSync } from 'node:fs'
import { rm } from 'node:fs/promises'
import { Fault } from '../../contracts/faults/fault.ts'
import { openPace } from '../../text/steps.ts'
import { deepest, isTemporary } from '../paths.ts'
import { folderIdentity, openFolder, withMounts, type Folder, type Root } from '../walk.ts'
import { classifyEntry, isRepository, type Kind, type VisibilityRules } from './classify-entry.ts'
import { entriesIn } from './entries.ts'
import { watchFolders } from './folder-watch.ts'
import type { HiddenView } from './hidden-guard.ts'
import type { Hidden } from './hidden.ts'
import { bring, isStillThere, showLink, withoutSecrets, withWords, type Brought, type Means } from './mirror-files.ts'
import { openMirrorHidden } from './mirror-hidden.ts'
import { openPasses } from './mirror-passes.ts'
import { everyFolder, namesShown, openTree, TooLarge, type Shadow } from './mirror-tree.ts'

/**
 * What a program that keeps running sees in the place of the project: a copy of everything it may see, kept up to date. A name is there only
 * after it was judged, so that a secret which comes later never is; and all that happens there is announced as it would be in the project.
 */
export interface Mirror {
  readonly folder: string
  /** Folders of the project that are shown as they are: large, and edited by nobody. */
  readonly live: readonly LiveFolder[]
  /** What had changed in the project by now has changed here. */
  caughtUp(): Promise<void>
  close(): void
}

/** A folder that is shown as it is, and which one that was when it was decided: no link was followed to it. */
export interface LiveFolder {
  at: string
  is: string
}

export interface MirrorParts {
  project: Root
  sorting: VisibilityRules
  hiddenView: HiddenView
  /** A folder of its own, on a disk with room. */
  folder: string
  /** It no longer shows what is in the project. */
  onLost: (why: string) => void
  /** Ends the first copying. */
  signal?: AbortSignal | undefined
}

/** bubblewrap takes long where there are very many. */
const mostLive = 256
/** So much is read before it is judged. */
const batchFiles = 500
const batchBytes = 8_388_608

/** Names in a folder that were heard of; `all`: some came or went. */
interface Heard {
  names: Set<string>
  all: boolean
}

interface Waiting {
  shadow: Shadow
  name: string
  brought: Brought
}

/** Nothing where the project is too large to be copied, or the system does not tell of changes in it. */
export async function openMirror(parts: MirrorParts): Promise<Mirror | undefined> {
  const mirror = makeMirror(parts)
  try {
    await mirror.begin()
    return mirror
  } catch (fault) {
    mirror.close()
    await rm(parts.folder, { recursive: true, force: true })
    // The disk may be full, or a name too long for it. Then the project is shown as it is.
    if (fault instanceof Fault) throw fault
    parts.signal?.throwIfAborted()
    return undefined
  }
}

function makeMirror({ project: given, sorting, hiddenView, folder: home, onLost, signal }: MirrorParts): Mirror & {
  begin(): Promise<void>
} {
  // Programs see what is mounted in a project.
  const project = withMounts(given, () => undefined)
  const tree = openTree(home, project.path, (shadow) => {
    told.forget(shadow)
    dirty.delete(shadow)
  })
  const { top, shownAt } = tree
  const live = new Map<string, string>()
  const dirty = new Map<Shadow, Heard>()
  const hidden = openMirrorHidden(project.path, hiddenView)
  /** How often a name that is a secret’s came or went. */
  let came = 0
  let [begun, closed, looksAgain] = [false, false, false]
  /** What there is to be copied, until all of it was found. */
  let measured: { entries: number; bytes: number } | undefined = { entries: 0, bytes: 0 }
  const mustBeWanted = (): void => {
    if (!begun) signal?.throwIfAborted()
  }
  const means: Means = {
    room: tree.room,
    reserve: tree.reserve,
    release: tree.release,
    goOn() {
      mustBeWanted()
      if (closed) throw new TooLarge('it is not wanted any more')
      tree.mustBeInTime()
    },
  }

  const told = watchFolders<Shadow>(
    project.path,
    (shadow, name, renamed) => {
      hear(shadow, name, renamed || name === undefined)
      if (renamed && (name === undefined || isSecretName(shadow, name))) came++
      wake()
    },
    () => {
      // A secret may have come and gone among what was lost.
      came++
      looksAgain = true
      wake()
    },
  )
  const isSecretName = (shadow: Shadow, name: string): boolean =>
    !isTemporary(name) && classifyEntry(sorting, { ...shadow, repository: false }, { name, form: 'file' }) === 'hidden'
  const unfollow = hiddenView.follow((one) => {
    if (one && !one.unseen && !isTemporary(nameOf(one.at))) came++
    looksAgain = true
    wake()
  })
  const hear = (shadow: Shadow, name: string | undefined, all: boolean): void => {
    if (shadow.gone) return
    const heard = dirty.get(shadow) ?? { names: new Set(), all: false }
    dirty.set(shadow, heard)
    heard.all ||= all
    if (name !== undefined) heard.names.add(name)
  }

  /** What is to be shown of a folder: it has these names, and no others. */
  const list = async (shadow: Shadow, opened: Folder, heard: ReadonlySet<string>): Promise<void> => {
    const found = entriesIn(opened.at('.')).filter(({ name, bytes: odd }) => !odd && !isTemporary(name))
    const around = { kind: shadow.kind, names: shadow.names, repository: isRepository(shadow, found) }
    const wanted = new Map<string, Kind | 'file' | 'judged' | 'link'>()
    for (const entry of found) {
      const what = classifyEntry(sorting, around, entry)
      if (what === 'hidden' || what === 'behind' || entry.form === 'other') continue
      if (entry.form !== 'folder') wanted.set(entry.name, what === 'read' ? 'judged' : entry.form)
      else if (shadow.names.length + 1 < deepest && what !== 'read') wanted.set(entry.name, what ?? shadow.kind)
    }
    for (const name of namesShown(shadow)) {
      const what = wanted.get(name)
      const is = shadow.folders.get(name)?.kind ?? (shadow.links.has(name) ? 'link' : 'file')
      if (what !== is && !(what === 'judged' && is === 'file')) await tree.remove(shadow, name)
    }
    shadow.wanted = new Map([...wanted].flatMap(([name, what]) => (what === 'file' || what === 'judged' ? [[name, what]] : [])))
    for (const [name, what] of wanted) {
      const at = `${shadow.at}/${name}`
      if (live.has(at) || what === 'file' || what === 'judged') continue
      if (what === 'link') {
        tree.addLink(shadow, name)
        if (!showLink(opened, name, shownAt(shadow, name), tree.incoming())) await tree.remove(shadow, name)
      } else if (hidden.isWhole(at)) {
        await tree.remove(shadow, name)
      } else if (!begun && (name === 'node_modules' || what === 'objects')) {
        if (live.size >= mostLive) throw new TooLarge(`more than ${mostLive} folders would have to be shown as they are`)
        const is = folderIdentity(opened, name)
        if (is === undefined) continue
        mkdirSync(shownAt(shadow, name), { mode: 0o700 })
        live.set(at, is)
      } else enter(shadow, name, what, heard.has(name))
    }
  }

  /** A folder that came, or whose name was heard of, may be another than the one that was followed. */
  const enter = (shadow: Shadow, name: string, kind: Kind, anew: boolean): void => {
    const known = shadow.folders.get(name)
    if (known && !anew) return
    const below = known ?? tree.enter(shadow, name, kind)
    if (!told.follow(below)) throw new TooLarge('the system does not tell what changes in it')
    hear(below, undefined, true)
  }

  /** Reads what changed in a folder; what is read waits to be judged. */
  const update = async (shadow: Shadow, { names, all }: Heard, waiting: Waiting[]): Promise<void> => {
    let opened: Folder
    try {
      opened = openFolder(project, shadow.names)
    } catch {
      // It is gone, of which the folder above is told; or nobody may look into it.
      for (const name of namesShown(shadow)) await tree.remove(shadow, name)
      return
    }
    try {
      const pace = openPace()
      if (all) await listIfAllowed(shadow, opened, names)
      for (const name of all ? shadow.wanted.keys() : names) {
        if (pace.due()) await pace.turn()
        if (closed) return
        mustBeWanted()
        const what = shadow.wanted.get(name)
        if (what === undefined || hidden.isWhole(`${shadow.at}/${name}`)) continue
        if (measured) {
          tree.mustFit(++measured.entries, (measured.bytes += sizeOf(opened, name)))
          continue
        }
        const known = shadow.files.get(name)
        // The clock may not have moved since it was read.
        const asKnown = known && names.has(name) ? { ...known, is: '' } : known
        const at = begun ? tree.incoming() : shownAt(shadow, name)
        const brought = await bring(opened, name, asKnown, at, means)
        if (brought === 'as known') continue
        if (brought === 'too large') throw new TooLarge()
        const shown = brought && what === 'judged' ? withoutSecrets(brought, [...shadow.names, name].join('/')) : brought
        if (shown) waiting.push({ shadow, name, brought: shown })
        else {
          if (brought) tree.release(brought.reserved)
          await tree.remove(shadow, name)
        }
        if (isFull(waiting)) await judge(waiting)
      }
    } finally {
      opened.close()
    }
  }
  const listIfAllowed = async (shadow: Shadow, opened: Folder, names: ReadonlySet<string>): Promise<void> => {
    try {
      await list(shadow, opened, names)
    } catch (fault) {
      if (!['EACCES', 'ENOENT', 'EPERM'].includes((fault as NodeJS.ErrnoException).code ?? '')) throw fault
      shadow.wanted = new Map()
    }
  }
  const isFull = (waiting: readonly Waiting[]): boolean =>
    waiting.length >= batchFiles || waiting.reduce((sum, { brought }) => sum + brought.bytes, 0) >= batchBytes

  /** What must be hidden by now goes; what need not be any more comes. */
  const scan = async (): Promise<void> => {
    looksAgain = false
    const { hide, show } = await hidden.scan()
    for (const { at, instead } of hide) {
      const shadow = tree.parentOf(at)
      const name = nameOf(at)
      if (shadow && instead === undefined) await tree.remove(shadow, name)
      else if (shadow) hear(shadow, name, true)
    }
    for (const { at } of show) {
      const shadow = tree.parentOf(at)
      if (shadow) hear(shadow, nameOf(at), true)
    }
  }

  let since = 0
  /**
   * Shows what was read. It is judged by what is to be hidden after it was read, and shown only if it is still the file at that name, and nothing that is
   * a secret came or went meanwhile: it may have had such a name when it was read.
   */
  const judge = async (waiting: Waiting[]): Promise<void> => {
    const all = waiting.splice(0)
    await scan()
    const inside = all.some(({ brought }) => brought.linked) ? await hidden.inside() : undefined
    const unsure = came !== since
    since = came
    const pace = openPace()
    let opened: { shadow: Shadow; folder: Folder } | undefined
    try {
      for (const { shadow, name, brought } of all) {
        tree.release(brought.reserved)
        if (shadow.gone || closed) {
          rmSync(brought.at, { force: true })
          continue
        }
        if (opened?.shadow !== shadow) {
          opened?.folder.close()
          opened = undefined
          opened = openIfThere(shadow)
        }
        const covered = hidden.at(`${shadow.at}/${name}`)
        const words = shadow.wanted.get(name) === 'file' ? covered?.instead : undefined
        const mayShow =
          !unsure &&
          !hidden.isWhole(`${shadow.at}/${name}`) &&
          !hidden.isBelow(shadow) &&
          !hidden.isUnderAnotherName(brought, covered) &&
          !(brought.linked && covered === undefined && inside?.has(brought.file) !== false) &&
          opened !== undefined &&
          isStillThere(opened.folder, name, brought)
        if (mayShow) tree.place(shadow, name, words === undefined ? brought : withWords(brought, words))
        else {
          rmSync(brought.at, { force: true })
          if (unsure) hear(shadow, name, true)
        }
        if (pace.due()) await pace.turn()
      }
    } finally {
      opened?.folder.close()
    }
  }
  const openIfThere = (shadow: Shadow): { shadow: Shadow; folder: Folder } | undefined => {
    try {
      return { shadow, folder: openFolder(project, shadow.names) }
    } catch {
      return undefined
    }
  }
  /** What was heard of until now; folders that are found on the way wait for the next. */
  const pass = async (): Promise<void> => {
    const { perhapsAll } = await told.changed()
    for (const shadow of perhapsAll ? everyFolder(top) : []) {
      hear(shadow, undefined, true)
      // Another folder may stand there than the one that is followed.
      for (const name of shadow.folders.keys()) hear(shadow, name, true)
    }
    const waiting: Waiting[] = []
    if (looksAgain || !begun) await scan()
    since = came
    mustBeWanted()
    const heard = [...dirty]
    dirty.clear()
    for (const [shadow, what] of heard) {
      if (closed) return
      if (!shadow.gone) await update(shadow, what, waiting)
    }
    if (waiting.length > 0) await judge(waiting)
  }

  const passes = openPasses({
    isDue: () => dirty.size > 0 || looksAgain,
    pass,
    onFailed: (fault) => onLost(`what it sees of the project cannot be kept up to date: ${fault.message}`),
  })
  const wake = (): void => passes.wake()

  return {
    folder: tree.folder,
    get live() {
      return [...live].map(([at, is]) => ({ at, is }))
    },
    async begin() {
      if (!told.follow(top)) throw new TooLarge('the system does not tell what changes in it')
      // First all is added up: of what does not fit nothing is written.
      hear(top, undefined, true)
      while (dirty.size > 0) await pass()
      measured = undefined
      everyFolder(top).forEach((shadow) => hear(shadow, undefined, true))
      while (dirty.size > 0) await pass()
      begun = true
      tree.begun()
      passes.begin()
    },
    caughtUp: passes.caughtUp,
    close() {
      closed = true
      unfollow()
      told.close()
      passes.close()
    },
  }
}

function nameOf(at: Hidden['at']): string {
  const path = at.toString()
  return path.slice(path.lastIndexOf('/') + 1)
}

function sizeOf(folder: Folder, name: string): number {
  return lstatSync(folder.at(name), { throwIfNoEntry: false })?.size ?? 0
}
