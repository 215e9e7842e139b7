import type { Decision, Route, RoutePlan } from '../../../host/preview/preview.ts'
import type { Statement } from '../grammar/parse.ts'
import { parseChoices } from '../grammar/parse.ts'
import { answersFor, opening } from './conditions.ts'

export interface ScenePlan {
  name: string
  statements: readonly Statement[]
}

type Plan = Pick<RoutePlan, 'choices' | 'inputs' | 'targets' | 'variables'>

/** A route, and the variables that were held on it. */
export type PlayedRoute = Route & { held?: readonly { key: string; value: string }[] | undefined }

export interface Explorer {
  next(): Plan | undefined
  played(route: Route): void
  readonly routes: readonly PlayedRoute[]
  /** Options and answers that were seen and not taken: the limit came before. */
  untaken(): number
  /** Options that were seen once, and that the way there did not lead to again. */
  lost(): number
}

/** Most routes with variables that no route sets so. */
const mostForced = 40

/**
 * Which route comes next: every option and every answer that conditions ask for once, each from the nearest point it was seen at; then what
 * only a variable keeps shut, with that variable held at a value that opens it.
 */
export function explore(scenes: readonly ScenePlan[], mostRoutes: number): Explorer {
  const inputs = inputsOf(scenes)
  const targets = targetsOf(scenes)
  const gates = gatesOf(scenes)
  const routes: PlayedRoute[] = []
  const taken = new Set<string>()
  const queued = new Set<string>()
  const queue: { prefix: string[]; key: string }[] = []
  /** Places that were stopped at, scenes, and options that were open. */
  const seen = new Set<string>()
  /** What was taken on the first way to a scene, and to a choice. */
  const wayTo = new Map<string, string[]>()
  const forced = new Set<string>()
  let begun = 0
  let wanted: string | undefined
  let held: Plan['variables']
  /** Options that a route was to take and did not come to. */
  const missed = new Set<string>()

  const forcedNext = (): Plan | undefined => {
    const shut = gates.filter(({ condition, behind }) => !forced.has(condition) && !seen.has(behind))
    const way = ({ scene, line, option }: Gate): string[] | undefined => {
      if (option === undefined) return wayTo.get(scene)
      const before = wayTo.get(`${scene}:${line}`)
      return before && [...before, option]
    }
    // First those that are known to be come to.
    for (const gate of shut.toSorted((a, b) => Number(way(b) !== undefined) - Number(way(a) !== undefined))) {
      if (forced.size >= mostForced) return undefined
      const variables = forced.has(gate.condition) ? undefined : opening(gate.condition)
      if (!variables) continue
      forced.add(gate.condition)
      held = variables
      return { choices: way(gate) ?? [], inputs, targets, variables }
    }
    return undefined
  }
  return {
    routes,
    untaken: () => queue.filter(({ key }) => !taken.has(key)).length,
    lost: () => [...missed].filter((key) => !taken.has(key)).length,
    next() {
      if (begun++ >= mostRoutes) return undefined
      if (begun === 1) return { choices: [], inputs, targets }
      for (let one = queue.shift(); one; one = queue.shift())
        if (!taken.has(one.key)) {
          wanted = one.key
          return { choices: one.prefix, inputs, targets }
        }
      return forcedNext()
    },
    played(route) {
      routes.push(held ? { ...route, held } : route)
      held = undefined
      const words = route.decisions.map((one) => one.words[one.taken] ?? '')
      const first = new Map<string, number>()
      for (const [index, one] of route.decisions.entries()) {
        taken.add(keyOf(one, one.taken))
        if (!first.has(one.scene)) first.set(one.scene, index)
        const place = `${one.scene}:${one.line}`
        if (!wayTo.has(place)) wayTo.set(place, words.slice(0, index))
      }
      for (const { scene, line } of route.stops) {
        seen.add(`${scene}:${line}`).add(scene)
        if (!wayTo.has(scene)) wayTo.set(scene, words.slice(0, first.get(scene) ?? words.length))
      }
      if (wanted !== undefined && !taken.has(wanted)) missed.add(wanted)
      wanted = undefined
      for (const [index, one] of route.decisions.entries())
        for (const [other, isOpen] of one.open.entries()) {
          const key = keyOf(one, other)
          if (isOpen) seen.add(key)
          if (!isOpen || taken.has(key) || queued.has(key)) continue
          queued.add(key)
          queue.push({ prefix: [...words.slice(0, index), one.words[other] ?? ''], key })
        }
    },
  }
}

