import { statSync } from 'node:fs'
import { dirname } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import type { Program } from '../../contracts/stage.ts'
import type { Hidden } from './hidden.ts'
import { holds } from './bind-rules.ts'

/** What decides what a program sees. */
export interface ViewInputs {
  program: Program
  hides: readonly Hidden[]
  /** What of the machine it reads. */
  reads: readonly string[]
}

/**
 * What the next program will see, where the last two saw the same: then bubblewrap, which takes longer than most programs, is done with it
 * before there is one. Nothing is shown by that which may not be shown: a program is run there only where all of it would be said again now.
 */
export interface ViewPredictor {
  /** A program was started. */
  ran(inputs: ViewInputs): void
  /** Tells a stage what can be foreseen, if anything can. */
  tell(folder: string, tell: (inputs: ViewInputs) => void): void
  /** Whether a stage was told nothing, or what still is so. */
  holds(folder: string, inputs: ViewInputs): boolean
}

export function openViewPredictor(project: string): ViewPredictor {
  let last: ViewInputs | undefined
  let likely: ViewInputs | undefined
  let told: { folder: string; hides: readonly Hidden[]; on: string } | undefined
  const standsOn = ({ hides, reads }: ViewInputs): string => identities([...reads, ...above(hides, project)])
  return {
    ran(inputs) {
      likely = last && canBeTold(inputs, project) && isDeepStrictEqual(shapeOf(last), shapeOf(inputs)) ? inputs : undefined
      last = inputs
    },
    tell(folder, tell) {
      if (!likely) return
      told = { folder, hides: likely.hides, on: standsOn(likely) }
      tell(likely)
    },
    holds(folder, inputs) {
      if (told?.folder !== folder) return true
      // What was replaced has the same name, and may not be covered, or not be what is shown.
      return isDeepStrictEqual(told.hides, inputs.hides) && told.on === standsOn(inputs)
    },
  }
}

/** What is looked at for each call must not take as long as what it saves. */
const mostHidden = 50

/**
 * Not what is made for one call; nor what may be secret, which lies nowhere before it must. A cover outside of the overlay falls off with
 * what it covers.
 */
function canBeTold({ program, hides }: ViewInputs, project: string): boolean {
  const { network = false, env = {}, secrets = [], changes = '' } = program
  const own = network || Object.keys(env).length > 0 || secrets.length > 0 || changes !== ''
  return !own && hides.length <= mostHidden && hides.every(({ at }) => holds(project, at.toString()))
}

function shapeOf({ program, reads }: ViewInputs): unknown {
  const { cwd, alone = false } = program
  return { cwd, alone, reads }
}

/** Which files and folders they are: a name may come to stand for another. */
function identities(paths: readonly string[]): string {
  return paths
    .map((path) => {
      const stat = statSync(path, { throwIfNoEntry: false })
      return stat ? `${stat.dev} ${stat.ino}` : ''
    })
    .join()
}

/** The folders that are gone through on the way to what is hidden. */
function above(hides: readonly Hidden[], project: string): string[] {
  const found = new Set<string>()
  for (const { at } of hides)
    for (
      let folder = dirname(at.toString());
      folder !== project && !found.has(folder) && holds(project, folder);
      folder = dirname(folder)
    )
      found.add(folder)
  return [...found].sort()
}
