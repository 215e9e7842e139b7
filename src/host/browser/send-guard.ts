import type { BrowserContext, Page, Request, Route } from 'playwright-core'
import { closePage } from './close-page.ts'

/** What one tab of a context may send. */
export interface TabSends {
  /** From now on nothing that could change something. */
  reading: boolean
  /** Something is done in it right now that may send: the other tabs do not keep it from that. */
  acting: boolean
  /** Something was not sent; it, or a window or worker of which nobody knows whose it is, wanted to. */
  onHeld(request: Request): void
}

/**
 * Lets nothing out of a context that could change something while one of its tabs only reads. Pages of one site reach each other (a channel, a
 * window without an opener), so it holds for all of them, but for a tab in which something is done that may send. Windows are nobody's, and are closed.
 */
export interface SendGuard {
  /** Opens a page of ours. */
  open(): Promise<Page>
  add(page: Page, tab: TabSends): void
  /** To be called whenever `reading` of a tab is another. */
  update(): Promise<void>
}

/** Methods by which a site changes nothing (RFC 9110). */
const harmless = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Both outlive their page, and what they send is shown to nobody who drives the browser. */
export const neverThere = ['SharedWorker', 'fetchLater'] as const
const withoutThem = `for (const name of ${JSON.stringify(neverThere)}) delete globalThis[name]`

const endMs = 1_000

const guards = new WeakMap<BrowserContext, Promise<SendGuard>>()

export function sendGuardOf(context: BrowserContext): Promise<SendGuard> {
  const known = guards.get(context) ?? makeGuard(context)
  guards.set(context, known)
  return known
}

async function makeGuard(context: BrowserContext): Promise<SendGuard> {
  const tabs = new Map<Page, TabSends>()
  const opening = new Set<Promise<Page>>()
  const ours = new WeakSet<Page>()
  let routed = false

  const isAnyReading = (): boolean => [...tabs.values()].some(({ reading }) => reading)
  const tabOf = (request: Request): TabSends | undefined => {
    try {
      return tabs.get(request.frame().page())
    } catch {
      // A window that is still to come has no frame yet.
      return undefined
    }
  }
  const judge = async (route: Route): Promise<void> => {
    const request = route.request()
    const tab = tabOf(request)
    const isHeld = !harmless.has(request.method()) && !(tab && !tab.reading && (tab.acting || !isAnyReading()))
    if (isHeld) for (const one of tab ? [tab] : [...tabs.values()].filter(({ reading }) => reading)) one.onHeld(request)
    // The document of a window is not even asked for: what its scripts begin as it is closed could not be kept back.
    const isWindow = !tab && request.isNavigationRequest()
    await (isHeld || isWindow ? route.abort('accessdenied') : route.fallback()).catch(() => undefined)
  }
  const strangers = async (): Promise<Page[]> => {
    await Promise.allSettled(opening)
    return context.pages().filter((page) => !ours.has(page))
  }
  const closeStrangers = async (): Promise<void> => {
    await Promise.all((await strangers()).map(endAndClose))
  }
  const update = async (): Promise<void> => {
    if (isAnyReading() === routed) return
    // A window that came of reading sends nothing once that is over, either.
    if (routed) await closeStrangers()
    const reading = isAnyReading()
    if (reading === routed) return
    routed = reading
    await (reading ? context.route('**/*', judge) : context.unroute('**/*', judge))
  }
  context.on('page', () => void closeStrangers())
  await context.addInitScript(withoutThem)
  return {
    open() {
      const page = context.newPage().then((opened) => {
        ours.add(opened)
        return opened
      })
      opening.add(page)
      const forget = (): void => void opening.delete(page)
      page.then(forget, forget)
      return page
    },
    add(page, tab) {
      tabs.set(page, tab)
      page.once('close', () => {
        tabs.delete(page)
        void update().catch(() => undefined)
      })
    },
    update,
  }
}

/** What it has begun to send is judged before it is closed: then nobody would ask. */
async function endAndClose(page: Page): Promise<void> {
  await page.goto('about:blank', { waitUntil: 'commit', timeout: endMs }).catch(() => undefined)
  await closePage(page)
}
