import type { Pace } from '../../text/steps.ts'
import { badTarget, checkArguments } from './checks/arguments.ts'
import { checkContent } from './checks/contents.ts'
import { checkFlow } from './checks/flow.ts'
import { checkHead, misread } from './checks/heads.ts'
import { checkAfter, checkProse } from './checks/prose.ts'
import { checkResources, cutFileName } from './checks/resources.ts'
import { openContext, type Question, type SceneContext } from './checks/scene-context.ts'
import { anyTarget, noWords, tellWords, variablesRead, wordsOfGame, type Words } from './checks/words.ts'
import { openFindings, type Counts, type Finding } from './finding.ts'
import type { Game } from './game.ts'
import { commands, featureSince } from './grammar/commands.ts'
import { firstLines, longestStatement, mostLines } from './grammar/fold.ts'
import { statementsOf, type Statement } from './grammar/parse.ts'
import type { Language } from './language.ts'
import { recall, type Memory } from './memory.ts'

/** So many statements take less than a turn; to ask the clock for each takes longer than to check it. */
const stretch = 64

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

/** A scene that was looked at alone: what it tells others, and what only they can answer. */
export interface Checked {
  readonly statements: Statement[]
  words: Words
  questions: readonly Question[]
  misread: ReadonlySet<number>
  /** Ends it, with what all scenes of the game tell; nothing where the game is too large to be read whole. */
  answer(words: Words | undefined): Pick<Validated, 'valid' | 'findings' | 'counts'>
}

/** Everything that can be said about one scene. Other scenes are read only where this one leaves something open. */
export async function validateScene(text: string, game: Game, language: Language, pace: Pace): Promise<Validated> {
  const checked = await checkScene(text, game, language, pace)
  const { statements, misread: lines, questions, words } = checked
  const answered = checked.answer(questions.length === 0 ? words : await wordsOfGame(game, language, pace))
  return { ...answered, statements, misread: lines }
}

/** Lines of commands about which nothing was said in one scene, and so nothing is in another, taken apart, with the variables they look at. */
export type QuietLines = Map<string, { statement: Statement; looked: readonly string[] }>
const mostQuietLines = 50_000
const longestQuietLine = 200

interface Looking {
  /** With a memory only lines that are new are taken apart. */
  memory?: Memory
  /** Shared by scenes of one game that are looked at one after another. */
  quietLines?: QuietLines
  /** Told of every look at a variable. */
  reads?: (name: string, line: number) => void
}

/** Everything that can be said about one scene without the others. */
export async function checkScene(
  text: string,
  game: Game,
  language: Language,
  pace: Pace,
  { memory, quietLines, reads }: Looking = {},
): Promise<Checked> {
  const marked = text.startsWith('\uFEFF')
  const { text: seen, cut } = firstLines(marked ? text.slice(1) : text)
  const statements: Statement[] = []
  const words = noWords()
  /** The last of two equal ones counts. */
  const labels = new Map<string, number>()
  const recalled = memory && recall(memory, seen, language)
  const quietOne = (line: string): Statement | undefined => (mayBeQuiet(line) ? quietLines?.get(line)?.statement : undefined)
  for (const statement of recalled?.statements ?? statementsOf(seen, language, quietLines && quietOne)) {
    statements.push(statement)
    tellWords(statement, words)
    if (statement.command === 'label') labels.set(statement.content, statement.line)
    if (statements.length % stretch === 0 && pace.due()) await pace.turn()
  }
  const found = openFindings<Finding>(({ code }) => code, mostFindings)
  const misreadLines = new Set<number>()
  let told = 0
  const add = (finding: Finding): void => {
    told++
    found.add(finding)
    if (misread.has(finding.code)) misreadLines.add(finding.line)
  }
  const scene = openContext(game, language, labels, add)
  if (marked) add({ line: 1, code: 'byte-order-mark' })
  const asked = new Set<string>()
  for (let index = 0; index < statements.length; index++) {
    const statement = statements[index] as Statement
    let quiet = true
    if (statement.command !== 'comment' || statement.cut) {
      const { command, line, endLine, text: body } = statement
      const mayRepeat = quietLines !== undefined && command !== 'say' && line === endLine && mayBeQuiet(body)
      let looked = mayRepeat ? quietLines.get(body)?.looked : undefined
      if (looked === undefined) {
        if (recalled?.isQuiet(index) !== true) {
          const before = told + scene.questions.length + scene.toldBefore()
          checkStatement(statement, scene)
          quiet = before === told + scene.questions.length + scene.toldBefore()
        }
        looked = statement.cut ? none : variablesRead(statement)
        if (mayRepeat && quiet && !dependsOnLabels(statement) && quietLines.size < mostQuietLines)
          quietLines.set(body, { statement, looked })
      }
      for (const name of looked) {
        reads?.(name, line)
        if (words.variable.has(name) || asked.has(name)) continue
        asked.add(name)
        scene.ask({ line, about: 'variable', name })
      }
    }
    // What says nothing now says nothing the next time, unless that depends on labels.
    recalled?.quiet.push(quiet && !dependsOnLabels(statement))
    if (index % stretch === 0 && pace.due()) await pace.turn()
  }
  if (memory) Object.assign(memory, { statements, quiet: recalled?.quiet })
  checkFlow(statements, labels, add)
  if (cut) add({ line: mostLines, code: 'too-many-lines', about: { most: mostLines } })
  const questions = scene.questions.filter(({ about, name }) => about === 'speaker' || !words[about].has(name))
  const kept = found.kept().toSorted(byLine)
  place(kept, statements)
  place(questions, statements)
  // What answers keeps no statement alive: a whole game is looked at before the first answer.
  return {
    statements,
    words,
    questions,
    misread: misreadLines,
    answer(all) {
      const late = openFindings<Finding>(({ code }) => code, mostFindings)
      if (all) for (const question of questions) answer(question, all, words, { ...scene, add: late.add })
      const counts = {
        error: found.counts.error + late.counts.error,
        warning: found.counts.warning + late.counts.warning,
        info: found.counts.info + late.counts.info,
      }
      const more = late.kept()
      const findings = more.length === 0 ? kept : firstOf([...kept, ...more]).toSorted(byLine)
      return { valid: counts.error === 0, findings, counts }
    },
  }
}

