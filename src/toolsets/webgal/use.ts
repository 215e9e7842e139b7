import { toolsUsing } from '../../contracts/tool.ts'
import type { Diffs } from '../../host/diffs.ts'
import type { Files } from '../../host/files.ts'
import type { Preview } from '../../host/preview/preview.ts'
import { boundOfFiles, type LowerBound } from './engine-bound.ts'
import type { EngineVersion } from './engine-version.ts'
import type { Game } from './game.ts'
import { languageOf, type Declared, type Language } from './language.ts'

/** The slice of the host the WebGAL tools may use. */
export interface WebgalUse {
  files: Files
  diffs: Diffs
  /** Language of diagnostics. */
  lang: 'ZH' | 'EN'
  /** Commands and arguments that a derivative engine adds. */
  declared: Declared
  /** The version of the engine by the settings; empty where the game's own files decide. */
  engineVersion: string
  preview: Pick<Preview, 'show' | 'play'>
}

export { textChange } from '../../host/text-change.ts'

export const defineTool = toolsUsing<WebgalUse>('webgal')

/** The engine a game is judged by, and its language: the settings decide, else what lies beside the game. */
export function rulesOf(
  game: Game,
  use: WebgalUse,
): { engine: EngineVersion | undefined; language: Language; bound: LowerBound | undefined } {
  const engine = use.engineVersion === '' ? game.engine : { ...game.engine, version: use.engineVersion, from: 'webgalVersion' }
  const bound = engine ? undefined : boundOfFiles(game)
  return { engine, language: languageOf(use.declared, engine, bound), bound }
}
