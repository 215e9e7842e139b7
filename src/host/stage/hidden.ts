import { lstatSync, readdirSync } from 'node:fs'
import { deepest, type PathRules } from '../paths.ts'
import type { Root } from '../walk.ts'

/** Something of the project that programs do not get to see. */
export interface Hidden {
  path: string
  folder: boolean
}

interface Known {
  mtimeNs: bigint
  folders: string[]
  hidden: Hidden[]
}

/** Values for the machine itself, as opposed to a pattern of them for readers. */
const environmentFile = /^\.env(?!.*\.(example|sample|template)$)\b/i
/** A folder that changed this recently may change again within the same tick of the clock. */
const settledNs = 50_000_000n

/**
 * What tools may not enter is hidden from programs too, at any depth, save the names they must read to work. A folder is read
 * again only where it has changed, so that a large project costs one look at each of its folders and not at its files.
 */
export function watchHidden(root: Root, rules: PathRules, visible: readonly string[]): () => Hidden[] {
  const known = new Map<string, Known>()
  const isHidden = (names: string[]): boolean => rules.refuse(names) !== undefined || environmentFile.test(names.at(-1) ?? '')

  const read = (names: string[], mtimeNs: bigint): Known => {
    const found: Known = { mtimeNs, folders: [], hidden: [] }
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
    const stat = lstatSync(`${root.path}/${path}`, { bigint: true, throwIfNoEntry: false })
    if (!stat?.isDirectory()) return void known.delete(path)
    let found = known.get(path)
    if (found?.mtimeNs !== stat.mtimeNs) {
      try {
        found = read(names, stat.mtimeNs)
      } catch {
        // A folder nobody may read is none to look into either.
        return
      }
      if (BigInt(Date.now()) * 1_000_000n - stat.mtimeNs > settledNs) known.set(path, found)
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
