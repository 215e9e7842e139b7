import type { BrowserContext } from 'playwright-core'
import { Fault } from '../../contracts/faults/fault.ts'
import { onAbort } from '../../text/aborts.ts'
import { inTime } from '../../text/in-time.ts'
import type { ConfinedContext, Patience, StoredState } from './confined-context.ts'
import { openCrashSuspects, type Which } from './crash-suspects.ts'
import { openEgress } from './egress.ts'
import { notAnswering } from './faults.ts'
import { findChromium, missingDriver } from './find.ts'
import { isRoot, launchChromium, type Chromium } from './launch.ts'
import type { NetworkScope } from './network-scope.ts'
import { openPageSession, type PageSession } from './page-session.ts'

export interface Browser {
  /** Why there is no browser here, or nothing. Cheap, and nothing is started by asking. */
  missing(): string | undefined
  /** What is used, for people. */
  about(): string
  open(scope: NetworkScope, holder?: string): Promise<PageSession>
  /** Cookies, storage and a way out of their own, for pages that others open in it. */
  openContext(scope: NetworkScope, how?: { state?: StoredState | undefined; holder?: string }): Promise<ConfinedContext>
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
const lookBackMs = 1_000

const usualPatience: Patience = { launchMs: 30_000, answerMs: 30_000, closeMs: 5_000 }

/** One of the two Chromiums there can be, and whose contexts are open in it. */
interface Running {
  chromium?: Promise<Chromium> | undefined
  idle?: NodeJS.Timeout
  readonly contexts: Set<ConfinedContext>
  /** Whose contexts were open a moment ago. */
  readonly holders: Map<ConfinedContext, string>
}

const notRunning = (): Running => ({ contexts: new Set(), holders: new Map() })

/**
 * One Chromium for the whole runtime, started when it is first needed; and another for those whose pages may have ended one, so that
 * they do not end those of others.
 */
export function openBrowser(
  environment: Readonly<Record<string, string | undefined>>,
  project?: string,
  patience: Patience = usualPatience,
): Browser {
  let found: { file: string } | { missing: string } | undefined
  const browsers: Record<Which, Running> = { usual: notRunning(), apart: notRunning() }
  const suspects = openCrashSuspects()
  let closed = false

  const look = (): { file: string } | { missing: string } => {
    if (!found) {
      const driver = missingDriver()
      found = driver === undefined ? findChromium(environment, project) : { missing: driver }
    }
    return found
  }
  const stop = async (running: Running): Promise<void> => {
    const was = running.chromium
    running.chromium = undefined
    await was?.then(
      (chromium) => chromium.close(),
      () => undefined,
    )
  }
  const left = (running: Running, one: ConfinedContext): void => {
    running.contexts.delete(one)
    // Contexts end before their browser is known to have ended.
    setTimeout(() => running.holders.delete(one), lookBackMs).unref()
    if (running.contexts.size > 0 || !running.chromium) return
    clearTimeout(running.idle)
    running.idle = setTimeout(() => void stop(running), idleMs).unref()
  }
  const start = (running: Running): Promise<Chromium> => {
    clearTimeout(running.idle)
    if (closed) throw new Fault('preview', 'This runtime is closed', { hint: 'Start Handrail again.' })
    const program = look()
    if ('missing' in program)
      throw new Fault('preview', 'There is no browser here', { details: { missing: 'browser' }, hint: program.missing })
    if (running.chromium) return running.chromium
    const mine = launchChromium(program.file, patience)
    running.chromium = mine
    const forget = (): void => {
      if (running.chromium === mine) running.chromium = undefined
    }
    mine.then((chromium) => {
      // One that crashed is cleared away, and the next visit starts another.
      chromium.driver.once('disconnected', () => {
        if (running.chromium === mine) suspects.crashed(running.holders.values())
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
    async openContext(scope, { state, holder } = {}) {
      const running = browsers[suspects.whichFor(holder)]
      const starting = start(running)
      const { driver } = await starting
      const answered = <T>(work: Promise<T>): Promise<T> =>
        inTime(work, patience.answerMs, () => {
          if (running.chromium === starting) {
            suspects.crashed(running.holders.values())
            void stop(running)
          }
          return notAnswering()
        })
      const egress = await openEgress(scope, project)
      let context: BrowserContext | undefined
      try {
        const made = driver.newContext({
          proxy: { server: `http://127.0.0.1:${egress.port}`, bypass: '<-loopback>' },
          serviceWorkers: 'block',
          acceptDownloads: false,
          viewport: { width: 1280, height: 720 },
          ...(state && { storageState: state }),
        })
        context = await answered(made)
      } catch (fault) {
        await egress.close()
        throw fault
      }
      const opened = context
      let leaving: Promise<void> | undefined
      const confined: ConfinedContext = {
        context: opened,
        refused: egress.refused,
        answered,
        close() {
          leaving ??= (async () => {
            left(running, confined)
            await inTime(opened.close(), patience.closeMs, notAnswering).catch(() => undefined)
            await egress.close()
          })()
          return leaving
        },
      }
      running.contexts.add(confined)
      if (holder !== undefined) running.holders.set(confined, holder)
      return confined
    },
    async open(scope, holder) {
      const confined = await browser.openContext(scope, { ...(holder !== undefined && { holder }) })
      return openPageSession(confined, scope).catch(async (fault: unknown) => {
        await confined.close()
        throw fault
      })
    },
    async withPage(scope, limit, act) {
      const until = AbortSignal.any([AbortSignal.timeout(limit.timeoutMs), ...(limit.signal ? [limit.signal] : [])])
      let isOpen = false
      const opening = browser.open(scope).finally(() => (isOpen = true))
      try {
        return await within(until, limit, async () => act(await opening))
      } finally {
        const closing = opening.then(
          (pageSession) => pageSession.close(),
          () => undefined,
        )
        // Where the time was up while it was still being opened, nobody waits for that.
        if (isOpen) await closing
      }
    },
    async close() {
      closed = true
      for (const running of Object.values(browsers)) {
        clearTimeout(running.idle)
        await stop(running)
      }
    },
  }
  return browser
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
