import { onAbort } from '../../text/aborts.ts'
import type { BrowserContext, Page } from 'playwright-core'
import { Fault, type Reason } from '../../contracts/faults/fault.ts'
import { openEgress, type Egress } from './egress.ts'
import { notAllowed, pageFault } from './faults.ts'
import { findChromium, missingDriver } from './find.ts'
import { mayOpen, type NetworkScope } from './network-scope.ts'
import { isRoot, launchChromium, type Chromium } from './launch.ts'

/** One page with cookies, storage and a way out of its own, confined to its network scope. */
export interface PageSession {
  readonly page: Page
  /** Hosts and ports the page asked for and was refused. */
  readonly refused: readonly string[]
  /** Sends the page to an address; throws where the address, or one it leads to, is outside its network scope. */
  go(address: string, timeoutMs: number): Promise<{ status: number }>
  /** Clicks the one element a selector means, and throws where that leads outside its network scope. */
  click(selector: string, timeoutMs: number): Promise<void>
  close(): Promise<void>
}

export interface Browser {
  /** Why there is no browser here, or nothing. Cheap, and nothing is started by asking. */
  missing(): string | undefined
  /** What is used, for people. */
  about(): string
  open(scope: NetworkScope): Promise<PageSession>
  /** A visit that lasts as long as the act, and never longer than the limit. */
  withPage<T>(
    scope: NetworkScope,
    limit: { timeoutMs: number; signal?: AbortSignal },
    act: (pageSession: PageSession) => Promise<T>,
  ): Promise<T>
  close(): Promise<void>
}

/** A browser nobody looks through is let go. */
const idleMs = 120_000
const launchMs = 30_000
/** A page that does not answer may not hold up its closing. */
const closeMs = 5_000

/** One Chromium for the whole runtime, started when it is first needed. */
export function openBrowser(environment: Readonly<Record<string, string | undefined>>, project?: string): Browser {
  let found: { file: string } | { missing: string } | undefined
  let running: Promise<Chromium> | undefined
  let closed = false
  let idle: NodeJS.Timeout | undefined
  const visits = new Set<PageSession>()

  const look = (): { file: string } | { missing: string } => {
    if (!found) {
      const driver = missingDriver()
      found = driver === undefined ? findChromium(environment, project) : { missing: driver }
    }
    return found
  }
  const stop = async (): Promise<void> => {
    const was = running
    running = undefined
    await was?.then(
      (chromium) => chromium.close(),
      () => undefined,
    )
  }
  const start = (): Promise<Chromium> => {
    clearTimeout(idle)
    if (closed) throw new Fault('preview', 'This runtime is closed', { hint: 'Start Handrail again.' })
    const program = look()
    if ('missing' in program) throw new Fault('preview', 'There is no browser here', { hint: program.missing })
    if (running) return running
    const mine = launchChromium(program.file, launchMs)
    running = mine
    const forget = (): void => {
      if (running === mine) running = undefined
    }
    mine.then((chromium) => {
      // One that crashed is cleared away, and the next visit starts another.
      chromium.driver.once('disconnected', () => {
        forget()
        void chromium.close()
      })
    }, forget)
    return mine
  }

  const browser: Browser = {
    missing() {
      const program = look()
      return 'missing' in program ? program.missing : undefined
    },
    about() {
      const program = look()
      if ('missing' in program) return program.missing
      return isRoot() ? `${program.file}, without its own sandbox because this process runs as root` : program.file
    },
    async open(scope) {
      const { driver } = await start()
      const egress = await openEgress(scope)
      let context: BrowserContext | undefined
      try {
        context = await driver.newContext({
          proxy: { server: `http://127.0.0.1:${egress.port}`, bypass: '<-loopback>' },
          serviceWorkers: 'block',
          acceptDownloads: false,
          viewport: { width: 1280, height: 720 },
        })
        const pageSession = await enter(context, egress, scope, () => {
          visits.delete(pageSession)
          if (visits.size === 0 && running) {
            clearTimeout(idle)
            idle = setTimeout(() => void stop(), idleMs).unref()
          }
        })
        visits.add(pageSession)
        return pageSession
      } catch (fault) {
        await egress.close()
        await context?.close().catch(() => undefined)
        throw fault
      }
    },
    async withPage(scope, limit, act) {
      const until = AbortSignal.any([AbortSignal.timeout(limit.timeoutMs), ...(limit.signal ? [limit.signal] : [])])
      const opening = browser.open(scope)
      try {
        return await within(until, limit, async () => act(await opening))
      } finally {
        // Also where the time was up while it was still being opened.
        await opening.then(
          (pageSession) => pageSession.close(),
          () => undefined,
        )
      }
    },
    async close() {
      closed = true
      clearTimeout(idle)
      await stop()
    },
  }
  return browser
}

