import { lstatSync, readdirSync } from 'node:fs'
import { deepest, isReserved, type PathRules } from '../paths.ts'
import type { Root } from '../walk.ts'

/** Something of the project that programs do not get to see. */
export interface Hidden {
  path: string
  folder: boolean
}

/** A folder as it was when it was last read, with those in it that are looked into. */
interface Folder {
  readonly names: readonly string[]
  readonly at: string
  /** Which folder it was, and when anything in it or of it changed last, by a clock nobody sets. */
  ino: number
  ctimeMs: number
  folders: Folder[]
  hidden: Hidden[]
}

/** Values for the machine itself, as opposed to a pattern of them for readers. */
const environmentFile = /^\.env(?!.*\.(example|sample|template)$)\b/i
/** A folder that changed this recently may change again within the same tick of the clock. */
const settledMs = 50

/**
 * What tools may not enter is hidden from programs too, at any depth, save the names they must read to work. A folder is read
 * again only where it has changed, so that a large project costs one look at each of its folders and not at its files.
 */
export function watchHidden(root: Root, rules: PathRules, visible: readonly string[]): () => Hidden[] {
  const isHidden = (names: string[]): boolean => rules.refuse(names) !== undefined || environmentFile.test(names.at(-1) ?? '')
  const unread = (names: readonly string[]): Folder => ({
    names,
    at: [root.path, ...names].join('/'),
    ino: 0,
    ctimeMs: Number.NaN,
    folders: [],
    hidden: [],
  })
  const top = unread([])

  const read = (folder: Folder): void => {
    const before = new Map(folder.folders.map((one) => [one.names.at(-1), one]))
    folder.folders = []
    folder.hidden = []
    for (const entry of readdirSync(folder.at, { withFileTypes: true })) {
      const here = [...folder.names, entry.name]
      if ((visible.includes(entry.name) && !isReserved(entry.name)) || !(entry.isFile() || entry.isDirectory())) continue
      if (isHidden(here)) folder.hidden.push({ path: here.join('/'), folder: entry.isDirectory() })
      else if (entry.isDirectory() && here.length < deepest) folder.folders.push(before.get(entry.name) ?? unread(here))
    }
  }

  // Nothing but one question to the system for each folder: this is done before every program.
  const look = (folder: Folder, out: Hidden[]): void => {
    const stat = lstatSync(folder.at, { throwIfNoEntry: false })
    if (!stat?.isDirectory()) return
    if (folder.ctimeMs !== stat.ctimeMs || folder.ino !== stat.ino) {
      try {
        read(folder)
      } catch {
        // A folder nobody may read is none to look into either.
        folder.ctimeMs = Number.NaN
        return
      }
      folder.ino = stat.ino
      folder.ctimeMs = Date.now() - stat.ctimeMs > settledMs ? stat.ctimeMs : Number.NaN
    }
    for (const one of folder.hidden) out.push(one)
    for (const one of folder.folders) look(one, out)
  }

  return () => {
    const out: Hidden[] = []
    look(top, out)
    return out
  }
}
