import { Fault } from '../contracts/faults/fault.ts'

/** A search pattern: JavaScript's, and the same one as ripgrep reads it where it can be said there too. */
export interface SearchPattern {
  source: string
  flags: string
  ripgrep: string | undefined
}

const longest = 16_384
const space = '\\t\\n\\x0b\\x0c\\r \\x{a0}\\x{1680}\\x{2000}-\\x{200a}\\x{2028}\\x{2029}\\x{202f}\\x{205f}\\x{3000}\\x{feff}'
const sets: Record<string, string> = { d: '0-9', w: '0-9A-Za-z_', s: space }

/** There is one dialect, JavaScript's with `(?i)`, `(?m)`, `(?s)` allowed in front; which engine runs it must not show. */
export function readPattern(regex: string): SearchPattern {
  if (regex.length === 0 || regex.length > longest || regex.includes('\0'))
    throw badPattern(regex, `it must have 1 to ${longest} characters and no NUL`)
  const [, inline = '', rest = regex] = /^\(\?([ims]+)\)(.*)$/s.exec(regex) ?? []
  const extra = [...new Set(inline)].join('')
  let fault = ''
  for (const flags of [`u${extra}`, extra]) {
    try {
      // oxlint-disable-next-line no-new -- only to learn whether it is one
      new RegExp(rest, flags)
      return { source: rest, flags, ripgrep: flags.includes('u') ? toRipgrep(rest, extra) : undefined }
    } catch (cause) {
      fault ||= (cause as Error).message
    }
  }
  throw badPattern(regex, fault.replace(/^Invalid regular expression: .*: /s, ''))
}

export function badPattern(regex: string, why: string): Fault {
  return new Fault('bad-input', `Not a valid regular expression: ${why.slice(0, 200)}`, {
    details: { regex: regex.slice(0, 200) },
    hint: 'Give a pattern such as "changeBg:.*"; escape special characters with a backslash.',
  })
}

/** Translates what both dialects mean alike; anything else (references, look-around, properties) is left to JavaScript. */
function toRipgrep(source: string, flags: string): string | undefined {
  if (flags.includes('i') && /\\[wWbB]/.test(source)) return undefined
  let out = flags.includes('i') ? '(?i)' : ''
  for (let at = 0; at < source.length; at++) {
    const letter = source[at] as string
    if (letter === '\\') {
      const escape = readEscape(source, at, false)
      if (!escape) return undefined
      out += escape.text
      at = escape.end
    } else if (letter === '[') {
      const set = readSet(source, at)
      if (!set) return undefined
      out += set.text
      at = set.end
    } else if (letter === '(' && source[at + 1] === '?') {
      if (source[at + 2] !== ':') return undefined
      out += '(?:'
      at += 2
    } else if (letter === '.') out += flags.includes('s') ? '(?s:.)' : '[^\\n\\r\\x{2028}\\x{2029}]'
    else out += letter
  }
  return out
}

interface Piece {
  text: string
  end: number
}

function readEscape(source: string, at: number, inSet: boolean): Piece | undefined {
  const letter = source[at + 1] as string
  const end = at + 1
  const lower = letter.toLowerCase()
  if (lower in sets) {
    const set = sets[lower] as string
    if (letter === lower) return { text: inSet ? set : `[${set}]`, end }
    return { text: `[^${set}]`, end }
  }
  if (letter === 'b' || letter === 'B') return inSet ? { text: '\\x08', end } : { text: `(?-u:\\${letter})`, end }
  if ('tnr'.includes(letter)) return { text: `\\${letter}`, end }
  if (letter === 'v') return { text: '\\x0b', end }
  if (letter === 'f') return { text: '\\x0c', end }
  if ('^$\\.*+?()[]{}|-'.includes(letter)) return { text: `\\${letter}`, end }
  if (letter === '/') return { text: '/', end }
  const code = /^\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|u\{([0-9a-f]{1,6})\})/i.exec(source.slice(at, at + 12))
  const value = code && Number.parseInt(code[1] ?? code[2] ?? code[3] ?? '', 16)
  if (!code || value === null || (value >= 0xd800 && value <= 0xdfff)) return undefined
  return { text: `\\x{${value.toString(16)}}`, end: at + code[0].length - 1 }
}

function readSet(source: string, start: number): Piece | undefined {
  let at = start + 1
  let text = '['
  if (source[at] === '^') {
    text += '^'
    at++
  }
  if (source[at] === ']') return undefined
  for (; at < source.length && source[at] !== ']'; at++) {
    const letter = source[at] as string
    if (letter === '\\') {
      const escape = readEscape(source, at, true)
      if (!escape) return undefined
      text += escape.text
      at = escape.end
    } else if (letter === '-' && source[at + 1] === '-') return undefined
    else text += '[&~#'.includes(letter) ? `\\${letter}` : letter
  }
  return { text: `${text}]`, end: at }
}
