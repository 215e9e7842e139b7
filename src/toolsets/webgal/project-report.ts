import Type from 'typebox'
import { answerBudget, firstThatFit } from '../../text/answer-size.ts'
import { closed } from '../../contracts/shapes.ts'
import { openPace } from '../../text/steps.ts'
import { higher } from './engine-bound.ts'
import { inWords, short } from './finding.ts'
import { chooseGame } from './choose-game.ts'
import { leftOutIn } from './left-out.ts'
import { reportOn } from './report/report.ts'
import { countedHow } from './report/word-counts.ts'
import { Diagnostic, gameInput, gameOutput, leftOut, notListed } from './shapes.ts'
import { defineTool, rulesOf } from './use.ts'

const text = Type.String()
const number = Type.Integer({ minimum: 0 })

const At = Type.Object({ scene: text, line: Type.Integer({ minimum: 1 }) }, closed)
const amount = { lines: number, words: number, cjk: number }

export const projectReport = defineTool({
  name: 'project_report',
  title: 'Report on the whole game',
  description:
    'Every diagnostic of every scene, files no scene uses with their sizes, how much there is to translate per scene and per character, and every variable with where it is set and read, in one call. At most `limit` diagnostics, errors first.',
  risk: 'R0',
  input: Type.Object(
    {
      limit: Type.Optional(Type.Integer({ minimum: 0, maximum: 10_000, default: 200 })),
      game: gameInput,
    },
    closed,
  ),
  output: Type.Object(
    {
      valid: Type.Boolean(),
      scenes: number,
      lines: number,
      words: number,
      errors: number,
      warnings: number,
      notes: number,
      diagnostics: Type.Array(Type.Object({ scene: text, path: Type.Optional(text), ...Diagnostic.properties }, closed)),
      truncated: Type.Boolean(),
      unreadable: Type.Array(text),
      unused: Type.Array(text),
      unusedFiles: Type.Optional(
        Type.Array(Type.Object({ path: text, bytes: number }, closed), { description: '`unused` with sizes.' }),
      ),
      unusedBytes: Type.Optional(number),
      characters: Type.Array(
        Type.Object(
          {
            name: text,
            lines: number,
            words: number,
            cjk: Type.Optional({ ...number, description: 'How many of `words` are CJK characters.' }),
            scenes: Type.Optional(number),
            first: Type.Optional(At),
          },
          closed,
        ),
      ),
      texts: Type.Optional(
        Type.Object(
          {
            counted: text,
            ...amount,
            scenes: Type.Array(Type.Object({ scene: text, ...amount }, closed)),
          },
          { ...closed, description: 'What there is to translate; `counted` says how it was counted.' },
        ),
      ),
      variables: Type.Optional(
        Type.Array(
          Type.Object(
            {
              name: text,
              flag: Type.Boolean({ description: 'Only ever true or false, 0 or 1.' }),
              sets: number,
              reads: number,
              set: Type.Array(At),
              read: Type.Array(At),
            },
            closed,
          ),
          { description: 'The first 20 places each; `sets` and `reads` count all.' },
        ),
      ),
      ...gameOutput,
      encodings: Type.Optional(
        Type.Array(Type.Object({ path: text, encoding: text }, closed), { description: 'Scenes that are not UTF-8.' }),
      ),
      engine: Type.Optional(
        Type.Object(
          { version: text, from: text, derivative: Type.Optional(text) },
          { ...closed, description: 'The engine everything was judged by. Absent where it is unknown: then the newest.' },
        ),
      ),
      atLeast: Type.Optional(
        Type.Object(
          { version: text, from: text },
          {
            ...closed,
            description: 'Where the engine is unknown: the least one that plays the game, and what in the game says so.',
          },
        ),
      ),
      leftOut,
    },
    closed,
  ),
  faults: ['io'],
  examples: [
    {
      says: 'a game of one scene',
      given: { 'game/scene/start.txt': 'Mara:The lamp is out.;\nend;\n' },
      input: {},
      output: { valid: true, scenes: 1, errors: 0, characters: [{ name: 'Mara', lines: 1, words: 4 }] },
    },
  ],
  async execute({ limit = 200, game: chosen }, use, call) {
    const { files, lang } = use
    const pace = openPace(call.signal)
    const { game, games, leftOut: notFound } = await chooseGame(files, pace, chosen)
    const { engine, language, bound } = rulesOf(game, use)
    const report = await reportOn(game, language, {
      limit,
      pace,
      step: (done, total) => call.progress(done, total),
    })
    const atLeast = higher(bound, report.bound)
    const { error, warning, info } = report.counts
    const room = answerBudget()
    const words = report.findings.map(({ scene, path, finding }) => ({ scene, path, ...inWords(finding, lang) }))
    const diagnostics = firstThatFit(words, room)
    const unreadable = firstThatFit(report.unreadable, room)
    const characters = firstThatFit(
      report.characters.map(({ name, ...counts }) => ({ name: short(name, 200), ...counts })),
      room,
    )
    const variables = firstThatFit(report.variables, room)
    const texts = firstThatFit(report.texts.scenes, room)
    const unusedFiles = firstThatFit(report.unused, room)
    const unused = firstThatFit(
      unusedFiles.map(({ path }) => path),
      room,
    )
    const left = [
      ...report.leftOut,
      ...notFound,
      ...notListed('unreadable', report.unreadable, unreadable),
      ...notListed('characters', report.characters, characters),
      ...notListed('unused', report.unused, unused),
      ...notListed('variables', report.variables, variables),
      ...notListed('texts.scenes', report.texts.scenes, texts),
    ]
    return {
      valid: error === 0 && report.unreadable.length === 0 && report.leftOut.length === 0,
      scenes: report.scenes,
      lines: report.lines,
      words: report.words,
      errors: error,
      warnings: warning,
      notes: info,
      diagnostics,
      truncated: error + warning + info > diagnostics.length,
      unreadable,
      unused,
      unusedFiles,
      unusedBytes: report.unusedBytes,
      characters,
      texts: { counted: countedHow, ...report.texts, scenes: texts },
      variables,
      game: game.root,
      ...games,
      ...(report.encodings.length && { encodings: firstThatFit(report.encodings, room) }),
      ...(engine ? { engine } : atLeast && { atLeast }),
      ...(left.length && { leftOut: leftOutIn(lang, left) }),
    }
  },
})
