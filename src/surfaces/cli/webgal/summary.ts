import { terminalJson } from '../../../text/terminal-json.ts'
import type { Invocation } from '../command.ts'
import { bold, dim, oneLine, say, table, yellow } from '../print.ts'
import { folded } from '../screen-rows.ts'
import { eachGame, noScenes } from './games.ts'
import { fromHere } from './places.ts'
import type { Report } from './report.ts'
import { reportWords, wordsIn, type Lang } from './words.ts'

const mostFiles = 200
const mostRows = 50

/** What there is in every game that was named: who says how much, what there is to translate, variables, files nobody uses. */
export async function report(invocation: Invocation): Promise<number> {
  const all: (Report & { project: string })[] = []
  for await (const { runtime, lang, answer } of eachGame<Report>(invocation, 'project_report', { limit: 10_000 })) {
    if (answer.scenes === 0 && answer.unreadable.length === 0) throw noScenes(runtime.project, lang)
    all.push({ project: runtime.project, ...answer })
    if (!invocation.json) tell(answer, runtime.project, lang)
  }
  const [one] = all
  if (invocation.json) say(terminalJson(all.length === 1 && one ? one : { games: all }))
  return 0
}

function tell(found: Report, project: string, lang: Lang): void {
  const words = reportWords[lang]
  const rows = <T>(title: string, columns: readonly string[], items: readonly T[], row: (item: T) => string[]): void => {
    if (items.length === 0) return
    say(`\n${bold(title)}\n${table([...columns], items.slice(0, mostRows).map(row))}`)
    if (items.length > mostRows) say(dim(words.more(items.length - mostRows)))
  }
  say(bold(fromHere(project, found.game) || '.'))
  say(words.counts(found))
  for (const scene of found.unreadable.slice(0, mostRows)) say(yellow(folded(`${oneLine(scene, 120)}  ${wordsIn[lang].noText}`)))
  if (found.unreadable.length > mostRows) say(dim(words.more(found.unreadable.length - mostRows)))
  for (const left of found.leftOut ?? []) say(yellow(folded(oneLine(left, 160))))
  rows(words.characters, words.characterColumns, found.characters, ({ name, lines, words: count, cjk, scenes, first }) => [
    name,
    String(lines),
    String(count - cjk),
    String(cjk),
    String(scenes),
    `${first.scene}:${first.line}`,
  ])
  rows(words.scenes, words.sceneColumns, found.texts.scenes, ({ scene, lines, words: count, cjk }) => [
    scene,
    String(lines),
    String(count),
    String(cjk),
  ])
  say(dim(folded(words.counted)))
  const at = (places: readonly { scene: string; line: number }[], count: number): string =>
    `${count}  ${places
      .slice(0, 3)
      .map(({ scene, line }) => `${scene}:${line}`)
      .join(', ')}${count > 3 ? ' …' : ''}`
  rows(words.variables, words.variableColumns, found.variables, ({ name, flag, set, read, sets, reads }) => [
    name,
    flag ? words.flag : '',
    at(set, sets),
    at(read, reads),
  ])
  if (found.unusedFiles.length === 0) return say(`\n${words.allUsed}`)
  say(`\n${bold(words.unused(found.unusedFiles.length, size(found.unusedBytes)))}`)
  for (const { path, bytes } of found.unusedFiles.slice(0, mostFiles))
    say(folded(`  ${size(bytes).padStart(9)}  ${oneLine(path, 150)}`))
  if (found.unusedFiles.length > mostFiles) say(dim(words.more(found.unusedFiles.length - mostFiles)))
}

function size(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  return bytes < 1_000_000 ? `${(bytes / 1_000).toFixed(1)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
