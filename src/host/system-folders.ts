import { fstatSync, realpathSync, statSync } from 'node:fs'
import { isInRoot, rootMark } from '../text/root-path.ts'
import type { Root } from './walk.ts'

/** Seed 001 §5: neither read nor written by its callers, wherever a path comes from. */
export const systemFolders = [
  '/bin',
  '/sbin',
  '/usr',
  '/lib',
  '/lib64',
  '/etc',
  '/proc',
  '/sys',
  '/dev',
  '/boot',
  '/run',
  '/var/run',
] as const

/** What a name of the list leads to on this machine: most are links, `/bin` to `/usr/bin`, and some are not there at all. */
function realPathOf(folder: string): string | undefined {
  try {
    return realpathSync(folder)
  } catch {
    return undefined
  }
}

const isSame = (one: { dev: number; ino: number }, path: string): boolean => {
  const stat = statSync(path, { throwIfNoEntry: false })
  return stat !== undefined && stat.dev === one.dev && stat.ino === one.ino
}

/**
 * Judges the real path of what names lead to. The walk follows no link, so that is the real path of the opened root and the names below it;
 * it is compared with the list name by name, each entry as it is written and as what it leads to. A root that is one of them under
 * another name (a bind mount) is known by what it is.
 */
export function refuseSystem(
  project: Root,
  folders: readonly string[] = systemFolders,
): (names: readonly string[]) => string | undefined {
  const listed = folders.flatMap((folder) => {
    const real = realPathOf(folder)
    return real === undefined || real === folder ? [folder] : [folder, real]
  })
  const split = [...new Set(listed)].map((folder) => ({ folder, names: folder.split('/').slice(1) }))
  const lies = (path: readonly string[]): string | undefined =>
    split.find(({ names }) => names.every((name, index) => path[index] === name))?.folder
  const guardFor = (root: Root) => {
    const way = root.path.split('/').filter(Boolean)
    const whole = lies(way) ?? folders.find((folder) => isSame(fstatSync(root.fd), folder))
    // Mostly a root has nothing of the system above or below it, and no path in it need be looked at.
    const holds = split.some(({ names }) => way.every((name, index) => names[index] === name))
    return { way, whole, holds }
  }
  const roots = new Map([...(project.others ?? [])].map(([mark, root]) => [mark, guardFor(root)]))
  const own = guardFor(project)
  return (names) => {
    const mark = names[0] !== undefined && isInRoot(names[0]) ? names[0] : undefined
    const root = mark === undefined ? own : roots.get(mark)
    if (root === undefined) return `${rootMark('')}…`
    if (root.whole !== undefined) return root.whole
    return root.holds ? lies([...root.way, ...(mark === undefined ? names : names.slice(1))]) : undefined
  }
}
