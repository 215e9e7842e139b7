import Type from 'typebox'
import { answerBudget, firstThatFit } from '../../text/answer-size.ts'
import { closed, named } from '../../contracts/shapes.ts'
import { openPace } from '../../text/steps.ts'
import { openGame } from './game.ts'
import { leftOut, notListed } from './shapes.ts'
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
    { backgrounds: names, figures: names, bgm: names, vocals: names, scenes: names, leftOut },
    { ...named('list_project_resources', 'response'), ...closed },
  ),
  faults: ['io'],
  examples: [
    {
      says: 'a small game',
      given: { 'game/scene/start.txt': 'end;\n', 'game/background/night/sea.png': '' },
      input: {},
      output: { backgrounds: ['night/sea.png'], figures: [], bgm: [], vocals: [], scenes: ['start.txt'] },
    },
  ],
  async execute(_, { files }, call) {
    const game = await openGame(files, openPace(call.signal))
    const room = answerBudget()
    const left = [...game.leftOut]
    const some = (name: string, all: readonly string[]): string[] => {
      const listed = firstThatFit(all, room)
      left.push(...notListed(name, all, listed))
      return listed
    }
    // Scenes first: they are the few, and what follows may fill the answer.
    const scenes = some('scenes', game.scenes())
    const found = {
      backgrounds: some('backgrounds', game.filesOf('background')),
      figures: some('figures', game.filesOf('figure')),
      bgm: some('bgm', game.filesOf('bgm')),
      vocals: some('vocals', game.filesOf('vocal')),
    }
    return { ...found, scenes, ...(left.length && { leftOut: left }) }
  },
})
