import { Fault } from '../../contracts/faults/fault.ts'
import type { Files, Listing } from '../../host/files.ts'
import { byText, type Pace } from '../../text/steps.ts'
import { folders } from './grammar/commands.ts'
import { leftOutSentence } from './left-out.ts'

/** Games stand in `game/`; exports and forks put something in front of it. */
const usualRoots = [
  'game',
  'public/game',
  'packages/webgal/public/game',
  'dist/game',
  'build/game',
  'resources/app/public/game',
  '',
]

/** The folder of the game a scene belongs to, or of the one of the project. */
export function rootOf(files: Files, scenePath?: string): string {
  const at = scenePath === undefined ? -1 : `/${scenePath}`.lastIndexOf('/scene/')
  if (at >= 0) return `/${scenePath}`.slice(1, at)
  return usualRoot(files) ?? 'game'
}

function usualRoot(files: Files): string | undefined {
  const isGame = (root: string): boolean =>
    folders.some((folder) => quietly(() => files.isFolder(root === '' ? folder : `${root}/${folder}`)))
  return usualRoots.find(isGame)
}

/** Folders that are looked into for games, and how deep they may lie: a folder of Terre holds `games/<name>/game`. */
const mostFolders = 5_000
const mostNames = 100_000
const deepestGame = 8

/** Every game of a project: the one in its usual place, else all that are found below. */
export async function gamesIn(files: Files, pace: Pace): Promise<{ games: string[]; leftOut: string[] }> {
  const usual = usualRoot(files)
  if (usual !== undefined) return { games: [usual], leftOut: [] }
  const games: string[] = []
  const leftOut: string[] = []
  let folderCount = 0
  let level = ['']
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepestGame)
      leftOut.push(
        leftOutSentence('Games were looked for {deepest} folders deep, not in {n} that are deeper.', {
          deepest: deepestGame,
          n: level.length,
        }),
      )
    if (depth > deepestGame) break
    const next: string[] = []
    for (const path of level) {
      if (folderCount++ >= mostFolders) {
        leftOut.push(leftOutSentence('Games were looked for in the first {n} folders only.', { n: mostFolders }))
        return { games: games.toSorted(byText), leftOut }
      }
      if (pace.due()) await pace.turn()
      const listed = await listing(files, path, mostNames)
      const names = new Set(listed?.entries.flatMap(({ name, kind }) => (kind === 'folder' ? [name] : [])))
      const below = (name: string): string => (path === '' ? name : `${path}/${name}`)
      if (names.has('scene') && folders.some((folder) => folder !== 'scene' && names.has(folder))) games.push(path)
      else for (const name of names) next.push(below(name))
    }
    level = next
  }
  return { games: games.toSorted(byText), leftOut }
}

/** A folder that is not there is empty; one that is there and cannot be read leaves nothing to check against. */
export async function listing(files: Files, path: string, most: number): Promise<Listing | undefined> {
  try {
    return await files.list(path, undefined, Math.max(0, most))
  } catch (fault) {
    if (fault instanceof Fault && fault.reason === 'io')
      throw new Fault('lint', `The resources of the game cannot be looked at: ${fault.message}`, {
        details: { ...fault.details },
        hint: fault.hint ?? 'Check the permissions of the folder.',
        cause: fault,
      })
    if (fault instanceof Fault) return undefined
    throw fault
  }
}

/** What cannot be looked at is taken as not there; the file that is checked itself is read elsewhere, loudly. */
export function quietly<T>(look: () => T): T | undefined {
  try {
    return look()
  } catch (fault) {
    if (fault instanceof Fault || fault instanceof SyntaxError) return undefined
    throw fault
  }
}
