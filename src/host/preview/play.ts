import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
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
  /** `title`: back to the title; `stuck`: nothing led on; `limit`: longer than is played. */
  end: 'title' | 'stuck' | 'limit' | 'arrived' | 'left'
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
  /** Set where the route begins. */
  variables?: readonly { key: string; value: string }[]
  /** Scenes there is a picture of already. */
  pictured?: readonly string[]
  pictures: boolean
  until?: { scene: string; line: number }
  mostStops: number
  mostDecisions: number
  stuckMs: number
}

const everyMs = 100
/** A picture is taken once the scene had so long to be drawn. */
const drawMs = 700

/** Plays one route in a page that stands at its beginning. */
export async function playRoute(
  page: Page,
  plan: RoutePlan & { jump: number },
  parts: { until: number; signal?: AbortSignal | undefined; picture(scene: string): Promise<void>; isHere(): boolean },
): Promise<Route & { used: Record<string, number> }> {
  const { until, signal } = parts
  await page.evaluate(`window.${playGlobal}.begin(${JSON.stringify(plan)})`)
  for (;;) {
    signal?.throwIfAborted()
    if (!parts.isHere()) return { stops: [], decisions: [], end: 'left', used: {} }
    const { done, hold } = (await page.evaluate(
      `(({ done, hold }) => ({ done, hold }))(window.${playGlobal} ?? { done: 'left' })`,
    )) as { done?: unknown; hold?: unknown }
    const isLate = performance.now() > until
    if (typeof hold === 'string') {
      await page.evaluate(drawNow(true))
      await pause(drawMs)
      await parts.picture(hold)
      await page.evaluate(`${drawNow(false)}; window.${playGlobal}.hold = undefined`)
    }
    if (done !== undefined || isLate) return toRoute(page, isLate && done === undefined ? 'limit' : done)
    await pause(everyMs)
  }
}

const ends: readonly Route['end'][] = ['title', 'stuck', 'limit', 'arrived', 'left']
const longest = 300

/** What the page says of itself; it may say anything. */
async function toRoute(page: Page, done: unknown): Promise<Route & { used: Record<string, number> }> {
  const said = (await page.evaluate(
    `(({ stops, decisions, plan }) => ({ stops, decisions, used: plan?.used ?? {} }))(window.${playGlobal} ?? {})`,
  )) as { stops?: unknown; decisions?: unknown; used?: unknown } | undefined
  const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : [])
  const text = (value: unknown): string => (typeof value === 'string' ? value.slice(0, longest) : '')
  const count = (value: unknown): number =>
    typeof value === 'number' && Number.isFinite(value) ? Math.max(0, Math.floor(value)) : 0
  return {
    stops: list(said?.stops).map((one) => {
      const [scene, line, words, speaker] = list(one)
      return { scene: text(scene), line: count(line), text: text(words), speaker: text(speaker) }
    }),
    decisions: list(said?.decisions).map((one) => {
      const { is, scene, line, words, open, taken } = (one ?? {}) as Record<string, unknown>
      return {
        is: is === 'input' ? ('input' as const) : ('choice' as const),
        scene: text(scene),
        line: count(line),
        words: list(words).map(text),
        open: list(open).map((each) => each === true),
        taken: count(taken),
      }
    }),
    end: ends.find((end) => end === done) ?? 'stuck',
    used: Object.fromEntries(
      Object.entries((said?.used ?? {}) as object).flatMap(([key, value]) =>
        typeof value === 'number' ? [[key.slice(0, 2 * longest), value] as const] : [],
      ),
    ),
  }
}
