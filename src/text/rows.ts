/**
 * Text of others broken into rows, here and nowhere else: a screen, a form or a page that breaks a line itself puts what comes next where
 * our own words and signs begin.
 */

/** A row of a change, with its sign. */
export interface DiffRow {
  kind: 'place' | 'out' | 'in'
  text: string
}

/**
 * One line as rows that nothing of this width breaks again: each but the first begins with `gutter`, so that nothing others wrote comes
 * to stand where our own words begin. Nothing is left out, unless `words` lets it break at a blank.
 */
export function rowsOf(line: string, gutter: string, width: number, words = false): string[] {
  if (isShort(line, width)) return [line]
  const rows: string[] = []
  let row = ''
  let used = 0
  for (const letter of line) {
    if (used + placesOf(letter) >= width) {
      const blank = words ? row.lastIndexOf(' ') : -1
      const atBlank = blank > Math.max(width / 2, gutter.length)
      const cut = atBlank ? blank : wholeUpTo(row, gutter.length)
      rows.push(row.slice(0, cut))
      row = gutter + row.slice(atBlank ? cut + 1 : cut)
      used = 0
      for (const one of row) used += placesOf(one)
    }
    row += letter
    used += placesOf(letter)
  }
  return [...rows, row]
}

/** Whatever letters it has, nothing breaks it. */
const isShort = (line: string, width: number): boolean => line.length * 2 < width || width === Number.POSITIVE_INFINITY

/** A character that is written out, as `\u200b`, is not broken in the middle. */
function wholeUpTo(row: string, least: number): number {
  const written = /\\(?:u(?:\{[\da-f]*|[\da-f]{0,3})?|x[\da-f]?)?$/.exec(row)
  return written && written.index > least ? written.index : row.length
}

/** A letter beyond ASCII may take two places. */
const placesOf = (letter: string): number => (letter > '~' ? 2 : 1)

/** The same as one text, broken between words where there are any. */
export function foldedAt(width: number, line: string, gutter = '    '): string {
  return isShort(line, width) ? line : rowsOf(line, gutter, width, true).join('\n')
}

/** A row of a change with its sign on every part of it: what comes never looks like what goes. */
export function signedRows(given: DiffRow, width: number, bar = ''): DiffRow[] {
  const { kind, text } = given
  const line = bar + text
  if (isShort(line, width)) return [bar === '' ? given : { kind, text: line }]
  const gutter = kind === 'place' ? `${bar}    ` : `${bar}${text.slice(0, 2)}… `
  return rowsOf(line, gutter, width).map((row) => ({ kind, text: row }))
}
