import { oneLine, quotedName } from '../text/printable.ts'
import { shellWords } from '../text/shell-words.ts'
import type { ProgramResult } from '../contracts/stage.ts'
import type { Staged } from '../contracts/staged.ts'
import type { Card } from '../contracts/tool.ts'
import type { BehindLinks } from './behind-links.ts'
import type { ProgramContext } from './call-context.ts'

/** What a person sees before a program runs, where it must be asked about first. */
export function cardBefore(card: Card, { program, confined, says, asksAfter }: ProgramContext): Card {
  const notes = [
    ...(card.notes ?? []),
    `Runs: ${shellWords(program.argv)}`,
    ...(program.network
      ? [
          'With the network: it can reach the internet and every service on this machine, and listen on its ports, where it can pose as another server.',
        ]
      : []),
    ...(confined
      ? [
          asksAfter
            ? 'What it changes in the project is shown to you before it counts.'
            : 'Plain changes it makes in the project are applied and can be undone; anything more is shown to you before it counts.',
        ]
      : [`NOT CONFINED: it can read, change and send whatever you can. ${says}`]),
  ]
  return { ...card, notes, ...loudOf(program.network === true, confined) }
}

function loudOf(network: boolean, confined: boolean): Pick<Card, 'loud'> {
  const loud = [...(network ? (['network'] as const) : []), ...(confined ? [] : (['unconfined'] as const))]
  return loud.length ? { loud } : {}
}

/** The effect, not the words: every change, why the person is asked, and what they should know of the run. */
export async function cardAfter(
  card: Card,
  { ran, show }: Staged,
  { sensitive, links, why }: { sensitive: string[]; links?: BehindLinks | undefined; why: readonly string[] },
): Promise<Card> {
  // Set off, so that what a program prints cannot pass for what we say.
  const last = (text: string): string[] =>
    text
      .trim()
      .split('\n')
      .slice(-12)
      .map((line) => `> ${oneLine(line, 200)}`)
  const notes = [
    ...(why.length ? [`You are asked because it ${why.join(', and ')}.`] : []),
    ...(card.notes ?? []),
    ran.exitCode === 0 ? `Exited 0 in ${ran.ms} ms.` : `Exited ${ran.exitCode} in ${ran.ms} ms.`,
    ...(ran.network ? ['It had the network.'] : []),
    ...leftoverNotes(ran),
    ...(ran.stdout.text.trim() ? ['It printed:', ...last(ran.stdout.text)] : []),
    ...(ran.stderr.text.trim() ? ['Its errors:', ...last(ran.stderr.text)] : []),
  ]
  return { title: card.title, ...(await show(new Set(sensitive), links)), notes, ...loudOf(ran.network, ran.confined) }
}

const mostReasons = 20

/** What is left behind, a sentence for each reason. */
function leftoverNotes({ leftover, leftoverMore = 0 }: ProgramResult): string[] {
  const byReason = new Map<string, string[]>()
  for (const { path, why } of leftover) {
    const known = byReason.get(why)
    if (known) known.push(path)
    else byReason.set(why, [path])
  }
  const reasons = [...byReason]
  const said = reasons.slice(0, mostReasons).map(([why, paths]) => {
    const more = paths.length > 5 ? ` and ${paths.length - 5} more` : ''
    return `Not applied: ${paths.slice(0, 5).map(quotedName).join(', ')}${more} (${why}).`
  })
  const more = reasons.slice(mostReasons).reduce((sum, [, paths]) => sum + paths.length, leftoverMore)
  return more > 0 ? [...said, `Not applied: ${more} more that are not named here.`] : said
}
