import { starterAt, startersBelow, type StarterKind } from '../../text/files-that-run/starters.ts'

/** Names in a project that start others, as they are now. */
export interface StarterIndex {
  /** Files, by their path. */
  readonly files: ReadonlyMap<string, StarterKind>
  /** Links in the place of a folder that holds such files. */
  readonly links: ReadonlySet<string>
  /** Folders with a repository of git right in them. */
  readonly repositories: ReadonlySet<string>
  /** Another number as soon as one of them is another. */
  readonly version: number
  /** Whether what the file holds may have changed since this was asked for it last: told by the system, or nobody can say. */
  mayHaveChanged(path: string): boolean
}

export interface WritableStarterIndex extends StarterIndex {
  /** Whether the name is one of them. */
  note(folders: readonly string[], name: string, kind: 'link' | 'folder' | 'other'): boolean
  forget(folders: readonly string[], name: string): void
  /** The system said so; without a path, words of its were lost. */
  heard(path?: string): void
}

/** `isTold` says whether the system tells of changes in the folder of a path. */
export function openStarterIndex(isTold: (path: string) => boolean): WritableStarterIndex {
  const files = new Map<string, StarterKind>()
  const links = new Set<string>()
  const repositories = new Set<string>()
  /** Those that are no links, and of which nothing was heard since. */
  const settled = new Set<string>()
  const plain = new Set<string>()
  let version = 0
  return {
    files,
    links,
    repositories,
    get version() {
      return version
    },
    mayHaveChanged(path) {
      if (settled.has(path)) return false
      if (plain.has(path) && isTold(path)) settled.add(path)
      return true
    },
    heard(path) {
      if (path === undefined) settled.clear()
      else settled.delete(path)
    },
    note(folders, name, form) {
      const kind = form === 'folder' ? undefined : starterAt(folders, name)
      const isRepository = name === '.git'
      const leads = form === 'link' && startersBelow([...folders, name]).length > 0
      if (!kind && !isRepository && !leads) return false
      const path = [...folders, name].join('/')
      if (files.has(path) !== (kind !== undefined) || links.has(path) !== leads) version++
      settled.delete(path)
      if (kind && form === 'other') plain.add(path)
      else plain.delete(path)
      if (kind) files.set(path, kind)
      else files.delete(path)
      if (leads) links.add(path)
      else links.delete(path)
      if (isRepository) repositories.add(folders.join('/'))
      return true
    },
    forget(folders, name) {
      const path = [...folders, name].join('/')
      for (const known of [files, links, plain, settled]) known.delete(path)
      if (name === '.git') repositories.delete(folders.join('/'))
      version++
    },
  }
}
