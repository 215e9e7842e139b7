import Type from 'typebox'
import { compileGlobs } from '../../text/glob.ts'
import { answerBudget, firstThatFit } from '../../text/answer-size.ts'
import { closed, named } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

export const listFiles = defineTool({
  name: 'list_files',
  title: 'List files',
  description:
    'List a folder of the project. Without globs: its direct entries. With globs such as ["**/*.txt"]: everything below that matches. Entries are relative to the folder.',
  risk: 'R0',
  input: Type.Object(
    {
      path: Type.String({ minLength: 1, description: 'Relative to projectRoot' }),
      globs: Type.Optional(Type.Array(Type.String(), { description: "Optional include patterns, e.g. ['**/*.txt']" })),
      dirsOnly: Type.Optional(Type.Boolean({ default: false })),
    },
    { ...named('list_files', 'request'), ...closed },
  ),
  output: Type.Object(
    {
      entries: Type.Array(Type.String()),
      truncated: Type.Optional(
        Type.Boolean({
          const: true,
          description: 'There are more than fit into one answer; name a folder below, or narrow the globs.',
        }),
      ),
    },
    { ...named('list_files', 'response'), ...closed },
  ),
  faults: ['path-denied', 'not-found', 'io', 'bad-input'],
  examples: [
    {
      says: 'every scene of a game',
      given: { 'game/scene/start.txt': 'intro;', 'game/scene/chapter1.txt': 'end;' },
      input: { path: 'game/scene', globs: ['**/*.txt'] },
      output: { entries: ['chapter1.txt', 'start.txt'] },
    },
    {
      says: 'only folders',
      given: { 'game/scene/start.txt': 'intro;', 'game/config.txt': 'Game_name:x;' },
      input: { path: 'game', dirsOnly: true },
      output: { entries: ['scene'] },
    },
  ],
  touches: ({ path }) => [{ path, access: 'read' }],
  async execute({ path, globs, dirsOnly = false }, { files }, call) {
    const room = answerBudget()
    if (!globs?.length) {
      const listed = await files.list(path, call.signal)
      const names = listed.entries.filter((entry) => !dirsOnly || entry.kind === 'folder').map((entry) => entry.name)
      const entries = firstThatFit(names, room)
      return { entries, ...((listed.more || entries.length < names.length) && { truncated: true as const }) }
    }
    const wanted = compileGlobs(globs)
    const entries: string[] = []
    let seen = 0
    let full = false
    const { more } = await files.scan(
      path,
      (relative, kind) => {
        if (++seen % 5_000 === 0) call.progress(seen, undefined, `${seen} entries looked at`)
        if ((dirsOnly && kind !== 'folder') || !wanted(relative)) return undefined
        if (firstThatFit([relative], room).length === 0) {
          full = true
          return 'stop'
        }
        entries.push(relative)
        return undefined
      },
      call.signal,
    )
    return { entries, ...((more || full) && { truncated: true as const }) }
  },
})
