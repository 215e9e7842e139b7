import type { Finding } from '../finding.ts'
import { commands, everywhere, type CommandRow } from '../grammar/commands.ts'
import { placeholders } from '../grammar/mistaken.ts'
import { parseChoices, type Choice, type Statement } from '../grammar/parse.ts'
import { nearest } from '../../../text/nearest.ts'
import { checkAnimation } from './animations.ts'
import { checkExpression, isOpen } from './expressions.ts'
import { checkFrames, checkTransform, cutJson, parseJson } from './json.ts'
import type { SceneContext } from './scene-context.ts'

/** What stands after the colon, against the table. Whether files are there is looked at elsewhere. */
export function checkContent(statement: Statement, scene: SceneContext): void {
  const { command, content, line } = statement
  const row = commands[command]
  if (!row) return
  const one = (code: Finding['code'], about: Record<string, string> = {}): void =>
    scene.add({ line, code, about: { command, ...about } })
  if (content === '' && row.needsContent) return one('empty-content')
  if (placeholders.has(content)) return one('placeholder', { target: content })
  const wide = looseArgument(content, row)
  if (wide !== undefined) return one('no-argument-hyphen', { key: wide })
  switch (row.content.is) {
    case 'file': {
      if (content === '' && row.content.folder === 'scene') return one('missing-target')
      if (startsWithArgument(content, row)) return one('argument-as-content', { content })
      const key = gluedArgument(content, row)
      return key === undefined ? undefined : one('glued-content', { content, key })
    }
    case 'transform':
    case 'frames':
      return checkJson(statement, row, scene)
    case 'number':
      if (!isOpen(content) && (content === '' || Number.isNaN(Number(content))))
        one('bad-number', { what: command, value: content })
      return
    case 'one of':
      if (!isOpen(content) && content !== '' && content !== 'none' && !row.content.values.includes(content))
        one('bad-value', { what: command, value: content, values: row.content.values.join(', ') })
      return
    case 'assignment':
      return checkAssignment(content, line, scene)
    case 'animation':
      return checkAnimation(content, line, scene)
    case 'target label':
      return checkLabel(content, line, scene)
    case 'choices':
      if (arrowOf(statement) !== undefined)
        return one('choice-arrow', { words: content, instead: `${unquoted(content)}:${arrowOf(statement)}` })
      for (const choice of parseChoices(content)) checkChoice(choice, line, scene)
      return
    default:
  }
}

function checkJson(statement: Statement, row: CommandRow, scene: SceneContext): void {
  const { command, content, line } = statement
  // An empty one is what the editor writes first, and it changes nothing.
  if (content === '') return scene.add({ line, code: 'empty-content', about: { command } })
  const parsed = parseJson(content)
  if (parsed) {
    const check = row.content.is === 'frames' ? checkFrames : checkTransform
    check(parsed.value, command, line, scene)
  } else if (!isOpen(content) && !cutJson(statement, row)) scene.add({ line, code: 'broken-json', about: { what: command } })
}

function checkLabel(content: string, line: number, { labels, game, add }: SceneContext): void {
  if (isOpen(content) || labels.has(content)) return
  const near = nearest(content, labels.keys(), 2, game.patience)
  add(
    near === undefined
      ? { line, code: 'missing-label', about: { label: content } }
      : { line, code: 'missing-label-near', about: { label: content, nearest: near } },
  )
}

/** `changeFigure:-right a.png`: without a blank before the hyphen it is the name of a file. */
export function startsWithArgument(content: string, row: CommandRow): boolean {
  const key = /^-([A-Za-z]\w*)/.exec(content)?.[1]
  return key !== undefined && isArgument(key, row)
}

/** `changeFigure:a.png-left`: the same at the end of the name. */
export function gluedArgument(content: string, row: CommandRow): string | undefined {
  const loose = looseArgument(content, row)
  if (loose !== undefined) return loose
  const key = /\.\w{2,5}-([A-Za-z]\w*)(?=$|[=-])/.exec(content)?.[1]
  return key !== undefined && isArgument(key, row) ? key : undefined
}

/** `changeBg:a.png －next`, `changeBg:a.png\t-next`: nearly an argument, with a sign or a blank that is none. */
function looseArgument(content: string, row: CommandRow): string | undefined {
  const key = /(?:\s[－—–]|[\t\u3000]-)([A-Za-z]\w*)/.exec(content)?.[1]
  return key !== undefined && isArgument(key, row) ? key : undefined
}

function isArgument(key: string, row: CommandRow): boolean {
  return Object.hasOwn(row.args, key) || Object.hasOwn(everywhere, key)
}

function checkAssignment(content: string, line: number, scene: SceneContext): void {
  const equals = content.indexOf('=')
  const name = content.slice(0, equals).trim()
  if (equals < 0 || name === '') return scene.add({ line, code: 'no-assignment' })
  const value = content.slice(equals + 1)
  const sign = /[+\-*/%:]$/.exec(name)?.[0]
  if (sign !== undefined) {
    const plain = name.slice(0, -1).trim()
    const instead = sign === ':' ? `${plain}=${value}` : `${plain}=${plain}${sign}${value}`
    scene.add({ line, code: 'no-such-assignment', about: { name, instead } })
  } else if (value.startsWith('='))
    scene.add({ line, code: 'double-equals', about: { name, value: value.replace(/^=+/, '').trim() } })
}

const unquoted = (text: string): string => text.trim().replace(/^"(.*)"$/, '$1')

/** `"Go" -> there`: the blank before the arrow makes an argument of it. */
export function arrowOf({ command, args }: Statement): string | undefined {
  const arrow = command === 'choose' ? args.find(({ raw }) => raw.startsWith('>')) : undefined
  return arrow?.raw.slice(1).split('|', 1)[0]?.trim()
}

function checkChoice(choice: Choice, line: number, { labels, add }: SceneContext): void {
  const { words, target, show, enable, lost, before } = choice
  for (const condition of [show, enable]) {
    const finding = condition ? checkExpression(condition, line) : undefined
    if (finding) add(finding)
  }
  if (before !== undefined && before.trim() !== '' && show === undefined && enable === undefined) {
    return add({ line, code: 'choice-arrow', about: { words, instead: `${unquoted(before)}:${words}` } })
  }
  if (isOpen(target)) return
  if (lost !== '' && !labels.has(target) && !target.includes('.'))
    return add({ line, code: 'choice-extra-colon', about: { words, target, lost } })
  if (target === '') return add({ line, code: 'choice-without-target', about: { words } })
  if (placeholders.has(target)) return add({ line, code: 'choice-placeholder', about: { words, target } })
  if (!target.includes('.') && !labels.has(target)) add({ line, code: 'choice-label', about: { words, target } })
}
