import type { Finding } from '../finding.ts'
import type { Game } from '../game.ts'
import { parseChoices, parseScene, type Statement } from '../grammar/parse.ts'
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
  for (const { key, value } of args)
    if (typeof value === 'string') found.push(...(key === 'when' ? variablesIn(value) : variablesShown(value)))
  if (command === 'choose')
    for (const { show, enable } of parseChoices(content)) found.push(...variablesIn(show ?? ''), ...variablesIn(enable ?? ''))
  return found
}

/** Variables that are looked at and set nowhere. Other scenes are read only where this one does not say. */
export function checkVariables(statements: readonly Statement[], game: Game): Finding[] {
  const own = new Set<string>()
  for (const statement of statements) for (const name of variablesSet(statement)) own.add(name)
  let everywhere: ReadonlySet<string> | undefined
  const told = new Set<string>()
  const found: Finding[] = []
  for (const statement of statements) {
    if (statement.command === 'comment') continue
    for (const name of variablesRead(statement)) {
      if (own.has(name) || told.has(name)) continue
      everywhere ??= variablesOfGame(game)
      if (everywhere.has(name)) continue
      told.add(name)
      found.push({ line: statement.line, code: 'variable-never-set', about: { name } })
    }
  }
  return found
}

const known = new WeakMap<Game, ReadonlySet<string>>()

/** Everything any scene sets, and the keys of `config.txt`, which the engine makes variables too. Read once per game. */
function variablesOfGame(game: Game): ReadonlySet<string> {
  const found = known.get(game)
  if (found) return found
  const names = new Set<string>()
  known.set(game, names)
  for (const line of game.config().split('\n')) names.add(line.split(':', 1)[0]?.trim() ?? '')
  for (const scene of game.scenes()) {
    const text = game.sceneText(scene) ?? ''
    if (!/setVar|getUserInput|callScene/.test(text)) continue
    for (const statement of parseScene(text)) for (const name of variablesSet(statement)) names.add(name)
  }
  return names
}
