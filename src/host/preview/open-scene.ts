import { setTimeout as pause } from 'node:timers/promises'
import type { ConsoleMessage, Page, Request } from 'playwright-core'
import { oneLine } from '../../text/printable.ts'
import type { Browser } from '../browser/browser.ts'
import { portOf, portOnly } from '../browser/network-scope.ts'
import { drawNow, jumpScript, slowDrawing, progressGlobal } from './jump-script.ts'
import { playRoute } from './play.ts'
import { playScript } from './play-script.ts'

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
  /** What is chosen on the way: the line is played to, past choices and questions, in the place of a jump to it. */
  choices?: readonly (number | string)[] | undefined
  /** A picture of it is wanted. */
  picture?: boolean | undefined
}

export interface SceneReport {
  logs: string[]
  /** Files below `game/` that the page asked for in vain, in order. */
  missing: string[]
  /** A PNG, where one was wanted and could be taken. */
  picture?: Uint8Array
  /** The engine never asked for an editor, so nobody can tell it where to go. */
  unreachable?: true
}

/** What the engine asks for whether or not a game has it. */
const optional = /^game\/(template\/|userStyleSheet\.css$|animation\/animationTable\.json$)/
/** What a page without a person before it always says, and what says nothing: a minified name. */
const usual =
  /^\w{1,3}$|Failed to load resource|NotAllowedError|AbortError|play\(\) (failed|request)|user didn't interact|ServiceWorker|service worker|ResizeObserver|AudioContext|WebSocket connection|Deprecat|ReactDOM\.render|preloaded using link|favicon|Manifest:|WebGL.*(fallback|GPU stall)|software WebGL|no supported source/i

const everyMs = 100
/** The older engine says where it is once a second of its own; when it has said the same so often, it waits for a person there. */
const stallReports = 7
/** The newer one speaks only when it moves. */
const stallMs = 10_000
const beforeArrival = 5
const quietMs = 300
const mostQuietMs = 3_000
/** So long an engine that says nothing is given, and a little for each line. */
const muteMs = 3_000
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
    if (request.choices) await page.addInitScript(playScript)
    const { choices, scene } = request
    await visit.go(
      choices ? `${request.url.split('#', 1)[0] as string}#scene=${encodeURIComponent(scene)}` : request.url,
      timeoutMs,
    )
    if (!(await isReached(page, notes, until))) {
      const why = hasLeft(page, request.url) ?? 'the engine did not ask for an editor: it cannot be told where to go'
      return { missing: notes.missing, logs: [...notes.logs, why].slice(0, mostLogs), unreachable: true }
    }
    const end = choices ? await playTo(page, { ...request, choices }, until) : await arrive(page, request, until)
    await quiet(notes.pending, until)
    const picture = request.picture ? await pictureOf(page, until) : undefined
    return {
      missing: notes.missing,
      logs: [...notes.missing.map((path) => `missing asset ${path}`), ...notes.logs, ...end].slice(0, mostLogs),
      ...(picture && { picture }),
    }
  })
}

/** Long enough for an engine that has loaded all it loads; from the last thing it asked for on. */
const unheardMs = 2_000

/** Whether the engine has asked for an editor; not where it has asked for nothing at all for a while, or the page is another one. */
export async function isReached(page: Page, { asked }: Notes, until: number): Promise<boolean> {
  const address = page.url()
  let since = performance.now()
  let before = asked()
  while (performance.now() < until) {
    if (hasLeft(page, address) !== undefined) return false
    if ((await whereIs(page)).sockets > 0) return true
    if (asked() !== before) [before, since] = [asked(), performance.now()]
    if (performance.now() - since > unheardMs) return false
    await pause(everyMs)
  }
  return false
}

/** A page that went elsewhere shows no game any more. */
export function hasLeft(page: Page, url: string): string | undefined {
  const [from, to] = [url, page.url()].map((address) => address.split('#', 1)[0] as string)
  return from === to ? undefined : `the page went to ${oneLine(to ?? '', longestLog)} and left the game`
}