async function enter(context: BrowserContext, egress: Egress, scope: NetworkScope, left: () => void): Promise<PageSession> {
  const page = await context.newPage()
  // A window a page opens is a second page that nobody watches.
  context.on('page', (other) => {
    if (other !== page) void other.close().catch(() => undefined)
  })
  let strayed: string | undefined
  page.on('request', (request) => {
    if (request.isNavigationRequest() && request.frame() === page.mainFrame() && !mayOpen(request.url(), scope))
      strayed = request.url()
  })
  page.on('framenavigated', (frame) => {
    if (frame !== page.mainFrame() || isNowhere(frame.url()) || mayOpen(frame.url(), scope)) return
    // Made of bytes the page has, such as `blob:`; nobody asked for it over the network. That is the end of the page.
    strayed = frame.url()
    void page.close().catch(() => undefined)
  })
  let crashed = false
  page.on('crash', () => {
    crashed = true
    void page.close().catch(() => undefined)
  })
  const watched = async <T>(address: string, act: () => Promise<T>): Promise<T> => {
    strayed = undefined
    try {
      const done = await act()
      if (strayed === undefined) return done
    } catch (cause) {
      if (strayed === undefined) throw pageFault(cause, address, crashed || page.isClosed())
    }
    throw notAllowed(strayed, address)
  }
  let leaving: Promise<void> | undefined
  return {
    page,
    refused: egress.refused,
    async go(address, timeoutMs) {
      if (!mayOpen(address, scope)) throw notAllowed(address)
      return watched(address, async () => {
        const answer = await page.goto(address, { waitUntil: 'load', timeout: timeoutMs })
        return { status: answer?.status() ?? 0 }
      })
    },
    click: (selector, timeoutMs) => watched(page.url(), () => clickOne(page, selector, timeoutMs)),
    close() {
      leaving ??= (async () => {
        left()
        await Promise.race([context.close().catch(() => undefined), new Promise((done) => setTimeout(done, closeMs).unref())])
        await egress.close()
      })()
      return leaving
    },
  }
}

/** How long an element may take to appear, and a click to lead somewhere. */
const appearMs = 5_000
const leadMs = 200

async function clickOne(page: Page, selector: string, timeoutMs: number): Promise<void> {
  const element = page.locator(selector)
  const fail = (message: string, cause?: unknown, reason: Reason = 'preview'): Fault =>
    new Fault(reason, message, {
      details: { selector: selector.slice(0, 200) },
      hint: 'Take a screenshot to see the page; use a CSS selector that fits one element.',
      cause,
    })
  await element
    .first()
    .waitFor({ state: 'attached', timeout: Math.min(appearMs, timeoutMs) })
    .catch((cause: Error) => {
      if (cause.name === 'TimeoutError') throw fail('Nothing on the page fits the selector', cause, 'element-not-found')
      throw fail('The selector cannot be used', cause)
    })
  const count = await element.count()
  if (count > 1) throw fail(`${count} elements fit the selector`)
  await element.click({ timeout: timeoutMs })
  await new Promise((done) => setTimeout(done, leadMs))
  await page.waitForLoadState('load', { timeout: timeoutMs })
}

/** Where a page is before it is sent anywhere, and after an address that gave no answer. */
function isNowhere(address: string): boolean {
  return address === '' || address === 'about:blank' || address.startsWith('chrome-error://')
}

function within<T>(until: AbortSignal, limit: { timeoutMs: number; signal?: AbortSignal }, act: () => Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = (): void =>
      reject(
        limit.signal?.aborted
          ? (limit.signal.reason as Error)
          : new Fault('page-timeout', `The page took longer than ${limit.timeoutMs} ms`, {
              hint: 'Raise limits.browserTimeoutMs if it needs longer.',
            }),
      )
    const stopListening = onAbort(until, stop)
    if (!until.aborted) void act().then(resolve, reject).finally(stopListening)
  })
}
