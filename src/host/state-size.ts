import { lstat, opendir } from 'node:fs/promises'

/** Entries that are looked at; a store of many years is said to be at least this large. */
const mostEntries = 200_000

/** What lies below a folder, in bytes by kind. Links are not followed; what shares its bytes with another name counts once. */
export async function bytesBelow(
  folder: string,
  kindOf: (path: readonly string[]) => string,
): Promise<{ bytes: Record<string, number>; atLeast: boolean }> {
  const bytes: Record<string, number> = {}
  const seen = new Set<number>()
  const waiting: string[][] = [[]]
  let left = mostEntries
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    try {
      for await (const entry of await opendir([folder, ...path].join('/'))) {
        if (left-- <= 0) return { bytes, atLeast: true }
        const here = [...path, entry.name]
        if (entry.isDirectory()) waiting.push(here)
        else if (entry.isFile()) {
          const { size, nlink, ino } = await lstat([folder, ...here].join('/'))
          if (nlink > 1 && seen.has(ino)) continue
          if (nlink > 1) seen.add(ino)
          bytes[kindOf(here)] = (bytes[kindOf(here)] ?? 0) + size
        }
      }
    } catch {
      // It went while it was counted, or is not ours to read.
    }
  }
  return { bytes, atLeast: false }
}
