import { checkArguments } from './checks/arguments.ts'
import { checkContent } from './checks/contents.ts'
import { checkFlow, labelsOf } from './checks/flow.ts'
import { checkHead } from './checks/heads.ts'
import { checkResources } from './checks/resources.ts'
import { checkVariables } from './checks/variables.ts'
import type { Finding } from './finding.ts'
import type { Game } from './game.ts'
import { engineCommands, parseScene, type CommandNames, type Statement } from './grammar/parse.ts'
import { messages } from './messages.ts'

export interface Validated {
  valid: boolean
  findings: Finding[]
  statements: Statement[]
}

/** The commands of the engine and those a project declares, with a way to find them whatever their letters. */
export interface Language {
  names: CommandNames
  lowered: ReadonlyMap<string, string>
}

export function languageWith(extra: readonly string[]): Language {
  const names = extra.length === 0 ? engineCommands : new Set([...engineCommands, ...extra])
  return { names, lowered: new Map([...names].map((name) => [name.toLowerCase(), name])) }
}

/** Everything that can be said about one scene. */
export function validateScene(text: string, game: Game, language: Language): Validated {
  const marked = text.startsWith('\uFEFF')
  const statements = parseScene(marked ? text.slice(1) : text, language.names)
  const labels = labelsOf(statements)
  const findings: Finding[] = []
  const [first] = statements
  if (marked && first && first.command !== 'say' && first.command !== 'comment')
    findings.push({ line: 1, code: 'byte-order-mark-before-command', about: { command: first.command } })
  else if (marked) findings.push({ line: 1, code: 'byte-order-mark' })
  for (const statement of statements) {
    if (statement.command === 'comment') continue
    checkStatement(statement, labels, game, language, findings)
  }
  for (const found of [checkFlow(statements), checkVariables(statements, game)]) for (const one of found) findings.push(one)
  findings.sort((one, other) => one.line - other.line)
  place(findings, statements)
  return { valid: findings.every(({ code }) => messages[code].severity !== 'error'), findings, statements }
}

/** Where on its line each finding stands: the whole statement, without the blanks around it. Both lists go by line. */
function place(findings: Finding[], statements: readonly Statement[]): void {
  let index = 0
  for (const finding of findings) {
    while ((statements[index]?.endLine ?? Number.MAX_SAFE_INTEGER) < finding.line) index++
    const statement = statements[index]
    if (!statement || statement.line !== statement.endLine) continue
    const { text } = statement
    finding.at = { column: text.length - text.trimStart().length + 1, endColumn: text.trimEnd().length + 1 }
  }
}

function checkStatement(
  statement: Statement,
  labels: ReadonlyMap<string, number>,
  game: Game,
  { names, lowered }: Language,
  findings: Finding[],
): void {
  const { line, endLine, command, text } = statement
  const head = command === 'say' ? checkHead(statement, names, lowered) : undefined
  if (head) findings.push(head)
  else {
    if (command !== 'say') for (const finding of checkContent(statement, labels)) findings.push(finding)
    for (const finding of checkArguments(statement)) findings.push(finding)
    for (const finding of checkResources(statement, game)) findings.push(finding)
  }
  if (statement.hasSemicolon) return
  const wide = text.trimEnd().endsWith('；')
  findings.push({ line: endLine > line ? endLine : line, code: wide ? 'fullwidth-semicolon' : 'missing-semicolon' })
}
