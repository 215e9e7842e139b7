import type { Pace } from '../../text/steps.ts'
import { checkArguments } from './checks/arguments.ts'
import { checkContent } from './checks/contents.ts'
import { checkFlow, labelsOf } from './checks/flow.ts'
import { checkHead, misread } from './checks/heads.ts'
import { checkResources } from './checks/resources.ts'
import { checkVariables } from './checks/variables.ts'
import { openFindings, type Counts, type Finding } from './finding.ts'
import type { Game } from './game.ts'
import { firstLines, longestStatement, mostLines } from './grammar/fold.ts'
import { engineCommands, statementsOf, type CommandNames, type Statement } from './grammar/parse.ts'

/** Most findings of one scene that are put into words. */
export const mostFindings = 2_000

export interface Validated {
  valid: boolean
  /** In the order of their lines; of too many, the gravest. */
  findings: Finding[]
  /** Of all that were found. */
  counts: Readonly<Counts>
  statements: Statement[]
  /** Lines the engine surely takes for something else than was meant. */
  misread: ReadonlySet<number>
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
export async function validateScene(text: string, game: Game, language: Language, pace: Pace): Promise<Validated> {
  const marked = text.startsWith('\uFEFF')
  const { text: seen, cut } = firstLines(marked ? text.slice(1) : text)
  const statements: Statement[] = []
  for (const statement of statementsOf(seen, language.names)) {
    statements.push(statement)
    if (pace.due()) await pace.turn()
  }
  const labels = labelsOf(statements)
  const found = openFindings<Finding>(({ code }) => code, mostFindings)
  const misreadLines = new Set<number>()
  const add = (finding: Finding): void => {
    found.add(finding)
    if (misread.has(finding.code)) misreadLines.add(finding.line)
  }
  const [first] = statements
  if (marked && first && first.command !== 'say' && first.command !== 'comment')
    add({ line: 1, code: 'byte-order-mark-before-command', about: { command: first.command } })
  else if (marked) add({ line: 1, code: 'byte-order-mark' })
  for (const statement of statements) {
    if (statement.command !== 'comment' || statement.cut) checkStatement(statement, labels, game, language, add)
    if (pace.due()) await pace.turn()
  }
  for (const finding of checkFlow(statements)) add(finding)
  for (const finding of await checkVariables(statements, game, pace)) add(finding)
  if (cut) add({ line: mostLines, code: 'too-many-lines', about: { most: mostLines } })
  const findings = found.kept().toSorted((one, other) => one.line - other.line)
  place(findings, statements)
  return { valid: found.counts.error === 0, findings, counts: found.counts, statements, misread: misreadLines }
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
  add: (finding: Finding) => void,
): void {
  const { line, endLine, command, text } = statement
  if (statement.cut) return add({ line, code: 'statement-too-long', about: { most: longestStatement } })
  const head = command === 'say' ? checkHead(statement, names, lowered, game.patience) : undefined
  if (head) add(head)
  else {
    if (command !== 'say') for (const finding of checkContent(statement, labels, game.patience)) add(finding)
    for (const finding of checkArguments(statement, game.patience)) add(finding)
    for (const finding of checkResources(statement, game)) add(finding)
  }
  if (statement.hasSemicolon) return
  const wide = text.trimEnd().endsWith('；')
  add({ line: endLine > line ? endLine : line, code: wide ? 'fullwidth-semicolon' : 'missing-semicolon' })
}
