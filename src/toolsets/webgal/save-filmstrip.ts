import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed } from '../../contracts/shapes.ts'
import { filmOf } from './play/films.ts'
import { defineTool } from './use.ts'

export const saveFilmstrip = defineTool({
  name: 'save_filmstrip',
  title: 'Save the filmstrip of a game',
  description:
    'Write the filmstrip of a game that was played with play_routes into the project: one HTML file with all pictures in it.',
  risk: 'R1',
  input: Type.Object({ film: Type.String({ minLength: 1 }), path: Type.String({ minLength: 1, pattern: '\\.html$' }) }, closed),
  output: Type.Object({ path: Type.String(), bytes: Type.Integer({ minimum: 0 }) }, closed),
  faults: ['path-denied', 'not-found', 'io'],
  examples: [],
  touches: ({ path }) => [{ path, access: 'write' }],
  card: ({ path }, { files }) => ({ title: `Write the filmstrip ${files.normal(path)}`, changes: [] }),
  async execute({ film, path }, { files }, call) {
    const html = filmOf(film)
    if (html === undefined)
      throw new Fault('not-found', `There is no film ${film.slice(0, 60)}`, {
        hint: (name) =>
          `Play the game with ${name('play_routes')} and pictures: true; the last three are kept while Handrail runs.`,
      })
    const content = Buffer.from(html)
    await call.change([{ path, content, binary: true }])
    return { path: files.normal(path), bytes: content.length }
  },
})
