import type { Pace } from '../../../text/steps.ts'
import { boundOf, higher, isNewer, type LowerBound } from '../engine-bound.ts'
import { messages } from '../messages.ts'
import { openFindings, type Counts, type Finding } from '../finding.ts'
import { mostText, type Game } from '../game.ts'
import { checkProjectFiles } from '../checks/project-files.ts'
import { noWords, tellWordsOfConfig, type Words } from '../checks/words.ts'
import type { Language } from '../language.ts'
import { leftOutSentence } from '../left-out.ts'
import { checkScene, type Checked, type QuietLines } from '../validate.ts'
import { unusedFiles, type UnusedFile } from './unused.ts'
import { openVariables, type At, type Variable, type Variables } from './variables.ts'
import { countDialogue, countOther, isRead, layOut, nothing, pass, type Amount } from './word-counts.ts'

export interface Report {
  scenes: number
  lines: number
  words: number
  /** The gravest, at most as many as were asked for. */
  findings: SceneFinding[]
  /** Of all that were found. */
  counts: Counts
  /** Scenes that could not be read as text. */
  unreadable: string[]
  /** Scenes that are not UTF-8. */
  encodings: { path: string; encoding: string }[]
  /** Files no scene names. */
  unused: UnusedFile[]
  unusedBytes: number
  /** `words` counts signs of Chinese, Japanese and Korean too, which `cjk` are; `first` is the first line, `scenes` how many have some. */
  characters: Character[]
  /** Everything a player reads, and how much of it is in each scene. */
  texts: Amount & { scenes: (Amount & { scene: string })[] }
  variables: Variable[]
  /** The least engine that plays the scenes, by commands that older ones take for dialogue. */
  bound: LowerBound | undefined
  /** What was too much to look at, in words. */
  leftOut: string[]
}

export interface SceneFinding {
  scene: string
  /** Below the project. */
  path: string
  finding: Finding
}

interface Character {
  name: string
  lines: number
  words: number
  cjk: number
  scenes: number
  first: At
}

/** More people than a story has. */
const mostSpeakers = 10_000

/** One look at every scene. `step` is told how far it is. */
export async function reportOn(
  game: Game,
  language: Language,
  { limit, pace, step }: { limit: number; pace: Pace; step: (done: number, total: number) => void },
): Promise<Report> {
  const report: Report = {
    scenes: 0,
    lines: 0,
    words: 0,
    findings: [],
    counts: { error: 0, warning: 0, info: 0 },
    unreadable: [],
    encodings: [],
    unused: [],
    unusedBytes: 0,
    characters: [],
    texts: { lines: 0, words: 0, cjk: 0, scenes: [] },
    variables: [],
    bound: undefined,
    leftOut: [...game.leftOut],
  }
  const found = openFindings<SceneFinding>(({ finding }) => finding.code, limit)
  const below = game.root === '' ? '' : `${game.root}/`
  let read = 0
  const words = noWords()
  tellWordsOfConfig(game, words)
  const toTell = openToTell(limit)
  const spoken = new Map<string, Spoken>()
  const variables = openVariables()
  const quietLines: QuietLines = new Map()
  const total = game.scenes().length
  let index = 0
  for (const { name, text } of game.eachScene()) {
    if (read > mostText) {
      report.leftOut.push(leftOutSentence('Only the first {n} of {all} scenes were read.', { n: index, all: total }))
      break
    }
    read += text?.length ?? 0
    if (text === undefined) report.unreadable.push(name)
    else {
      const reads = (variable: string, line: number): void => variables.reads(name, variable, line)
      const checked = await checkScene(text, game, language, pace, { quietLines, reads })
      report.scenes++
      const encoding = game.encodingOf(name)
      if (encoding !== undefined) {
        const path = `${below}scene/${name}`
        report.encodings.push({ path, encoding })
        report.counts.error++
        found.add({ scene: name, path, finding: { line: 1, code: 'not-utf8', about: { encoding } } })
      }
      count({ name, text }, checked, report, { spoken, variables })
      merge(words, checked.words)
      toTell.add(name, checked)
    }
    if (index % 50 === 0) step(index, total)
    index++
  }
  // What one scene asks another answers: only now all of them have been read.
  const isWhole = report.leftOut.length === 0
  addCounts(report.counts, toTell.counts)
  for (const { name, findings: sure, answer } of toTell.scenes) {
    if (pace.due()) await pace.turn()
    const { findings, counts } = answer?.(isWhole ? words : undefined) ?? { findings: sure, counts: noCounts }
    for (const finding of findings) found.add({ scene: name, path: `${below}scene/${name}`, finding })
    addCounts(report.counts, counts)
  }
  for (const { file, finding } of checkProjectFiles(game, language)) {
    found.add({ scene: file, path: `${below}${file}`, finding })
    report.counts[messages[finding.code].severity]++
  }
  report.findings = found.kept()
  const unused = await unusedFiles(game, pace)
  report.unused = unused.files
  report.unusedBytes = unused.bytes
  report.leftOut.push(...unused.leftOut)
  report.variables = variables.all()
  if (variables.more)
    report.leftOut.push(leftOutSentence('Not all variables are listed: there are too many, or their names are too long.'))
  if (spoken.size >= mostSpeakers)
    report.leftOut.push(leftOutSentence('Only the first {n} speakers were counted.', { n: mostSpeakers }))
  report.characters = [...spoken]
    .map(([name, { lines, words, cjk, scenes, first }]) => ({ name, lines, words: words + cjk, cjk, scenes, first }))
    .toSorted((one, other) => other.lines - one.lines || (one.name < other.name ? -1 : 1))
  return report
}

