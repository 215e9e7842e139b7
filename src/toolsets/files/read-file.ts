import Type from 'typebox'
import { closed, named } from '../../contracts/shapes.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import { decodeText, type Files } from '../../host/files.ts'
import { defineTool } from './use.ts'

export const readFile = defineTool({
  name: 'read_file',
  title: 'Read a file',
  description:
    'Read one UTF-8 text file of the project, whole or by lines. Files beyond maxBytes (or the limit in force) are refused, unless cut is true: then their beginning is given. A symbolic link is followed where it stays inside the project.',
  risk: 'R0',
  input: Type.Object(
    {
      path: Type.String({ minLength: 1 }),
      maxBytes: Type.Optional(Type.Integer({ minimum: 1 })),
      cut: Type.Optional(Type.Boolean({ description: 'Give the beginning of a larger file, up to a whole character' })),
      startLine: Type.Optional(Type.Integer({ minimum: 1, description: 'The first line to give, counted from 1' })),
      endLine: Type.Optional(Type.Integer({ minimum: 1, description: 'The last line to give' })),
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
      lines: Type.Optional(
        Type.Integer({
          minimum: 0,
          description: 'With startLine or endLine: how many lines the file has; bytes is the size of it',
        }),
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
    {
      says: 'two lines of a file',
      given: { 'a.txt': 'one\ntwo\nthree\nfour\n' },
      input: { path: 'a.txt', startLine: 2, endLine: 3 },
      output: { path: 'a.txt', content: 'two\nthree\n', bytes: 19, lines: 4 },
    },
  ],
  touches: ({ path }, { files }) => [{ path: files.behindLinks(path), access: 'read' }],
  execute({ path: asked, maxBytes, cut, startLine, endLine }, { files }) {
    // Read is what stands there now, by the rules for its own name, without following anything.
    const path = files.behindLinks(asked)
    if (startLine !== undefined || endLine !== undefined) {
      if (cut) throw notBoth()
      return byLines(files, { asked, path, most: maxBytes, first: startLine ?? 1, last: endLine ?? Number.POSITIVE_INFINITY })
    }
    const most = Math.min(maxBytes ?? files.maxBytes, files.maxBytes)
    if (cut) {
      const { size, bytes } = files.readPart(path, () => ({ start: 0, end: most }))
      const truncated = size > bytes.length
      const content = decodeText(truncated ? wholeCharacters(bytes) : bytes, path)
      return { path: files.normal(asked), content, encoding: 'utf-8' as const, bytes: size, truncated }
    }
    const bytes = files.read(path, most)
    return { path: files.normal(asked), content: decodeText(bytes, path), encoding: 'utf-8' as const, bytes: bytes.length }
  },
})

const notBoth = (): Fault =>
  new Fault('bad-input', 'Either lines or cut', { hint: 'Leave cut out: startLine and endLine say how much is given.' })

interface Lines {
  asked: string
  path: string
  most: number | undefined
  first: number
  last: number
}

/** Some lines of a file, each with its end; nothing where the file has fewer. */
function byLines(files: Files, { asked, path, most, first, last }: Lines) {
  if (last < first)
    throw new Fault('bad-input', `endLine ${last} comes before startLine ${first}`, {
      hint: 'Lines are counted from 1, both are given.',
    })
  const bytes = files.read(path)
  const text = decodeText(bytes, path)
  const lines = text.split(/(?<=\n)/)
  const content = lines.slice(first - 1, last).join('')
  const size = Buffer.byteLength(content)
  if (most !== undefined && size > most)
    throw new Fault('too-large', `These lines have ${size} bytes; maxBytes is ${most}`, { hint: 'Ask for fewer lines.' })
  return {
    path: files.normal(asked),
    content,
    encoding: 'utf-8' as const,
    bytes: bytes.length,
    lines: text === '' ? 0 : lines.length,
  }
}

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
