import picomatch from 'picomatch'
import { ToolError } from '../contracts/errors.ts'

const longest = 512
const mostGlobs = 100

/**
 * A test for paths. Globs become backtracking patterns, so what makes them explode is refused: they are bounded in
 * length, in stars per name and in `**`, and have no nested repetition.
 */
export function compileGlobs(globs: readonly string[], options: { matchBase?: boolean } = {}): (path: string) => boolean {
  if (globs.length > mostGlobs) throw badGlob(`${globs.length} patterns`, `at most ${mostGlobs} can be given`)
  for (const glob of globs) {
    if (glob === '' || glob.length > longest) throw badGlob(glob, `it must have 1 to ${longest} characters`)
    if ((glob.match(/\*\*/g) ?? []).length > 4) throw badGlob(glob, 'at most four ** can be given')
    if (glob.split('/').some((name) => name !== '**' && (name.match(/\*/g) ?? []).length > 3))
      throw badGlob(glob, 'at most three * per name can be given')
  }
  try {
    return picomatch([...globs], { dot: true, noextglob: true, ...options })
  } catch (cause) {
    throw badGlob(globs.join(' '), (cause as Error).message)
  }
}

function badGlob(glob: string, why: string): ToolError {
  return new ToolError('E_BAD_ARGS', `Not a usable glob: ${glob.slice(0, 100)}: ${why.slice(0, 200)}`, {
    hint: 'Give a pattern such as "**/*.txt" or "game/scene/*.txt".',
  })
}
