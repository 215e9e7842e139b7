import { lstatSync, readdirSync } from 'node:fs'
import { deepest, type PathRules } from '../paths.ts'
import type { Root } from '../walk.ts'

/** Something of the project that programs do not get to see. */
export interface Hidden {
  path: string
  folder: boolean
}

interface Known {
  mtimeMs: number
  folders: string[]
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
  const known = new Map<string, Known>()
  const isHidden = (names: string[]): boolean => rules.refuse(names) !== undefined || environmentFile.test(names.at(-1) ?? '')

  const read = (names: string[], mtimeMs: number): Known => {
    const found: Known = { mtimeMs, folders: [], hidden: [] }
    for (const entry of readdirSync([root.path, ...names].join('/'), { withFileTypes: true })) {
      const here = [...names, entry.name]
      if (visible.includes(entry.name) || !(entry.isFile() || entry.isDirectory())) continue
      if (isHidden(here)) found.hidden.push({ path: here.join('/'), folder: entry.isDirectory() })
      else if (entry.isDirectory() && here.length < deepest) found.folders.push(entry.name)
    }
    return found
  }

  const look = (names: string[], out: Hidden[]): void => {
    const path = names.join('/')
    const stat = lstatSync(`${root.path}/${path}`, { throwIfNoEntry: false })
    if (!stat?.isDirectory()) return void known.delete(path)
    let found = known.get(path)
    if (found?.mtimeMs !== stat.mtimeMs) {
      try {
        found = read(names, stat.mtimeMs)
      } catch {
        // A folder nobody may read is none to look into either.
        return
      }
      if (Date.now() - stat.mtimeMs > settledMs) known.set(path, found)
    }
    out.push(...(found?.hidden ?? []))
    for (const name of found?.folders ?? []) look([...names, name], out)
  }

  return () => {
    const out: Hidden[] = []
    look([], out)
    return out
  }
}
