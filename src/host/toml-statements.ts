/** A header or a field of a TOML text, and where it stands. */
export interface TomlStatement {
  /** The lines it takes up. */
  start: number
  end: number
  /** From its first letter to its last. */
  from: number
  to: number
  /** The table it stands in; for a header the one it opens. */
  table: string[]
  header?: 'table' | 'array'
  /** The dotted key of a field. */
  key?: string[]
}

/** The statements of a valid TOML text, in order. What looks like one inside a string or a comment is none. */
export function readStatements(text: string): TomlStatement[] {
  const statements: TomlStatement[] = []
  let table: string[] = []
  let start = text.startsWith('\uFEFF') ? 1 : 0
  while (start < text.length) {
    const from = skip(text, start, /[ \t]*/y)
    let end = lineEnd(text, from)
    if (text[from] === '[') {
      const array = text[from + 1] === '['
      const name = readKey(text, from + (array ? 2 : 1))
      table = name.key
      statements.push({ start, end, from, to: name.end, table, header: array ? 'array' : 'table' })
    } else if (!/[#\r\n]/.test(text[from] ?? '\n')) {
      const { key, end: equals } = readKey(text, from)
      const to = valueEnd(text, equals)
      end = lineEnd(text, to)
      statements.push({ start, end, from, to, table, key })
    }
    start = end
  }
  return statements
}

function skip(text: string, at: number, what: RegExp): number {
  what.lastIndex = at
  return at + (what.exec(text)?.[0].length ?? 0)
}

function lineEnd(text: string, at: number): number {
  const newline = text.indexOf('\n', at)
  return newline < 0 ? text.length : newline + 1
}

function readKey(text: string, from: number): { key: string[]; end: number } {
  const key: string[] = []
  for (let at = from; ; at++) {
    at = skip(text, at, /[ \t]*/y)
    const end = /["']/.test(text[at] ?? '') ? stringEnd(text, at) : skip(text, at, /[\w-]+/y)
    key.push(nameOf(text.slice(at, end)))
    at = skip(text, end, /[ \t]*/y)
    if (text[at] !== '.') return { key, end: at }
  }
}

function nameOf(written: string): string {
  if (written.startsWith("'")) return written.slice(1, -1)
  if (!written.startsWith('"')) return written
  try {
    return JSON.parse(written) as string
  } catch {
    // An escape that JSON does not know: no name of ours.
    return written
  }
}

/** From an opening quote to behind the closing one, on one line or over many. */
function stringEnd(text: string, at: number): number {
  const quote = text[at] as string
  const long = text.startsWith(quote.repeat(3), at)
  const close = long ? quote.repeat(3) : quote
  for (let next = at + close.length; next < text.length; next++) {
    if (quote === '"' && text[next] === '\\') next++
    // Up to two more quotes may stand before the three that close.
    else if (text.startsWith(close, next)) return long ? skip(text, next, quote === '"' ? /"{3,5}/y : /'{3,5}/y) : next + 1
  }
  return text.length
}

/** Behind a value: brackets may run over lines; strings and comments in them count for nothing. */
function valueEnd(text: string, from: number): number {
  let depth = 0
  let last = from
  for (let at = from; at < text.length; at++) {
    const sign = text[at] as string
    if (depth === 0 && (sign === '#' || sign === '\n')) break
    if (sign === '"' || sign === "'") at = stringEnd(text, at) - 1
    else if (sign === '#') at = lineEnd(text, at) - 1
    else if (sign === '[' || sign === '{') depth++
    else if (sign === ']' || sign === '}') depth--
    if (!/\s/.test(sign)) last = at + 1
  }
  return last
}