/** Plays to the line, past choices; says where it ended, where that is somewhere else. */
async function playTo(
  page: Page,
  { scene, line, choices, signal }: SceneRequest & { choices: readonly (number | string)[] },
  until: number,
): Promise<string[]> {
  const limits = { mostStops: 20_000, mostDecisions: 1_000, mostVisits: 8, stuckMs: stallMs, startMs: 60_000 }
  const plan = { choices, inputs: {}, used: {}, pictures: false, until: { scene, line }, ...limits }
  const address = page.url()
  const { end, stops, decisions } = await playRoute(
    page,
    { ...plan, jump: 1 },
    { until, signal, picture: async () => undefined, isHere: () => hasLeft(page, address) === undefined },
  )
  const refused = decisions.flatMap(({ is, scene: where, line: at, words, taken }, index) => {
    const asked = choices[index]
    // A question takes any answer.
    if (is === 'input' || asked === undefined || asked === taken + 1 || asked === words[taken]) return []
    return [
      `at line ${at} of ${oneLine(where, longestLog)} there was no ${typeof asked === 'number' ? `option ${asked}` : oneLine(asked, 60)} to take: it was ${oneLine(words[taken] ?? '', 60)}`,
    ]
  })
  if (end === 'arrived') return refused
  const at = stops.at(-1)
  return [...refused, `played to line ${at?.line ?? 0} of ${oneLine(at?.scene ?? scene, longestLog)} and not further (${end})`]
}

/** What it shows, once it was drawn. A page that does not draw is no reason to fail. */
async function pictureOf(page: Page, until: number): Promise<Uint8Array | undefined> {
  const timeout = Math.min(10_000, Math.max(5_000, until - performance.now()))
  try {
    await page.evaluate(drawNow(true))
    await Promise.race([
      page.evaluate(
        'new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => requestAnimationFrame(done))))',
      ),
      pause(timeout / 2),
    ])
    // Software drawing leaves no time for a picture while it draws on.
    await page.evaluate(drawNow(true, 1_500))
    return await page.screenshot({ type: 'png', scale: 'css', timeout })
  } catch {
    return undefined
  }
}

export interface Notes {
  logs: string[]
  missing: string[]
  pending: Set<Request>
  /** How much it has asked for. */
  asked(): number
}

export function watch(page: Page, url: string): Notes {
  let count = 0
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
    count++
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
  return { logs, missing, pending, asked: () => count }
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
  let at: Place = { scene: '', line: 0, reports: 0, sockets: 0, mute: false }
  let since = performance.now()
  let wasThere = false
  let retold = 0
  const address = page.url()
  let told = performance.now()
  while (performance.now() < until) {
    const left = hasLeft(page, address)
    if (left !== undefined) return [left]
    const now = await whereIs(page)
    // The first engines never say where they are.
    if (!now.mute) told = performance.now()
    if (performance.now() - told > muteMs + line) return ['this engine does not say where it is: it was told to go there']
    if (now.scene === scene && now.line >= line) return []
    if (now.scene !== at.scene || now.line !== at.line) {
      at = now
      since = performance.now()
    }
    // The engine begins elsewhere and goes to the scene from there: on a busy machine it says so often before it does. What it was told while
    // it was still loading its first scene it may have forgotten by the time that is there: then it is told again.
    wasThere ||= now.scene === scene
    const stalls = Math.floor(
      now.reports > at.reports ? (now.reports - at.reports) / stallReports : (performance.now() - since) / stallMs,
    )
    if (at.scene !== '' && stalls >= (wasThere ? 1 : beforeArrival)) break
    if (at.scene !== '' && !wasThere && stalls > retold) {
      retold = stalls
      await page.evaluate(`window.${progressGlobal}?.again?.()`)
    }
    await pause(everyMs)
  }
  if (at.scene === '') return ['the engine did not say where it is: it may not have started']
  return at.scene === scene
    ? [`stopped at line ${at.line} of ${oneLine(scene, longestLog)}: a choice, an input or an error holds it there`]
    : [
        `it stands at line ${at.line} of ${oneLine(at.scene, longestLog)}${wasThere ? '' : ` and was not seen in ${oneLine(scene, longestLog)}`}`,
      ]
}

interface Place {
  scene: string
  line: number
  /** How often the engine has said where it is. */
  reports: number
  /** How often it asked for an editor. */
  sockets: number
  /** It never says where it is. */
  mute: boolean
}

/** What the page says of itself; it may say anything. */
async function whereIs(page: Page): Promise<Place> {
  const said = (await page
    .evaluate(
      `(({ scene, line, reports, sockets, mute }) => ({ scene, line, reports, sockets, mute }))(window.${progressGlobal} ?? {})`,
    )
    // A page that goes elsewhere takes what it says with it; one that is gone is noticed by whoever opened it.
    .catch((cause: unknown) => {
      if (page.isClosed() || !/context was destroyed|navigat/i.test(String(cause))) throw cause
      return {}
    })) as Record<string, unknown> | null
  const { scene, line, reports, sockets, mute } = said ?? {}
  const count = (value: unknown): number => (typeof value === 'number' ? value : 0)
  return {
    scene: typeof scene === 'string' ? scene : '',
    line: count(line),
    reports: count(reports),
    sockets: count(sockets),
    mute: mute === true,
  }
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
