import type { Page } from 'playwright-core'
import { Fault, type Reason } from '../../contracts/faults/fault.ts'
import { inTime } from '../../text/in-time.ts'
import { closePage } from './close-page.ts'
import type { ConfinedContext } from './confined-context.ts'
import { notAllowed, pageFault, pageTimeout } from './faults.ts'
import { isNowhere, mayOpen, type NetworkScope } from './network-scope.ts'

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

export async function openPageSession(
  { context, refused, answered, close }: ConfinedContext,
  scope: NetworkScope,
): Promise<PageSession> {
  const page = await answered(context.newPage())
  // A window a page opens is a second page that nobody watches.
  context.on('page', (other) => {
    if (other !== page) void closePage(other)
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
    void closePage(page)
  })
  let crashed = false
  page.on('crash', () => {
    crashed = true
    void closePage(page)
  })
  const watched = async <T>(address: string, withinMs: number, act: () => Promise<T>): Promise<T> => {
    strayed = undefined
    try {
      // The driver keeps the time of most of what it does, though not of all.
      const done = await inTime(act(), withinMs, () => pageTimeout(address))
      if (strayed === undefined) return done
    } catch (cause) {
      if (strayed === undefined) throw pageFault(cause, address, crashed || page.isClosed())
    }
    throw notAllowed(strayed, address)
  }
  return {
    page,
    refused,
    async go(address, timeoutMs) {
      if (!mayOpen(address, scope)) throw notAllowed(address)
      return watched(address, timeoutMs + spareMs, async () => {
        const answer = await page.goto(address, { waitUntil: 'load', timeout: timeoutMs })
        return { status: answer?.status() ?? 0 }
      })
    },
    click: (selector, timeoutMs) =>
      watched(page.url(), 2 * timeoutMs + appearMs + spareMs, () => clickOne(page, selector, timeoutMs)),
    close,
  }
}

/** How long an element may take to appear, and a click to lead somewhere. */
const appearMs = 5_000
const leadMs = 200
/** What is left to the driver to keep the time itself. */
const spareMs = 2_000

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
