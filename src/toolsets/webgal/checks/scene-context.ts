import type { Finding } from '../finding.ts'
import type { Game } from '../game.ts'
import { isIn, type Language } from '../language.ts'

/** What one scene cannot answer alone: whether any scene sets a variable, has a speaker, or gives a figure an id. */
export interface Question {
  line: number
  about: 'variable' | 'speaker' | 'target'
  name: string
  at?: Finding['at']
}

/** What the checks of one scene know, and where they put what they find. */
export interface SceneContext {
  readonly game: Game
  readonly language: Language
  readonly labels: ReadonlyMap<string, number>
  add(finding: Finding): void
  ask(question: Question): void
  /** Tells where something needs a newer engine than the game has. Of an unknown engine it is a note, once a scene. */
  needs(line: number, what: string, since: string | undefined): void
}

export function openContext(
  game: Game,
  language: Language,
  labels: ReadonlyMap<string, number>,
  add: (finding: Finding) => void,
): SceneContext & { questions: Question[]; toldBefore(): number } {
  const noted = new Set<string>()
  const questions: Question[] = []
  let again = 0
  return {
    /** How often something went unsaid because an earlier line had said it. */
    toldBefore: () => again,
    game,
    language,
    labels,
    add,
    questions,
    ask: (question) => void questions.push(question),
    needs(line, what, since) {
      const { version, atLeast } = language
      if (since === undefined || (version !== undefined && isIn({ since }, version))) return
      if (version !== undefined) return add({ line, code: 'argument-needs-engine', about: { what, since, version } })
      // An engine that plays the rest of the game has this too.
      if (atLeast !== undefined && isIn({ since }, atLeast)) return
      if (noted.has(what)) return void again++
      noted.add(what)
      add({ line, code: 'newer-feature', about: { what, since } })
    },
  }
}
