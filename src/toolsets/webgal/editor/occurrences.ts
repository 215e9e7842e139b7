import { notVariables, stringsIn, variableName } from '../checks/expressions.ts'
import { commands, everywhere, type Folder } from '../grammar/commands.ts'
import { firstLines, foldLines, type Folded } from '../grammar/fold.ts'
import { isVoice, parseStatement, type Reading, type Statement } from '../grammar/parse.ts'
import { partsOf, placeIn, spansOf, trimmed, type Span, type StatementSpans } from '../grammar/spans.ts'

/** One place where something with a name is written. Labels belong to their scene, everything else to the game. */
export interface Occurrence {
  kind: 'label' | 'variable' | 'scene' | 'file' | 'speaker'
  name: string
  /** It gives the thing its being: a label, a value. */
  defines: boolean
  /** For files. */
  folder?: Folder
  /** 1-based line, columns from 0 in UTF-16 units; undefined where it is broken over two lines. */
  at: { line: number; column: number; endColumn: number } | undefined
  line: number
}

export interface ReadStatement {
  statement: Statement
  folded: Folded
  spans: StatementSpans
}

/** Every statement of a scene with the places of its parts. */
export function* readStatements(text: string, reading: Reading): Generator<ReadStatement> {
  const seen = firstLines(text.startsWith('\uFEFF') ? text.slice(1) : text).text
  for (const folded of foldLines(seen, reading.continues)) {
    const statement = parseStatement(folded.text, folded.line, folded.endLine, reading)
    yield { statement, folded, spans: spansOf(folded.text) }
  }
}

/** Everything with a name that one statement names. */
export function occurrencesIn({ statement, folded, spans }: ReadStatement, reading: Reading): Occurrence[] {
  if (statement.command === 'comment' || folded.cut) return none
  const found: Occurrence[] = []
  const { text } = folded
  const add = (kind: Occurrence['kind'], span: Span, defines: boolean, folder?: Folder): void => {
    const name = text.slice(span.start, span.end)
    if (name === '') return
    const from = placeIn(folded.pieces, folded.line, span.start)
    const to = placeIn(folded.pieces, folded.line, span.end - 1)
    const at =
      from.line === to.line && to.column - from.column === span.end - 1 - span.start
        ? { line: from.line, column: from.column, endColumn: to.column + 1 }
        : undefined
    found.push({ kind, name, defines, at, line: folded.line, ...(folder && { folder }) })
  }
  const expression = (span: Span): void => {
    for (const name of namesIn(text, span)) add('variable', name, false)
  }
  const shown = (span: Span): void => {
    for (const name of shownIn(text, span)) add('variable', name, false)
  }
  const { content } = spans
  const row = commands[statement.command]
  if (statement.command === 'say' && statement.speaker) {
    // `{name}:` is the variable to whoever points at it.
    shown(spans.head)
    add('speaker', trimmed(text, spans.head), false)
  }
  if (row?.content.is === 'label') add('label', content, true)
  else if (row?.content.is === 'target label') add('label', content, false)
  else if (row?.content.is === 'file' && text.slice(content.start, content.end) !== 'none')
    add(row.content.folder === 'scene' ? 'scene' : 'file', content, false, row.content.folder)
  else if (row?.content.is === 'variable') add('variable', content, true)
  else if (row?.content.is === 'expression') expression(content)
  else if (row?.content.is === 'assignment') {
    const equals = text.indexOf('=', content.start)
    const key = trimmed(text, { start: content.start, end: equals < 0 || equals > content.end ? content.end : equals })
    add('variable', key, true)
    if (equals >= 0 && equals < content.end) expression({ start: equals + 1, end: content.end })
  } else if (row?.content.is === 'choices') {
    for (const option of choiceSpans(text, content)) {
      if (option.show) expression(option.show)
      if (option.enable) expression(option.enable)
      const target = text.slice(option.target.start, option.target.end)
      add(target.includes('.') ? 'scene' : 'label', option.target, false, target.includes('.') ? 'scene' : undefined)
    }
  }
  if (row?.content.is !== 'assignment' && row?.content.is !== 'expression') shown(content)
  for (const { key, value } of spans.args) {
    const name = text.slice(key.start, key.end)
    if (isVoice(name, reading)) {
      add('file', { start: key.start, end: value?.end ?? key.end }, false, 'vocal')
      continue
    }
    const kind = row && Object.hasOwn(row.args, name) ? row.args[name] : undefined
    if (statement.command === 'callScene' && name === 'writeReturnTo') {
      if (value) add('variable', value, true)
    } else if (statement.command === 'callScene' && !Object.hasOwn(everywhere, name)) add('variable', key, true)
    if (!value) continue
    if (name === 'when') expression(value)
    else if (kind?.is === 'file') add('file', value, false, kind.folder)
    else shown(value)
  }
  return found
}

const none: Occurrence[] = []

export interface ChoiceSpans {
  show: Span | undefined
  enable: Span | undefined
  words: Span
  target: Span
}

/** The options of `choose`, as `parseChoices` reads them. */
export function choiceSpans(text: string, content: Span): ChoiceSpans[] {
  return partsOf(text, content, '|').map((option) => {
    const arrow = text.slice(option.start, option.end).indexOf('->')
    const rest = arrow < 0 ? option : { start: option.start + arrow + 2, end: option.end }
    const second = text.slice(rest.start, rest.end).indexOf('->')
    const [words = rest, target] = partsOf(
      text,
      arrow < 0 || second < 0 ? rest : { start: rest.start, end: rest.start + second },
      ':',
    )
    const conditions = arrow < 0 ? undefined : { start: option.start, end: option.start + arrow }
    return {
      show: conditions && between(text, conditions, '(', ')'),
      enable: conditions && between(text, conditions, '[', ']'),
      words: trimmed(text, words),
      target: target ? trimmed(text, target) : { start: words.end, end: words.end },
    }
  })
}

function between(text: string, { start, end }: Span, open: string, close: string): Span | undefined {
  const part = text.slice(start, end)
  const from = part.indexOf(open)
  const to = part.lastIndexOf(close)
  return from >= 0 && to > from ? { start: start + from + 1, end: start + to } : undefined
}

/** Every name in an expression, also right of a comparison: the engine looks there for a variable before it takes a word for itself. */
function namesIn(text: string, { start, end }: Span): Span[] {
  const bare = text.slice(start, end).replace(stringsIn, (quoted) => ' '.repeat(quoted.length))
  return [...bare.matchAll(variableName())]
    .filter(([name]) => !notVariables.has(name) && !name.startsWith('$'))
    .map((match) => ({ start: start + match.index, end: start + match.index + match[0].length }))
}

function shownIn(text: string, { start, end }: Span): Span[] {
  const part = text.slice(start, end)
  if (!part.includes('{')) return []
  return [...part.matchAll(/(?<!\\)\{([\p{L}_][\p{L}\p{N}_]*)\}/gu)].map((match) => ({
    start: start + match.index + 1,
    end: start + match.index + match[0].length - 1,
  }))
}
