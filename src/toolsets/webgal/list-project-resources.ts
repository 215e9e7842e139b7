import Type from 'typebox'
import { closed, named } from '../../contracts/shapes.ts'
import { openGame } from './game.ts'
import { defineTool } from './use.ts'

const names = Type.Array(Type.String())

export const listProjectResources = defineTool({
  name: 'list_project_resources',
  title: 'List the resources of a game',
  description:
    'Every background, figure, music, voice and scene of the WebGAL game, sub-folders included, each relative to its folder: the names to use in scripts.',
  risk: 'R0',
  input: Type.Object({}, { ...named('list_project_resources', 'request'), ...closed }),
  output: Type.Object(
    { backgrounds: names, figures: names, bgm: names, vocals: names, scenes: names },
    { ...named('list_project_resources', 'response'), ...closed },
  ),
  errors: ['E_IO'],
  examples: [
    {
      says: 'a small game',
      given: { 'game/scene/start.txt': 'end;\n', 'game/background/night/sea.png': '' },
      input: {},
      output: { backgrounds: ['night/sea.png'], figures: [], bgm: [], vocals: [], scenes: ['start.txt'] },
    },
  ],
  execute(_, { files }) {
    const game = openGame(files)
    return {
      backgrounds: [...game.filesOf('background')],
      figures: [...game.filesOf('figure')],
      bgm: [...game.filesOf('bgm')],
      vocals: [...game.filesOf('vocal')],
      scenes: [...game.scenes()],
    }
  },
})
