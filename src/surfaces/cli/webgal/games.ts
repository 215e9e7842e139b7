import { Fault } from '../../../contracts/faults/fault.ts'
import type { Operator } from '../../../contracts/operator.ts'
import type { Invocation } from '../command.ts'
import { progressBar } from '../print.ts'
import { placesOf, type Place } from './places.ts'
import type { Lang } from './words.ts'

/** As a person, over the same road as everybody. */
export async function ask<T>(runtime: Operator, tool: string, input: object): Promise<T> {
  const bar = progressBar(tool)
  try {
    const caller = { surface: 'cli', client: 'handrail-cli', session: 'cli-webgal', role: 'person' } as const
    const { output } = await runtime.call(tool, input, caller, { onProgress: (done, total) => bar.show(done, total ?? 0) })
    return output as T
  } finally {
    bar.end()
  }
}

/** What every tool about a whole game says of it. */
interface OfGame {
  game: string
  /** Where the project holds several: all of them, this one first. */
  games?: string[]
}

export interface Asked<T> {
  place: Place
  runtime: Operator
  lang: Lang
  answer: T
}

/** The folders, games and scenes that were named, else the project. */
export const named = ({ words, project }: Pick<Invocation, 'words' | 'project'>, skip = 1): string[] =>
  words.length > skip ? words.slice(skip) : [project]

/** Asks the same of every game of every place that was named, one after another. */
export async function* eachGame<T extends OfGame>(
  invocation: Invocation,
  tool: string,
  input: object,
  paths = named(invocation),
): AsyncGenerator<Asked<T>> {
  for (const place of placesOf(paths)) {
    const runtime = invocation.openAt(place.project)
    try {
      const of = (game: string | undefined): Promise<T> =>
        ask<T>(runtime, tool, { ...input, ...(game !== undefined && { game }) })
      const first = await of(place.game)
      yield { place, runtime, lang: runtime.config.lang, answer: first }
      for (const game of (first.games ?? []).slice(1)) yield { place, runtime, lang: runtime.config.lang, answer: await of(game) }
    } finally {
      await runtime.close()
    }
  }
}

const told = {
  EN: {
    message: (project: string): string => `There are no scenes below ${project}.`,
    hint: 'A game has its scenes in game/scene/*.txt.',
  },
  ZH: { message: (project: string): string => `${project} 里没有场景。`, hint: '游戏的场景在 game/scene/*.txt。' },
} as const

export function noScenes(project: string, lang: Lang): Fault {
  return new Fault('not-found', told[lang].message(project), { hint: told[lang].hint })
}
