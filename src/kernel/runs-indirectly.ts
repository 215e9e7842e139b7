import { foldName } from '../text/fold-name.ts'
import { namesOn } from '../text/root-path.ts'
import type { Steps } from '../text/steps.ts'
import type { WorldPort } from './ports.ts'

type World = Pick<WorldPort, 'exists'>

/** What git looks for in a folder to take it for a repository, and what it then runs programs from. */
const makes = ['head', 'objects', 'refs', 'commondir']
const parts = new Set([...makes, 'config', 'config.worktree', 'hooks'])

/**
 * Those of the paths that would lie in a bare repository once all of them are written: git takes any folder with HEAD, objects
 * and refs for one, and does what its settings say.
 */
export function* wouldBeRepository(world: World, paths: readonly string[]): Steps<string[]> {
  const judged = new Map<string, boolean>()
  const coming = new Set<string>()
  for (const path of paths) {
    // With every folder on the way to it.
    for (let names = namesOn(path); names.length > 0 && !coming.has(names.join('/')); names = names.slice(0, -1))
      coming.add(names.join('/'))
    yield
  }
  const stands = (path: string): boolean => coming.has(path) || isThere(world, path)
  const isRepository = (folder: string): boolean => {
    const at = folder === '' ? '' : `${folder}/`
    const known =
      judged.get(folder) ?? (stands(`${at}HEAD`) && (stands(`${at}commondir`) || (stands(`${at}objects`) && stands(`${at}refs`))))
    judged.set(folder, known)
    return known
  }
  const found: string[] = []
  for (const path of paths) {
    const names = namesOn(path)
    if (names.some((name, index) => parts.has(foldName(name)) && isRepository(names.slice(0, index).join('/')))) found.push(path)
    yield
  }
  return found
}

function isThere(world: World, path: string): boolean {
  try {
    return world.exists(path)
  } catch {
    return false
  }
}
