import type { Finding } from '../finding.ts'
import { commands, everywhere, type CommandRow, type ValueKind } from '../grammar/commands.ts'
import type { Argument, Statement } from '../grammar/parse.ts'
import { nearest, type Patience } from '../../../text/nearest.ts'
import { checkExpression, isOpen } from './expressions.ts'

const none: Finding[] = []

/** The arguments of a statement against the table. */
export function checkArguments(statement: Statement, patience: Patience): Finding[] {
  const { command, args, line } = statement
  const row = commands[command]
  if (!row || args.length === 0) return none
  const found: Finding[] = []
  const cut = cutJson(statement, row)
  if (cut) found.push({ line, code: 'cut-json' })
  for (const arg of args) {
    // What was cut off a JSON is not an argument of anybody's.
    if (cut && /["{}[\],]/.test(arg.raw)) continue
    const kind = own(everywhere, arg.key) ?? own(row.args, arg.key)
    const finding = kind ? checkValue(arg, kind, line) : row.openArgs ? undefined : checkUnknown(arg, row, statement, patience)
    if (finding) found.push(finding)
  }
  return found
}

function own<T>(table: Readonly<Record<string, T>>, name: string): T | undefined {
  return Object.hasOwn(table, name) ? table[name] : undefined
}

const knownOf = new Map<CommandRow, ReadonlySet<string>>()

function checkUnknown(
  { key, raw }: Argument,
  row: CommandRow,
  { command, line }: Statement,
  patience: Patience,
): Finding | undefined {
  const known = knownOf.get(row) ?? new Set([...Object.keys(row.args), ...Object.keys(everywhere)])
  knownOf.set(row, known)
  const parts = key.split('-')
  if (parts.length > 1 && parts.every((part) => known.has(part.split('=', 1)[0] as string)))
    return {
      line,
      code: 'glued-arguments',
      about: {
        key,
        parts: parts.map((part) => `-${part}`).join(' '),
        spaced: parts
          .map((part) => ` -${part}`)
          .join('')
          .trim(),
      },
    }
  // An argument follows its hyphen at once and has a name; anything else was text.
  if (command === 'say' && (raw.startsWith(' ') || !/^[A-Za-z][\w-]*$/.test(key)))
    return { line, code: 'swallowed-text', about: { text: `-${raw}` } }
  const near = nearest(key, known, 2, patience) ?? [...known].find((name) => name.toLowerCase() === key.toLowerCase())
  return near === undefined
    ? { line, code: 'unknown-argument', about: { command, key } }
    : { line, code: 'misspelt-argument', about: { command, key, nearest: near } }
}

function checkValue({ key, value }: Argument, kind: ValueKind, line: number): Finding | undefined {
  if (isOpen(value)) return undefined
  const what = `-${key}`
  if (kind.is === 'number' && typeof value !== 'number' && value !== '')
    return { line, code: 'bad-number', about: { what, value: String(value) } }
  if (kind.is === 'one of' && !kind.values.includes(String(value)) && value !== true)
    return { line, code: 'bad-value', about: { what, value: String(value), values: kind.values.join(', ') } }
  if (kind.is === 'json' && typeof value === 'string' && !isJson(value)) return { line, code: 'broken-json', about: { what } }
  return kind.is === 'expression' && typeof value === 'string' ? checkExpression(value, line) : undefined
}

/** JSON that stops in the middle because a ` -` stood in it. */
export function cutJson({ content, args }: Statement, row: CommandRow): boolean {
  // What is left over of a JSON shows among the arguments.
  if (!args.some(({ raw }) => /["}\]]/.test(raw))) return false
  const starts = (text: string): boolean => /^[{[]/.test(text) && !isJson(text) && !isBalanced(text)
  if (row.content.is === 'json' && args.length > 0 && starts(content)) return true
  return args.some(({ key, value }, index) => {
    const kind = own(row.args, key)
    return kind?.is === 'json' && index < args.length - 1 && typeof value === 'string' && starts(value)
  })
}

export function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

function isBalanced(text: string): boolean {
  let depth = 0
  let quote = -1
  const weigh = (sign: string): number => ('{['.includes(sign) ? 1 : '}]'.includes(sign) ? -1 : 0)
  for (let at = 0; at < text.length; at++) {
    const sign = text[at] as string
    if (quote >= 0 && sign === '\\') at++
    else if (sign === '"') quote = quote < 0 ? at : -1
    else if (quote < 0) depth += weigh(sign)
  }
  // What follows a quote that is never closed is no string.
  if (quote >= 0) for (const sign of text.slice(quote)) depth += weigh(sign)
  return depth === 0
}
