import { statSync } from 'node:fs'
import type { PathRules } from '../paths.ts'
import { readsAsShown } from './confine.ts'
import { hiddenViewOf, type HiddenView } from './hidden-guard.ts'
import { watchHidden, type HiddenWatch } from './hidden.ts'

export interface HiddenWatches {
  /** What programs see of the project, and of these files and folders of the machine. */
  of(reads: readonly string[]): HiddenView
  close(): void
}

/** Toolchains one server has to do with; who comes back after so many others is looked through anew. */
const mostWatched = 16

/** One watch for the project, and one for each folder that was ever shown besides it. */
export function openHiddenWatches(project: string, rules: PathRules, visible: readonly string[]): HiddenWatches {
  const own = watchHidden(project, { rules, visible })
  const others = new Map<string, HiddenWatch>()
  const other = (folder: string): HiddenWatch => {
    const known = others.get(folder) ?? watchHidden(folder, { rules, visible: [] }, 'outside')
    // The one that was used last stands last.
    others.delete(folder)
    others.set(folder, known)
    return known
  }
  return {
    of(reads) {
      const folders = readsAsShown(reads, project).flatMap(({ from, link }) => (!link && isFolder(from) ? [from] : []))
      const watches = folders.map(other)
      for (const [folder, watch] of others) {
        if (others.size <= Math.max(mostWatched, folders.length)) break
        watch.close()
        others.delete(folder)
      }
      return hiddenViewOf([own, ...watches])
    },
    close() {
      for (const watch of [own, ...others.values()]) watch.close()
    },
  }
}

function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false
}
