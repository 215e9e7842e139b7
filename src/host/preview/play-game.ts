import { setTimeout as pause } from 'node:timers/promises'
import type { Page } from 'playwright-core'
import { Fault } from '../../contracts/faults/fault.ts'
import { inTime } from '../../text/in-time.ts'
import { oneLine } from '../../text/printable.ts'
import type { Browser } from '../browser/browser.ts'
import { portOf, portOnly } from '../browser/network-scope.ts'
import { progressGlobal, slowDrawing } from './jump-script.ts'
import { hasLeft, isReached, watch, type Notes, type SceneReport } from './open-scene.ts'
import { playRoute, type Route, type RoutePlan } from './play.ts'
import { playScript } from './play-script.ts'

/** A game that is to be played, route after route. */
export interface PlayWanted {
  game: string
  /** The scene it begins with. */
  start: string
  timeoutMs: number
  signal?: AbortSignal | undefined
  pictures: boolean
  /** How a route went. */
  played(route: Route): void
  /** What is taken on the next route; nothing where it is enough. */
  next(): Pick<RoutePlan, 'choices' | 'inputs' | 'targets' | 'variables'> | undefined
  /** A picture of a scene, as a JPEG. */
  picture(scene: string, bytes: Uint8Array): void
}

const width = 640
const height = 360
const startMs = 60_000
const limits = { mostStops: 5_000, mostDecisions: 120, mostVisits: 8, stuckMs: 8_000, startMs }

/** So many pages may break; then it is enough. */
const mostBroken = 5

/** Plays every route that is asked for, in one page as long as it lasts. */
export async function playGame(browser: Browser, url: string, wanted: PlayWanted): Promise<SceneReport> {
  const until = performance.now() + wanted.timeoutMs * 0.95
  const played: Played = { route: 0, pictured: [], used: {}, missing: new Set(), logs: new Set(), broken: 0 }
  for (;;) {
    const how = await playPage(browser, url, wanted, played, until).catch((fault: unknown) => {
      // What was played is told all the same.
      if (played.route === 0 || wanted.signal?.aborted || !(fault instanceof Fault)) throw fault
      played.logs.add(oneLine(fault.message, 300))
      return 'done' as const
    })
    const report = { missing: [...played.missing], logs: [...played.logs] }
    if (how === 'unreachable' && played.route === 0) return { ...report, unreachable: true }
    if (how !== 'broken' || performance.now() > until || ++played.broken >= mostBroken) return report
  }
}

/** What is known from one page to the next. */
interface Played {
  route: number
  /** Scenes there is a picture of. */
  pictured: string[]
  /** How often each option was taken. */
  used: Record<string, number>
  missing: Set<string>
  logs: Set<string>
  broken: number
}

function playPage(
  browser: Browser,
  url: string,
  wanted: PlayWanted,
  played: Played,
  until: number,
): Promise<'done' | 'broken' | 'unreachable'> {
  const { signal, start } = wanted
  const timeoutMs = Math.ceil(Math.max(5_000, (until - performance.now()) / 0.95))
  return browser.withPage(portOnly(portOf(new URL(url))), { timeoutMs, ...(signal && { signal }) }, async (visit) => {
    const { page } = visit
    await page.setViewportSize({ width, height })
    const notes = watch(page, url)
    const end = <T>(how: T): T => {
      for (const one of notes.missing) played.missing.add(one)
      for (const one of notes.logs) played.logs.add(one)
      return how
    }
    await page.addInitScript(slowDrawing)
    await page.addInitScript(playScript)
    const address = (route: number): string => `${url}#scene=${encodeURIComponent(start)}&line=1&route=${route}`
    await visit.go(address(played.route), Math.min(timeoutMs, startMs))
    if (!(await isReached(page, notes, until))) return end('unreachable')
    let last: Route | undefined
    for (; performance.now() < until; played.route++) {
      signal?.throwIfAborted()
      const plan = wanted.next()
      if (!plan) break
      const jump = await begin(page, plan, last?.end, new URL(address(played.route)).hash).catch(() => undefined)
      signal?.throwIfAborted()
      if (jump === undefined) {
        wanted.played({ stops: [], decisions: [], end: 'broken' })
        played.logs.add('the page ended or did not answer any more before a route began')
        played.route++
        return end('broken')
      }
      const { used, pictured } = played
      last = await playRoute(
        page,
        { ...plan, used, pictured, pictures: wanted.pictures, ...limits, jump },
        {
          until,
          signal,
          isHere: () => hasLeft(page, url) === undefined,
          async picture(scene) {
            const bytes = await pictureOf(page, notes)
            // One that could not be taken is tried again on the next route.
            if (!bytes) return
            played.pictured.push(scene)
            wanted.picture(scene, bytes)
          },
        },
      )
      for (const { scene, line, words, taken } of last.decisions) {
        const key = `${scene}:${line}:${words[taken] ?? ''}`
        played.used[key] = (played.used[key] ?? 0) + 1
      }
      wanted.played(last)
      if (last.end === 'broken') {
        const at = last.stops.at(-1)
        played.logs.add(
          `the page ended or did not answer any more${at ? `, at line ${at.line} of ${oneLine(at.scene, 200)}` : ''}`,
        )
        played.route++
        return end('broken')
      }
      if (last.end === 'left') await visit.go(address(played.route + 1), Math.min(timeoutMs, startMs))
    }
    return end('done')
  })
}

/** Sends the page to the beginning of the game; says which jump that is. */
async function begin(
  page: Page,
  { variables }: Pick<RoutePlan, 'variables'>,
  last: Route['end'] | undefined,
  hash: string,
): Promise<number> {
  const isFresh = last !== 'title'
  // What held one route is not to hold the next.
  if (last !== undefined && last !== 'title' && last !== 'left') await page.reload({ waitUntil: 'load', timeout: startMs })
  const ask = (expression: string): Promise<unknown> => inTime(page.evaluate(expression), startMs, () => new Error('no answer'))
  const held = JSON.stringify(variables ?? null)
  const before = await ask(`(window.${progressGlobal}.variables = ${held} ?? undefined, window.${progressGlobal}.jumps)`)
  if (isFresh || typeof before !== 'number') return 1
  await ask(`void (location.hash = ${JSON.stringify(hash)})`)
  return before + 1
}

async function pictureOf(page: Page, { pending }: Notes): Promise<Uint8Array | undefined> {
  for (let tries = 0; tries < 20 && [...pending].some((one) => one.resourceType() === 'image'); tries++) await pause(100)
  return page.screenshot({ type: 'jpeg', quality: 55, scale: 'css', timeout: 15_000 }).catch(() => undefined)
}
