import { printableBlock, printableInline, diffRows, headline, insideRows, oneLine, printable } from '../../text/printable.ts'
import { signedRows, type DiffRow } from '../../text/rows.ts'
import type { CardChange } from '../../contracts/tool.ts'
import { cutTo, padTo, widthOf } from '../../text/width.ts'
import { columns, folded } from './screen-rows.ts'

export { printableBlock, printableInline, oneLine, printable }

const colour = process.stdout.isTTY === true && process.env['NO_COLOR'] === undefined

const paint =
  (code: number) =>
  (text: string): string =>
    colour ? `\u001b[${code}m${text}\u001b[0m` : text

export const bold = paint(1)
export const dim = paint(2)
export const red = paint(31)
export const green = paint(32)
export const yellow = paint(33)

export function say(text = ''): void {
  process.stdout.write(`${text}\n`)
}

export function warn(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Calls whoever sits at the terminal; silent where nobody does. */
export function bell(): void {
  if (process.stderr.isTTY === true) process.stderr.write('\u0007')
}

/** A warning on rows of the screen that stderr goes to. Painted as a whole, so that no sign for colours is counted or broken. */
export function warnFolded(text: string, painted: (text: string) => string = String): void {
  warn(painted(folded(text, '    ', columns(undefined, process.stderr))))
}

const paints = { place: dim, out: red, in: green }

/** Rows with their signs and colours, none of which a screen of this width breaks. */
export function paintedRows(row: DiffRow, width = columns(), bar = ''): string[] {
  return signedRows(row, width, bar).map(({ kind, text }) => paints[kind](text))
}

/** Less room than this for the last column is none. */
const leastRoom = 20

/** Rows under headings, columns as wide as they need to be, the last one as wide as the screen lets it. Cells are shown as plain text. */
export function table(headings: string[], given: string[][], screen = columns()): string {
  const rows = given.map((row) => row.map(printable))
  const widths = headings.map((heading, column) =>
    rows.reduce((most, row) => Math.max(most, widthOf(row[column] ?? '')), widthOf(heading)),
  )
  const before = widths.slice(0, -1).reduce((sum, width) => sum + width + 2, 0)
  const isRoomy = screen - before >= leastRoom
  const line = (cells: string[]): string => {
    const left = cells.slice(0, -1).map((cell, column) => padTo(cell, widths[column] ?? 0))
    const last = cells.at(-1) ?? ''
    if (isRoomy || before + widthOf(last) < screen) return folded([...left, last].join('  '), ' '.repeat(before), screen)
    return [left.join('  ').trimEnd(), ...(last === '' ? [] : [`    ${last}`])]
      .map((one) => folded(one, '    ', screen))
      .join('\n')
  }
  return [bold(line(headings)), ...rows.map(line)].join('\n')
}

const shownLines = 200

/** A change as a person reads it: what goes away, what comes. A card shows all it has; nothing is agreed to that was cut off. */
export function renderChange(change: CardChange, most = shownLines, width = columns()): string {
  const lines = [bold(folded(headline(change), '    ', width))]
  const inside = insideRows(change)
  const rows = inside.length === 0 ? diffRows(change.diff) : [...inside, ...diffRows(change.diff)]
  for (const row of rows.length > most ? rows.slice(0, most) : rows)
    for (const { kind, text } of signedRows(row, width)) lines.push(paints[kind](text))
  if (rows.length > most) lines.push(yellow(`… ${rows.length - most} more lines; --json shows them all`))
  if (rows.length === 0 && change.says === undefined) lines.push(dim('(no change)'))
  return lines.join('\n')
}

/** A bar on stderr for long work, with the last words about it where there are any; silent where nobody watches. */
export function progressBar(title: string): { show: (done: number, total: number, last?: string) => void; end: () => void } {
  const watched = process.stderr.isTTY === true
  return {
    show(done, total, last = '') {
      if (!watched) return
      const part = total > 0 ? Math.min(1, done / total) : 0
      const most = last === '' ? 30 : 10
      const filled = Math.round(part * most)
      const bar = `${title} [${'#'.repeat(filled)}${'.'.repeat(most - filled)}] ${Math.floor(part * 100)}%`
      const room = columns(80, process.stderr) - widthOf(bar) - 3
      process.stderr.write(`\r\u001b[K${bar}${last === '' || room < 8 ? '' : `  ${cutTo(printable(last), room)}`}`)
    },
    end() {
      if (watched) process.stderr.write('\r\u001b[K')
    },
  }
}

/** The last line that was printed so far; however much comes, only the end of it is kept. */
export function lastLine(): { add(chunk: Uint8Array): void; text(): string } {
  let tail = Buffer.alloc(0)
  return {
    add: (chunk) => void (tail = Buffer.concat([tail, chunk]).subarray(-1_000)),
    text: () =>
      tail
        .toString('utf8')
        .trimEnd()
        .split(/[\r\n]/)
        .at(-1)
        ?.trim() ?? '',
  }
}

export function ago(at: number): string {
  const seconds = Math.max(0, Math.round((Date.now() - at) / 1000))
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min ago`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h ago`
  return new Date(at).toISOString().slice(0, 10)
}

/** Bytes as people say them. */
export function size(bytes: number): string {
  if (bytes < 1_024) return `${bytes} B`
  const power = Math.min(3, Math.floor(Math.log2(bytes) / 10))
  return `${(bytes / 1_024 ** power).toFixed(1)} ${['B', 'KiB', 'MiB', 'GiB'][power]}`
}
