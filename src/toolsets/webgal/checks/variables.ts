import type { Pace } from '../../../text/steps.ts'
import type { Finding } from '../finding.ts'
import { mostText, type Game } from '../game.ts'
import { parseChoices, statementsOf, type Statement } from '../grammar/parse.ts'
import { variablesIn, variablesShown } from './expressions.ts'

const none: string[] = []

/** Variables a statement gives a value to. */
export function variablesSet({ command, content, args }: Statement): string[] {
  if (command === 'say') return none
  if (command === 'setVar') return [content.split('=', 1)[0]?.trim() ?? '']
  if (command === 'getUserInput') return [content]
  return command === 'callScene' ? args.map(({ key, value }) => (key === 'writeReturnTo' ? String(value) : key)) : none
}

/** Variables a statement looks at. */
export function variablesRead({ command, content, args }: Statement): string[] {
  if (args.length === 0 && command !== 'choose' && !content.includes('{')) return none
  const found = variablesShown(content)
  const add = (names: readonly string[]): void => {
    for (const name of names) found.push(name)
  }
  for (const { key, value } of args)
    if (typeof value === 'string') add(key === 'when' ? variablesIn(value) : variablesShown(value))
  if (command === 'choose')
    for (const { show, enable } of parseChoices(content)) {
      add(variablesIn(show ?? ''))
      add(variablesIn(enable ?? ''))
    }
  return found
}

/** Variables that are looked at and set nowhere. Other scenes are read only where this one does not say. */
export async function checkVariables(statements: readonly Statement[], game: Game, pace: Pace): Promise<Finding[]> {
  const own = new Set<string>()
  for (const statement of statements) for (const name of variablesSet(statement)) own.add(name)
  const told = new Set<string>()
  const found: Finding[] = []
  for (const statement of statements) {
    if (pace.due()) await pace.turn()
    if (statement.command === 'comment' || statement.cut) continue
    for (const name of variablesRead(statement)) {
      if (own.has(name) || told.has(name)) continue
      const everywhere = await variablesOfGame(game, pace)
      // Where the game is too large to be read whole, a variable may be set in what was not read.
      if (everywhere === undefined) return found
      if (everywhere.has(name)) continue
      told.add(name)
      found.push({ line: statement.line, code: 'variable-never-set', about: { name } })
    }
  }
  return found
}

const known = new WeakMap<Game, ReadonlySet<string> | undefined>()
const mostNames = 500_000

/** Everything any scene sets, and the keys of `config.txt`, which the engine makes variables too. Read once per game. */
async function variablesOfGame(game: Game, pace: Pace): Promise<ReadonlySet<string> | undefined> {
  if (!known.has(game)) known.set(game, await readVariables(game, pace))
  return known.get(game)
}

async function readVariables(game: Game, pace: Pace): Promise<ReadonlySet<string> | undefined> {
  const names = new Set<string>()
  for (const line of game.config().split('\n')) names.add(line.split(':', 1)[0]?.trim() ?? '')
  let read = 0
  for (const scene of game.scenes()) {
    const text = game.sceneText(scene) ?? ''
    read += text.length
    if (read > mostText || names.size > mostNames) return undefined
    if (pace.due()) await pace.turn()
    if (!/setVar|getUserInput|callScene/.test(text)) continue
    for (const statement of statementsOf(text)) {
      for (const name of variablesSet(statement)) names.add(name)
      if (pace.due()) await pace.turn()
    }
  }
  return game.leftOut.length > 0 ? undefined : names
}
