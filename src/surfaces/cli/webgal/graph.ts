import { Fault } from '../../../contracts/faults/fault.ts'
import { terminalJson } from '../../../text/terminal-json.ts'
import type { Invocation } from '../command.ts'
import { bold, oneLine, say, table, yellow } from '../print.ts'
import { folded } from '../screen-rows.ts'
import { eachGame, noScenes } from './games.ts'
import { fromHere, isMeant, type Place } from './places.ts'
import { graphWords, type Lang } from './words.ts'

interface Graph {
  game: string
  games?: string[]
  start: string
  scenes: { name: string; ends: boolean }[]
  ways: { from: string; to: string; by: string; line: number; label?: string; words?: string; when?: string }[]
  missing: { from: string; line: number; target: string }[]
  missingLabels?: { from: string; line: number; label: string }[]
  unreachable: string[]
  deadEnds: string[]
  drawing?: string
  leftOut?: string[]
}

/** The route map of every game that was named; a drawing is of one. */
export async function graph(invocation: Invocation): Promise<number> {
  const { options, json } = invocation
  const format = (['html', 'svg', 'mermaid'] as const).find((one) => options[one] === true) ?? 'json'
  const found: (Graph & { project: string })[] = []
  for await (const { place, runtime, lang, answer } of eachGame<Graph>(invocation, 'scene_graph', { format })) {
    if (answer.scenes.length === 0) throw noScenes(runtime.project, lang)
    if (format !== 'json' && (found.length > 0 || (answer.games?.length ?? 0) > 1)) throw oneDrawing(answer.games ?? [], lang)
    found.push({ project: runtime.project, ...part(answer, place) })
    if (format === 'json' && !json) tell(answer, place, runtime.project, lang)
  }
  const [one] = found
  if (json) say(terminalJson(found.length === 1 && one ? one : { games: found }))
  else if (one?.drawing !== undefined) process.stdout.write(one.drawing)
  return found.some(({ missing, missingLabels }) => missing.length > 0 || (missingLabels?.length ?? 0) > 0) ? 1 : 0
}

/** Of a scene that was named only what leads away from it. */
function part(found: Graph, place: Place): Graph {
  if (place.only.length === 0) return found
  const of = <T extends { from: string }>(list: readonly T[]): T[] => list.filter(({ from }) => isMeant(place, from))
  return {
    ...found,
    ways: of(found.ways),
    missing: of(found.missing),
    ...(found.missingLabels && { missingLabels: of(found.missingLabels) }),
    scenes: found.scenes.filter(({ name }) => isMeant(place, name)),
    deadEnds: found.deadEnds.filter((name) => isMeant(place, name)),
    unreachable: found.unreachable.filter((name) => isMeant(place, name)),
  }
}

function oneDrawing(games: readonly string[], lang: Lang): Fault {
  const { oneDrawing: message, nameOne } = graphWords[lang]
  return new Fault('bad-input', message, { hint: `${nameOne}${games.slice(0, 20).join(', ')}` })
}

function tell(whole: Graph, place: Place, project: string, lang: Lang): void {
  const words = graphWords[lang]
  const found = part(whole, place)
  say(bold(fromHere(project, found.game) || '.'))
  for (const left of found.leftOut ?? []) say(yellow(folded(oneLine(left, 160))))
  const rows = found.ways.map(({ from, to, by, line, label, words: option, when }) => [
    `${from}:${line}`,
    by,
    label === undefined ? to : `${to === from ? '' : to}#${label}`,
    option ?? '',
    when ?? '',
  ])
  say(table([...words.columns], rows))
  const list = (title: string, names: string[]): void =>
    void (names.length && say(`\n${bold(title)}${words.colon}${names.map((name) => oneLine(name, 80)).join(words.comma)}`))
  list(
    words.endings,
    found.scenes.filter(({ ends }) => ends).map(({ name }) => name),
  )
  list(words.deadEnds, found.deadEnds)
  list(words.unreachable, found.unreachable)
  list(
    words.missing,
    found.missing.map(({ from, line, target }) => words.at(target, `${from}:${line}`)),
  )
  list(
    words.missingLabels,
    (found.missingLabels ?? []).map(({ from, line, label }) => words.at(label, `${from}:${line}`)),
  )
}
