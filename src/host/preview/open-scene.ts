import { setTimeout as pause } from 'node:timers/promises'
import type { ConsoleMessage, Page, Request } from 'playwright-core'
import { oneLine } from '../../text/printable.ts'
import type { Browser } from '../browser/browser.ts'
import { portOf, portOnly } from '../browser/network-scope.ts'
import { jumpScript, slowDrawing, progressGlobal } from './jump-script.ts'

export interface SceneRequest {
  /** The address of the page, with the scene and line in it. */
  url: string
  /** Relative to `game/scene`, with its ending. */
  scene: string
  line: number
  timeoutMs: number
  signal: AbortSignal | undefined
  /** The page does not bring the script that jumps. */
  bare: boolean
}

export interface SceneReport {
  logs: string[]
  /** Files below `game/` that the page asked for in vain, in order. */
  missing: string[]
}

/** What the engine asks for whether or not a game has it. */
const optional = /^game\/(template\/|userStyleSheet\.css$|animation\/animationTable\.json$)/
/** What a page without a person before it always says, and what says nothing: a minified name. */
const usual =
  /^\w{1,3}$|Failed to load resource|NotAllowedError|play\(\) (failed|request)|user didn't interact|ServiceWorker|service worker/i

const everyMs = 100
/** The older engine says where it is once a second of its own; when it has said the same so often, it waits for a person there. */
const stallReports = 7
/** The newer one speaks only when it moves. */
const stallMs = 10_000
const beforeArrival = 5
const quietMs = 300
const mostQuietMs = 3_000
const mostLogs = 50
const longestLog = 300

/** Opens the scene in the browser, waits until it stands at its line, and says what went wrong on the way. */
export function openScene(browser: Browser, request: SceneRequest): Promise<SceneReport> {
  const { timeoutMs, signal } = request
  const began = performance.now()
  // What was seen is given back before the time is up; only a page that does not answer at all runs into the limit.
  const until = began + timeoutMs * 0.8
  return browser.withPage(portOnly(portOf(new URL(request.url))), { timeoutMs, ...(signal && { signal }) }, async (visit) => {
    const { page } = visit
    const notes = watch(page, request.url)
    if (request.bare) await page.addInitScript(jumpScript)
    await page.addInitScript(slowDrawing)
    await visit.go(request.url, timeoutMs)
    const end = await arrive(page, request, until)
    await quiet(notes.pending, until)
    return {
      missing: notes.missing,
      logs: [...notes.missing.map((path) => `missing asset ${path}`), ...notes.logs, ...end].slice(0, mostLogs),
    }
  })
}

function watch(page: Page, url: string): { logs: string[]; missing: string[]; pending: Set<Request> } {
  const logs: string[] = []
  const missing: string[] = []
  const pending = new Set<Request>()
  const here = new URL(url)
  const base = new URL('.', url).href
  const add = (list: string[], text: string): void => {
    if (list.length < mostLogs && !list.includes(text)) list.push(text)
  }
  const foreign = (address: string): void => {
    const asked = new URL(address)
    if (/^(https?|wss?):$/.test(asked.protocol) && asked.host !== here.host)
      add(
        logs,
        `refused: the page asked for ${oneLine(`${asked.protocol}//${asked.host}`, longestLog)}, which is not part of the preview`,
      )
  }
  page.on('request', (request) => {
    pending.add(request)
    foreign(request.url())
  })
  page.on('websocket', (socket) => foreign(socket.url()))
  page.on('requestfinished', (request) => pending.delete(request))
  page.on('requestfailed', (request) => pending.delete(request))
  page.on('response', (response) => {
    const path = response.url().startsWith(base) ? pathIn(response.url().slice(base.length)) : ''
    if (response.status() >= 400 && path.startsWith('game/') && !optional.test(path)) add(missing, oneLine(path, longestLog))
  })
  page.on('pageerror', (error) => {
    if (!usual.test(error.message)) add(logs, `page error: ${oneLine(error.message, longestLog)}`)
  })
  page.on('console', (message: ConsoleMessage) => {
    const [, refused] = /'((?:https?|wss?):\/\/[^'\s]+)'[^]*Content Security Policy/.exec(message.text()) ?? []
    if (refused !== undefined && URL.canParse(refused)) return foreign(refused)
    if (message.type() === 'error' && !usual.test(message.text()))
      add(logs, `console error: ${oneLine(message.text(), longestLog)}`)
  })
  return { logs, missing, pending }
}

function pathIn(rest: string): string {
  const path = rest.split(/[?#]/, 1)[0] as string
  try {
    return decodeURIComponent(path)
  } catch {
    return path
  }
}

/** Waits for the line; says where it stopped, where that is somewhere else. */
async function arrive(page: Page, { scene, line }: SceneRequest, until: number): Promise<string[]> {
  let at: Place = { scene: '', line: 0, reports: 0 }
  let since = performance.now()
  let wasThere = false
  while (performance.now() < until) {
    const now = await whereIs(page)
    if (now.scene === scene && now.line >= line) return []
    if (now.scene !== at.scene || now.line !== at.line) {
      at = now
      since = performance.now()
    }
    // The engine begins elsewhere and goes to the scene from there: on a busy machine it says so often before it does.
    wasThere ||= now.scene === scene
    const patience = wasThere ? 1 : beforeArrival
    const stalled =
      now.reports - at.reports >= stallReports * patience || (now.reports === at.reports && performance.now() - since > stallMs)
    if (at.scene !== '' && stalled) break
    await pause(everyMs)
  }
  if (at.scene === '') return ['the engine did not say where it is: it may not have started']
  return at.scene === scene
    ? [`stopped at line ${at.line} of ${oneLine(scene, longestLog)}: a choice, an input or an error holds it there`]
    : [`went on to line ${at.line} of ${oneLine(at.scene, longestLog)}`]
}

interface Place {
  scene: string
  line: number
  /** How often the engine has said where it is. */
  reports: number
}

/** What the page says of itself; it may say anything. */
async function whereIs(page: Page): Promise<Place> {
  const said = (await page.evaluate(
    `(({ scene, line, reports }) => ({ scene, line, reports }))(window.${progressGlobal} ?? {})`,
  )) as Record<string, unknown> | null
  const { scene, line, reports } = said ?? {}
  const count = (value: unknown): number => (typeof value === 'number' ? value : 0)
  return { scene: typeof scene === 'string' ? scene : '', line: count(line), reports: count(reports) }
}

async function quiet(pending: ReadonlySet<Request>, until: number): Promise<void> {
  const last = Math.min(until, performance.now() + mostQuietMs)
  let since = performance.now()
  while (performance.now() < last && performance.now() - since < quietMs) {
    if ([...pending].some((request) => request.resourceType() !== 'font' && request.resourceType() !== 'media'))
      since = performance.now()
    await pause(50)
  }
}
