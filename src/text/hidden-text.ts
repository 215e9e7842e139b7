import { foldPath } from './fold-name.ts'
import { whatRuns } from './files-that-run/index.ts'
import { lazy } from './lazy.ts'
import { quotedName } from './printable.ts'
import type { CardChange } from '../contracts/tool.ts'

/** What a reader does not see and a model does: zero widths, marks in the middle, directions, tags, selectors. One is part of many emoji. */
const unseen = lazy(() => /(?!\ufe0f)[\p{Cf}\p{Default_Ignorable_Code_Point}\u2800]/gu)

/** Whether a text holds characters that a reader does not see. */
export const hidesText = (text: string): boolean => text.replace(/^\ufeff/, '').search(unseen()) !== -1

/** Says what a change brings that nobody would see: hidden characters anywhere, comments where they instruct agents. */
export function hiddenTextNotes(changes: readonly Pick<CardChange, 'path' | 'diff'>[]): string[] {
  return changes.flatMap(({ path, diff }) => {
    const lines = diff.hunks.flatMap(({ startNew, linesNew }) =>
      linesNew.map((line, index) => (startNew + index === 1 ? line.replace(/^\ufeff/, '') : line)),
    )
    const counts = new Map<string, number>()
    for (const line of lines)
      for (const [character] of line.matchAll(unseen())) {
        const name = `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
    const found = [...counts].slice(0, 8).map(([name, count]) => (count > 1 ? `${count} × ${name}` : name))
    const more = counts.size > 8 ? ` and ${counts.size - 8} other kinds` : ''
    const instructs = whatRuns(path)?.class === 'I' || /\.(md|mdx|mdc|svg|html?|xml)$/.test(foldPath(path))
    return [
      ...(found.length
        ? [`${quotedName(path)} gets characters nobody sees: ${found.join(', ')}${more}. They are written out above.`]
        : []),
      ...(instructs && lines.some((line) => line.includes('<!--'))
        ? [`${quotedName(path)} gets an HTML comment: agents read it, a rendered page does not show it.`]
        : []),
    ]
  })
}
