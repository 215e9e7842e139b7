import { createServer, type Server } from 'node:http'
import { readFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { openAgentTabs } from '../../src/host/browser/agent-tabs.ts'
import { openBrowser, type Browser } from '../../src/host/browser/browser.ts'
import type { Patience } from '../../src/host/browser/confined-context.ts'
import { hostsOnly } from '../../src/host/browser/network-scope.ts'
import { openPages } from '../../src/host/browser/pages.ts'
import { readPage } from '../../src/host/browser/read-page.ts'
import { openBrowserSessions } from '../../src/host/browser/sessions.ts'
import { footprint, noBrowser, whatIsLeft } from '../support/chromium.ts'

// A browser that does not answer any more: stopped by a signal, it keeps its pipes open and says nothing to anybody. Whoever asks it for
// something gets an end of it all the same; where one did not, its test would not end.

const grounds = hostsOnly(['127.0.0.1'])
const rules = { allows: () => true, forbids: () => false }
const noLogins = { load: () => undefined, refresh: () => undefined, standing: () => undefined }
const wholePatience: Patience = { launchMs: 30_000, answerMs: 30_000, closeMs: 5_000 }

let server: Server
let home = ''
let patience: Patience
let browser: Browser
let frozen: number[] = []

beforeAll(async () => {
  server = createServer((_, response) =>
    response.writeHead(200, { 'Content-Type': 'text/html' }).end('<title>t</title><p>fine <button>b</button>'),
  )
  await new Promise<void>((ready) => server.listen(0, '127.0.0.1', ready))
  home = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
})
afterAll(() => server.close().closeAllConnections())
beforeEach(() => {
  patience = { ...wholePatience }
  browser = openBrowser(process.env, undefined, patience)
})
afterEach(async () => {
  await browser.close()
  frozen = []
  expect(await whatIsLeft()).toEqual({ homes: [], processes: [] })
})

/** Stops every browser of this process, and from then on waits for none of them for long. */
function freeze(): void {
  for (const folder of footprint().homes) {
    const at = [tmpdir(), '/tmp'].map((one) => join(one, folder, 'group')).find((one) => isThere(one))
    if (at === undefined) continue
    const group = Number(readFileSync(at, 'utf8'))
    if (isGone(group)) continue
    frozen.push(group)
    process.kill(-group, 'SIGSTOP')
  }
  expect(frozen).not.toEqual([])
  Object.assign(patience, { answerMs: 300, closeMs: 300 })
}
/** From here on the machine may be as busy as it likes. */
const waitAgain = (): void => void Object.assign(patience, wholePatience)

/** One of a file before this, of which the folder is still being removed. */
function isGone(group: number): boolean {
  try {
    return !process.kill(-group, 0)
  } catch {
    return true
  }
}

function isThere(file: string): boolean {
  try {
    return readFileSync(file, 'utf8').trim() !== ''
  } catch {
    return false
  }
}

const ended = { name: 'Fault', reason: expect.stringMatching(/^page-(crashed|timeout|failed)$/) as unknown }
const want = (more: object = {}) => ({
  session: 's',
  owner: 'o',
  client: 'c',
  mayBegin: true,
  host: '127.0.0.1',
  mayVisit: () => true,
  timeoutMs: 500,
  withinMs: 1_500,
  signal: new AbortController().signal,
  ...more,
})

describe.skipIf(noBrowser !== undefined || process.platform === 'win32')('a browser that does not answer any more', () => {
  test('a page that is open: going on, clicking, reading, a picture, its closing', async () => {
    const open = await browser.open(grounds)
    await open.go(home, 30_000)
    freeze()
    await expect(open.go(home, 300)).rejects.toMatchObject(ended)
    await expect(open.click('button', 300)).rejects.toMatchObject({ name: 'Fault' })
    await expect(readPage(open.page, { timeoutMs: 300 })).rejects.toMatchObject(ended)
    await expect(open.page.screenshot({ timeout: 300 })).rejects.toThrow('Timeout')
    await open.close()
  })

  test('a new page: it is ended, nothing of it is left, and the next page has a new browser', async () => {
    const kept = openPages(browser, grounds)
    await kept.open('one')
    freeze()
    await expect(kept.open('two')).rejects.toMatchObject({ reason: 'page-crashed' })
    waitAgain()
    const next = await kept.open('three')
    expect(await next.go(home, 30_000)).toEqual({ status: 200 })
    await kept.close()
  })

  test('a visit ends when its time is up, though its page was never opened', async () => {
    await (await browser.open(grounds)).close()
    freeze()
    const visit = browser.withPage(grounds, { timeoutMs: 100 }, () => Promise.resolve('done'))
    await expect(visit).rejects.toMatchObject({ reason: 'page-timeout' })
  })

  test('sessions: a page lent, what it is known by, its end, and the end of them all', async () => {
    const sessions = openBrowserSessions(browser, rules, noLogins)
    const go = (more: object = {}): Promise<string> =>
      sessions.withPage(want(more), async (page) => {
        await page.go(home)
        return (await page.read({})).markdown
      })
    expect(await go({ timeoutMs: 30_000, withinMs: 60_000 })).toContain('fine')
    freeze()
    await expect(sessions.keep('s')).rejects.toMatchObject(ended)
    await expect(go()).rejects.toMatchObject(ended)
    await expect(go({ session: 'other' })).rejects.toMatchObject(ended)
    await sessions.end('s')
    await sessions.close()
    waitAgain()
    expect(await go({ session: 'next', timeoutMs: 30_000, withinMs: 60_000 })).toContain('fine')
    await sessions.close()
  })

  test("an agent's tabs: an act, a list, a new tab, closing", async () => {
    const tabs = openAgentTabs(browser, rules)
    const act = (more: object = {}): Promise<string> =>
      tabs.withTab({ session: 's', host: '127.0.0.1', withinMs: 30_000, ...more }, async ({ tab }) => {
        await tab.go(home, { mayVisit: () => true, timeoutMs: 20_000 })
        return tab.page.title()
      })
    expect([await act(), await act({ isNew: true })]).toEqual(['t', 't'])
    freeze()
    expect(await tabs.list('s')).toMatchObject([{ id: 'tab1' }, { id: 'tab2' }])
    await expect(act({ tab: 'tab1', withinMs: 300 })).rejects.toMatchObject(ended)
    await tabs.closeTab('s', 'tab2')
    await expect(act({ isNew: true, withinMs: 300 })).rejects.toMatchObject(ended)
    await tabs.close()
  })

  test('the end of the runtime, while pages are open and another is being opened', async () => {
    const sessions = openBrowserSessions(browser, rules, noLogins)
    await sessions.withPage(want({ timeoutMs: 30_000, withinMs: 60_000 }), (page) => page.go(home))
    freeze()
    const opening = browser.open(grounds)
    const heard = opening.catch((fault: unknown) => fault)
    await sessions.close()
    await browser.close()
    expect(await heard).toBeInstanceOf(Error)
  })
})
