import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed } from '../../contracts/shapes.ts'
import { openPace, type Pace } from '../../text/steps.ts'
import { indexGame } from './editor/game-index.ts'
import { applied, planRenaming } from './editor/rename.ts'
import { openGame } from './game.ts'
import { defineTool, rulesOf, textChange, type WebgalUse } from './use.ts'

const name = Type.String({ minLength: 1, maxLength: 200 })

interface Wanted {
  from: string
  to: string
  scene?: string
  game?: string
  dryRun?: boolean
}

export const renameInGame = defineTool({
  name: 'rename_in_game',
  title: 'Rename a variable or a label',
  description:
    'Rename a variable in every scene of the WebGAL game, or, where scene is given, a label of that scene with all jumps and options that lead to it. Refused where the new name is taken or not every place can be seen. dryRun only tells the places.',
  risk: ({ dryRun }) => (dryRun ? 'R0' : 'R1'),
  input: Type.Object(
    {
      from: name,
      to: name,
      scene: Type.Optional(Type.String({ minLength: 1, description: 'For a label: its scene, such as "beach.txt".' })),
      game: Type.Optional(Type.String({ description: 'Folder of the game, where the project has several.' })),
      dryRun: Type.Optional(Type.Boolean()),
    },
    closed,
  ),
  output: Type.Object(
    {
      applied: Type.Boolean(),
      places: Type.Integer({ minimum: 0 }),
      files: Type.Array(Type.Object({ path: Type.String(), lines: Type.Array(Type.Integer({ minimum: 1 })) }, closed)),
    },
    closed,
  ),
  faults: ['path-denied', 'not-found', 'bad-input', 'conflict', 'unsupported', 'encoding', 'io'],
  examples: [
    {
      says: 'a variable',
      given: { 'game/scene/start.txt': 'setVar:score=1;\nA:You have {score}. -when=score>0;\n' },
      input: { from: 'score', to: 'points' },
      output: { applied: true, places: 3 },
    },
  ],
  touches: async (input, use) =>
    (await changesOf(input, use, openPace())).map(({ path }) => ({ path, access: input.dryRun ? 'read' : 'write' })),
  async card(input, use) {
    const found = await changesOf(input, use, openPace())
    const changes = []
    for (const { path, before, after } of found) changes.push(await textChange(use.diffs, path, before, after))
    return { title: `Rename ${input.from} to ${input.to}`, changes }
  },
  async execute(input, use, call) {
    const found = await changesOf(input, use, openPace(call.signal))
    if (!input.dryRun && found.length > 0)
      await call.change(found.map(({ path, after }) => ({ path, content: Buffer.from(after) })))
    return {
      applied: !input.dryRun,
      places: found.reduce((sum, { lines }) => sum + lines.length, 0),
      files: found.map(({ path, lines }) => ({ path, lines })),
    }
  },
})

async function changesOf(
  { from, to, scene, game: chosen }: Wanted,
  use: WebgalUse,
  pace: Pace,
): Promise<{ path: string; before: string; after: string; lines: number[] }[]> {
  const game = await openGame(use.files, pace, undefined, chosen)
  const index = await indexGame(game, rulesOf(game, use).language, () => undefined, pace)
  const named = scene === undefined ? undefined : sceneNamed(scene, game.root)
  if (named !== undefined && !game.scenes().includes(named))
    throw new Fault('not-found', `There is no scene ${named}`, { hint: 'Name it as it is called below the folder of scenes.' })
  const kind = named === undefined ? 'variable' : 'label'
  const plan = await planRenaming(index, { kind, from, to, ...(named !== undefined && { scene: named }) }, pace)
  return [...plan].map(([one, places]) => {
    const path = `${game.root === '' ? '' : `${game.root}/`}scene/${one}`
    const before = index.text(one) ?? ''
    const encoding = game.encodingOf(one)
    if (encoding !== undefined)
      throw new Fault('encoding', `${path} is ${encoding}, not UTF-8`, {
        details: { path, looksLike: encoding },
        hint: (name) => `Convert it first, with ${name('convert_encoding')}.`,
      })
    return { path, before, after: applied(before, places, to), lines: places.map(({ line }) => line) }
  })
}

function sceneNamed(given: string, root: string): string {
  const folder = root === '' ? 'scene/' : `${root}/scene/`
  const below = given.startsWith(folder) ? given.slice(folder.length) : given
  return below.endsWith('.txt') ? below : `${below}.txt`
}
