import { openBrowser } from '../../src/host/browser/browser.ts'
import { openBrowserSessions, type BrowserSessions } from '../../src/host/browser/sessions.ts'
import { patienceMs } from './patience.ts'

/** Sessions of a browser without a project around them, which may go anywhere and keep nothing. */
export function openBareSessions(patience?: Parameters<typeof openBrowser>[2]): {
  sessions: BrowserSessions
  close(): Promise<void>
} {
  const browser = openBrowser(process.env, undefined, patience)
  const sessions = openBrowserSessions(
    browser,
    { allows: () => true, forbids: () => false },
    { load: () => undefined, refresh: () => undefined, standing: () => undefined },
  )
  return {
    sessions,
    async close() {
      await sessions.close()
      await browser.close()
    },
  }
}

/** What somebody wants of a page of theirs. */
export const wantedBy = (session: string, owner: string) => ({
  session,
  owner,
  client: owner,
  host: '127.0.0.1',
  mayBegin: true,
  mayVisit: () => true,
  timeoutMs: patienceMs,
  withinMs: patienceMs,
  signal: new AbortController().signal,
})
