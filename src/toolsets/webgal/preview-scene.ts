import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed, named } from '../../contracts/shapes.ts'
import { openPace, type Pace } from '../../text/steps.ts'
import { referencesOf } from './checks/resources.ts'
import { openGame, type Game } from './game.ts'
import { rootOf } from './game-folders.ts'
import { parseScene, statementsOf } from './grammar/parse.ts'
import { nearest } from '../../text/nearest.ts'
import { defineTool, rulesOf } from './use.ts'
import { wayToLine } from './way-to-line.ts'

export const previewScene = defineTool({
  name: 'preview_scene',
  title: 'Preview a scene',
  description:
    'Show a scene in the real WebGAL engine. Answers the address a person can open, what went wrong while it was played (missing pictures and sounds, errors of the page), and the first line that failed. scenePath such as "game/scene/beach.txt" or "beach"; without it the start scene. line goes to that line of the scene; past choices by the shortest way, or by choices: positions from 1 or the words of options, one for each choice from the beginning of the scene.',
  risk: 'R0',
  waits: true,
  pictures: true,
  input: Type.Object(
    {
      scenePath: Type.Optional(Type.String({ description: 'Optional. If omitted, use current start scene' })),
      line: Type.Optional(Type.Integer({ minimum: 1, description: 'The line of the scene to go to, from 1' })),
      choices: Type.Optional(
        Type.Array(Type.Union([Type.Integer({ minimum: 1 }), Type.String({ minLength: 1, maxLength: 200 })]), {
          maxItems: 200,
          description:
            'What to take at each choice on the way to the line: positions from 1, or words. At a question: the answer.',
        }),
      ),
    },
    { ...named('preview_scene', 'request'), ...closed },
  ),
  output: Type.Object(
    {
      url: Type.String({ pattern: '^https?://(localhost|127\\.0\\.0\\.1)(:[0-9]+)?(/.*)?$' }),
      logs: Type.Optional(Type.Array(Type.String())),
      firstErrorLine: Type.Optional(Type.Integer({ minimum: 1 })),
      engine: Type.Optional(Type.String({ description: 'What it was shown with.' })),
    },
    { ...named('preview_scene', 'response'), ...closed },
  ),
  faults: ['preview', 'page-crashed', 'page-timeout', 'policy', 'path-denied', 'bad-input'],
  examples: [],
  touches: ({ scenePath }, { files }) => [{ path: sceneOf(scenePath, rootOf(files)).path, access: 'read' }],
  async execute({ scenePath, line = 1, choices }, use, call) {
    const { files, preview } = use
    const pace = openPace(call.signal)
    const game = await openGame(files, pace)
    const { name, path } = sceneOf(scenePath, game.root)
    const text = game.sceneText(name)
    if (text === undefined) throw noScene(name, path, game)
    const lines = linesIn(text)
    if (line > lines)
      throw new Fault('bad-input', `${path} has ${lines} lines, so there is no line ${line}`, {
        hint: 'Lines are counted from 1.',
      })
    const { engine: judged, language } = rulesOf(game, use)
    const shown = await preview.show({
      game: game.root,
      scene: name,
      line,
      signal: call.signal,
      choices: choices ?? (line > 1 ? wayToLine(parseScene(text.replace(/^\uFEFF/, ''), language), line) : undefined),
      picture: call.attach !== undefined,
    })
    const { url, missing, engine, picture } = shown
    const logs = [...otherEngine(judged?.version, engine), ...shown.logs]
    if (picture) call.attach?.({ mimeType: 'image/png', bytes: picture })
    const failed = await firstNaming(text, new Set(missing), pace)
    return { url, logs, engine, ...(failed !== undefined && { firstErrorLine: failed }) }
  },
})

/** What a game was written for may be shown otherwise by another engine. */
function otherEngine(version: string | undefined, shownWith: string): string[] {
  const [, used] = /webgal-engine (\d+\.\d+\.\d+)/.exec(shownWith) ?? []
  return version === undefined || used === undefined || used === version
    ? []
    : [`the game is for engine ${version} and was shown with ${used}: what differs between them may look otherwise`]
}

/** The scene that is meant: `game/scene/x.txt`, `scene/x.txt`, `x.txt` and `x` are the same. */
function sceneOf(given: string | undefined, root: string): { name: string; path: string } {
  const asked = (given ?? 'start').replace(/^(\.\/)+/, '')
  if (/^[a-z][a-z0-9+.-]*:/i.test(asked) || asked.startsWith('//'))
    throw new Fault('policy', `Only scenes of this project can be previewed: ${asked.slice(0, 200)}`, {
      hint: 'Give a scene such as "game/scene/start.txt"; addresses are not opened.',
    })
  const folder = root === '' ? 'scene/' : `${root}/scene/`
  const below = [folder, 'game/scene/', 'scene/'].find((start) => asked.startsWith(start)) ?? ''
  const name = asked.slice(below.length).replace(/(\.txt)?$/i, (ending) => ending || '.txt')
  return { name, path: folder + name }
}

function noScene(name: string, path: string, game: Game): Fault {
  const scenes = game.scenes()
  const near = nearest(name, scenes, Math.max(2, Math.floor(name.length / 3)), game.patience)
  const shown = scenes.slice(0, 10).join(', ')
  return new Fault('preview', `There is no scene ${path}`, {
    details: { path, ...(near !== undefined && { nearest: near }) },
    hint: near === undefined ? (shown === '' ? 'The game has no scenes yet.' : `Scenes: ${shown}.`) : `Did you mean ${near}?`,
  })
}

/** The first line that names one of the files, as the engine would ask for it. A comment names nothing. */
async function firstNaming(text: string, missing: ReadonlySet<string>, pace: Pace): Promise<number | undefined> {
  if (missing.size === 0) return undefined
  for (const statement of statementsOf(text)) {
    if (referencesOf(statement).some(({ folder, name }) => missing.has(asAsked(folder, name)))) return statement.line
    if (pace.due()) await pace.turn()
  }
  return undefined
}

function linesIn(text: string): number {
  let lines = 1
  for (let at = text.indexOf('\n'); at >= 0; at = text.indexOf('\n', at + 1)) lines++
  return lines
}

/** What the engine asks for, in the way the preview writes it down. */
function asAsked(folder: string, name: string): string {
  const path = new URL(`game/${folder}/${name}`, 'http://game/').pathname.slice(1)
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}
