/** How wide the screen is; where nobody says, what is printed goes into a file or a program and is not broken. */
export function columns(unknown = Number.POSITIVE_INFINITY): number {
  const told = process.stdout.columns ?? Number(process.env['COLUMNS'])
  return told >= 20 ? told : unknown
}

/**
 * One line as rows that no terminal breaks again: each but the first begins with `gutter`, so that nothing others wrote comes to stand
 * where our own words begin. Nothing is left out, unless `words` lets it break at a blank.
 */
export function rowsOf(line: string, gutter: string, width = columns(), words = false): string[] {
  if (line.length * 2 < width || width === Number.POSITIVE_INFINITY) return [line]
  const rows: string[] = []
  let row = ''
  let used = 0
  for (const letter of line) {
    if (used + placesOf(letter) >= width) {
      const blank = words ? row.lastIndexOf(' ') : -1
      const cut = blank > width / 2 ? blank : row.length
      rows.push(row.slice(0, cut))
      row = gutter + row.slice(cut + 1)
      used = 0
      for (const one of row) used += placesOf(one)
    }
    row += letter
    used += placesOf(letter)
  }
  return [...rows, row]
}

/** A letter beyond ASCII may take two places. */
const placesOf = (letter: string): number => (letter > '~' ? 2 : 1)

/** The same as one text, broken between words where there are any. */
export function folded(line: string, gutter = '    ', width = columns()): string {
  return rowsOf(line, gutter, width, true).join('\n')
}

/** Lines of others behind a bar, all of them and every part of them. */
export function setOff(lines: readonly string[], bar: string, width = columns()): string {
  return lines.flatMap((line) => rowsOf(`${bar}${line}`, `${bar}… `, width)).join('\n')
}

/** Words in a column of their own, on however many lines: none of them begins a line of the screen. What cannot be seen is shown already. */
export function under(words: string, column: number): string {
  const gutter = ' '.repeat(column)
  const lines = words.split('\n').map((line) => folded(gutter + line, gutter))
  return lines.join('\n').slice(column)
}
