import { parse } from 'yaml'

/** No front matter of a real skill is longer than 16 KiB; what is longer than this is not looked through. */
export const longestFrontMatter = 65_536

/** What stands before a text between two lines of `---`, and the text. Every plain value is the text it was written as. */
export interface FrontMatter {
  /** Absent where there is none, or none that can be read. */
  fields?: Record<string, unknown>
  body: string
  /** The line of the file on which the body begins, counted from one. */
  bodyLine: number
  /** What had to be overlooked or mended on the way. */
  notes: string[]
}

const opening = /^\uFEFF?(?:[ \t]*\r?\n)*---[ \t]*(?:\r\n|\n|\r)/
const closing = /(?:^|\r\n|\n|\r)(?:---|\.\.\.)[ \t]*(?=\r|\n|$)(?:\r\n|\n|\r)?/

/** Lenient: what can be understood is, and what had to be done for it is said. Never throws. */
export function readFrontMatter(text: string): FrontMatter {
  const begin = opening.exec(text)?.[0]
  if (begin === undefined) return { body: text.replace(/^\uFEFF/, ''), bodyLine: 1, notes: ['it has no front matter'] }
  const rest = text.slice(begin.length, begin.length + longestFrontMatter)
  const end = closing.exec(rest)
  if (!end) return unclosed(text, begin.length)
  const source = rest.slice(0, end.index)
  const bodyAt = begin.length + end.index + end[0].length
  const read = fieldsIn(source)
  return { ...read, body: text.slice(bodyAt), bodyLine: linesIn(text.slice(0, bodyAt)) + 1 }
}

/** The fields go on until a line that cannot be one of them. */
function unclosed(text: string, from: number): FrontMatter {
  const lines = text.slice(from, from + longestFrontMatter).split('\n')
  const stop = lines.findIndex((line) => !/^(?:[A-Za-z_][\w-]*[ \t]*:|[ \t]+\S|-[ \t])/.test(line))
  const source = lines.slice(0, stop === -1 ? lines.length : stop).join('\n')
  const { fields, notes } = fieldsIn(source)
  const body = text.slice(from + source.length)
  return {
    ...(fields && Object.keys(fields).length > 0 && { fields }),
    body,
    bodyLine: linesIn(text.slice(0, from + source.length)) + 1,
    notes: ['its front matter is not closed with a line of ---', ...notes],
  }
}

const linesIn = (text: string): number => text.split('\n').length - 1

function fieldsIn(source: string): Pick<FrontMatter, 'fields' | 'notes'> {
  const whole = simpleFields(source) ?? asFields(source)
  if (whole) return { fields: whole, notes: [] }
  const quoted = asFields(quoteValues(source))
  if (quoted)
    return { fields: quoted, notes: ['its front matter is no YAML: values on one line were read as if they were quoted'] }
  const plain = readLines(source)
  if (Object.keys(plain).length > 0)
    return { fields: plain, notes: ['its front matter is no YAML: only fields on one line were read'] }
  return { notes: ['its front matter cannot be read as YAML'] }
}

const simpleLine = /^([A-Za-z_][\w-]*):(?:[ \t]+([A-Za-z0-9(][^:#"'\\]*|"[^"\\]*"|'[^']*'))?[ \t]*$/

/** Most front matter is a few plain lines, which mean the same to every reader of YAML: a library of thousands is read in a tenth of the time. */
export function simpleFields(source: string): Record<string, string> | undefined {
  const found: [string, string][] = []
  for (const line of source.split(/\r?\n/)) {
    if (line === '') continue
    // YAML knows two kinds of space; the others are letters to it.
    if (/[^\S \t]/.test(line)) return undefined
    const [whole, name = '', value = ''] = simpleLine.exec(line) ?? []
    // An empty field may go on in the next lines.
    if (whole === undefined || value === '' || name === '__proto__') return undefined
    found.push([name, unquoted(value.trim())])
  }
  return Object.fromEntries(found)
}

/** The parser calls itself for every level, and runs out of stack in a way that ends the process: what goes this deep is not given to it. */
const deepest = 40

function isTooDeep(source: string): boolean {
  let depth = 0
  for (const one of source) {
    if (one === '[' || one === '{') depth++
    else if ((one === ']' || one === '}') && depth > 0) depth--
    if (depth > deepest) return true
  }
  return /(?:[-?:][ \t]+){20}|\n[ \t]{200}/.test(source)
}

export function asFields(source: string): Record<string, unknown> | undefined {
  if (isTooDeep(source)) return undefined
  try {
    // Plain values stay as they were written: a version 1.10 is not 1.1, and a date is no date.
    const read: unknown = parse(source, {
      schema: 'failsafe',
      uniqueKeys: false,
      maxAliasCount: 20,
      prettyErrors: false,
      logLevel: 'error',
    })
    if (read === null || read === '') return {}
    return typeof read === 'object' && !Array.isArray(read) ? (read as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

const field = /^([A-Za-z_][\w.-]*)[ \t]*:(?:[ \t]+(.*))?$/

/** The usual mistake is a colon in a value; every value that stands on its line is quoted, and what goes on below it is taken in. */
function quoteValues(source: string): string {
  const lines = source.split(/\r\n|\n|\r/).map((line) => line.replace(/^\t+/, (tabs) => '  '.repeat(tabs.length)))
  const out: string[] = []
  for (let at = 0; at < lines.length; at++) {
    const line = lines[at] as string
    const [, name, value = ''] = field.exec(line) ?? []
    if (name === undefined || !isPlain(value)) {
      out.push(line)
      continue
    }
    let all = value.trim()
    while (/^[ \t]+\S/.test(lines[at + 1] ?? '')) all += ` ${(lines[++at] as string).trim()}`
    out.push(`${name}: ${JSON.stringify(unquoted(all))}`)
  }
  return out.join('\n')
}

/** Neither empty, nor the head of a block, nor a list or a map that is whole on its line. */
const isPlain = (value: string): boolean =>
  value.trim() !== '' && !/^[|>][+-]?\d?[+-]?\s*(?:#.*)?$/.test(value.trim()) && !/^(?:\[.*\]|\{.*\})\s*$/.test(value.trim())

function unquoted(value: string): string {
  const [first, last] = [value[0], value.at(-1)]
  const isQuoted = value.length > 1 && first === last && (first === '"' || first === "'")
  return isQuoted ? value.slice(1, -1) : value
}

/** The last resort: `name: value`, line by line. */
function readLines(source: string): Record<string, string> {
  const found: Record<string, string> = Object.create(null) as Record<string, string>
  for (const line of source.split(/\r\n|\n|\r/)) {
    const [, name, value = ''] = field.exec(line) ?? []
    if (name !== undefined && value.trim() !== '' && isPlain(value) && !(name in found)) found[name] = unquoted(value.trim())
  }
  return found
}
