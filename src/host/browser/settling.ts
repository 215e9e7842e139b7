import type { CDPSession, Page, Request } from 'playwright-core'
import { worldName } from './page-worlds.ts'

/** Whether a page has come to rest, by what changes on it. */
export interface Settling {
  /** It is sent somewhere: what it still waited for where it was counts no more. */
  begin(): void
  /** It is there: what is asked of it then is made ready while the rest of it loads. */
  prepare(): void
  /** Waits until nothing changes any more; false where it goes on changing for longer than anybody waits. */
  settled(): Promise<boolean>
}

/** Nothing changed for so long: then nothing changes. */
const quietMs = 100
/** A page with scripts that has not changed in the time after its load may be about to. */
const beatMs = 30
const mostMs = 5_000
/** A page that asks for more as soon as it has something is never at rest. */
const mostRounds = 50

/**
 * Runs in a world of its own, where the page cannot reach it. Changes are counted from when the document is read to its end: what comes
 * after is the work of scripts.
 */
const watcher = `(() => {
  let last = -1
  const look = new MutationObserver(() => { last = performance.now() })
  const begin = () => look.observe(document, { subtree: true, childList: true, characterData: true })
  if (document.readyState === 'loading') document.addEventListener('readystatechange', begin, { once: true })
  else begin()
  globalThis.settled = async (quiet, beat, most, begun) => {
    const until = performance.now() + most
    const pause = (ms) => new Promise((done) => setTimeout(done, ms))
    const [{ loadEventEnd: loaded } = { loadEventEnd: 0 }] = performance.getEntriesByType('navigation')
    const since = performance.now() - loaded
    // Time since its load counts, where that was part of what is waited for; one turn of its own it has in any case.
    const waited = loaded > 0 && since < begun ? since : 0
    if (last < 0 && document.scripts.length > 0) await pause(Math.max(0, beat - waited))
    while (last >= 0 && performance.now() - last < quiet) {
      if (performance.now() > until) return false
      await pause(Math.max(5, quiet - (performance.now() - last)))
    }
    return true
  }
})()`

export async function openSettling(page: Page, cdp: CDPSession, own: Promise<string>): Promise<Settling> {
  const underWay = new Set<Request>()
  let ended: (() => void) | undefined
  page.on('request', (request) => {
    if (['xhr', 'fetch', 'script'].includes(request.resourceType())) underWay.add(request)
  })
  const end = (request: Request): void => {
    if (underWay.delete(request) && underWay.size === 0) ended?.()
  }
  page.on('requestfinished', end)
  page.on('requestfailed', end)
  const [frameId] = await Promise.all([
    own,
    cdp.send('Page.enable'),
    cdp.send('Page.addScriptToEvaluateOnNewDocument', { source: watcher, worldName }),
  ])
  const enter = async (): Promise<number> =>
    (await cdp.send('Page.createIsolatedWorld', { frameId, worldName })).executionContextId
  let entering: Promise<number> | undefined
  let began = 0

  const quiet = async (most: number): Promise<boolean> => {
    const world = entering ?? enter()
    entering = undefined
    const { result } = await cdp.send('Runtime.evaluate', {
      contextId: await world,
      expression: `globalThis.settled?.(${quietMs}, ${beatMs}, ${most}, ${performance.now() - began})`,
      awaitPromise: true,
      returnByValue: true,
    })
    return result.value !== false
  }
  const idle = (most: number): Promise<boolean> =>
    new Promise((resolve) => {
      if (underWay.size === 0) return resolve(true)
      const late = setTimeout(() => done(false), most)
      const done = (isIdle: boolean): void => {
        clearTimeout(late)
        ended = undefined
        resolve(isIdle)
      }
      ended = () => done(true)
    })
  return {
    begin() {
      underWay.clear()
      entering = undefined
      began = performance.now()
    },
    prepare() {
      entering = enter()
      // Heard by whoever asks for it.
      entering.catch(() => undefined)
    },
    async settled() {
      const until = performance.now() + mostMs
      const left = (): number => Math.max(0, until - performance.now())
      const late = new Promise<boolean>((resolve) => setTimeout(resolve, mostMs + 500, false).unref())
      const work = async (): Promise<boolean> => {
        for (let round = 0; round < mostRounds; round++) {
          const isIdle = await idle(left())
          // It went elsewhere meanwhile: then that is what is looked at.
          const isQuiet = await quiet(left()).catch(() => undefined)
          if (isQuiet === undefined && !page.isClosed() && left() > 0) {
            await page.waitForLoadState('domcontentloaded', { timeout: left() || 1 }).catch(() => undefined)
            continue
          }
          if (isQuiet === undefined || underWay.size === 0 || left() === 0) return isIdle && isQuiet === true
        }
        return false
      }
      return Promise.race([work(), late])
    },
  }
}
