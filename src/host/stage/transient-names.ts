/** What is known of a name since it was last seen to be there. */
interface Transient {
  /** How often it came or went. */
  times: number
  /** What it held changed meanwhile, or it has the place of a file that is being saved: it was no folder. */
  isFile: boolean
  since: number
}

/**
 * Names that came to a folder and were gone before anybody could look. The system does not say what they were; a file is known by its
 * being written, and what is left may have been a folder with anything in it.
 */
export interface TransientNames<Folder> {
  /** The system told of a name: that it came or went, or, `renamed` being false, that what is there changed. */
  heard(folder: Folder, name: string, renamed: boolean, isThere: boolean): void
  /** Those that came and went since this was asked last. */
  take(): { folder: Folder; name: string }[]
  clear(): void
}

/** Longer than it takes to hear both. */
const keptMs = 1_000
const most = 10_000
/** Names under which programs make an empty file for a moment, and no folder: git's locks, and how watchers find out how late they are. */
const signs = /(?:^\.watchman-cookie-|\.lock$)/

export function openTransientNames<Folder>(): TransientNames<Folder> {
  const folders = new Map<Folder, Map<string, Transient>>()
  let count = 0
  let last = ''
  const clear = (): void => {
    folders.clear()
    count = 0
  }
  return {
    heard(folder, name, renamed, isThere) {
      const known = folders.get(folder)
      const one = known?.get(name)
      if (!renamed) {
        if (one) one.isFile = true
        return
      }
      const before = last
      last = name
      if (isThere) {
        if (known?.delete(name)) count--
        return
      }
      if (one) return void one.times++
      if (signs.test(name)) return
      if (count++ >= most) clear()
      // Editors lay the old file aside under a name that begins with its own, and remove it once the new one stands.
      const isFile = before !== '' && before !== name && name.startsWith(before)
      const names = folders.get(folder) ?? new Map<string, Transient>()
      folders.set(folder, names.set(name, { times: 1, isFile, since: performance.now() }))
    },
    take() {
      const found: { folder: Folder; name: string }[] = []
      const now = performance.now()
      for (const [folder, names] of folders) {
        for (const [name, { times, isFile, since }] of names) {
          if (times === 1 && now - since < keptMs) continue
          if (times > 1 && !isFile) found.push({ folder, name })
          names.delete(name)
          count--
        }
        if (names.size === 0) folders.delete(folder)
      }
      return found
    },
    clear,
  }
}
