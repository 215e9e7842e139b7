import { convertEncoding } from './convert-encoding.ts'
import { generateCharacterProfile } from './generate-character-profile.ts'
import { listProjectResources } from './list-project-resources.ts'
import { previewScene } from './preview-scene.ts'
import { projectReport } from './project-report.ts'
import { playRoutes } from './play-routes.ts'
import { renameInGame } from './rename-in-game.ts'
import { saveFilmstrip } from './save-filmstrip.ts'
import { sceneGraph } from './scene-graph.ts'
import { validateScript } from './validate-script.ts'
import { webgalReference } from './webgal-reference.ts'

/** Writing scenes that the WebGAL engine really runs. */
export const webgal = [
  listProjectResources,
  validateScript,
  previewScene,
  generateCharacterProfile,
  sceneGraph,
  projectReport,
  webgalReference,
  convertEncoding,
  renameInGame,
  playRoutes,
  saveFilmstrip,
]
export type { WebgalUse } from './use.ts'
