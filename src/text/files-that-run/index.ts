import { foldPath } from '../fold-name.ts'
import { belowRoot } from '../root-path.ts'
import { agents } from './agents.ts'
import { builds } from './builds.ts'
import { deliver } from './deliver.ts'
import { mayBeSettings } from './dot-files.ts'
import { editors } from './editors.ts'
import { compile, expand, firstFit } from './match.ts'
import type { RunRow } from './row.ts'

export { expand } from './match.ts'
export type { RunClass, RunRow } from './row.ts'

/** Every file that makes a program run something or instructs an agent: for risk, for cards and for the docs. A test walks it. */
export const filesThatRun: readonly RunRow[] = [...agents, ...editors, ...deliver, ...builds]

// Both are made when first asked: a server that only reads need not wait for them to start.
let fits: ReturnType<typeof firstFit> | undefined
let heads: { row: RunRow; fits: RegExp }[] | undefined

/** A dot-file that no row knows is asked about, too: every month another tool looks for its settings there. */
const unknown: RunRow = {
  of: 'unknown tools',
  depth: 'R',
  class: '2',
  when: 'has a name that tools look for by themselves, and is none that is known to be plain',
  files: '.* .*/**',
}

/** What a path makes run; the first row that fits. */
export function whatRuns(path: string): RunRow | undefined {
  const below = belowRoot(path)
  return (fits ??= firstFit(filesThatRun))(below) ?? (mayBeSettings(foldPath(below)) ? unknown : undefined)
}

/** What files below this path make run, where some of them are named by where they lie: `.vscode` for `.vscode/tasks.json`. */
export function whatRunsBelow(path: string): RunRow | undefined {
  const folded = foldPath(belowRoot(path))
  return (heads ??= filesThatRun.flatMap(headsIn)).find((one) => one.fits.test(folded))?.row
}

function headsIn(row: RunRow): { row: RunRow; fits: RegExp }[] {
  const files = row.files.split(' ').flatMap(expand).flatMap(headsOf)
  return files.length ? [{ row, fits: compile({ ...row, files: files.join(' ') }) }] : []
}

/** `a/b/c` as `a` and `a/b`. Below `a/**` everything is the row's already. */
function headsOf(file: string): string[] {
  const names = file.split('/').slice(0, -1)
  return names.map((_, index) => names.slice(0, index + 1).join('/')).filter((head) => !head.endsWith('/**'))
}
