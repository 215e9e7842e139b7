import Type from 'typebox'
import { closed, named } from '../../contracts/shapes.ts'
import { decodeText } from '../../host/files.ts'
import { defineTool } from './use.ts'

export const readFile = defineTool({
  name: 'read_file',
  title: 'Read a file',
  description:
    'Read one UTF-8 text file of the project, whole. Files beyond maxBytes (or the limit in force) are refused, not cut.',
  risk: 'R0',
  input: Type.Object(
    { path: Type.String({ minLength: 1 }), maxBytes: Type.Optional(Type.Integer({ minimum: 1 })) },
    { ...named('read_file', 'request'), ...closed },
  ),
  output: Type.Object(
    {
      path: Type.String(),
      content: Type.String(),
      encoding: Type.Optional(Type.Enum(['utf-8'], { type: 'string', default: 'utf-8' })),
      bytes: Type.Optional(Type.Integer({ minimum: 0 })),
    },
    { ...named('read_file', 'response'), ...closed },
  ),
  faults: ['path-denied', 'not-found', 'encoding', 'too-large', 'io'],
  examples: [
    {
      says: 'a scene',
      given: { 'game/scene/start.txt': '雪乃: 海风真舒服呢;\n' },
      input: { path: 'game/scene/start.txt' },
      output: { path: 'game/scene/start.txt', content: '雪乃: 海风真舒服呢;\n', encoding: 'utf-8', bytes: 28 },
    },
  ],
  touches: ({ path }) => [{ path, access: 'read' }],
  execute({ path, maxBytes }, { files }) {
    const bytes = files.read(path, Math.min(maxBytes ?? files.maxBytes, files.maxBytes))
    return { path: files.normal(path), content: decodeText(bytes, path), encoding: 'utf-8' as const, bytes: bytes.length }
  },
})
