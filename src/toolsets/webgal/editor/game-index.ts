import type { Pace } from '../../../text/steps.ts'
import { noWords, tellWords, tellWordsOfConfig, type Words } from '../checks/words.ts'
import { mostText, type Game } from '../game.ts'
import { statementsOf } from '../grammar/parse.ts'
import type { Language } from '../language.ts'
import { occurrencesIn, readStatements, type Occurrence } from './occurrences.ts'

/** Everything that has a name in the scenes of one game, kept while scenes change. */
export interface GameIndex {
  readonly game: Game
  readonly language: Language
  /** What all scenes tell; nothing where the game is too large to be read whole. */
  readonly words: Words | undefined
  /** Why not all scenes were read, where they were not. */
  readonly partial: string | undefined
  /** A scene as the editor holds it, else as it is on the disk. */
  text(scene: string): string | undefined
  /** A scene has changed to this, and tells this. */
  tells(scene: string, words: Words): void
  occurrences(scene: string): readonly Occurrence[]
  /** All of them by scene, read when they are first asked for. */
  everywhere(pace: Pace): Promise<ReadonlyMap<string, readonly Occurrence[]>>
}

const mostOccurrences = 1_000_000

export async function indexGame(
  game: Game,
  language: Language,
  held: (scene: string) => string | undefined,
  pace: Pace,
): Promise<GameIndex> {
  const text = (scene: string): string | undefined => held(scene) ?? game.sceneText(scene)
  const told = new Map<string, Words>()
  const counts = { variable: new Map<string, number>(), speaker: new Map<string, number>(), target: new Map<string, number>() }
  const all = noWords()
  const count = (words: Words, by: 1 | -1): void => {
    for (const kind of ['variable', 'speaker', 'target'] as const)
      for (const name of words[kind]) {
        const now = (counts[kind].get(name) ?? 0) + by
        if (now > 0) counts[kind].set(name, now)
        else counts[kind].delete(name)
        if (now > 0) all[kind].add(name)
        else all[kind].delete(name)
      }
  }
  const config = noWords()
  tellWordsOfConfig(game, config)
  count(config, 1)
  let read = 0
  let partial = game.leftOut[0]
  for (const scene of game.scenes()) {
    const script = text(scene)
    if (script === undefined) partial ??= `${scene} cannot be read.`
    read += script?.length ?? 0
    if (read > mostText) {
      partial ??= 'The game has more text than is read at once.'
      break
    }
    const words = noWords()
    for (const statement of statementsOf(script ?? '', language)) {
      tellWords(statement, words)
      if (pace.due()) await pace.turn()
    }
    told.set(scene, words)
    count(words, 1)
  }
  const known = new Map<string, { of: string; occurrences: readonly Occurrence[] }>()
  const occurrences = (scene: string): readonly Occurrence[] => {
    const script = text(scene) ?? ''
    const before = known.get(scene)
    if (before?.of === script) return before.occurrences
    const found: Occurrence[] = []
    for (const one of readStatements(script, language)) for (const each of occurrencesIn(one, language)) found.push(each)
    known.set(scene, { of: script, occurrences: found })
    return found
  }
  return {
    game,
    language,
    words: partial === undefined ? all : undefined,
    get partial() {
      return partial
    },
    text,
    tells(scene, words) {
      const before = told.get(scene)
      if (before) count(before, -1)
      told.set(scene, words)
      count(words, 1)
    },
    occurrences,
    async everywhere(pace2) {
      const found = new Map<string, readonly Occurrence[]>()
      let total = 0
      for (const scene of game.scenes()) {
        const some = occurrences(scene)
        total += some.length
        if (total > mostOccurrences) {
          partial ??= 'The game names more things than are looked at.'
          break
        }
        found.set(scene, some)
        if (pace2.due()) await pace2.turn()
      }
      return found
    },
  }
}
