import type { EffectShape } from '../contracts/effects.ts'
import type { CapturedOutput, ProgramResult, SkippedChange } from '../contracts/stage.ts'

const mostListed = 1_000

export function programResultFields({ effects, leftover, leftoverMore = 0, ms, confined }: ProgramResult): {
  changes: EffectShape[]
  left?: { path: string; why: string }[]
  duration_ms: number
  confined: boolean
} {
  return {
    changes: effects.slice(0, mostListed).map(({ path, kind, form, from }) => ({
      path,
      kind,
      ...(form !== 'file' && { form }),
      ...(from !== undefined && { from }),
    })),
    ...(leftover.length && { left: [...leftover.slice(0, mostListed), ...unnamed(leftover.length + leftoverMore)] }),
    duration_ms: ms,
    confined,
  }
}

/**
 * Whether it ended well and all that it is for has happened. A commit, a branch or a merge that stays behind with its stage has not, whatever
 * its exit code says.
 */
export function succeeded({ exitCode, leftover }: ProgramResult): boolean {
  return exitCode === 0 && !leftover.some(({ path }) => isIn('.git', path))
}

/** What comes first in an answer: what has not happened although the program did it. */
export function notApplied({ leftover, leftoverMore = 0 }: ProgramResult): { not_applied?: string } {
  if (leftover.length === 0) return {}
  const inGit = leftover.filter(({ path }) => isIn('.git', path))
  const inPackages = leftover.filter((one) => !inGit.includes(one) && isIn('node_modules', one.path))
  const others = leftover.filter((one) => !inGit.includes(one) && !inPackages.includes(one))
  const more = others.length - mostSaid + leftoverMore
  const said = [
    ...(inGit.length
      ? [
          `What it did in ${namesOf(inGit)} was not applied: in the real repository nothing was committed, staged, merged or switched, whatever it printed. Tell the person which git command to run.`,
        ]
      : []),
    ...(inPackages.length
      ? [
          `What it wrote in ${namesOf(inPackages)} was not applied: packages it installed there are not installed. If they are needed, tell the person to install them; a cache is no loss.`,
        ]
      : []),
    ...others
      .slice(0, mostSaid)
      .map(({ path, why }) => `Not applied: ${path.slice(0, longestName)} (${why.slice(0, longestName)}).`),
    ...(more > 0 ? [`Not applied: ${more} more.`] : []),
  ]
  return { not_applied: said.join(' ') }
}

const mostSaid = 5
const longestName = 300

const isIn = (name: string, path: string): boolean => path.split('/').includes(name)

function namesOf(skipped: readonly SkippedChange[]): string {
  const names = skipped.slice(0, mostSaid).map(({ path }) => path.slice(0, longestName))
  return skipped.length > mostSaid ? `${names.join(', ')} and ${skipped.length - mostSaid} more` : names.join(', ')
}

/** A list that ends early says so. */
const unnamed = (count: number): { path: string; why: string }[] =>
  count > mostListed ? [{ path: '…', why: `and ${count - mostListed} more, not named here` }] : []

/** The lines of an output, without a last empty one. */
export function linesOf({ text }: CapturedOutput): string[] {
  return text === '' ? [] : text.replace(/\n$/, '').split('\n')
}
