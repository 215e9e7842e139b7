import Type from 'typebox'
import { answerBudget, firstThatFit } from '../../text/answer-size.ts'
import { closed } from '../../contracts/shapes.ts'
import { openPace } from '../../text/steps.ts'
import { chooseGame } from './choose-game.ts'
import { graphOf } from './graph.ts'
import { leftOutIn } from './left-out.ts'
import { drawable, toMermaid } from './map/drawable.ts'
import { toPage } from './map/page.ts'
import { toSvg } from './map/picture.ts'
import { gameInput, gameOutput, leftOut, notListed } from './shapes.ts'
import { defineTool, rulesOf } from './use.ts'

const text = Type.String()
const texts = Type.Array(text)
const line = Type.Integer({ minimum: 1 })

export const sceneGraph = defineTool({
  name: 'scene_graph',
  title: 'Route map of the game',
  description:
    'The route map of the whole WebGAL game: scenes, choices, calls, dead ends, unreachable scenes, missing targets, and which variables decide which branch. format adds a drawing: mermaid, svg, or html, a page to look around in.',
  risk: 'R0',
  input: Type.Object(
    {
      format: Type.Optional(Type.Enum(['json', 'mermaid', 'svg', 'html'], { type: 'string', default: 'json' })),
      game: gameInput,
    },
    closed,
  ),
  output: Type.Object(
    {
      start: text,
      scenes: Type.Array(
        Type.Object(
          { name: text, labels: texts, ends: Type.Boolean(), reachable: Type.Boolean(), deadEnd: Type.Boolean() },
          closed,
        ),
      ),
      ways: Type.Array(
        Type.Object(
          {
            from: text,
            to: text,
            by: Type.Enum(['changeScene', 'callScene', 'choose', 'jumpLabel'], { type: 'string' }),
            line,
            label: Type.Optional(text),
            words: Type.Optional(text),
            when: Type.Optional(text),
          },
          closed,
        ),
      ),
      missing: Type.Array(Type.Object({ from: text, line, target: text }, closed)),
      missingLabels: Type.Optional(Type.Array(Type.Object({ from: text, line, label: text }, closed))),
      unreachable: texts,
      deadEnds: texts,
      gates: Type.Array(Type.Object({ variable: text, scene: text, line, condition: text }, closed)),
      drawing: Type.Optional(text),
      ...gameOutput,
      leftOut,
    },
    closed,
  ),
  faults: ['io'],
  examples: [
    {
      says: 'two endings',
      given: {
        'game/scene/start.txt': 'choose:Stay:stay.txt|Go:go.txt;\n',
        'game/scene/stay.txt': 'end;\n',
        'game/scene/go.txt': 'end;\n',
      },
      input: { format: 'json' },
      output: { start: 'start.txt', missing: [], unreachable: [], deadEnds: [] },
    },
  ],
  async execute({ format = 'json', game: chosen }, use, call) {
    const pace = openPace(call.signal)
    const { game, games, leftOut: notFound } = await chooseGame(use.files, pace, chosen)
    const graph = await graphOf(game, rulesOf(game, use).language, pace)
    const left = [...graph.leftOut, ...notFound]
    const drawn = format === 'json' ? undefined : drawable(graph)
    if (drawn) left.push(...drawn.leftOut)
    const drawing =
      drawn &&
      (format === 'html'
        ? await toPage(graph, game, use.lang, pace)
        : format === 'svg'
          ? await toSvg(drawn.graph, use.lang, pace)
          : toMermaid(drawn.graph))
    // The drawing is part of the answer too; next to the largest there is room for some of each list.
    const room = answerBudget()
    if (drawing !== undefined) room.left = Math.max(room.left / 4, room.left - JSON.stringify(drawing).length)
    const some = <T>(name: string, all: readonly T[]): T[] => {
      const listed = firstThatFit(all, room)
      left.push(...notListed(name, all, listed))
      return listed
    }
    const answer = {
      start: graph.start,
      missing: some('missing', graph.missing),
      ...(graph.missingLabels.length && { missingLabels: some('missingLabels', graph.missingLabels) }),
      deadEnds: some('deadEnds', graph.deadEnds),
      unreachable: some('unreachable', graph.unreachable),
      scenes: some('scenes', graph.scenes),
      ways: some('ways', graph.ways),
      gates: some('gates', graph.gates),
    }
    return {
      ...answer,
      game: game.root,
      ...games,
      ...(drawing !== undefined && { drawing }),
      ...(left.length && { leftOut: leftOutIn(use.lang, left) }),
    }
  },
})
