import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { toMermaid, toSvg } from './drawing.ts'
import { openGame } from './game.ts'
import { graphOf } from './graph.ts'
import { defineTool } from './use.ts'

const text = Type.String()
const texts = Type.Array(text)
const line = Type.Integer({ minimum: 1 })

export const sceneGraph = defineTool({
  name: 'scene_graph',
  title: 'Route map of the game',
  description:
    'The route map of the whole WebGAL game: scenes, choices, calls, dead ends, unreachable scenes, missing targets, and which variables decide which branch. format adds a drawing: mermaid or svg.',
  risk: 'R0',
  input: Type.Object(
    { format: Type.Optional(Type.Enum(['json', 'mermaid', 'svg'], { type: 'string', default: 'json' })) },
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
      unreachable: texts,
      deadEnds: texts,
      gates: Type.Array(Type.Object({ variable: text, scene: text, line, condition: text }, closed)),
      drawing: Type.Optional(text),
    },
    closed,
  ),
  errors: ['E_IO'],
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
  execute({ format = 'json' }, { files }) {
    const graph = graphOf(openGame(files))
    if (format === 'json') return graph
    return { ...graph, drawing: format === 'svg' ? toSvg(graph) : toMermaid(graph) }
  },
})
