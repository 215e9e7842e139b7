import type { BrowserContext, CDPSession, Page, Request } from 'playwright-core'
import { Fault } from '../../contracts/faults/fault.ts'
import { isWebAddress } from '../../text/address.ts'
import { closePage } from './close-page.ts'
import { pageFault, siteRefused } from './faults.ts'
import { isNowhere } from './network-scope.ts'
import { prepareReading, sessionOf } from './page-worlds.ts'
import { sendGuardOf, type TabSends } from './send-guard.ts'
import { openSettling, type Settling } from './settling.ts'
import { plainHost } from '../../text/host-name.ts'

export interface Arrival {
  /** Where the page is in the end. */
  url: string
  status: number
  /** Nothing changed on the page any more. */
  settled: boolean
}

/** Where a tab may be sent, and how long that may take. */
export interface Leave {
  mayVisit(host: string): boolean
  timeoutMs: number
  /** It may ask for pages, and send nothing that could change something. `same`: as it was before. */
  reading?: boolean | 'same'
}

/** A page that is kept and sent from address to address. */
export interface Tab {
  readonly page: Page
  /** It can be leased again: nothing is left on it that the next would find. */
  isFit(): boolean
  go(address: string, leave: Leave): Promise<Arrival>
  /** Does something on the page that may lead elsewhere, and waits until nothing changes any more. */
  act(leave: Leave, act: () => Promise<unknown>): Promise<Arrival>
  /** From now on it sends nothing that could change something, until it is sent elsewhere. */
  read(leave: Leave): Promise<void>
  /** What its scripts wanted to send since then, and were not let; each is told once. */
  takeNotSent(): string[]
  /** Does something that only looks, and tells what the driver says of it in our words. */
  inspect<T>(look: () => Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Loads after which a page is replaced: what it and its driver have gathered goes with it. */
const mostLoads = 60
/** How long what a page loads beside itself may hold it up, once the page itself is there. */
const loadMs = 10_000
const leadMs = 50

/** What nobody looks at is not fetched where it comes through a tunnel; the proxy sees to the rest. */
const unseen = ['Image', 'Font', 'Media'] as const

export async function openTab(context: BrowserContext): Promise<Tab> {
  const sends = await sendGuardOf(context)
  const page = await sends.open()
  const cdp = await sessionOf(page)
  // Asked for all at once: the browser takes what it is told in that order.
  const own = cdp.send('Target.getTargetInfo').then(({ targetInfo }) => targetInfo.targetId)
  const [settling, watch] = await Promise.all([
    openSettling(page, cdp, own),
    watchPage(page, cdp, own),
    prepareReading(page, cdp),
  ])
  let loads = 0
  let soiled = false

  /** Forms of frames and of windows do not come by the session of the page's own target; only the driver sees all of them. */
  const mine: TabSends = { reading: false, acting: false, onHeld: watch.held }
  sends.add(page, mine)
  const guard = (reading: boolean): Promise<void> => {
    mine.reading = reading
    return sends.update()
  }
  const watched = async (address: string, leave: Leave, act: () => Promise<number>): Promise<Arrival> => {
    const reading = leave.reading === 'same' ? mine.reading : (leave.reading ?? false)
    await guard(reading)
    watch.begin({ ...leave, reading })
    mine.acting = !reading
    settling.begin()
    try {
      const status = await act()
      watch.check(address)
      const settled = await settle(page, settling, leave.timeoutMs)
      watch.check(address)
      return { url: page.url(), status, settled }
    } catch (cause) {
      soiled = true
      if (cause instanceof Fault) throw cause
      const gone = await watch.hasGone()
      watch.check(address, cause)
      throw loadFault(cause, address, gone)
    } finally {
      mine.acting = false
    }
  }
  return {
    page,
    isFit: () => !soiled && !watch.isGone() && watch.isQuiet() && loads < mostLoads,
    async go(address, leave) {
      loads++
      const isAllowed = isWebAddress(address, ({ hostname }) => leave.mayVisit(plainHost(hostname) ?? ''))
      if (!isAllowed) throw siteRefused(address, address)
      // What a page that only read has kept for its end is not sent either.
      if (mine.reading && !(await endsDocument(page, leave))) {
        soiled = true
        void closePage(page)
        throw loadFault(new Error('the page does not let itself be sent elsewhere'), address, true)
      }
      return watched(address, leave, async () => {
        const answer = await page.goto(address, { waitUntil: 'domcontentloaded', timeout: leave.timeoutMs })
        return answer?.status() ?? 0
      })
    },
    act(leave, act) {
      loads++
      return watched(page.url(), leave, async () => {
        await act()
        // What a click leads to begins a moment after it.
        await new Promise((done) => setTimeout(done, leadMs))
        await page.waitForLoadState('domcontentloaded', { timeout: leave.timeoutMs })
        return watch.status()
      })
    },
    async read(leave) {
      await guard(true)
      watch.begin({ ...leave, reading: true })
    },
    takeNotSent: watch.takeNotSent,
    inspect: (look) =>
      look().catch(async (cause: unknown) => {
        soiled = true
        throw cause instanceof Fault ? cause : loadFault(cause, page.url(), await watch.hasGone())
      }),
    async close() {
      await closePage(page)
      void guard(false).catch(() => undefined)
    },
  }
}

/** Whether the document that is there came to its end. Where the page was on its way elsewhere, that comes in between. */
async function endsDocument(page: Page, { timeoutMs }: Leave): Promise<boolean> {
  const until = performance.now() + timeoutMs
  for (let tries = 0; tries < 3 || (tries < 20 && performance.now() < until); tries++) {
    const blank = page.goto('about:blank', { waitUntil: 'commit', timeout: timeoutMs })
    if (await blank.then(() => true).catch(() => false)) return true
    if (page.isClosed()) return false
    await new Promise((done) => setTimeout(done, 10 * tries))
  }
  return false
}

/** A picture that hangs does not keep a page from being read. */
async function settle(page: Page, settling: Settling, timeoutMs: number): Promise<boolean> {
  settling.prepare()
  const loaded = await page.waitForLoadState('load', { timeout: Math.min(loadMs, timeoutMs) }).then(
    () => true,
    (cause: Error) => {
      if (cause.name === 'TimeoutError') return false
      throw cause
    },
  )
  return (await settling.settled()) && loaded
}

interface Watch {
  begin(leave: Leave): void
  /** Throws what the page did that it may not; `cause` is how going there failed. */
  check(address: string, cause?: unknown): void
  isGone(): boolean
  /** The same a moment later: the driver may say that an act failed before it says that its page ended. */
  hasGone(): Promise<boolean>
  /** No window, download or dialog came of it. */
  isQuiet(): boolean
  /** What its last document was answered with. */
  status(): number
  /** Something was not sent. */
  held(request: Request): void
  takeNotSent(): string[]
}

/** Sees where a page goes, before it is there. */
async function watchPage(page: Page, cdp: CDPSession, own: Promise<string>): Promise<Watch> {
  let mayVisit: (host: string) => boolean = () => false
  let strayed: string | undefined
  let reading = false
  let posted: string | undefined
  const notSent: string[] = []
  let download = false
  let crashed = false
  let quiet = true
  let status = 0
  const here = page.mainFrame()
  const isGone = (): boolean => crashed || page.isClosed() || page.context().browser()?.isConnected() === false
  page.on('crash', () => {
    crashed = true
  })
  page.on('dialog', (dialog) => {
    quiet = false
    // Whoever sends it on means it.
    const answer = dialog.type() === 'beforeunload' ? dialog.accept() : dialog.dismiss()
    void answer.catch(() => undefined)
  })
  page.on('download', () => {
    download = true
    quiet = false
  })
  page.on('popup', () => {
    quiet = false
  })
  page.on('response', (response) => {
    const request: Request = response.request()
    if (request.isNavigationRequest() && request.frame() === here) status = response.status()
  })
  page.on('framenavigated', (frame) => {
    // Made of bytes the page has, such as `blob:`; nobody asked for it over the network. That is the end of the page.
    const address = frame.url()
    if (frame !== here || isNowhere(address) || mayGo(address)) return
    strayed = address
    void closePage(page)
  })
  const mayGo = (address: string): boolean => isWebAddress(address, ({ hostname }) => mayVisit(plainHost(hostname) ?? ''))
  /** Which frame is the page's own; until that is known, every document is judged as if it were. */
  let frame: string | undefined
  // The driver does not call a route for the hops of a redirect; the browser stops at each of them.
  cdp.on('Fetch.requestPaused', ({ requestId, request, frameId, resourceType }) => {
    const isMain = resourceType === 'Document' && (frame === undefined || frameId === frame)
    const post = isMain && reading && request.method !== 'GET'
    if (post) posted = request.url
    else if (isMain && !mayGo(request.url)) strayed = request.url
    const stray = post || (isMain && !mayGo(request.url))
    const answer =
      stray || resourceType !== 'Document'
        ? cdp.send('Fetch.failRequest', { requestId, errorReason: stray ? 'AccessDenied' : 'BlockedByClient' })
        : cdp.send('Fetch.continueRequest', { requestId })
    answer.catch(() => undefined)
  })
  const judging = cdp.send('Fetch.enable', {
    patterns: [{ resourceType: 'Document' }, ...unseen.map((resourceType) => ({ urlPattern: 'https://*', resourceType }))],
  })
  ;[frame] = await Promise.all([own, judging])
  return {
    begin(next) {
      mayVisit = next.mayVisit
      reading = next.reading === true
      if (!reading) notSent.length = 0
      posted = undefined
      strayed = undefined
      download = false
      status = 0
    },
    check(address, cause) {
      if (strayed !== undefined) throw siteRefused(strayed, address)
      if (posted !== undefined)
        throw new Fault('policy', `This sends a form, and only pages are asked for here: ${posted.slice(0, 200)}`, {
          details: { url: posted.slice(0, 2_000) },
          hint: 'Nothing was sent. Use the template submit_and_verify, which asks a person.',
        })
      if (download || isDownload(cause))
        throw new Fault('page-failed', `It is a download, not a page: ${address.slice(0, 200)}`, {
          details: { url: address.slice(0, 2_000), download: true },
          hint: 'Nothing was downloaded. Leave this address out.',
        })
    },
    isGone,
    async hasGone() {
      if (!isGone()) await new Promise((done) => setTimeout(done, 20))
      return isGone()
    },
    isQuiet: () => quiet,
    status: () => status,
    takeNotSent: () => notSent.splice(0),
    held(request) {
      if (request.isNavigationRequest()) posted = request.url()
      else if (notSent.length < mostNotSent) {
        const told = `${request.method()} ${withoutQuery(request.url())}`
        if (!notSent.includes(told)) notSent.push(told)
      }
    },
  }
}

/** The driver says it in words with its error; the event may come after that. */
const isDownload = (cause: unknown): boolean => /Download is starting/.exec(cause instanceof Error ? cause.message : '') !== null

const mostNotSent = 20
const withoutQuery = (address: string): string => (address.split(/[?#]/, 1)[0] ?? '').slice(0, 200)

function loadFault(cause: unknown, address: string, gone: boolean): Fault {
  const fault = pageFault(cause, address, gone)
  if (fault.reason !== 'preview') return fault
  const net = /net::(ERR_[A-Z_]+)/.exec(cause instanceof Error ? cause.message : '')?.[1]
  return new Fault('page-failed', fault.message, {
    details: { url: address.slice(0, 2_000), ...(net !== undefined && { net }) },
    hint: 'Check the address; the site may not be there, or may not be reached from here.',
    cause,
  })
}
