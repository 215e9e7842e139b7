import { foldName } from './fold-name.ts'

/** Files that keep others out of commits, packages, images and deployments. */
export const ignoreFiles = [
  '.gitignore',
  '.dockerignore',
  '.npmignore',
  '.vercelignore',
  '.gcloudignore',
  '.helmignore',
  '.slugignore',
  '.vscodeignore',
]
/** Where one of these is, `.gitignore` no longer counts. */
const insteadOf = ['.npmignore', '.vercelignore', '.gcloudignore']
const known = new Set(ignoreFiles)

export function isIgnoreFile(path: string): boolean {
  return known.has(lastOf(path))
}

const lastOf = (path: string): string => foldName(path.slice(path.lastIndexOf('/') + 1))
const linesOf = (text: string): Set<string> => new Set(text.split(/\r?\n/).filter((line) => line !== '' && !line.startsWith('#')))

/** Why a change of an ignore file lets something out that was kept back; the end of a sentence. Nothing where it only keeps back more. */
export function letsOut(path: string, before: string | undefined, after: string | undefined): string | undefined {
  if (after === undefined) return before === undefined ? undefined : 'keeps files back no more'
  if (before === undefined && insteadOf.includes(lastOf(path))) return 'counts in the place of .gitignore from now on'
  const [old, now] = [linesOf(before ?? ''), linesOf(after)]
  const gone = [...old].some((line) => !line.startsWith('!') && !now.has(line))
  const lets = [...now].some((line) => line.startsWith('!') && !old.has(line))
  return gone || lets ? 'lets files into commits, packages or images that it kept back' : undefined
}
