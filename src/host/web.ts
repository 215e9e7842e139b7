import type { AgentTabs } from './browser/agent-tabs.ts'
import type { Browser } from './browser/browser.ts'
import { allowsHost, coversHost } from '../text/host-name.ts'
import type { Pages } from './browser/pages.ts'
import type { BrowserSessions, SavedStates } from './browser/sessions.ts'
import type { Files } from './files.ts'
import type { Preview, PreviewSettings } from './preview/preview.ts'

/** Pages: those we serve and those we look at. Nothing of it is loaded before it is used, so that starting up costs nothing. */
export interface Web {
  preview: Pick<Preview, 'show' | 'play'>
  pages: Pick<Pages, 'open' | 'current'>
  sessions: Pick<BrowserSessions, 'withPage' | 'creatorOf' | 'savedFor' | 'keep' | 'end' | 'count'>
  tabs: Pick<AgentTabs, 'withTab' | 'list' | 'select' | 'closeTab'>
  /** Which browser there is, or why there is none. */
  about(): Promise<{ there: boolean; says: string }>
  close(): Promise<void>
}

interface Opened {
  browser: Browser
  preview: Preview
  pages: Pages
  sessions: BrowserSessions
  tabs: AgentTabs
}

/** What the settings say of it. */
export interface WebSettings {
  files: Files
  /** What links have made a secret since it was last looked; nothing to wait for where no link has changed. */
  hideLinkedSecrets: () => Promise<void> | undefined
  preview: PreviewSettings
  allowedHosts: readonly string[]
  forbiddenHosts: readonly string[]
  timeoutMs: number
}

/** `now` is asked whenever it matters: pages and previews that are open go on when the settings change, and go by the new ones. */
export function openWeb(parts: {
  project: string
  environment: Readonly<Record<string, string | undefined>>
  now: () => WebSettings
  /** The names, with their ports, that the project's own dev server has now. */
  served: () => readonly string[]
  logins: SavedStates
}): Web {
  const { environment, now, served } = parts
  let opened: Promise<Opened> | undefined
  let loaded: Opened | undefined
  const load = async (): Promise<Opened> => {
    const [{ openBrowser }, { hostsOnly }, { openPages }, { openBrowserSessions }, { openAgentTabs }, { openPreview }] =
      await Promise.all([
        import('./browser/browser.ts'),
        import('./browser/network-scope.ts'),
        import('./browser/pages.ts'),
        import('./browser/sessions.ts'),
        import('./browser/agent-tabs.ts'),
        import('./preview/preview.ts'),
      ])
    const browser = openBrowser(environment, parts.project)
    const rules = {
      allows: (host: string): boolean => allowsHost(now().allowedHosts)(host),
      forbids: (host: string): boolean => coversHost(now().forbiddenHosts)(host),
    }
    return {
      browser,
      preview: openPreview({ project: parts.project, browser, environment, now }),
      pages: openPages(browser, { mayReach: (host, port) => hostsOnly(now().allowedHosts, served()).mayReach(host, port) }),
      sessions: openBrowserSessions(browser, rules, parts.logins),
      tabs: openAgentTabs(browser, rules),
    }
  }
  const open = (): Promise<Opened> => {
    opened ??= load()
    // What could not be loaded is loaded anew the next time.
    opened.then(
      (all) => (loaded = all),
      () => (opened = undefined),
    )
    return opened
  }
  return {
    preview: {
      show: async (wanted) => (await open()).preview.show(wanted),
      play: async (wanted) => (await open()).preview.play(wanted),
    },
    pages: {
      open: async (session) => (await open()).pages.open(session),
      current: async (session) => (await open()).pages.current(session),
    },
    sessions: {
      withPage: async (wanted, act) => (await open()).sessions.withPage(wanted, act),
      // Nobody opened one before anything was loaded, and nothing is loaded to be told so.
      creatorOf: async (id) => loaded?.sessions.creatorOf(id),
      savedFor: async (id, session) => parts.logins.standing(id, session),
      keep: async (id, how) => (await open()).sessions.keep(id, how),
      end: async (id) => loaded?.sessions.end(id),
      count: () => loaded?.sessions.count() ?? { sessions: 0, contexts: 0, pages: 0 },
    },
    tabs: {
      withTab: async (wanted, act) => (await open()).tabs.withTab(wanted, act),
      list: async (session) => loaded?.tabs.list(session) ?? [],
      select: async (session, id) => (await open()).tabs.select(session, id),
      closeTab: async (session, id) => (await open()).tabs.closeTab(session, id),
    },
    async about() {
      const { browser } = await open()
      return { there: browser.missing() === undefined, says: browser.about() }
    },
    async close() {
      const all = await opened
      // Each waits for a browser that may not answer any more; together that is not longer.
      await Promise.all([all?.sessions.close(), all?.tabs.close(), all?.pages.close(), all?.preview.close()])
      await all?.browser.close()
    },
  }
}
