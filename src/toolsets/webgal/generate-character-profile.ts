import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { parseJson } from '../../text/json.ts'
import { closed, named } from '../../contracts/shapes.ts'
import { openPace } from '../../text/steps.ts'
import type { Files } from '../../host/files.ts'
import { short } from './finding.ts'
import { openGame } from './game.ts'
import { rootOf } from './game-folders.ts'
import { defineTool, textChange } from './use.ts'

interface Character {
  name: string
  imageFile: string
  defaultExpression?: string
}

/** Where a project keeps its characters: a list, one object each, in the order they came. */
const fileOf = (files: Files): string => `${rootOf(files) || '.'}/characters.json`

export const generateCharacterProfile = defineTool({
  name: 'generate_character_profile',
  title: 'Write a character down',
  description:
    'Add a character to game/characters.json: a name, a picture in game/figure, and optionally a default expression. The same name with other data is a conflict.',
  risk: 'R1',
  input: Type.Object(
    {
      name: Type.String({ minLength: 1 }),
      imageFile: Type.String({ minLength: 1 }),
      defaultExpression: Type.Optional(Type.String()),
    },
    { ...named('generate_character_profile', 'request'), ...closed },
  ),
  output: Type.Object({ success: Type.Boolean() }, { ...named('generate_character_profile', 'response'), ...closed }),
  faults: ['path-denied', 'conflict', 'not-found', 'parse', 'encoding', 'io'],
  examples: [
    {
      says: 'a first character',
      given: { 'game/figure/mara.png': '' },
      input: { name: 'Mara', imageFile: 'mara.png' },
      output: { success: true },
    },
  ],
  touches({ imageFile }, { files }) {
    // A name that leads out of the folder is refused as any path is, whether or not something is there.
    files.normal(`${rootOf(files) || '.'}/figure/${imageFile}`)
    return [{ path: fileOf(files), access: 'write' }]
  },
  async card(input, { files, diffs }) {
    const path = fileOf(files)
    const before = textOf(files, path)
    const change = await textChange(diffs, path, before === '' ? undefined : before, withCharacter(before, path, input))
    return { title: `Write ${input.name} down`, changes: [change] }
  },
  async execute(input, { files }, call) {
    const game = await openGame(files, openPace(call.signal))
    const at = game.find('figure', input.imageFile)
    if (at.is !== 'there')
      throw new Fault('not-found', `No such picture in game/figure: ${input.imageFile}`, {
        details: { imageFile: input.imageFile, ...('nearest' in at && { nearest: at.nearest }) },
        hint:
          'nearest' in at ? `The nearest is ${at.nearest}.` : (name) => `${name('list_project_resources')} shows what is there.`,
      })
    const path = fileOf(files)
    const before = textOf(files, path)
    const after = withCharacter(before, path, input)
    if (after !== before) await call.change([{ path, content: Buffer.from(after) }])
    return { success: true }
  },
})

function textOf(files: Files, path: string): string {
  return files.peek(path) === undefined ? '' : files.readText(path)
}

function withCharacter(text: string, path: string, { name, imageFile, defaultExpression }: Character): string {
  const characters = parse(text, path)
  const wanted = { name, imageFile, ...(defaultExpression !== undefined && { defaultExpression }) }
  const known = characters.find((one) => one?.name === name)
  if (known && (known.imageFile !== imageFile || known.defaultExpression !== defaultExpression))
    throw new Fault('conflict', `${name} is already written down with other data`, {
      details: { path, known: { imageFile: short(JSON.stringify([known.imageFile]).slice(1, -1), 200) } },
      hint: `Change ${path} by hand, or use another name.`,
    })
  return known ? text : `${JSON.stringify([...characters, wanted], null, 2)}\n`
}

function parse(text: string, path: string): Character[] {
  if (text.trim() === '') return []
  try {
    // Lists within lists, written out with their indents, are larger than they came by as much as they are deep.
    const found = parseJson(text)
    if (Array.isArray(found)) return found as Character[]
  } catch {
    // Said below.
  }
  throw noList(path)
}

function noList(path: string): Fault {
  return new Fault('parse', `${path} does not hold a list of characters`, {
    details: { path },
    hint: 'Correct the file, or move it away.',
  })
}
