import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { inTime } from '../../text/in-time.ts'
import { drawNow } from './jump-script.ts'
import { playGlobal } from './play-script.ts'

/** Where a page that plays stopped: a line that waits for a click. Lines are counted as the engine does: how many it has executed. */
export interface Stop {
  scene: string
  line: number
  text: string
  speaker: string
}

export interface Decision {
  is: 'choice' | 'input'
  scene: string
  line: number
  /** What could be chosen, or written. */
  words: string[]
  open: boolean[]
  taken: number
}

export interface Route {
  stops: Stop[]
  decisions: Decision[]
  /** `title`: back to the title; `stuck`: nothing led on; `limit`: longer than is played; `broken`: the page ended or answers no more. */
  end: 'title' | 'stuck' | 'limit' | 'arrived' | 'left' | 'broken'
}

export interface RoutePlan {
  /** What is taken at each decision, from the first on: the position of an option (from 1), its words, or what is written. */
  choices: readonly (number | string)[]
  /** What may be written at `scene:line`. */
  inputs: Readonly<Record<string, readonly string[]>>
  /** How often each option was taken before: whatever is not planned goes where nobody was. */
  used: Readonly<Record<string, number>>
  /** Where the options of the choice at `scene:line` lead. */
  targets?: Readonly<Record<string, readonly { words: string; scene?: string }[]>>
  /** Held at these values all along. */
  variables?: readonly { key: string; value: string }[]
  /** Scenes there is a picture of already. */
  pictured?: readonly string[]
  pictures: boolean
  until?: { scene: string; line: number }
  mostStops: number
  mostDecisions: number
  /** How often it may come by the same place between two decisions. */
  mostVisits: number
  stuckMs: number
  /** How long it may take until the route has begun. */
  startMs: number
}

const everyMs = 100
/** A picture is taken once the scene had so long to be drawn. */
const drawMs = 700
/** Whoever does not answer for so long goes round for ever. */
const hungMs = 30_000

/** Plays one route in a page that stands at its beginning. Never throws but where it is aborted: a page that breaks ends the route. */
export async function playRoute(
  page: Page,
  plan: RoutePlan & { jump: number },
  parts: { until: number; signal?: AbortSignal | undefined; picture(scene: string): Promise<void>; isHere(): boolean },
): Promise<Route> {
  const { until, signal } = parts
  const stops: Stop[] = []
  const decisions: Decision[] = []
  const ask = (expression: string): Promise<unknown> =>
    inTime(
      page.evaluate(expression),
      Math.min(hungMs, Math.max(1_000, until + 1_000 - performance.now())),
      () => new Error('the page does not answer'),
    )
  try {
    await ask(`window.${playGlobal}.begin(${JSON.stringify(plan)})`)
    for (;;) {
      signal?.throwIfAborted()
      if (!parts.isHere()) return { stops, decisions, end: 'left' }
      const said = ((await ask(
        `((play) => {
          const { done, hold, stops, decisions } = play
          play.told = decisions?.length
          return { done, hold, stops: stops?.slice(${stops.length}), decisions: decisions?.slice(${decisions.length}) }
        })(window.${playGlobal} ?? { done: 'left' })`,
      )) ?? {}) as Record<string, unknown>
      for (const one of list(said['stops'], plan.mostStops - stops.length)) stops.push(toStop(one))
      for (const one of list(said['decisions'], plan.mostDecisions - decisions.length)) decisions.push(toDecision(one))
      const { done, hold } = said
      if (typeof hold === 'string') {
        await ask(drawNow(true))
        await pause(drawMs)
        await parts.picture(text(hold))
        await ask(`${drawNow(false)}; window.${playGlobal}.hold = undefined`)
      }
      if (done !== undefined) return { stops, decisions, end: ends.find((end) => end === done) ?? 'stuck' }
      if (performance.now() > until) return { stops, decisions, end: 'limit' }
      await pause(everyMs)
    }
  } catch {
    signal?.throwIfAborted()
    return { stops, decisions, end: parts.isHere() ? 'broken' : 'left' }
  }
}

const ends: readonly Route['end'][] = ['title', 'stuck', 'limit', 'arrived', 'left']
const longest = 300
const mostWords = 200

// What the page says of itself; it may say anything.
const list = (value: unknown, most: number): unknown[] => (Array.isArray(value) ? value.slice(0, Math.max(0, most)) : [])
const text = (value: unknown): string => (typeof value === 'string' ? value.slice(0, longest) : '')
const count = (value: unknown): number =>
  typeof value === 'number' && Number.isFinite(value) ? Math.max(0, Math.floor(value)) : 0

function toStop(one: unknown): Stop {
  const [scene, line, words, speaker] = list(one, 4)
  return { scene: text(scene), line: count(line), text: text(words), speaker: text(speaker) }
}

function toDecision(one: unknown): Decision {
  const { is, scene, line, words, open, taken } = (one ?? {}) as Record<string, unknown>
  return {
    is: is === 'input' ? 'input' : 'choice',
    scene: text(scene),
    line: count(line),
    words: list(words, mostWords).map(text),
    open: list(open, mostWords).map((each) => each === true),
    taken: count(taken),
  }
}
