import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed } from '../../contracts/shapes.ts'
import { answerBudget, firstThatFit } from '../../text/answer-size.ts'
import { openPace } from '../../text/steps.ts'
import { mostText, openGame } from './game.ts'
import { parseScene } from './grammar/parse.ts'
import { decisionsIn, explore, type ScenePlan } from './play/explore.ts'
import { filmstrip } from './play/filmstrip.ts'
import { keepFilm } from './play/films.ts'
import { changesBetween, picturesIn, storyIn, storyOf } from './play/story.ts'
import { verdictOf } from './play/verdict.ts'
import { leftOut, notListed } from './shapes.ts'
import { defineTool, rulesOf } from './use.ts'

const text = Type.String()
const count = Type.Integer({ minimum: 0 })
const places = Type.Array(Type.Object({ scene: text, line: count }, closed))
const mostPictures = 400
const mostPictured = 32 << 20

export const playRoutes = defineTool({
  name: 'play_routes',
  title: 'Play every route of the game',
  description:
    'Play a WebGAL game in the real engine along every route up to a limit: every option of every choice, answers and variables that open what conditions keep shut. Finds crashes, dead ends, places where nothing leads on, missing files, scenes never reached and lines never shown. pictures: true takes a picture of each scene for a filmstrip, an HTML page in one file, which save_filmstrip writes. against names a saved filmstrip of an earlier time, to tell what the story says now that it did not then.',
  risk: 'R0',
  waits: true,
  unhurried: true,
  input: Type.Object(
    {
      game: Type.Optional(Type.String({ description: 'Folder of the game, where the project has several.' })),
      maxRoutes: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 30 })),
      maxSeconds: Type.Optional(Type.Integer({ minimum: 5, maximum: 3_600, default: 300 })),
      pictures: Type.Optional(Type.Boolean()),
      against: Type.Optional(Type.String({ minLength: 1, pattern: '\\.html$' })),
    },
    closed,
  ),
  output: Type.Object(
    {
      engine: text,
      complete: Type.Boolean({ description: 'Every option that was seen was taken.' }),
      routes: count,
      reached: count,
      scenes: count,
      errors: Type.Array(text),
      missing: Type.Array(text),
      deadEnds: places,
      stuck: places,
      neverReached: Type.Array(text),
      onlyWith: Type.Optional(
        Type.Array(Type.Object({ scene: text, variables: text }, closed), {
          description: 'Scenes that were reached only where variables were held at these values, so perhaps by nobody.',
        }),
      ),
      neverShown: places,
      endings: Type.Array(Type.Object({ scene: text, line: count, routes: count }, closed)),
      changes: Type.Optional(
        Type.Array(
          Type.Object(
            {
              scene: text,
              is: Type.Enum(['new', 'gone', 'changed'], { type: 'string' }),
              added: Type.Array(text),
              removed: Type.Array(text),
            },
            closed,
          ),
        ),
      ),
      film: Type.Optional(Type.String({ description: 'For save_filmstrip; kept while Handrail runs, the last few of them.' })),
      leftOut,
    },
    closed,
  ),
  faults: ['preview', 'page-crashed', 'page-timeout', 'not-found', 'path-denied', 'bad-input', 'encoding', 'io'],
  examples: [],
  touches: ({ against }) => (against === undefined ? [] : [{ path: against, access: 'read' }]),
  async execute(input, use, call) {
    const { files, preview, lang } = use
    const earlier = input.against === undefined ? undefined : files.readText(input.against, 64 << 20)
    const before = earlier === undefined ? undefined : storyIn(earlier)
    const picturesBefore = earlier === undefined || input.pictures !== true ? undefined : picturesIn(earlier)
    if (input.against !== undefined && !before)
      throw new Fault('bad-input', `${input.against} is no filmstrip of a game`, {
        hint: 'Name one that was written by this tool.',
      })
    const pace = openPace(call.signal)
    const game = await openGame(files, pace, undefined, input.game)
    const { language } = rulesOf(game, use)
    const scenes: ScenePlan[] = []
    let read = 0
    for (const name of game.scenes()) {
      const script = (game.sceneText(name) ?? '').replace(/^\uFEFF/, '')
      if ((read += script.length) > mostText) break
      scenes.push({ name, statements: parseScene(script, language) })
      if (pace.due()) await pace.turn()
    }
    const start = scenes.find(({ name }) => name === 'start.txt')?.name ?? scenes[0]?.name
    if (start === undefined)
      throw new Fault('not-found', `There are no scenes below ${game.root || '.'}`, {
        hint: 'A game has its scenes in game/scene/*.txt.',
      })
    const { maxRoutes = 30, maxSeconds = 300 } = input
    const explorer = explore(await decisionsIn(scenes, pace), maxRoutes)
    const pictures = new Map<string, Uint8Array>()
    let pictured = 0
    const { engine, logs, missing } = await preview.play({
      game: game.root,
      start,
      timeoutMs: maxSeconds * 1_000,
      signal: call.signal,
      pictures: input.pictures === true,
      next: explorer.next,
      played(route) {
        explorer.played(route)
        call.progress(explorer.routes.length, undefined, `${explorer.routes.length} routes played`)
      },
      picture(scene, bytes) {
        if (pictures.size >= mostPictures || (pictured += bytes.length) > mostPictured) return
        pictures.set(scene, bytes)
      },
    })
    const { routes } = explorer
    const verdict = verdictOf(scenes, routes)
    const story = storyOf(scenes, routes, verdict)
    const changes = before && changesBetween(before, story)
    const title = /^Game_name\s*:([^;\n]*)/m.exec(game.config())?.[1]?.trim() || game.root || 'WebGAL'
    const film =
      input.pictures === true
        ? keepFilm(
            filmstrip({ title, engine, lang, verdict, routes, story, missing, errors: logs, pictures, changes, picturesBefore }),
          )
        : undefined
    const left: string[] = []
    const room = answerBudget()
    const some = <T>(name: string, all: readonly T[]): T[] => {
      const listed = firstThatFit(all, room)
      left.push(...notListed(name, all, listed))
      return listed
    }
    const untaken = explorer.untaken()
    if (untaken > 0)
      left.push(`${untaken} options were seen and not taken: ${maxRoutes} routes or ${maxSeconds} seconds came first.`)
    const lost = explorer.lost()
    if (lost > 0) left.push(`${lost} options were seen, and the same way did not lead to them again.`)
    const cut = routes.filter(({ end }) => end === 'limit').length
    if (cut > 0) left.push(`${cut} routes were cut off: they go round, or time was up.`)
    return {
      engine,
      complete: untaken === 0 && lost === 0 && cut === 0,
      routes: routes.length,
      reached: verdict.reached.length,
      scenes: scenes.length,
      errors: some('errors', logs),
      missing: some('missing', missing),
      deadEnds: some('deadEnds', verdict.deadEnds),
      stuck: some('stuck', verdict.stuck),
      endings: some('endings', verdict.endings),
      neverReached: some('neverReached', verdict.neverReached),
      ...(verdict.onlyWith.length > 0 && { onlyWith: some('onlyWith', verdict.onlyWith) }),
      neverShown: some('neverShown', verdict.neverShown),
      ...(changes && { changes: some('changes', changes) }),
      ...(film !== undefined && { film }),
      ...(left.length > 0 && { leftOut: left }),
    }
  },
})
