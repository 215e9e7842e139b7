import type { LineDiff } from '../../contracts/diff.ts'

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

/** Everything that moves the cursor, changes the direction, or cannot be seen. */
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u3164\uffa0]/gu

/** Text of others on one line, fit for a terminal: what cannot be seen is shown, not obeyed. */
export function plain(text: string): string {
  return text.replace(unseen, (character) => {
    const code = character.codePointAt(0) ?? 0
    if (character === '\r') return '␍'
    if (character === '\n') return '␊'
    if (character === '\t') return '  '
    return code > 0xffff ? `\\u{${code.toString(16)}}` : `\\u${code.toString(16).padStart(4, '0')}`
  })
}

/** The same over several lines. */
export function block(text: string): string {
  return text.split('\n').map(plain).join('\n')
}

/** One line, cut to a width. */
export function oneLine(text: string, width: number): string {
  const line = plain(text.replace(/\s+/g, ' '))
  return line.length > width ? `${line.slice(0, width - 1)}…` : line
}

export function say(text = ''): void {
  process.stdout.write(`${text}\n`)
}

export function warn(text: string): void {
  process.stderr.write(`${text}\n`)
}

/** Rows under headings, columns as wide as they need to be. Cells are shown as plain text. */
export function table(headings: string[], given: string[][]): string {
  const rows = given.map((row) => row.map(plain))
  const widths = headings.map((heading, column) => Math.max(heading.length, ...rows.map((row) => (row[column] ?? '').length)))
  const line = (cells: string[]): string =>
    cells.map((cell, column) => (column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  ')
  return [bold(line(headings)), ...rows.map(line)].join('\n')
}

const shownLines = 200

/** A change as a person reads it: what goes away, what comes. */
export function renderDiff(path: string, diff: LineDiff): string {
  const rows = diff.hunks.flatMap((hunk) => {
    // An empty file is one empty line to the diff; a person sees nothing there.
    const gone = diff.hunks.length === 1 && hunk.linesOld.length === 1 && hunk.linesOld[0] === '' ? [] : hunk.linesOld
    const head = dim(`@@ line ${hunk.startOld}: ${hunk.lenOld} out, ${hunk.lenNew} in @@`)
    return [head, ...gone.map((line) => red(`- ${plain(line)}`)), ...hunk.linesNew.map((line) => green(`+ ${plain(line)}`))]
  })
  const more = rows.length - shownLines
  return [
    bold(plain(path)),
    ...rows.slice(0, shownLines),
    ...(more > 0 ? [yellow(`… ${more} more lines; --json shows them all`)] : []),
    ...(rows.length === 0 ? [dim('(no change)')] : []),
  ].join('\n')
}

/** A bar on stderr for long work; silent where nobody watches. */
export function progressBar(title: string): { show: (done: number, total: number) => void; end: () => void } {
  const watched = process.stderr.isTTY === true
  return {
    show(done, total) {
      if (!watched) return
      const part = total > 0 ? done / total : 0
      const filled = Math.round(part * 30)
      process.stderr.write(`\r${title} [${'#'.repeat(filled)}${'.'.repeat(30 - filled)}] ${Math.floor(part * 100)}%`)
    },
    end() {
      if (watched) process.stderr.write('\r\u001b[K')
    },
  }
}

export function ago(at: number): string {
  const seconds = Math.max(0, Math.round((Date.now() - at) / 1000))
  if (seconds < 60) return `${seconds} s ago`
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min ago`
  if (seconds < 172_800) return `${Math.round(seconds / 3_600)} h ago`
  return new Date(at).toISOString().slice(0, 10)
}
