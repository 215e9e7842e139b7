import type { HiddenView } from './hidden-guard.ts'
import { filesBelow } from './hidden-files.ts'
import { keyOf, type Hidden } from './hidden.ts'
import type { Mirrored } from './mirror-files.ts'
import type { Shadow } from './mirror-tree.ts'

/** What a mirror must not show, as it was at the last look. */
export interface MirrorHidden {
  /** Looks again, and says what is to be hidden since then, and what need not be any more. */
  scan(): Promise<{ hide: Hidden[]; show: Hidden[] }>
  at(path: string): Hidden | undefined
  /** With nothing in its place. */
  isWhole(path: string): boolean
  /** Whether a folder lies in one that is hidden. */
  isBelow(shadow: Shadow): boolean
  /** A second name of a file that is hidden under its own. */
  isUnderAnotherName(file: Mirrored, here: Hidden | undefined): boolean
  /** Which files lie in folders that are hidden. */
  inside(): ReturnType<typeof filesBelow>
}

export function openMirrorHidden(project: string, view: HiddenView): MirrorHidden {
  let hidden = new Map<string, Hidden>()
  /** Which files these are, as in `Mirrored`. */
  let secrets: ReadonlySet<string> = new Set()
  const at = (path: string): Hidden | undefined => hidden.get(keyOf({ at: path }))
  return {
    async scan() {
      const before = hidden
      const found = await view.scan()
      hidden = new Map(found.map((one) => [keyOf(one), one]))
      secrets = new Set(found.map(({ is }) => is.split(' ', 2).join(' ')))
      return { hide: others(hidden, before), show: others(before, hidden) }
    },
    at,
    isWhole(path) {
      const found = at(path)
      return found !== undefined && found.instead === undefined
    },
    isBelow: ({ names }) => names.some((_, index) => at(`${project}/${names.slice(0, index + 1).join('/')}`) !== undefined),
    isUnderAnotherName: ({ file }, here) => here === undefined && secrets.has(file),
    inside: () => filesBelow([...hidden.values()]),
  }
}

/** What one has and the other has not, or with other words in its place. */
function others(one: ReadonlyMap<string, Hidden>, two: ReadonlyMap<string, Hidden>): Hidden[] {
  return [...one].flatMap(([key, value]) => (two.get(key)?.instead === value.instead && two.has(key) ? [] : [value]))
}
