/** A statement may go on over several lines since engine 4.6.3. `text` is the whole of it, the lines it took in are blank for the parser. */
export interface Folded {
  text: string
  /** 1-based, of the first physical line. */
  line: number
  endLine: number
}

/**
 * Puts together what belongs together: a line that starts with a blank and then `|` or `-` continues the one above, unless it says
 * `-concat`; a line that ends in `\` is continued by the next, whatever that is.
 */
export function foldLines(text: string): Folded[] {
  const lines = text.includes('\r') ? text.replaceAll('\r', '').split('\n') : text.split('\n')
  const folded: Folded[] = []
  for (let index = 0; index < lines.length; index++) {
    const first = lines[index] as string
    let whole = first
    let last = index
    let open = goesOn(first, lines[last + 1])
    if (open === 'escaped') whole = whole.slice(0, -1)
    while (open !== false && last + 1 < lines.length) {
      last++
      const line = lines[last] as string
      open = goesOn(line, lines[last + 1])
      const piece = (open === 'escaped' ? line.slice(0, -1) : line).trim()
      whole += piece.startsWith('-') ? ` ${piece}` : piece
    }
    folded.push({ text: whole, line: index + 1, endLine: last + 1 })
    index = last
  }
  return folded
}

function goesOn(line: string, next: string | undefined): 'escaped' | 'continued' | false {
  const continued = next !== undefined && isContinuation(next)
  if (line.endsWith('\\') && !continued) return 'escaped'
  return continued ? 'continued' : false
}

function isContinuation(line: string): boolean {
  if (line.charCodeAt(0) !== 0x20) return false
  const start = line.trimStart()
  return (start.startsWith('|') || start.startsWith('-')) && !line.includes('-concat')
}
