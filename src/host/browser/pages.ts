import { Fault } from '../../contracts/faults/fault.ts'
import type { Browser } from './browser.ts'
import type { NetworkScope } from './network-scope.ts'
import type { PageSession } from './page-session.ts'

/** One page for each session, kept for what it does next. */
export interface Pages {
  /** The page of a session, opened where there is none yet. */
  open(session: string): Promise<PageSession>
  /** The page that is open already. */
  current(session: string): Promise<PageSession>
  close(): Promise<void>
}

const idleMs = 300_000
const mostPages = 8

export function openPages(browser: Browser, scope: NetworkScope): Pages {
  const kept = new Map<string, { visit: Promise<PageSession>; idle: NodeJS.Timeout }>()

  const leave = async (session: string): Promise<void> => {
    const page = kept.get(session)
    if (!page) return
    kept.delete(session)
    clearTimeout(page.idle)
    await page.visit.then(
      (pageSession) => pageSession.close(),
      () => undefined,
    )
  }
  const keep = (session: string, visit: Promise<PageSession>): Promise<PageSession> => {
    clearTimeout(kept.get(session)?.idle)
    kept.delete(session)
    // Last in line: the one at the front has been quiet the longest.
    kept.set(session, { visit, idle: setTimeout(() => void leave(session), idleMs).unref() })
    const [oldest] = kept.keys()
    if (kept.size > mostPages && oldest !== undefined) void leave(oldest)
    return visit
  }
  const living = async (session: string): Promise<PageSession | undefined> => {
    const visit = kept.get(session)?.visit
    const open = await visit?.catch(() => undefined)
    if (visit && open && !open.page.isClosed()) return keep(session, visit)
    if (visit && kept.get(session)?.visit === visit) await leave(session)
    return undefined
  }

  return {
    async open(session) {
      return (await living(session)) ?? keep(session, kept.get(session)?.visit ?? browser.open(scope, session))
    },
    async current(session) {
      const pageSession = await living(session)
      if (pageSession) return pageSession
      throw new Fault('preview', 'No page is open in this session', {
        hint: 'Open one first: action "open" with a url. A page that is not used for five minutes is closed.',
      })
    },
    async close() {
      await Promise.all([...kept.keys()].map(leave))
    },
  }
}
