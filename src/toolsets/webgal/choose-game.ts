import type { Files } from '../../host/files.ts'
import type { Pace } from '../../text/steps.ts'
import { openGame, type Game } from './game.ts'
import { gamesIn } from './game-folders.ts'

/** The game that was named, else the first of the project, with the names of all where there are several. */
export async function chooseGame(
  files: Files,
  pace: Pace,
  chosen: string | undefined,
): Promise<{ game: Game; games: { games?: string[] }; leftOut: string[] }> {
  const { games, leftOut } = chosen === undefined ? await gamesIn(files, pace) : { games: [chosen], leftOut: [] }
  const game = await openGame(files, pace, undefined, games[0])
  return { game, games: games.length > 1 ? { games } : {}, leftOut }
}