const none: readonly string[] = []

/** Commands begin with a small letter, and most dialogue does not: its lines are hardly ever the same, and are not looked for. */
const mayBeQuiet = (line: string): boolean => {
  const first = line.charCodeAt(0)
  return first >= 0x61 && first <= 0x7a && line.length <= longestQuietLine
}

const dependsOnLabels = ({ command }: Statement): boolean => {
  const kind = commands[command]?.content.is
  return kind === 'choices' || kind === 'target label'
}

const byLine = (one: Finding, other: Finding): number => one.line - other.line

/** The gravest, where there are too many. */
function firstOf(findings: readonly Finding[]): readonly Finding[] {
  if (findings.length <= mostFindings) return findings
  const found = openFindings<Finding>(({ code }) => code, mostFindings)
  for (const finding of findings) found.add(finding)
  return found.kept()
}

function answer(question: Question, all: Words, own: Words, scene: SceneContext): void {
  const { line, about, name, at } = question
  const isKnown = all[about].has(name) || own[about].has(name)
  const add = (finding: Finding): void => scene.add({ ...finding, ...(at && { at }) })
  if (about === 'speaker') {
    if (isKnown) add({ line, code: 'fullwidth-colon-speaker', about: { name } })
  } else if (about === 'variable') {
    if (!isKnown) add({ line, code: 'variable-never-set', about: { name } })
  } else if (!isKnown && !all.target.has(anyTarget) && !own.target.has(anyTarget))
    add(badTarget(question, [...own.target, ...all.target], scene))
}

/** Where on its line each finding stands: the whole statement, without the blanks around it. Both lists go by line. */
function place(findings: readonly (Finding | Question)[], statements: readonly Statement[]): void {
  let index = 0
  for (const finding of findings) {
    while ((statements[index]?.endLine ?? Number.MAX_SAFE_INTEGER) < finding.line) index++
    const statement = statements[index]
    if (!statement || statement.line !== statement.endLine) continue
    const { text } = statement
    finding.at = { column: text.length - text.trimStart().length + 1, endColumn: text.trimEnd().length + 1 }
  }
}

function checkStatement(statement: Statement, scene: SceneContext): void {
  const { line, endLine, command, text } = statement
  const { add, game } = scene
  if (statement.cut) return add({ line, code: 'statement-too-long', about: { most: longestStatement } })
  if (endLine > line) scene.needs(line, '⏎', featureSince.continuedLines)
  const head = command === 'say' ? checkHead(statement, scene) : undefined
  if (head) add(head)
  // Most lines are dialogue without arguments: they name no file.
  else if (command === 'say' && statement.args.length === 0) checkProse(statement, scene)
  else {
    const cut = cutFileName(statement, game)
    if (cut) add({ line, code: 'file-name-cut', about: cut })
    else {
      if (command === 'say') checkProse(statement, scene)
      else checkContent(statement, scene)
      checkArguments(statement, scene)
      checkResources(statement, scene)
    }
  }
  if (statement.comment !== '' && command !== 'say') checkAfter(statement, scene)
  if (statement.hasSemicolon) return
  const wide = text.trimEnd().endsWith('；')
  add({ line: endLine > line ? endLine : line, code: wide ? 'fullwidth-semicolon' : 'missing-semicolon' })
}
