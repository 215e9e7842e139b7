import { starterAt, startersBelow, type StarterKind } from '../../contracts/files-that-run/starters.ts'

/** Names in a project that start others, as they are now. */
export interface Noted {
  /** Files, by their path. */
  readonly files: ReadonlyMap<string, StarterKind>
  /** Links in the place of a folder that holds such files. */
  readonly links: ReadonlySet<string>
  /** Folders with a repository of git right in them. */
  readonly repositories: ReadonlySet<string>
  /** Another number as soon as one of them is another. */
  readonly version: number
}

export interface Notes extends Noted {
  /** Whether the name is one of them. */
  note(folders: readonly string[], name: string, kind: 'link' | 'folder' | 'other'): boolean
  forget(folders: readonly string[], name: string): void
}

export function noteStarters(): Notes {
  const files = new Map<string, StarterKind>()
  const links = new Set<string>()
  const repositories = new Set<string>()
  let version = 0
  return {
    files,
    links,
    repositories,
    get version() {
      return version
    },
    note(folders, name, form) {
      const kind = form === 'folder' ? undefined : starterAt(folders, name)
      const isRepository = name === '.git'
      const leads = form === 'link' && startersBelow([...folders, name]).length > 0
      if (!kind && !isRepository && !leads) return false
      const path = [...folders, name].join('/')
      if (files.has(path) !== (kind !== undefined) || links.has(path) !== leads) version++
      if (kind) files.set(path, kind)
      else files.delete(path)
      if (leads) links.add(path)
      else links.delete(path)
      if (isRepository) repositories.add(folders.join('/'))
      return true
    },
    forget(folders, name) {
      const path = [...folders, name].join('/')
      files.delete(path)
      links.delete(path)
      if (name === '.git') repositories.delete(folders.join('/'))
      version++
    },
  }
}
