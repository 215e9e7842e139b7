import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { closed, DiffShape, named } from '../../contracts/shapes.ts'
import { decodeText, encodeText, tooLarge } from '../../host/files.ts'
import { withPlainLineEnds } from './line-ends.ts'
import { defineTool, textChange, type FileUse } from './use.ts'

export const replaceInFile = defineTool({
  name: 'replace_in_file',
  title: 'Replace in a file',
  description:
    'Replace text in one file and return how many places changed. find is literal (every occurrence) unless flags is given or it is written as a regex: "/colou?r/g" or "(?m)^hello$". In regex mode $1, $& work in replace. dryRun: true shows the diff and changes nothing. Nothing found is count 0 and no write. Every replacement can be undone.',
  risk: ({ dryRun }) => (dryRun ? 'R0' : 'R1'),
  input: Type.Object(
    {
      path: Type.String(),
      find: Type.String({ description: 'String or JS-style regex literal e.g. (?m)^hello$' }),
      replace: Type.String(),
      flags: Type.Optional(Type.String({ description: 'Regex flags, if regex used' })),
      dryRun: Type.Optional(Type.Boolean({ description: 'Show the diff and change nothing' })),
    },
    { ...named('replace_in_file', 'request'), ...closed },
  ),
  output: Type.Object(
    { count: Type.Integer({ minimum: 0 }), diff: Type.Optional(DiffShape) },
    { ...named('replace_in_file', 'response'), ...closed },
  ),
  faults: ['path-denied', 'not-found', 'conflict', 'encoding', 'io', 'policy', 'too-large', 'timeout', 'bad-input'],
  examples: [
    {
      says: 'literal text, every occurrence; $1 means itself',
      given: { 'a.txt': 'price: x, x' },
      input: { path: 'a.txt', find: 'x', replace: '$1' },
      output: { count: 2 },
    },
    {
      says: 'a regex with groups',
      given: { 'a.txt': 'bgm: one.mp3;\nbgm: two.mp3;\n' },
      input: { path: 'a.txt', find: '^bgm: (\\w+)', replace: 'bgm: music/$1', flags: 'gm' },
      output: { count: 2 },
    },
    {
      says: 'look at the change first',
      given: { 'a.txt': 'one\ntwo\n' },
      input: { path: 'a.txt', find: 'two', replace: '2', dryRun: true },
      output: {
        count: 1,
        diff: { type: 'line', hunks: [{ startOld: 2, lenOld: 1, startNew: 2, lenNew: 1, linesOld: ['two'], linesNew: ['2'] }] },
      },
    },
  ],
  private: ['find', 'replace'],
  waits: ({ find, flags }) => flags !== undefined || /^(\/|\(\?)/.test(find),
  contents: ['find', 'replace'],
  touches: ({ path, dryRun }) => [{ path, access: dryRun ? 'read' : 'write' }],
  async card(input, use) {
    const { before, after } = await replaced(input, use)
    const change = await textChange(use.diffs, use.files.normal(input.path), before, after)
    return { title: `Change ${input.path}`, changes: [change] }
  },
  async drafts(input, use, asker) {
    // A script begins with both; a file that has neither, before or after, becomes none.
    const words = use.files.readText(input.path) + input.replace
    if (!words.includes('#') || !words.includes('!')) return []
    return [{ path: input.path, text: (await replaced(input, use, asker)).after }]
  },
  async execute(input, use, call) {
    const { before, after, count } = await replaced(input, use, call)
    if (input.dryRun) return { count, diff: await use.diffs.shown(before, after, call) }
    if (count > 0) await call.change([{ path: input.path, content: encodeText(after, input.path) }])
    return { count }
  },
})

const longestPattern = 16_384

interface Wanted {
  path: string
  find: string
  replace: string
  flags?: string | undefined
}

/** Cards are made for whoever is asked, so all of them share one place in the line. */
const forCards = { client: 'cards', signal: undefined }

export async function replaced(
  input: Wanted,
  use: FileUse,
  { client, signal }: { client: string; signal: AbortSignal | undefined } = forCards,
): Promise<{ before: string; after: string; count: number }> {
  if (input.find === '') throw new Fault('bad-input', 'find is empty', { hint: 'Say which text to replace.' })
  encodeText(input.replace, input.path)
  const bytes = use.files.read(input.path)
  const before = decodeText(bytes, input.path)
  const { text: after, count } = await withPlainLineEnds(before, (text, toPlain) => {
    const find = toPlain(input.find)
    const pattern = patternOf(find, input.flags, text)
    if (pattern && pattern.source.length > longestPattern)
      throw new Fault('bad-input', `A pattern may have ${longestPattern} characters`, {
        hint: 'Use a shorter pattern, or literal text.',
      })
    if (pattern)
      return use.regex.replace(pattern, text, toPlain(input.replace), use.files.maxBytes * 4, {
        client,
        signal,
        timeoutMs: use.regexTimeoutMs,
      })
    const parts = text.split(find)
    const size = bytes.length + (parts.length - 1) * Buffer.byteLength(input.replace)
    if (size > use.files.maxBytes * 4) throw tooLarge(input.path, size, use.files.maxBytes)
    return { text: parts.join(toPlain(input.replace)), count: parts.length - 1 }
  })
  const size = Buffer.byteLength(after)
  if (size > use.files.maxBytes) throw tooLarge(input.path, size, use.files.maxBytes)
  return { before, after, count }
}

/** The regex that is meant, or nothing where the text is. What stands in the file as written is always meant literally. */
function patternOf(find: string, flags: string | undefined, text: string): { source: string; flags: string } | undefined {
  if (flags === undefined && text.includes(find)) return undefined
  const inline = /^\(\?([ims]+)\)(.+)$/s.exec(find)
  const literal = /^\/((?:[^/\\\n]|\\.)+)\/([a-z]*)$/.exec(find)
  if (flags !== undefined) return { source: inline?.[2] ?? find, flags: checkFlags(flags + (inline?.[1] ?? '')) }
  if (inline) return { source: inline[2] as string, flags: checkFlags(`g${inline[1]}`) }
  if (literal) return { source: literal[1] as string, flags: checkFlags(literal[2] as string) }
  return undefined
}

function checkFlags(flags: string): string {
  const unique = [...new Set(flags)].join('')
  if (!/^[gimsuv]*$/.test(unique) || (unique.includes('u') && unique.includes('v')))
    throw new Fault('bad-input', `Unknown regex flags: ${flags.slice(0, 50)}`, {
      details: { flags: flags.slice(0, 50) },
      hint: 'Use g (all), i, m, s, u or v.',
    })
  return unique
}
