import type { Decision, Route, RoutePlan } from '../../../host/preview/preview.ts'
import type { Pace } from '../../../text/steps.ts'
import type { Statement } from '../grammar/parse.ts'
import { parseChoices } from '../grammar/parse.ts'
import { variablesIn } from '../checks/expressions.ts'
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

/** Places of all routes together that are kept; then it is enough. */
const mostTold = 200_000
/** Most routes with variables that no route sets so. */
const mostForced = 40

/**
 * Which route comes next: every option and every answer that conditions ask for once, each from the nearest point it was seen at; then what
 * only a variable keeps shut, with that variable held at a value that opens it.
 */
export function explore({ inputs, targets, gates }: Decisions, mostRoutes: number): Explorer {
  const routes: PlayedRoute[] = []
  const taken = new Set<string>()
  const queued = new Set<string>()
  /** With the variables that were held where it was seen: without them it may not be there. */
  const queue: { prefix: string[]; key: string; variables: Plan['variables'] }[] = []
  /** Places that were stopped at, scenes, and options that were open. */
  const seen = new Set<string>()
  /** What was taken on the first way to a scene, and to a choice. */
  const wayTo = new Map<string, string[]>()
  const forced = new Set<string>()
  let begun = 0
  let told = 0
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
    const gate = shut.find((one) => way(one) !== undefined) ?? shut[0]
    if (!gate || forced.size >= mostForced) return undefined
    const { condition, variables } = gate
    forced.add(condition)
    held = variables
    return { choices: way(gate) ?? [], inputs, targets, variables }
  }
  return {
    routes,
    untaken: () => queue.filter(({ key }) => !taken.has(key)).length,
    lost: () => [...missed].filter((key) => !taken.has(key)).length,
    next() {
      if (begun++ >= mostRoutes || told > mostTold) return undefined
      if (begun === 1) return { choices: [], inputs, targets }
      for (let one = queue.shift(); one; one = queue.shift())
        if (!taken.has(one.key)) {
          wanted = one.key
          held = one.variables
          return { choices: one.prefix, inputs, targets, ...(held && { variables: held }) }
        }
      return forcedNext()
    },
    played(route) {
      told += route.stops.length
      const variables = held
      routes.push(variables ? { ...route, held: variables } : route)
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
          queue.push({ prefix: [...words.slice(0, index), one.words[other] ?? ''], key, variables })
        }
    },
  }
}

const keyOf = ({ scene, line, words }: Decision, index: number): string => `${scene}:${line}:${words[index] ?? ''}`

/** What is decided in a game, and what a decision hangs on. */
export interface Decisions {
  inputs: Record<string, readonly string[]>
  targets: Record<string, { words: string; scene?: string }[]>
  gates: readonly Gate[]
}

interface Gate {
  scene: string
  line: number
  condition: string
  /** What opens it. */
  variables: { key: string; value: string }[]
  /** Seen once it was open: the line itself, the first words behind a label, a scene, or an option. */
  behind: string
  option?: string
}

/** Of each variable so many conditions are looked at: what a player may write is told by the first of them. */
const mostConditions = 50
/** More than can be taken in the longest time there is. */
const mostOptions = 20_000

export async function decisionsIn(scenes: readonly ScenePlan[], pace: Pace): Promise<Decisions> {
  const asking = new Map<string, string[]>()
  const asked: { place: string; variable: string }[] = []
  const targets: Decisions['targets'] = {}
  const gates: Gate[] = []
  let left = mostOptions
  for (const { name: scene, statements } of scenes) {
    const behindLabel = firstWordsBehind(statements)
    for (const statement of statements) {
      const { command, content, line } = statement
      const place = `${scene}:${line}`
      if (command === 'getUserInput' && asked.length < mostOptions) asked.push({ place, variable: content })
      const options = command === 'choose' ? parseChoices(content).slice(0, left) : []
      if (options.length > 0) targets[place] = options.map(targetOf)
      left -= options.length
      for (const { condition, behind, option } of gatesOf(statement, scene, options, behindLabel)) {
        for (const name of new Set(variablesIn(condition))) {
          const known = asking.get(name) ?? []
          if (known.length === 0) asking.set(name, known)
          if (known.length < mostConditions) known.push(condition)
        }
        const variables = behind === undefined || gates.length >= mostOptions ? undefined : opening(condition)
        if (behind !== undefined && variables)
          gates.push({ scene, line, condition, variables, behind, ...(option !== undefined && { option }) })
      }
      if (pace.due()) await pace.turn()
    }
  }
  const inputs: Decisions['inputs'] = {}
  for (const { place, variable } of asked) {
    inputs[place] = answersFor(variable, asking.get(variable) ?? [])
    if (pace.due()) await pace.turn()
  }
  return { inputs, targets, gates }
}

type Option = ReturnType<typeof parseChoices>[number]

const targetOf = ({ words, target }: Option): { words: string; scene?: string } => ({
  words: words.slice(0, 200),
  ...(target.includes('.') && { scene: target.replace(/^\.?\//, '') }),
})

/** The conditions of a statement, and what shows that one was open, where something does. */
function gatesOf(
  { command, content, line, args }: Statement,
  scene: string,
  options: readonly Option[],
  behindLabel: (label: string) => number | undefined,
): { condition: string; behind?: string | undefined; option?: string }[] {
  const when = args.find(({ key }) => key === 'when')?.value
  const ofOptions = options.flatMap(({ words, show, enable }) => {
    const condition = [show, enable].filter(Boolean).join('&&')
    return condition === '' ? [] : [{ condition, behind: `${scene}:${line}:${words}`, option: words }]
  })
  if (typeof when !== 'string' || when === '') return ofOptions
  const first = command === 'jumpLabel' ? behindLabel(content) : command === 'say' ? line : undefined
  const behind =
    command === 'changeScene' || command === 'callScene' ? content : first === undefined ? undefined : `${scene}:${first}`
  return [{ condition: when, behind }, ...ofOptions]
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
