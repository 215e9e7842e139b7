import { existsSync } from 'node:fs'
import { realpath, stat } from 'node:fs/promises'
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
