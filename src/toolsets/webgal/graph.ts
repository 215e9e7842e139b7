import type { Pace } from '../../text/steps.ts'
import { isOpen, variablesIn } from './checks/expressions.ts'
import { short } from './finding.ts'
import { mostText, type Game } from './game.ts'
import { firstLines } from './grammar/fold.ts'
import { parseChoices, statementsOf, type Reading, type Statement } from './grammar/parse.ts'
import { leftOutSentence } from './left-out.ts'

export interface Way {
  from: string
  /** A scene; the same one where it leads to a label. */
  to: string
  by: 'changeScene' | 'callScene' | 'choose' | 'jumpLabel'
  line: number
  label?: string
  /** What the player reads on the option. */
  words?: string
  /** Only when this is true. */
  when?: string
}

export interface SceneNode {
  name: string
  labels: string[]
  /** Whether the story can end here. */
  ends: boolean
  reachable: boolean
  /** Nothing leads on and nothing ends: the player is sent back to the title. */
  deadEnd: boolean
}

export interface SceneGraph {
  start: string
  scenes: SceneNode[]
  ways: Way[]
  missing: { from: string; line: number; target: string }[]
  /** Jumps and options to labels their scene does not have. */
  missingLabels: { from: string; line: number; label: string }[]
  unreachable: string[]
  deadEnds: string[]
  /** Which variables decide which branch. */
  gates: { variable: string; scene: string; line: number; condition: string }[]
  /** What was too much to look at, in words. */
  leftOut: string[]
}

/** Most of each kind that is kept of a whole game; which scenes are reached is found out with all of them. */
const mostKept = 20_000
/** Longest words and conditions that are kept: an answer repeats them. */
const longestWords = 200

/** The route map of a whole game, in steps. */
export async function graphOf(game: Game, reading: Reading, pace: Pace): Promise<SceneGraph> {
  const names = game.scenes()
  const known = new Set(names)
  const start = known.has('start.txt') ? 'start.txt' : (names[0] ?? 'start.txt')
  const graph: SceneGraph = {
    start,
    scenes: [],
    ways: [],
    missing: [],
    missingLabels: [],
    unreachable: [],
    deadEnds: [],
    gates: [],
    leftOut: [...game.leftOut],
  }
  const next = new Map<string, Set<string>>()
  const called = new Set<string>()
  const leading = new Set<string>()
  const dropped = { labels: 0, ways: 0, missing: 0, missingLabels: 0, gates: 0 }
  const keep = <T>(list: T[], kind: keyof typeof dropped, item: T): void => {
    if (list.length < mostKept) list.push(item)
    else dropped[kind]++
  }
  const take = (way: Way): void => {
    const { from, to, by, line, when } = way
    if (known.has(to)) {
      keep(graph.ways, 'ways', shortened(way))
      next.set(from, (next.get(from) ?? new Set<string>()).add(to))
      if (by === 'callScene') called.add(to)
      else if (to !== from) leading.add(from)
    } else if (!isOpen(to)) keep(graph.missing, 'missing', { from, line, target: short(to, longestWords) })
    if (when === undefined) return
    for (const variable of new Set(variablesIn(when)))
      keep(graph.gates, 'gates', {
        variable: short(variable, longestWords),
        scene: from,
        line,
        condition: short(when, longestWords),
      })
  }
  let read = 0
  let labelsKept = 0
  const cut: string[] = []
  for (const [index, name] of names.entries()) {
    if (read > mostText) {
      graph.leftOut.push(leftOutSentence('Only the first {n} of {all} scenes were read.', { n: index, all: names.length }))
      break
    }
    const text = (game.sceneText(name) ?? '').replace(/^\uFEFF/, '')
    read += text.length
    const scene: SceneNode = { name, labels: [], ends: false, reachable: false, deadEnd: false }
    graph.scenes.push(scene)
    let whole = !firstLines(text).cut
    const labels = new Set<string>()
    const jumps: Way[] = []
    for (const statement of statementsOf(text, reading)) {
      for (const way of waysOf(name, statement)) {
        take(way)
        if (way.label !== undefined) jumps.push(way)
      }
      if (statement.command === 'end') scene.ends = true
      if (statement.command === 'label') {
        labels.add(statement.content)
        if (labelsKept++ < mostKept) scene.labels.push(short(statement.content, longestWords))
        else dropped.labels++
      }
      if (statement.cut) whole = false
      if (pace.due()) await pace.turn()
    }
    if (!whole) cut.push(name)
    else
      for (const { line, label = '' } of jumps)
        if (!labels.has(label) && !isOpen(label))
          keep(graph.missingLabels, 'missingLabels', { from: name, line, label: short(label, longestWords) })
  }
  const reached = reach(start, next)
  for (const scene of graph.scenes) {
    scene.reachable = reached.has(scene.name)
    scene.deadEnd = !scene.ends && !leading.has(scene.name) && !called.has(scene.name)
    if (!scene.reachable) graph.unreachable.push(scene.name)
    if (scene.deadEnd) graph.deadEnds.push(scene.name)
  }
  if (cut.length)
    graph.leftOut.push(
      leftOutSentence('{n} scenes have too many lines or endless statements and were read in part: {names}', {
        n: cut.length,
        names: cut.slice(0, 5).join(', '),
      }),
    )
  for (const [kind, count] of Object.entries(dropped))
    if (count > 0) graph.leftOut.push(leftOutSentence('{kind}: {n} more are not listed.', { kind, n: count }))
  return graph
}

function shortened(way: Way): Way {
  const { label, words, when } = way
  return {
    ...way,
    ...(label !== undefined && { label: short(label, longestWords) }),
    ...(words !== undefined && { words: short(words, longestWords) }),
    ...(when !== undefined && { when: short(when, longestWords) }),
  }
}

function waysOf(from: string, { command, content, line, args }: Statement): Way[] {
  const when = args.find(({ key }) => key === 'when')?.value
  const condition = typeof when === 'string' ? { when } : {}
  if (command === 'changeScene' || command === 'callScene')
    return content === '' ? [] : [{ from, to: clean(content), by: command, line, ...condition }]
  if (command === 'jumpLabel') return [{ from, to: from, by: command, line, label: content, ...condition }]
  if (command !== 'choose') return []
  return parseChoices(content)
    .filter(({ target }) => target !== '')
    .map(({ words, target, show, enable }) => {
      const both = [show, enable].filter((text) => text !== undefined && text !== '').join(' && ')
      const place = target.includes('.') ? { to: clean(target) } : { to: from, label: target }
      return { from, by: command, line, words, ...place, ...(both === '' ? condition : { when: both }) }
    })
}

function clean(name: string): string {
  return name.replaceAll('\\', '/').replace(/^\.?\//, '')
}

function reach(start: string, next: ReadonlyMap<string, ReadonlySet<string>>): Set<string> {
  const reached = new Set([start])
  for (const name of reached) for (const to of next.get(name) ?? []) reached.add(to)
  return reached
}
