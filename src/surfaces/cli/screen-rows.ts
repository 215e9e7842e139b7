import { foldedAt, rowsOf } from '../../text/rows.ts'

/** A terminal that does not say how wide it is. */
const unsaid = 72

/** How wide the screen is to which this stream goes; where nobody says, what is printed goes into a file or a program and is not broken. */
export function columns(unknown = Number.POSITIVE_INFINITY, stream: NodeJS.WriteStream = process.stdout): number {
  const told = (stream.columns as number | undefined) || Number(process.env['COLUMNS'])
  return told >= 20 ? told : stream.isTTY ? unsaid : unknown
}

/** One line, broken between words where there are any. */
export function folded(line: string, gutter = '    ', width = columns()): string {
  return foldedAt(width, line, gutter)
}

/** Lines of others behind a bar, all of them and every part of them. */
export function quotedBlock(lines: readonly string[], bar: string, width = columns()): string {
  return lines.flatMap((line) => rowsOf(`${bar}${line}`, `${bar}… `, width)).join('\n')
}

/** Words in a column of their own, on however many lines: none of them begins a line of the screen. What cannot be seen is shown already. */
export function under(words: string, column: number): string {
  const gutter = ' '.repeat(column)
  const lines = words.split('\n').map((line) => folded(gutter + line, gutter))
  return lines.join('\n').slice(column)
}
