import { lineDiff } from '../diff.ts'

/** What a page says now that it did not say before: lines that came and went, marked, and no more of them than fit. */
export function whatChanged(before: string, after: string, most: number): string {
  if (before === after) return ''
  const lines = lineDiff(before, after).hunks.flatMap(({ linesOld, linesNew }) => [
    ...linesOld.filter((line) => line !== '').map((line) => `- ${line}`),
    ...linesNew.filter((line) => line !== '').map((line) => `+ ${line}`),
  ])
  let size = 0
  const fit = lines.findIndex((line) => (size += line.length + 1) > most)
  return fit === -1 ? lines.join('\n') : [...lines.slice(0, fit), `⟦${lines.length - fit} more lines changed⟧`].join('\n')
}
