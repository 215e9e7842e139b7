import type { Pace } from '../../../text/steps.ts'
import { mostText, type Game } from '../game.ts'
import { parseChoices, statementsOf, type Reading, type Statement } from '../grammar/parse.ts'
import { isOpen, variablesIn, variablesShown } from './expressions.ts'

/** What scenes tell each other: variables that are set, who speaks, ids of figures. */
export interface Words {
  variable: Set<string>
  speaker: Set<string>
  target: Set<string>
}

export const noWords = (): Words => ({ variable: new Set(), speaker: new Set(), target: new Set() })

const none: string[] = []

/** An id that is known only while the game runs: every target may be meant. */
export const anyTarget = '*'

/** Variables a statement gives a value to. */
export function variablesSet({ command, content, args }: Statement): string[] {
  if (command === 'setVar') {
    const equals = content.indexOf('=')
    return [(equals < 0 ? content : content.slice(0, equals)).trim()]
  }
  if (command === 'getUserInput') return [content]
  return command === 'callScene' ? args.map(({ key, value }) => (key === 'writeReturnTo' ? String(value) : key)) : none
}

/** Variables a statement looks at. */
export function variablesRead({ command, content, args, speaker, text }: Statement): string[] {
  // All there is to nearly every line of dialogue.
  if (args.length === 0 && command !== 'choose' && !text.includes('{')) return none
  const isNamed = speaker !== undefined && speaker.includes('{')
  const found = variablesShown(content)
  const add = (names: readonly string[]): void => {
    for (const name of names) found.push(name)
  }
  if (isNamed) add(variablesShown(speaker))
  for (const { key, value } of args)
    if (typeof value === 'string') add(key === 'when' ? variablesIn(value) : variablesShown(value))
  if (command === 'choose')
    for (const { show, enable } of parseChoices(content)) {
      if (show) add(variablesIn(show))
      if (enable) add(variablesIn(enable))
    }
  return found
}

/** Adds what one statement tells. */
export function tellWords(statement: Statement, words: Words): void {
  const { command, speaker, args } = statement
  if (command === 'say') {
    if (speaker !== undefined && speaker !== '') words.speaker.add(speaker.trim())
    return
  }
  if (command === 'setVar' || command === 'getUserInput' || command === 'callScene')
    for (const name of variablesSet(statement)) words.variable.add(name)
  if (command !== 'changeFigure' && command !== 'changeFigureDiff') return
  for (const { key, value } of args) if (key === 'id') words.target.add(isOpen(value) ? anyTarget : String(value))
}

const known = new WeakMap<Game, Words | undefined>()
const mostNames = 500_000

/** What all scenes tell, and the keys of `config.txt`, which the engine makes variables too. Read once per game; nothing where it is too large. */
export async function wordsOfGame(game: Game, reading: Reading, pace: Pace): Promise<Words | undefined> {
  if (!known.has(game)) known.set(game, await readWords(game, reading, pace))
  return known.get(game)
}

/** For whoever has read all scenes anyway. */
export function tellWordsOfConfig(game: Game, words: Words): void {
  for (const line of game.config().split('\n')) words.variable.add(line.split(':', 1)[0]?.trim() ?? '')
}

async function readWords(game: Game, reading: Reading, pace: Pace): Promise<Words | undefined> {
  const words = noWords()
  tellWordsOfConfig(game, words)
  let read = 0
  for (const scene of game.scenes()) {
    const text = game.sceneText(scene) ?? ''
    read += text.length
    if (read > mostText || words.variable.size + words.speaker.size + words.target.size > mostNames) return undefined
    if (pace.due()) await pace.turn()
    for (const statement of statementsOf(text, reading)) {
      tellWords(statement, words)
      if (pace.due()) await pace.turn()
    }
  }
  return game.leftOut.length > 0 ? undefined : words
}
