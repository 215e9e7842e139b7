import type { Pace } from '../../text/steps.ts'
import { messages } from './messages.ts'
import { openFindings, type Counts, type Finding } from './finding.ts'
import { mostText, type Game } from './game.ts'
import { folders } from './grammar/commands.ts'
import type { Statement } from './grammar/parse.ts'
import { checkProjectFiles } from './checks/project-files.ts'
import { noWords, tellWordsOfConfig, type Words } from './checks/words.ts'
import type { Language } from './language.ts'
import { checkScene, type Checked } from './validate.ts'

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
  unused: string[]
  characters: { name: string; lines: number; words: number }[]
  /** What was too much to look at, in words. */
  leftOut: string[]
}

export interface SceneFinding {
  scene: string
  /** Below the project. */
  path: string
  finding: Finding
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
    characters: [],
    leftOut: [...game.leftOut],
  }
  const found = openFindings<SceneFinding>(({ finding }) => finding.code, limit)
  const below = game.root === '' ? '' : `${game.root}/`
  let read = 0
  const words = noWords()
  tellWordsOfConfig(game, words)
  const open: { name: string; answer: Checked['answer'] }[] = []
  const spoken = new Map<string, { lines: number; words: number }>()
  const scenes = game.scenes()
  for (const [index, name] of scenes.entries()) {
    if (read > mostText) {
      report.leftOut.push(`Only the first ${index} of ${scenes.length} scenes were read.`)
      break
    }
    const text = game.sceneText(name)
    read += text?.length ?? 0
    if (text === undefined) report.unreadable.push(name)
    else {
      const { statements, ...checked } = await checkScene(text, game, language, pace)
      report.scenes++
      const encoding = game.encodingOf(name)
      if (encoding !== undefined) {
        const path = `${below}scene/${name}`
        report.encodings.push({ path, encoding })
        report.counts.error++
        found.add({ scene: name, path, finding: { line: 1, code: 'not-utf8', about: { encoding } } })
      }
      count(statements, checked.misread, report, spoken)
      merge(words, checked.words)
      open.push({ name, answer: checked.answer })
    }
    if (index % 50 === 0) step(index, scenes.length)
  }
  // What one scene asks another answers: only now all of them have been read.
  const isWhole = report.leftOut.length === 0
  for (const { name, answer } of open) {
    if (pace.due()) await pace.turn()
    const { findings, counts } = answer(isWhole ? words : undefined)
    for (const finding of findings) found.add({ scene: name, path: `${below}scene/${name}`, finding })
    for (const severity of ['error', 'warning', 'info'] as const) report.counts[severity] += counts[severity]
  }
  for (const { file, finding } of checkProjectFiles(game, language)) {
    found.add({ scene: file, path: `${below}${file}`, finding })
    report.counts[messages[finding.code].severity]++
  }
  report.findings = found.kept()
  const config = game.config()
  for (const folder of folders)
    if (folder !== 'scene' && folder !== 'animation') {
      const files = game.filesOf(folder)
      const isUsed = (file: string): boolean => game.wasFound(`${below}${folder}/${file}`)
      const models = modelFolders(files, isUsed)
      for (const file of files) {
        if (pace.due()) await pace.turn()
        if (!isUsed(file) && !config.includes(file) && !isPart(file, models)) report.unused.push(`${folder}/${file}`)
      }
    }
  if (spoken.size >= mostSpeakers) report.leftOut.push(`Only the first ${mostSpeakers} speakers were counted.`)
  report.characters = [...spoken]
    .map(([name, { lines, words }]) => ({ name, lines, words }))
    .toSorted((one, other) => other.lines - one.lines || (one.name < other.name ? -1 : 1))
  return report
}

/** Files that other files name: parts of Live2D and Spine models, notes for people. */
function isPart(file: string, models: ReadonlySet<string>): boolean {
  if (/\.(?:moc3?|mtn|motion3?\.json|exp3?\.json|physics3?\.json|atlas|skel|md|txt|gitkeep)$/i.test(file)) return true
  for (let at = file.lastIndexOf('/'); at > 0; at = file.lastIndexOf('/', at - 1)) if (models.has(file.slice(0, at))) return true
  return false
}

/** Folders of models that scenes name: what lies there belongs to them. */
function modelFolders(files: readonly string[], isUsed: (file: string) => boolean): Set<string> {
  const models = files.filter((file) => file.includes('/') && /\.(?:jsonl?|skel)$/i.test(file) && isUsed(file))
  return new Set(models.map((file) => file.slice(0, file.lastIndexOf('/'))))
}

function merge(all: Words, some: Words): void {
  for (const about of ['variable', 'speaker', 'target'] as const) for (const name of some[about]) all[about].add(name)
}

function count(
  statements: readonly Statement[],
  misread: ReadonlySet<number>,
  report: Report,
  spoken: Map<string, { lines: number; words: number }>,
): void {
  let speaker = ''
  for (const { command, speaker: named, content, args, line } of statements) {
    if (misread.has(line)) continue
    if (command !== 'comment') report.lines++
    if (command !== 'say') continue
    const given = args.length === 0 ? undefined : args.find(({ key }) => key === 'speaker')?.value
    if (named !== undefined) speaker = named.trim()
    else if (typeof given === 'string') speaker = given
    const words = wordsIn(content)
    report.words += words
    if (speaker === '' || (spoken.size >= mostSpeakers && !spoken.has(speaker))) continue
    const sum = spoken.get(speaker)
    if (sum) {
      sum.lines++
      sum.words += words
    } else spoken.set(speaker, { lines: 1, words })
  }
}

/** Words of alphabets and single signs of Chinese, Japanese and Korean, as writers count. */
function wordsIn(text: string): number {
  let words = 0
  let inside = false
  for (let index = 0; index < text.length; index++) {
    const code = text.charCodeAt(index)
    if (isSign(code)) {
      words++
      inside = false
      continue
    }
    const letter = isLetter(code)
    if (letter && !inside) words++
    // An apostrophe or a hyphen inside a word does not end it.
    inside = letter || (inside && (code === 0x27 || code === 0x2d || code === 0x2019))
  }
  return words
}

function isSign(code: number): boolean {
  return (
    (code >= 0x3040 && code <= 0x30ff) ||
    (code >= 0x3400 && code <= 0x9fff) ||
    (code >= 0xac00 && code <= 0xd7a3) ||
    (code >= 0xf900 && code <= 0xfaff)
  )
}

function isLetter(code: number): boolean {
  if (code < 0x80) return (code >= 0x61 && code <= 0x7a) || (code >= 0x41 && code <= 0x5a) || (code >= 0x30 && code <= 0x39)
  return code >= 0xc0 && code < 0x2000 && code !== 0xd7 && code !== 0xf7
}
