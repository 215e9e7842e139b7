import Type from 'typebox'
import { compileGlobs } from '../../contracts/glob.ts'
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
  output: Type.Object({ entries: Type.Array(Type.String()) }, { ...named('list_files', 'response'), ...closed }),
  errors: ['E_DENY_PATH', 'E_NOT_FOUND', 'E_IO', 'E_BAD_ARGS'],
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
    if (!globs?.length) {
      const entries = files.list(path).filter((entry) => !dirsOnly || entry.kind === 'folder')
      return { entries: entries.map((entry) => entry.name) }
    }
    const wanted = compileGlobs(globs)
    const entries: string[] = []
    let seen = 0
    await files.scan(
      path,
      (relative, kind) => {
        if (++seen % 5_000 === 0) call.progress(seen, undefined, `${seen} entries looked at`)
        if ((!dirsOnly || kind === 'folder') && wanted(relative)) entries.push(relative)
      },
      call.signal,
    )
    return { entries }
  },
})
