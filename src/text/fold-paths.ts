import type { Steps } from './steps.ts'

/** At most so many paths that hold all of these: where there are more, the deepest give way to their folders, which end in `/`. The project itself is `/`. */
export function* foldersOf(paths: Iterable<string>, most: number): Steps<string[]> {
  let kept = new Set(paths)
  while (kept.size > most) {
    let deepest = 0
    for (const path of kept) {
      deepest = Math.max(deepest, depthOf(path))
      yield
    }
    const folded = new Set<string>()
    for (const path of kept) {
      folded.add(depthOf(path) === deepest ? folderOf(path) : path)
      yield
    }
    kept = folded
  }
  return [...kept]
}

/** A folder lies as deep as what it stands for, but for one. */
function depthOf(path: string): number {
  return path === '/' ? 0 : path.split('/').length - (path.endsWith('/') ? 1 : 0)
}

function folderOf(path: string): string {
  const plain = path.endsWith('/') ? path.slice(0, -1) : path
  return plain.slice(0, plain.lastIndexOf('/') + 1) || '/'
}
