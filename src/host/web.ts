import type { Browser } from './browser/browser.ts'
import type { Pages } from './browser/pages.ts'
import type { Files } from './files.ts'
import type { Preview, PreviewSettings } from './preview/preview.ts'

/** Pages: those we serve and those we look at. Nothing of it is loaded before it is used, so that starting up costs nothing. */
export interface Web {
  preview: Pick<Preview, 'show'>
  pages: Pick<Pages, 'open' | 'current'>
  /** Which browser there is, or why there is none. */
  about(): Promise<{ there: boolean; says: string }>
  close(): Promise<void>
}

interface Opened {
  browser: Browser
  preview: Preview
  pages: Pages
}

/** What the settings say of it. */
export interface WebSettings {
  files: Files
  preview: PreviewSettings
  allowedHosts: readonly string[]
  timeoutMs: number
}

/** `now` is asked whenever it matters: pages and previews that are open go on when the settings change, and go by the new ones. */
export function openWeb(parts: {
  project: string
  environment: Readonly<Record<string, string | undefined>>
  now: () => WebSettings
  /** The names, with their ports, that the project's own dev server has now. */
  served: () => readonly string[]
}): Web {
  const { environment, now, served } = parts
  let opened: Promise<Opened> | undefined
  const load = async (): Promise<Opened> => {
    const [{ openBrowser }, { hostsOnly }, { openPages }, { openPreview }] = await Promise.all([
      import('./browser/browser.ts'),
      import('./browser/network-scope.ts'),
      import('./browser/pages.ts'),
      import('./preview/preview.ts'),
    ])
    const browser = openBrowser(environment, parts.project)
    return {
      browser,
      preview: openPreview({ browser, environment, now }),
      pages: openPages(browser, { mayReach: (host, port) => hostsOnly(now().allowedHosts, served()).mayReach(host, port) }),
    }
  }
  const open = (): Promise<Opened> => {
    opened ??= load()
    // What could not be loaded is loaded anew the next time.
    opened.catch(() => (opened = undefined))
    return opened
  }
  return {
    preview: { show: async (wanted) => (await open()).preview.show(wanted) },
    pages: {
      open: async (session) => (await open()).pages.open(session),
      current: async (session) => (await open()).pages.current(session),
    },
    async about() {
      const { browser } = await open()
      return { there: browser.missing() === undefined, says: browser.about() }
    },
    async close() {
      const all = await opened
      await all?.pages.close()
      await all?.preview.close()
      await all?.browser.close()
    },
  }
}
