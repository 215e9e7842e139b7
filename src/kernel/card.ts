import type { Hunk, LineDiff } from '../contracts/line-diff.ts'
import type { Card, CardChange } from '../contracts/tool.ts'

/** What one card shows of lines. What is beyond is kept apart and read one part at a time. */
const mostLines = 10_000
const mostCharacters = 400_000
const none: LineDiff = { type: 'line', hunks: [] }

/** A card as it is kept and shown: never larger than somebody reads, and what it leaves out is marked and kept beside it, by path. */
export function fitted(card: Card, sensitive: ReadonlySet<string>): { card: Card; texts: Map<string, string> } {
  const texts = new Map<string, string>()
  const measured = card.changes.map((change) => ({ change, ...sizeOf(change.diff), first: sensitive.has(change.path) }))
  let lines = 0
  let characters = 0
  const changes = new Map<CardChange, CardChange>()
  // What makes programs run something first, then the small before the large.
  for (const one of [...measured].sort((a, b) => Number(b.first) - Number(a.first) || a.characters - b.characters)) {
    const marked = one.first ? { ...one.change, sensitive: true as const } : one.change
    const fits = lines + one.lines <= mostLines && characters + one.characters <= mostCharacters
    if (fits) {
      lines += one.lines
      characters += one.characters
    } else texts.set(one.change.path, textOf(one.change.diff))
    changes.set(one.change, fits ? marked : { ...marked, diff: none, unshown: { lines: one.lines } })
  }
  return { card: { ...card, changes: card.changes.map((change) => changes.get(change) as CardChange) }, texts }
}

function sizeOf({ hunks }: LineDiff): { lines: number; characters: number } {
  let lines = 0
  let characters = 0
  for (const { linesOld, linesNew } of hunks)
    for (const side of [linesOld, linesNew]) {
      lines += side.length
      for (const line of side) characters += line.length
    }
  return { lines, characters }
}

/** A diff as text, as it is; whoever shows it makes it plain. */
function textOf({ hunks }: LineDiff): string {
  const rows = ({ startOld, lenOld, lenNew, linesOld, linesNew }: Hunk): string[] => [
    `@@ line ${startOld}: ${lenOld} out, ${lenNew} in @@`,
    ...linesOld.map((line) => `- ${line}`),
    ...linesNew.map((line) => `+ ${line}`),
  ]
  return hunks.flatMap(rows).join('\n')
}
