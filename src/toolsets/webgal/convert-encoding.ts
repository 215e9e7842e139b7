import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed } from '../../contracts/shapes.ts'
import type { Files } from '../../host/files.ts'
import { decodeScript } from './encoding.ts'
import { defineTool, textChange } from './use.ts'

const paths = Type.Array(Type.String({ minLength: 1 }), { minItems: 1, maxItems: 200, uniqueItems: true })

export const convertEncoding = defineTool({
  name: 'convert_encoding',
  title: 'Convert scripts to UTF-8',
  description:
    'Scripts in GBK, Shift_JIS, UTF-16 or another encoding become UTF-8, which is all the engine reads. What is UTF-8 stays as it is.',
  risk: 'R1',
  input: Type.Object({ paths }, closed),
  output: Type.Object({ converted: Type.Array(Type.Object({ path: Type.String(), from: Type.String() }, closed)) }, closed),
  faults: ['path-denied', 'not-found', 'encoding', 'too-large', 'io'],
  examples: [
    {
      says: 'a scene that is UTF-8 already',
      given: { 'game/scene/start.txt': '雪乃:你好;\n' },
      input: { paths: ['game/scene/start.txt'] },
      output: { converted: [] },
    },
  ],
  touches: (input) => input.paths.map((path) => ({ path, access: 'write' })),
  async card(input, { files, diffs }) {
    const found = input.paths.flatMap((path) => conversionOf(files, path) ?? [])
    const changes = await Promise.all(found.map(({ path, text }) => textChange(diffs, path, '', text)))
    return { title: `Convert ${found.length} scripts to UTF-8`, changes }
  },
  async execute(input, { files }, call) {
    const found = input.paths.flatMap((path) => conversionOf(files, path) ?? [])
    if (found.length > 0) await call.change(found.map(({ path, text }) => ({ path, content: Buffer.from(text) })))
    return { converted: found.map(({ path, from }) => ({ path, from })) }
  },
})

/** What a script is in UTF-8; nothing where it is that already. */
function conversionOf(files: Files, path: string): { path: string; text: string; from: string } | undefined {
  const decoded = decodeScript(files.read(path))
  if (!decoded)
    throw new Fault('encoding', `The encoding of ${path} cannot be told`, {
      details: { path },
      hint: 'Save it as UTF-8 in an editor that knows what it is.',
    })
  // What does not fit the encoding would be lost.
  if (decoded.encoding !== undefined && decoded.text.includes('\uFFFD'))
    throw new Fault('encoding', `${path} looks like ${decoded.encoding}, but some of its bytes do not fit`, {
      details: { path, looksLike: decoded.encoding },
      hint: 'Save it as UTF-8 in an editor that knows what it is.',
    })
  return decoded.encoding === undefined
    ? undefined
    : { path: files.normal(path), text: decoded.text.replace(/^\uFEFF/, ''), from: decoded.encoding }
}
