import Type from 'typebox'
import { closed, named } from '../../contracts/shapes.ts'
import { decodeText } from '../../host/files.ts'
import { defineTool } from './use.ts'

export const readFile = defineTool({
  name: 'read_file',
  title: 'Read a file',
  description:
    'Read one UTF-8 text file of the project, whole. Files beyond maxBytes (or the limit in force) are refused, unless cut is true: then their beginning is given.',
  risk: 'R0',
  input: Type.Object(
    {
      path: Type.String({ minLength: 1 }),
      maxBytes: Type.Optional(Type.Integer({ minimum: 1 })),
      cut: Type.Optional(Type.Boolean({ description: 'Give the beginning of a larger file, up to a whole character' })),
    },
    { ...named('read_file', 'request'), ...closed },
  ),
  output: Type.Object(
    {
      path: Type.String(),
      content: Type.String(),
      encoding: Type.Optional(Type.Enum(['utf-8'], { type: 'string', default: 'utf-8' })),
      bytes: Type.Optional(Type.Integer({ minimum: 0 })),
      truncated: Type.Optional(
        Type.Boolean({ description: 'With cut: whether it goes on; bytes is the size of the whole file' }),
      ),
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
    {
      says: 'the beginning of a larger file, cut at a character',
      given: { 'a.txt': '海风海风' },
      input: { path: 'a.txt', maxBytes: 8, cut: true },
      output: { path: 'a.txt', content: '海风', bytes: 12, truncated: true },
    },
  ],
  touches: ({ path }) => [{ path, access: 'read' }],
  execute({ path, maxBytes, cut }, { files }) {
    const most = Math.min(maxBytes ?? files.maxBytes, files.maxBytes)
    if (cut) {
      const { size, bytes } = files.readPart(path, () => ({ start: 0, end: most }))
      const truncated = size > bytes.length
      const content = decodeText(truncated ? wholeCharacters(bytes) : bytes, path)
      return { path: files.normal(path), content, encoding: 'utf-8' as const, bytes: size, truncated }
    }
    const bytes = files.read(path, most)
    return { path: files.normal(path), content: decodeText(bytes, path), encoding: 'utf-8' as const, bytes: bytes.length }
  },
})

/** Without the beginning of a character whose end was cut off. What is no UTF-8 stays, and is told as such. */
function wholeCharacters(bytes: Buffer): Buffer {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back] as number
    if ((byte & 0xc0) === 0x80) continue
    const length = byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : byte >= 0xc0 ? 2 : 1
    return length > back ? bytes.subarray(0, bytes.length - back) : bytes
  }
  return bytes
}