const keyOf = ({ scene, line, words }: Decision, index: number): string => `${scene}:${line}:${words[index] ?? ''}`

function inputsOf(scenes: readonly ScenePlan[]): Record<string, readonly string[]> {
  const conditions = scenes.flatMap(({ statements }) => statements.flatMap(conditionsOf))
  return Object.fromEntries(
    scenes.flatMap(({ name, statements }) =>
      statements
        .filter(({ command }) => command === 'getUserInput')
        .map(({ line, content }) => [`${name}:${line}`, answersFor(content, conditions)] as const),
    ),
  )
}

function targetsOf(scenes: readonly ScenePlan[]): Record<string, { words: string; scene?: string }[]> {
  const options = (content: string): { words: string; scene?: string }[] =>
    parseChoices(content).map(({ words, target }) => ({
      words,
      ...(target.includes('.') && { scene: target.replace(/^\.?\//, '') }),
    }))
  return Object.fromEntries(
    scenes.flatMap(({ name, statements }) =>
      statements
        .filter(({ command }) => command === 'choose')
        .map(({ line, content }) => [`${name}:${line}`, options(content)] as const),
    ),
  )
}

function conditionsOf({ command, content, args }: Statement): string[] {
  const when = args.find(({ key }) => key === 'when')?.value
  const options = command === 'choose' ? parseChoices(content).flatMap(({ show, enable }) => [show, enable]) : []
  return [when, ...options].filter((one): one is string => typeof one === 'string' && one !== '')
}

interface Gate {
  scene: string
  line: number
  condition: string
  /** Seen once it was open. */
  behind: string
  option?: string
}

/** What stands behind a condition: the line itself, the first words behind a label, a scene, or an option. */
function gatesOf(scenes: readonly ScenePlan[]): Gate[] {
  return scenes.flatMap(({ name: scene, statements }) => {
    const behindLabel = firstWordsBehind(statements)
    return statements.flatMap((statement) => {
      const { command, content, line, args } = statement
      if (command === 'choose')
        return parseChoices(content).flatMap(({ words, show, enable }) => {
          const condition = [show, enable].filter(Boolean).join('&&')
          return condition === '' ? [] : [{ scene, line, behind: `${scene}:${line}:${words}`, condition, option: words }]
        })
      const condition = args.find(({ key }) => key === 'when')?.value
      if (typeof condition !== 'string') return []
      if (command === 'say') return [{ scene, line, behind: `${scene}:${line}`, condition }]
      if (command === 'changeScene' || command === 'callScene') return [{ scene, line, behind: content, condition }]
      const first = command === 'jumpLabel' ? behindLabel(content) : undefined
      return first === undefined ? [] : [{ scene, line, behind: `${scene}:${first}`, condition }]
    })
  })
}

/** The line of the first words after a label; of two of the same name the last counts. */
function firstWordsBehind(statements: ScenePlan['statements']): (label: string) => number | undefined {
  const lines = new Map<string, number>()
  const named = new Set<string>()
  let after: number | undefined
  for (const { command, content, line } of statements.toReversed()) {
    if (command === 'say') after = line
    if (command !== 'label' || named.has(content)) continue
    named.add(content)
    if (after !== undefined) lines.set(content, after)
  }
  return (label) => lines.get(label)
}
