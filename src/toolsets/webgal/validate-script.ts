import Type from 'typebox'
import { Fault } from '../../contracts/faults/fault.ts'
import { answerBudget, firstThatFit } from '../../text/answer-size.ts'
import { closed, named } from '../../contracts/shapes.ts'
import { openPace } from '../../text/steps.ts'
import { scriptText } from './encoding.ts'
import { inWords } from './finding.ts'
import { openGame } from './game.ts'
import { Diagnostic } from './shapes.ts'
import { defineTool, rulesOf } from './use.ts'
import { validateScene } from './validate.ts'

export const validateScript = defineTool({
  name: 'validate_script',
  title: 'Check a WebGAL script',
  description:
    'Check a scene: commands that silently turn into dialogue, arguments, JSON, resources, scenes, labels, variables, by the language of the engine the game has. Give path or content, not both. valid is false only for what the engine would misread or fail on; the rest is advice.',
  risk: 'R0',
  input: Type.Object(
    { path: Type.Optional(Type.String()), content: Type.Optional(Type.String()) },
    { ...named('validate_script', 'request'), ...closed, oneOf: [{ required: ['path'] }, { required: ['content'] }] },
  ),
  output: Type.Object(
    {
      valid: Type.Boolean(),
      diagnostics: Type.Array(Diagnostic),
      engine: Type.Optional(
        Type.String({ description: 'Version of the engine it was judged by. Absent where it is unknown: then the newest.' }),
      ),
      notShown: Type.Optional(Type.Integer({ minimum: 1, description: 'How many more there are; the gravest are in the list.' })),
    },
    { ...named('validate_script', 'response'), ...closed },
  ),
  faults: ['parse', 'lint', 'not-found', 'path-denied', 'encoding', 'too-large', 'io'],
  examples: [
    {
      says: 'a scene that is fine',
      input: { content: ':The sea is calm tonight.;\nend;\n' },
      output: { valid: true, diagnostics: [] },
    },
  ],
  private: ['content'],
  contents: ['content'],
  touches: ({ path }) => (path === undefined ? [] : [{ path, access: 'read' }]),
  verdict: ({ path }, { valid }) => (path === undefined ? undefined : { path, passed: valid }),
  async execute({ path, content }, use, call) {
    const { files, lang } = use
    if (content !== undefined && Buffer.byteLength(content) > files.maxBytes)
      throw new Fault('too-large', `The script has more than ${files.maxBytes} bytes`, { hint: 'Split the scene.' })
    const text = path === undefined ? (content ?? '') : scriptText(files.read(path), path)
    const pace = openPace(call.signal)
    const game = await openGame(files, pace, path === undefined ? undefined : files.normal(path))
    const { engine, language } = rulesOf(game, use)
    const { valid, findings, counts } = await validateScene(text, game, language, pace)
    const diagnostics = firstThatFit(
      findings.map((finding) => inWords(finding, lang)),
      answerBudget(),
    )
    const notShown = counts.error + counts.warning + counts.info - diagnostics.length
    return { valid, diagnostics, ...(engine && { engine: engine.version }), ...(notShown > 0 && { notShown }) }
  },
})