const noCounts: Readonly<Counts> = { error: 0, warning: 0, info: 0 }

function addCounts(all: Counts, some: Readonly<Counts>): void {
  for (const severity of ['error', 'warning', 'info'] as const) all[severity] += some[severity]
}

interface ToTell {
  /** Of scenes that ask nothing. */
  readonly counts: Readonly<Counts>
  /** In their order; with an answer where other scenes have a say in it. */
  readonly scenes: readonly { name: string; findings: readonly Finding[]; answer: Checked['answer'] | undefined }[]
  add(name: string, checked: Checked): void
}

/** What was found in scenes. Of those that ask nothing only what may still be among the first `limit` of its severity is held, and no part of their text. */
function openToTell(limit: number): ToTell {
  const counts = { ...noCounts }
  const before = { ...noCounts }
  const scenes: { name: string; findings: readonly Finding[]; answer: Checked['answer'] | undefined }[] = []
  return {
    counts,
    scenes,
    add(name, { questions, answer }) {
      if (questions.length > 0) return void scenes.push({ name, findings: [], answer })
      const settled = answer(undefined)
      addCounts(counts, settled.counts)
      const findings = settled.findings.filter(({ code }) => before[messages[code].severity]++ < limit)
      if (findings.length > 0) scenes.push({ name, findings, answer: undefined })
    },
  }
}

function merge(all: Words, some: Words): void {
  for (const about of ['variable', 'speaker', 'target'] as const) for (const name of some[about]) all[about].add(name)
}

interface Spoken extends Amount {
  scenes: number
  last: string
  first: At
}

function count(
  { name: scene, text }: { name: string; text: string },
  { statements, misread }: Pick<Checked, 'statements' | 'misread'>,
  report: Report,
  { spoken, variables }: { spoken: Map<string, Spoken>; variables: Variables },
): void {
  const texts = nothing()
  let lines = 0
  let outside = 0
  let named: string | undefined
  let sum: Spoken | undefined
  const speaks = (name: string, line: number): Spoken | undefined => {
    named = name
    const trimmed = name.trim()
    const known = trimmed === '' ? undefined : spoken.get(trimmed)
    if (known || trimmed === '' || spoken.size >= mostSpeakers) return known
    const made = { lines: 0, words: 0, cjk: 0, scenes: 0, last: '', first: { scene, line } }
    spoken.set(trimmed, made)
    return made
  }
  const laid = layOut(text)
  for (const statement of statements) {
    const { command, args, line } = statement
    pass(laid, statement)
    if (command === 'comment' || (misread.size > 0 && misread.has(line))) continue
    lines++
    const { words, cjk } = texts
    if (command !== 'say') {
      if (isRead(command)) countOther(statement, texts)
      outside += texts.words - words + texts.cjk - cjk
      variables.tell(scene, statement)
      if (isNewer(command)) report.bound = higher(report.bound, boundOf(statement, scene))
      continue
    }
    const given = args.length === 0 ? undefined : args.find(({ key }) => key === 'speaker')?.value
    const name = statement.speaker ?? (typeof given === 'string' ? given : named)
    if (name !== undefined && name !== named) sum = speaks(name, line)
    countDialogue(laid, statement, texts)
    texts.lines++
    if (!sum) continue
    sum.lines++
    sum.words += texts.words - words
    sum.cjk += texts.cjk - cjk
    if (sum.last !== scene) {
      sum.last = scene
      sum.scenes++
    }
  }
  report.lines += lines
  report.words += texts.words + texts.cjk - outside
  report.texts.lines += texts.lines
  report.texts.words += texts.words
  report.texts.cjk += texts.cjk
  report.texts.scenes.push({ scene, lines: texts.lines, words: texts.words, cjk: texts.cjk })
}
