import { existsSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
import { headsFolder } from './heads.ts'
import { watchCounted, type CountedWatch } from './inotify-pressure.ts'
import { openStateFolder } from './state-folder.ts'
import { stateBase, type StateAsked } from './state-place.ts'
import { projectsFolder, readManifest } from './state-project.ts'

export interface KnownProject {
  path: string
  /** When its log was last written to. */
  usedAt: number
}

/** More than anybody has projects; what is beyond is not looked at. */
const mostLookedAt = 50_000

/** Where a path leads now. One that is not there is told by whoever opens it. */
export const leadsTo = (path: string): Promise<string> => realpath(path).catch(() => path)

/**
 * The projects of this user that were used since a time, the latest first. Only what lies in folders of this user alone is believed, and a
 * project can put nothing there. Whether a folder is still the project it was is for whoever opens it.
 */
export async function projectsUsedSince(asked: StateAsked, since: number, most: number): Promise<KnownProject[]> {
  const path = stateBase(asked)
  if (!existsSync(path)) return []
  const base = openStateFolder(path)
  try {
    const projects = base.sub(projectsFolder)
    const used: { name: string; usedAt: number }[] = []
    for (const name of projects.names().slice(0, mostLookedAt)) {
      const usedAt = await stat(projects.at(`${name}/audit.jsonl`)).then(
        ({ mtimeMs }) => mtimeMs,
        () => 0,
      )
      if (usedAt >= since) used.push({ name, usedAt })
    }
    return used
      .toSorted((a, b) => b.usedAt - a.usedAt)
      .slice(0, most)
      .flatMap(({ name, usedAt }) => {
        try {
          const manifest = readManifest(projects.sub(name))
          return manifest ? [{ path: manifest.path, usedAt }] : []
        } catch {
          // It is being made, or is no longer what it was.
          return []
        }
      })
  } finally {
    base.close()
  }
}

/**
 * Tells that some project of this user was used, of any that writes a line to its log: beside the logs, the heads of all of them lie in one folder. Where the
 * system tells of no changes, it is said every so often instead.
 */
export function hearOfUse(asked: StateAsked, tell: () => void, otherwiseEveryMs: number): () => void {
  let timer: NodeJS.Timeout | undefined
  const every = (): void => void (timer ??= setInterval(tell, otherwiseEveryMs))
  const open = existsSync(stateBase(asked)) ? openStateFolder(stateBase(asked)) : undefined
  const watch = open && watchedOrNot(open.sub(headsFolder).at('.'), (kind) => (kind === undefined ? every() : tell()))
  if (!watch) every()
  return () => {
    clearInterval(timer)
    watch?.close()
    open?.close()
  }
}

function watchedOrNot(...given: Parameters<typeof watchCounted>): CountedWatch | undefined {
  try {
    return watchCounted(...given)
  } catch {
    return undefined
  }
}
