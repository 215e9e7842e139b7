import Type from 'typebox'
import { answerBudget, firstThatFit } from '../../text/answer-size.ts'
import { closed, named } from '../../contracts/shapes.ts'
import { defineTool } from './use.ts'

export const searchFiles = defineTool({
  name: 'search_files',
  title: 'Search in files',
  description:
    'Search the text of all files below a folder with a regular expression, line by line. filePattern narrows it, e.g. "*.txt" or "game/**/*.txt". Answers path (from the project root), line and the line itself, in order of path, at most maxMatches.',
  risk: 'R0',
  waits: true,
  input: Type.Object(
    {
      path: Type.String(),
      regex: Type.String(),
      filePattern: Type.Optional(Type.String({ description: 'glob, e.g. **/*.txt' })),
      maxMatches: Type.Optional(Type.Integer({ minimum: 1, default: 2000 })),
    },
    { ...named('search_files', 'request'), ...closed },
  ),
  output: Type.Object(
    {
      matches: Type.Array(
        Type.Object({ path: Type.String(), line: Type.Integer({ minimum: 1 }), preview: Type.String() }, closed),
      ),
      truncated: Type.Optional(
        Type.Boolean({
          const: true,
          description:
            'There is more than was looked at or fits into one answer; search a smaller folder, or give a filePattern.',
        }),
      ),
    },
    { ...named('search_files', 'response'), ...closed },
  ),
  faults: ['path-denied', 'not-found', 'io', 'bad-input', 'timeout'],
  examples: [
    {
      says: 'where a background is used',
      given: { 'game/scene/start.txt': 'intro;\nchangeBg: beach.jpg;\n' },
      input: { path: 'game', regex: 'changeBg:\\s*beach', filePattern: '*.txt' },
      output: { matches: [{ path: 'game/scene/start.txt', line: 2, preview: 'changeBg: beach.jpg;' }] },
    },
  ],
  touches: ({ path }) => [{ path: path === '' ? '.' : path, access: 'read' }],
  async execute({ path, regex, filePattern, maxMatches = 2000 }, { search }, call) {
    const { matches: found, cut } = await search.find({
      path,
      regex,
      filePattern,
      most: maxMatches,
      client: call.client,
      signal: call.signal,
      onProgress: (done) => call.progress(done, undefined, `${done} files searched`),
    })
    const matches = firstThatFit(found, answerBudget())
    return { matches, ...((cut || matches.length < found.length) && { truncated: true as const }) }
  },
})
