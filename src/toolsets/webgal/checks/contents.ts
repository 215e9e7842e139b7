import type { Finding } from '../finding.ts'
import { commands, everywhere, placeholders, type CommandRow } from '../grammar/commands.ts'
import { parseChoices, type Statement } from '../grammar/parse.ts'
import { nearest, type Patience } from '../../../text/nearest.ts'
import { cutJson, isJson } from './arguments.ts'
import { checkExpression, isOpen } from './expressions.ts'

const none: Finding[] = []

/** What stands after the colon, against the table. Files are looked at elsewhere. */
export function checkContent(statement: Statement, labels: ReadonlyMap<string, number>, patience: Patience): Finding[] {
  const { command, content, line } = statement
  const row = commands[command]
  if (!row) return []
  if (row.content.is === 'text' || row.content.is === 'nothing' || row.content.is === 'label') return none
  const one = (code: Finding['code'], about: Record<string, string> = {}): Finding[] => [
    { line, code, about: { command, ...about } },
  ]
  if (content !== '' && placeholders.includes(content)) return one('placeholder', { target: content })
  switch (row.content.is) {
    case 'file':
      if (content === '' && row.content.folder === 'scene') return one('missing-target')
      return startsWithArgument(content, row) ? one('argument-as-content', { content }) : []
    case 'json':
      if (isJson(content) || isOpen(content) || cutJson(statement, row)) return []
      return one('broken-json', { what: command })
    case 'number':
      return isOpen(content) || (content !== '' && !Number.isNaN(Number(content)))
        ? []
        : one('bad-number', { what: command, value: content })
    case 'one of':
      return isOpen(content) || content === '' || content === 'none' || row.content.values.includes(content)
        ? []
        : one('bad-value', { what: command, value: content, values: row.content.values.join(', ') })
    case 'assignment':
      return checkAssignment(content, line)
    case 'target label': {
      if (isOpen(content) || labels.has(content)) return []
      const near = nearest(content, labels.keys(), 2, patience)
      return near === undefined
        ? one('missing-label', { label: content })
        : one('missing-label-near', { label: content, nearest: near })
    }
    case 'choices':
      return checkChoices(statement, labels)
    default:
      return []
  }
}

/** `changeFigure:-right a.png`: without a blank before the hyphen it is the name of a file. */
export function startsWithArgument(content: string, row: CommandRow): boolean {
  const key = /^-([A-Za-z]\w*)/.exec(content)?.[1]
  return key !== undefined && (Object.hasOwn(row.args, key) || Object.hasOwn(everywhere, key))
}

function checkAssignment(content: string, line: number): Finding[] {
  const equals = content.indexOf('=')
  const name = content.slice(0, equals).trim()
  if (equals < 0 || name === '') return [{ line, code: 'no-assignment' }]
  if (content[equals + 1] === '=')
    return [
      {
        line,
        code: 'double-equals',
        about: {
          name,
          value: content
            .slice(equals + 1)
            .replace(/^=+/, '')
            .trim(),
        },
      },
    ]
  return []
}

function checkChoices({ content, line }: Statement, labels: ReadonlyMap<string, number>): Finding[] {
  return parseChoices(content).flatMap(({ words, target, show, enable }): Finding[] => {
    const conditions = [show, enable].flatMap((text) => (text ? (checkExpression(text, line) ?? []) : []))
    if (isOpen(target)) return conditions
    if (target === '') return [...conditions, { line, code: 'choice-without-target', about: { words } }]
    if (placeholders.includes(target)) return [...conditions, { line, code: 'choice-placeholder', about: { words, target } }]
    if (target.includes('.') || labels.has(target)) return conditions
    return [...conditions, { line, code: 'choice-label', about: { words, target } }]
  })
}
