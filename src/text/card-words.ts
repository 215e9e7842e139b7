import type { EffectKind } from '../contracts/stage.ts'
import type { Card, CardChange, Risk } from '../contracts/tool.ts'

/** Kinds in the order in which a person wants to hear of them. */
export const kindsByWeight = ['deleted', 'renamed', 'modified', 'created', 'mode'] as const satisfies readonly EffectKind[]

/** How many changes of each kind a card asks for, the weightiest first; nothing where it changes no files. */
export function countsOf({ changes, counts, rest = [] }: Card): [EffectKind, number][] {
  const found: Partial<Record<EffectKind, number>> = { ...counts }
  if (!counts && rest.length === 0) for (const { kind = 'modified' } of changes) found[kind] = (found[kind] ?? 0) + 1
  return kindsByWeight.flatMap((kind): [EffectKind, number][] => (found[kind] ? [[kind, found[kind]]] : []))
}

const kindWords: Record<EffectKind, string> = {
  deleted: 'deleted',
  renamed: 'renamed',
  modified: 'modified',
  created: 'created',
  mode: 'with other permissions',
}

/** The first line of a card: how much of what. Nothing where one change says it itself. */
export function countsLine(card: Card): string | undefined {
  const counts = countsOf(card)
  const all = counts.reduce((sum, [, count]) => sum + count, 0)
  if (all < 2) return undefined
  return `${all} changes: ${counts.map(([kind, count]) => `${count} ${kindWords[kind]}`).join(', ')}.`
}

/** What a risk means, said wherever its letter is shown. */
export const riskWords: Record<Risk, string> = {
  R0: 'only reads',
  R1: 'can be undone',
  R2: 'cannot be fully undone, changes a lot, or makes other programs run something',
  R3: 'destroys, publishes, spends, or touches secrets',
}

/** Lines that go and lines that come. */
export function lineCounts({ diff }: Pick<CardChange, 'diff'>): { out: number; in: number } {
  const sum = { out: 0, in: 0 }
  for (const { linesOld, linesNew } of diff.hunks) {
    // A file that is new or empty is one empty line to the diff.
    sum.out += diff.hunks.length === 1 && linesOld.length === 1 && linesOld[0] === '' ? 0 : linesOld.length
    sum.in += linesNew.length
  }
  return sum
}
