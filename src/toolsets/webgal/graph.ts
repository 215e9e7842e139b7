import type { Game } from './game.ts'
import { isOpen, variablesIn } from './checks/expressions.ts'
import { parseChoices, parseScene, type Statement } from './grammar/parse.ts'

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
  unreachable: string[]
  deadEnds: string[]
  /** Which variables decide which branch. */
  gates: { variable: string; scene: string; line: number; condition: string }[]
}

/** The route map of a whole game. */
export function graphOf(game: Game): SceneGraph {
  const names = game.scenes()
  const start = names.includes('start.txt') ? 'start.txt' : (names[0] ?? 'start.txt')
  const known = new Set(names)
  const ways: Way[] = []
  const missing: SceneGraph['missing'] = []
  const gates: SceneGraph['gates'] = []
  const scenes = names.map((name): SceneNode => {
    const statements = parseScene((game.sceneText(name) ?? '').replace(/^\uFEFF/, ''))
    for (const way of waysOf(name, statements)) {
      if (known.has(way.to)) ways.push(way)
      else if (!isOpen(way.to)) missing.push({ from: name, line: way.line, target: way.to })
      for (const variable of new Set(variablesIn(way.when ?? '')))
        gates.push({ variable, scene: name, line: way.line, condition: way.when ?? '' })
    }
    const ends = statements.some(({ command }) => command === 'end')
    const labels = statements.filter(({ command }) => command === 'label').map(({ content }) => content)
    return { name, labels, ends, reachable: false, deadEnd: false }
  })
  const reached = reach(start, ways)
  const called = new Set(ways.filter(({ by }) => by === 'callScene').map(({ to }) => to))
  for (const scene of scenes) {
    scene.reachable = reached.has(scene.name)
    const leads = ways.some((way) => way.from === scene.name && way.to !== scene.name && way.by !== 'callScene')
    scene.deadEnd = !scene.ends && !leads && !called.has(scene.name)
  }
  return {
    start,
    scenes,
    ways,
    missing,
    unreachable: scenes.filter(({ reachable }) => !reachable).map(({ name }) => name),
    deadEnds: scenes.filter(({ deadEnd }) => deadEnd).map(({ name }) => name),
    gates,
  }
}

function waysOf(from: string, statements: readonly Statement[]): Way[] {
  return statements.flatMap((statement): Way[] => {
    const { command, content, line, args } = statement
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
  })
}

function clean(name: string): string {
  return name.replaceAll('\\', '/').replace(/^\.?\//, '')
}

function reach(start: string, ways: readonly Way[]): Set<string> {
  const next = new Map<string, string[]>()
  for (const { from, to } of ways) next.set(from, [...(next.get(from) ?? []), to])
  const reached = new Set([start])
  for (const name of reached) for (const to of next.get(name) ?? []) reached.add(to)
  return reached
}
