import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { openBrowser, type Browser } from '../../src/host/browser/browser.ts'
import { closePage } from '../../src/host/browser/close-page.ts'
import { hostsOnly } from '../../src/host/browser/network-scope.ts'
import type { PageSession } from '../../src/host/browser/page-session.ts'
import { readPage, type PageReading, type ReadOptions } from '../../src/host/browser/read-page.ts'

export interface Reader extends AsyncDisposable {
  readonly home: string
  /** A page, kept for the next; made anew where it ended. */
  visit(): Promise<PageSession>
  /** What a page made of this says. */
  read(html: string | Buffer, options?: ReadOptions & { type?: string }): Promise<PageReading>
  /** What other addresses answer. */
  answers: Record<string, string | Buffer>
}

/** One browser and one server for a whole file of tests. */
export async function openReader(): Promise<Reader> {
  const answers: Record<string, string | Buffer> = {}
  let type = 'text/html; charset=utf-8'
  const server: Server = createServer((request, response) => {
    const body = answers[(request.url ?? '').split('?', 1)[0] ?? '']
    response.writeHead(body === undefined ? 404 : 200, { 'Content-Type': type }).end(body)
  })
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  const home = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const browser: Browser = openBrowser(process.env)
  let kept: PageSession | undefined
  const visit = async (): Promise<PageSession> => {
    if (!kept || kept.page.isClosed()) {
      await kept?.close()
      kept = await browser.open(hostsOnly(['127.0.0.1', 'localhost']))
    }
    return kept
  }
  return {
    home,
    answers,
    visit,
    async read(html, { type: as = 'text/html; charset=utf-8', ...options } = {}) {
      answers['/page'] = html
      type = as
      const { go, page } = await visit()
      try {
        await go(`${home}/page`, 60_000)
        return await readPage(page, { timeoutMs: 60_000, ...options })
      } catch (fault) {
        // One that failed may be about to end.
        await closePage(page)
        throw fault
      }
    },
    async [Symbol.asyncDispose]() {
      await kept?.close()
      await browser.close()
      server.close().closeAllConnections()
    },
  }
}
