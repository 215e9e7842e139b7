import Type from 'typebox'
import { closed } from '../../contracts/shapes.ts'
import { inWords } from './finding.ts'
import { openGame } from './game.ts'
import { messages } from './messages.ts'
import { reportOn } from './report.ts'
import { Diagnostic } from './shapes.ts'
import { defineTool } from './use.ts'
import { languageWith } from './validate.ts'

const text = Type.String()
const number = Type.Integer({ minimum: 0 })

export const projectReport = defineTool({
  name: 'project_report',
  title: 'Report on the whole game',
  description:
    'Every diagnostic of every scene, resources no scene uses, and lines and words per character, in one call. At most `limit` diagnostics, errors first.',
  risk: 'R0',
  input: Type.Object({ limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000, default: 200 })) }, closed),
  output: Type.Object(
    {
      valid: Type.Boolean(),
      scenes: number,
      lines: number,
      words: number,
      errors: number,
      warnings: number,
      notes: number,
      diagnostics: Type.Array(Type.Object({ scene: text, ...Diagnostic.properties }, closed)),
      truncated: Type.Boolean(),
      unreadable: Type.Array(text),
      unused: Type.Array(text),
      characters: Type.Array(Type.Object({ name: text, lines: number, words: number }, closed)),
    },
    closed,
  ),
  errors: ['E_IO'],
  examples: [
    {
      says: 'a game of one scene',
      given: { 'game/scene/start.txt': 'Mara:The lamp is out.;\nend;\n' },
      input: {},
      output: { valid: true, scenes: 1, errors: 0, characters: [{ name: 'Mara', lines: 1, words: 4 }] },
    },
  ],
  execute({ limit = 200 }, { files, lang, extraCommands }, call) {
    const report = reportOn(openGame(files), languageWith(extraCommands), (done, total) => call.progress(done, total))
    const order = { error: 0, warning: 1, info: 2 }
    const sorted = report.findings.toSorted(
      (one, other) => order[messages[one.finding.code].severity] - order[messages[other.finding.code].severity],
    )
    const count = (severity: keyof typeof order): number =>
      report.findings.filter(({ finding }) => messages[finding.code].severity === severity).length
    return {
      valid: count('error') === 0 && report.unreadable.length === 0,
      scenes: report.scenes,
      lines: report.lines,
      words: report.words,
      errors: count('error'),
      warnings: count('warning'),
      notes: count('info'),
      diagnostics: sorted.slice(0, limit).map(({ scene, finding }) => ({ scene, ...inWords(finding, lang) })),
      truncated: sorted.length > limit,
      unreadable: report.unreadable,
      unused: report.unused,
      characters: report.characters,
    }
  },
})
