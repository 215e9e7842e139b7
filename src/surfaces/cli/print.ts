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

/** Text of others, fit for a terminal: control, direction and invisible characters are shown, not obeyed. */
export function plain(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, (character) =>
    character === '\r' ? '␍' : `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
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

/** Rows under headings, columns as wide as they need to be. */
export function table(headings: string[], rows: string[][]): string {
  const widths = headings.map((heading, column) => Math.max(heading.length, ...rows.map((row) => (row[column] ?? '').length)))
  const line = (cells: string[]): string =>
    cells.map((cell, column) => (column === cells.length - 1 ? cell : cell.padEnd(widths[column] ?? 0))).join('  ')
  return [bold(line(headings)), ...rows.map(line)].join('\n')
}

const shownLines = 200

/** A change as a person reads it: what goes away, what comes. */
export function renderDiff(path: string, diff: LineDiff): string {
  const lines = [bold(path)]
  let left = shownLines
  for (const hunk of diff.hunks) {
    if (left <= 0) break
    lines.push(dim(`@@ line ${hunk.startOld}: ${hunk.lenOld} out, ${hunk.lenNew} in @@`))
    // An empty file is one empty line to the diff; a person sees nothing there.
    const gone = diff.hunks.length === 1 && hunk.linesOld.length === 1 && hunk.linesOld[0] === '' ? [] : hunk.linesOld
    for (const line of gone.slice(0, left)) lines.push(red(`- ${plain(line)}`))
    for (const line of hunk.linesNew.slice(0, left)) lines.push(green(`+ ${plain(line)}`))
    left -= hunk.lenOld + hunk.lenNew
  }
  if (left < 0) lines.push(yellow(`… ${-left} more lines; --json shows them all`))
  if (diff.hunks.length === 0) lines.push(dim('(no change)'))
  return lines.join('\n')
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
