import { foldPath } from './names.ts'
import { whatRuns } from './files-that-run/index.ts'
import { shownName } from './plain.ts'
import type { CardChange } from './tool.ts'

/** What a reader does not see and a model does: zero widths, marks in the middle, directions, tags. */
const unseen = /[\u200b-\u200d\u2060\ufeff\u202a-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]/gu

/** Says what a change brings that nobody would see: hidden characters anywhere, comments where they instruct agents. */
export function hiddenTextNotes(changes: readonly Pick<CardChange, 'path' | 'diff'>[]): string[] {
  return changes.flatMap(({ path, diff }) => {
    const lines = diff.hunks.flatMap(({ startNew, linesNew }) =>
      linesNew.map((line, index) => (startNew + index === 1 ? line.replace(/^\ufeff/, '') : line)),
    )
    const counts = new Map<string, number>()
    for (const line of lines)
      for (const [character] of line.matchAll(unseen)) {
        const name = `U+${character.codePointAt(0)?.toString(16).toUpperCase().padStart(4, '0')}`
        counts.set(name, (counts.get(name) ?? 0) + 1)
      }
    const found = [...counts].slice(0, 8).map(([name, count]) => (count > 1 ? `${count} × ${name}` : name))
    const more = counts.size > 8 ? ` and ${counts.size - 8} other kinds` : ''
    const instructs = whatRuns(path)?.class === 'I' || foldPath(path).endsWith('.md')
    return [
      ...(found.length
        ? [`${shownName(path)} gets characters nobody sees: ${found.join(', ')}${more}. They are written out above.`]
        : []),
      ...(instructs && lines.some((line) => line.includes('<!--'))
        ? [`${shownName(path)} gets an HTML comment: agents read it, a rendered page does not show it.`]
        : []),
    ]
  })
}
