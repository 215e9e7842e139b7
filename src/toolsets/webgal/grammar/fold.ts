/** A statement may go on over several lines since engine 4.6.3. `text` is the whole of it, the lines it took in are blank for the parser. */
export interface Folded {
  text: string
  /** 1-based, of the first physical line. */
  line: number
  endLine: number
  /** It went on beyond what is read of one statement. */
  cut: boolean
  /** Where its physical lines begin in `text`, where there are several. */
  pieces?: readonly Piece[]
}

/** From `at` on, the text stands on this line (1-based) from this column (0-based) on. */
export interface Piece {
  at: number
  line: number
  column: number
}

/** More than anybody writes in one statement; what comes after is not looked at, and that is told. */
export const longestStatement = 32_768
/** More lines than a scene has; those that follow are not looked at, and that is told. */
export const mostLines = 100_000

/** The lines of a scene that are looked at. */
export function firstLines(text: string): { text: string; cut: boolean } {
  if (text.length < mostLines) return { text, cut: false }
  let at = 0
  for (let line = 0; line < mostLines; line++) {
    const end = text.indexOf('\n', at)
    if (end < 0) return { text, cut: false }
    at = end + 1
  }
  return at === text.length ? { text, cut: false } : { text: text.slice(0, at - 1), cut: true }
}

/**
 * Puts together what belongs together: a line that starts with a blank and then `|` or `-` continues the one above, unless it says
 * `-concat`; a line that ends in `\` is continued by the next, whatever that is. Engines before 4.6.3 know neither.
 */
export function* foldLines(text: string, continues = true): Generator<Folded> {
  const lines = text.includes('\r') ? text.replaceAll('\r', '').split('\n') : text.split('\n')
  for (let index = 0; index < lines.length; index++) {
    const first = lines[index] as string
    let whole = first
    let last = index
    let open = continues && goesOn(first, lines[last + 1])
    // Nearly all lines stand alone.
    if (open === false && first.length <= longestStatement) {
      yield { text: first, line: index + 1, endLine: index + 1, cut: false }
      continue
    }
    if (open === 'escaped') whole = whole.slice(0, -1)
    const pieces: Piece[] | undefined = open === false ? undefined : [{ at: 0, line: index + 1, column: 0 }]
    while (open !== false && last + 1 < lines.length) {
      last++
      const line = lines[last] as string
      open = goesOn(line, lines[last + 1])
      if (whole.length > longestStatement) continue
      const piece = (open === 'escaped' ? line.slice(0, -1) : line).trim()
      if (piece.startsWith('-')) whole += ' '
      pieces?.push({ at: whole.length, line: last + 1, column: line.length - line.trimStart().length })
      whole += piece
    }
    const cut = whole.length > longestStatement
    yield {
      text: cut ? whole.slice(0, longestStatement) : whole,
      line: index + 1,
      endLine: last + 1,
      cut,
      ...(pieces && { pieces }),
    }
    index = last
  }
}

function goesOn(line: string, next: string | undefined): 'escaped' | 'continued' | false {
  const continued = next !== undefined && isContinuation(next)
  if (line.endsWith('\\') && !continued) return 'escaped'
  return continued ? 'continued' : false
}

export function isContinuation(line: string): boolean {
  if (line.charCodeAt(0) !== 0x20) return false
  const start = line.trimStart()
  return (start.startsWith('|') || start.startsWith('-')) && !line.includes('-concat')
}
