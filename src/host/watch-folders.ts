import { watch } from 'node:fs'

/** A person saves several files at once, and an editor writes each of them more than once. */
const quietMs = 200

/** Tells of changes below folders, those close together once. Each `next` waits for one that nobody was told of yet. */
export function watchFolders(folders: readonly string[]): { next(): Promise<void> } {
  let isDue = false
  let wake: (() => void) | undefined
  let timer: NodeJS.Timeout | undefined
  const changed = (): void => {
    clearTimeout(timer)
    timer = setTimeout(() => {
      isDue = true
      wake?.()
    }, quietMs)
  }
  for (const folder of folders) watch(folder, { recursive: true }, changed)
  return {
    async next() {
      if (!isDue) await new Promise<void>((resolve) => (wake = resolve))
      isDue = false
    },
  }
}
