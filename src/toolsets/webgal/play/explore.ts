import type { Decision, Route, RoutePlan } from '../../../host/preview/preview.ts'
import type { Statement } from '../grammar/parse.ts'
import { parseChoices } from '../grammar/parse.ts'
import { answersFor, opening } from './conditions.ts'

export interface ScenePlan {
  name: string
  statements: readonly Statement[]
}

type Plan = Pick<RoutePlan, 'choices' | 'inputs' | 'targets' | 'variables'>

export interface Explorer {
  next(): Plan | undefined
  played(route: Route): void
  readonly routes: readonly Route[]
  /** Options and answers that were seen and not taken: the limit came before. */
  untaken(): number
}

/** Most routes that begin with variables no route sets so. */
const mostForced = 10

/**
 * Which route comes next: every option and every answer that conditions ask for once, each from the nearest point it was seen at; then what
 * only a variable keeps shut, with that variable set.
 */
export function explore(scenes: readonly ScenePlan[], mostRoutes: number): Explorer {
  const inputs = inputsOf(scenes)
  const targets = targetsOf(scenes)
  const gates = gatesOf(scenes)
  const routes: Route[] = []
  const taken = new Set<string>()
  const queued = new Set<string>()
  const queue: { prefix: string[]; key: string }[] = []
  const stopped = new Set<string>()
  const forced = new Set<string>()
  let begun = 0

  const forcedNext = (): Plan | undefined => {
    for (const { condition, behind } of gates) {
      if (forced.size >= mostForced || forced.has(condition) || stopped.has(behind)) continue
      const variables = opening(condition)
      if (!variables) continue
      forced.add(condition)
      return { choices: [], inputs, targets, variables }
    }
    return undefined
  }
  return {
    routes,
    untaken: () => queue.filter(({ key }) => !taken.has(key)).length,
    next() {
      if (begun++ >= mostRoutes) return undefined
      if (begun === 1) return { choices: [], inputs, targets }
      for (let one = queue.shift(); one; one = queue.shift())
        if (!taken.has(one.key)) return { choices: one.prefix, inputs, targets }
      return forcedNext()
    },
    played(route) {
      routes.push(route)
      for (const { scene, line } of route.stops) stopped.add(`${scene}:${line}`).add(scene)
      const words = route.decisions.map((one) => one.words[one.taken] ?? '')
      for (const one of route.decisions) taken.add(keyOf(one, one.taken))
      for (const [index, one] of route.decisions.entries())
        for (const [other, isOpen] of one.open.entries()) {
          const key = keyOf(one, other)
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

/** What stands behind a condition: the line itself, the first words behind a label, or a scene. Options are taken where they are seen. */
function gatesOf(scenes: readonly ScenePlan[]): { behind: string; condition: string }[] {
  return scenes.flatMap(({ name, statements }) =>
    statements.flatMap(({ command, content, line, args }) => {
      const condition = args.find(({ key }) => key === 'when')?.value
      if (typeof condition !== 'string') return []
      if (command === 'say') return [{ behind: `${name}:${line}`, condition }]
      if (command === 'changeScene' || command === 'callScene') return [{ behind: content, condition }]
      if (command !== 'jumpLabel') return []
      const label = statements.findLastIndex((one) => one.command === 'label' && one.content === content)
      const first = label < 0 ? undefined : statements.slice(label).find((one) => one.command === 'say')
      return first ? [{ behind: `${name}:${first.line}`, condition }] : []
    }),
  )
}
