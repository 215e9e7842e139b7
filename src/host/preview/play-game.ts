import { setTimeout as pause } from 'node:timers/promises'
import type { Browser } from '../browser/browser.ts'
import { portOf, portOnly } from '../browser/network-scope.ts'
import { progressGlobal, slowDrawing } from './jump-script.ts'
import { hasLeft, isReached, watch, type SceneReport } from './open-scene.ts'
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
const mostStops = 5_000
const mostDecisions = 120
const stuckMs = 8_000

/** Plays every route that is asked for in one page. */
export function playGame(browser: Browser, url: string, wanted: PlayWanted): Promise<SceneReport> {
  const { timeoutMs, signal, start } = wanted
  const until = performance.now() + timeoutMs * 0.95
  return browser.withPage(portOnly(portOf(new URL(url))), { timeoutMs, ...(signal && { signal }) }, async (visit) => {
    const { page } = visit
    await page.setViewportSize({ width, height })
    const notes = watch(page, url)
    await page.addInitScript(slowDrawing)
    await page.addInitScript(playScript)
    const address = (route: number): string => `${url}#scene=${encodeURIComponent(start)}&line=1&route=${route}`
    await visit.go(address(0), Math.min(timeoutMs, 60_000))
    if (!(await isReached(page, notes, until))) return { missing: notes.missing, logs: notes.logs, unreachable: true }
    const pictured: string[] = []
    let used: Record<string, number> = {}
    let last: Route | undefined
    for (let route = 0; performance.now() < until; route++) {
      signal?.throwIfAborted()
      const plan = wanted.next()
      if (!plan) break
      // What held one route is not to hold the next.
      if (last && last.end !== 'title') await page.reload({ waitUntil: 'load', timeout: 60_000 })
      await page.evaluate(`void (window.${progressGlobal}.variables = ${JSON.stringify(plan.variables ?? null)} ?? undefined)`)
      const before = (await page.evaluate(`window.${progressGlobal}.jumps`)) as number
      const isFresh = route === 0 || last?.end !== 'title'
      if (!isFresh) await page.evaluate(`void (location.hash = ${JSON.stringify(new URL(address(route)).hash)})`)
      const played = await playRoute(
        page,
        {
          ...plan,
          used,
          pictured,
          pictures: wanted.pictures,
          mostStops,
          mostDecisions,
          stuckMs,
          jump: isFresh ? 1 : before + 1,
        },
        {
          until,
          signal,
          isHere: () => hasLeft(page, url) === undefined,
          async picture(scene) {
            for (let tries = 0; tries < 20 && [...notes.pending].some((one) => one.resourceType() === 'image'); tries++)
              await pause(100)
            const bytes = await page
              .screenshot({ type: 'jpeg', quality: 55, scale: 'css', timeout: 15_000 })
              .catch(() => undefined)
            // One that could not be taken is tried again on the next route.
            if (!bytes) return
            pictured.push(scene)
            wanted.picture(scene, bytes)
          },
        },
      )
      ;({ used } = played)
      last = played
      wanted.played(played)
      if (played.end === 'left') await visit.go(address(route + 1), Math.min(timeoutMs, 60_000))
    }
    return { missing: notes.missing, logs: notes.logs }
  })
}
