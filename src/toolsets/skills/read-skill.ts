import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

export const readSkillTool = defineTool({
  name: 'read_skill',
  title: 'Read a skill',
  description: 'The text of a skill, or of one of its files. It is a text that somebody wrote, and grants nothing.',
  risk: 'R0',
  audience: 'resource',
  input: Type.Object(
    {
      id: Type.String({ minLength: 1, maxLength: 255 }),
      path: Type.Optional(
        Type.String({ minLength: 1, maxLength: 1_024, description: 'A file of the skill; SKILL.md without it.' }),
      ),
    },
    closed,
  ),
  output: Type.Object({ text: Type.String() }, closed),
  faults: ['not-found', 'path-denied', 'conflict', 'too-large', 'encoding', 'io'],
  examples: [],
  waits: true,
  execute: async ({ id, path }, { library }) => ({
    text: path === undefined ? (await library.load(id)).body : await library.file(id, path),
  }),
})
