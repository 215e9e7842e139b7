import { randomBytes } from 'node:crypto'
import { loadConfig } from '../config/load.ts'
import type { Operator } from '../contracts/operator.ts'
import type { RuntimeOptions } from '../contracts/runtime.ts'
import { asFault, Fault } from '../contracts/faults/fault.ts'
import { isHeldElsewhere } from '../host/database.ts'
import { hearOfUse, leadsTo, projectsUsedSince } from '../host/known-projects.ts'
import { claimPort } from '../host/own-ports.ts'
import { openPeers } from '../host/peer.ts'
import type { StateAsked } from '../host/state-place.ts'
import { listen } from '../surfaces/listen.ts'
import { approvalPages } from '../surfaces/page/approvals.ts'
import { detour, signInPages } from '../surfaces/page/sign-in.ts'
import { openPersonAuth, signInKey } from '../surfaces/person-auth.ts'

/** A project is at work where its log was written to in this time; one in which something waits stays. */
const atWorkMs = 24 * 3_600_000
/** Of those that were used in this time it is looked once whether anything waits. */
const mayWaitMs = 30 * 24 * 3_600_000
const mostLooked = 200
/** So many are open at once, the latest used. */
const mostOpen = 24
/** News that come close together are one look. */
const lookGapMs = 500
/** Where the system tells of nothing. */
const lookEveryMs = 3_000
/** Looking takes at most this part of the time, however many projects there are. */
const lookShare = 0.05
/** So long the page stands still for one project whose store another process holds. */
const patienceMs = 300
/** A project whose store is held is tried again after this, then after twice as long, and so on. */
const usualAgainMs = 5_000
const againMostMs = 300_000
/** Links that were used, so that none is used twice; the oldest have lapsed long before so many are made. */
const mostUsed = 1_000

export interface DeskOptions {
  port: number
  asked: StateAsked
  openAt(project: string, more: Pick<RuntimeOptions, 'patienceMs' | 'noLink'>): Operator
  /** Projects that are on the page whenever they were used, and before all others. */
  named: readonly string[]
  /** After how long a project whose store is held is tried again for the first time. */
  againMs?: number
  /** A project came to the page; what it returns is called when it goes. */
  onProject(operator: Operator): () => void
  /** One that cannot be opened, once. */
  onTrouble(project: string, fault: Fault): void
}

export interface ServedDesk {
  url: string
  /** A link that signs in, once. */
  link(): string
  projects(): string[]
  close(): Promise<void>
}

/**
 * One page for all projects of this user that are at work. It serves nobody but the person: no agent's route is behind this listener, its secret is in no
 * file, and every project keeps its own store, log and settings, to which the answers go.
 */
export async function serveDesk(options: DeskOptions): Promise<ServedDesk> {
  const { port, asked, openAt, named, onProject, onTrouble, againMs = usualAgainMs } = options
  const secret = randomBytes(32).toString('base64url')
  const open = new Map<string, { operator: Operator; leave: () => void }>()
  /** Those in which nothing waited, as they were: tried again once something has happened there. */
  const left = new Map<string, number>()
  /** When each was used last, as far as was looked. */
  let usedAtOf: ReadonlyMap<string, number> = new Map()
  /** Those that are not on the page although they should be: of whom that was said, and since when and how long nothing is tried. */
  const troubled = new Map<string, { afterMs: number; notBefore: number }>()
  const isWaiting = ({ approvals, questions }: Operator): boolean => approvals.count('pending') + questions.count() > 0

  const trouble = (path: string, thrown: unknown): void => {
    const fault = asFault(thrown)
    const before = troubled.get(path)
    if (!before) onTrouble(path, fault)
    // Who holds it lets go of it without a word; everything else is tried again once something has happened there.
    const isHeld = isHeldElsewhere(fault.cause)
    const afterMs = isHeld ? Math.min(2 * (before?.afterMs ?? 0) || againMs, againMostMs) : 0
    troubled.set(path, { afterMs, notBefore: performance.now() + afterMs })
    if (isHeld) setTimeout(() => soon(), afterMs).unref()
    else left.set(path, usedAtOf.get(path) ?? 0)
  }
  /** One whose store no longer answers goes: it would keep all the others off the page, and whoever looks would wait for it each time. */
  const setAside = (path: string, thrown: unknown): void => {
    const one = open.get(path)
    open.delete(path)
    one?.leave()
    trouble(path, thrown)
    one?.operator.close().catch(() => undefined)
  }
  const look = async (): Promise<void> => {
    const now = Date.now()
    const used = [
      ...(await Promise.all(named.map(async (path) => ({ path: await leadsTo(path), usedAt: now })))),
      ...(await projectsUsedSince(asked, now - mayWaitMs, mostLooked)),
    ]
    const wanted = new Set(used.flatMap(({ path, usedAt }) => (now - usedAt < atWorkMs ? [path] : [])))
    usedAtOf = new Map(used.map(({ path, usedAt }) => [path, usedAt]))
    for (const kept of [left, troubled]) for (const path of kept.keys()) if (!usedAtOf.has(path)) kept.delete(path)
    for (const [path, { operator, leave }] of open) {
      try {
        if (isWaiting(operator) || wanted.has(path)) continue
      } catch (thrown) {
        setAside(path, thrown)
        continue
      }
      open.delete(path)
      leave()
      await operator.close()
    }
    const beyond = new Set<string>()
    for (const { path, usedAt } of used) {
      if (open.has(path) || closed || left.get(path) === usedAt) continue
      if ((troubled.get(path)?.notBefore ?? 0) > performance.now()) continue
      if (open.size >= mostOpen) {
        if (wanted.has(path)) beyond.add(path)
        continue
      }
      let operator: Operator | undefined
      try {
        // Only the very folder that was a project: a link that stands there now leads to one that never was, or to another that is.
        operator = openAt(path, { patienceMs, noLink: true })
        if (isWaiting(operator) || wanted.has(path)) {
          open.set(path, { operator, leave: onProject(operator) })
          left.delete(path)
        } else {
          left.set(path, usedAt)
          await operator.close()
        }
        troubled.delete(path)
      } catch (thrown) {
        trouble(path, thrown)
        await operator?.close().catch(() => undefined)
      }
      // Opening takes a moment each: whoever asks meanwhile is answered in between.
      await new Promise((resolve) => setImmediate(resolve))
    }
    leftOut = beyond.size
  }
  /** At work, and not on the page: there are too many. */
  let leftOut = 0
  let closed = false
  let looking = Promise.resolve()
  let timer: NodeJS.Timeout | undefined
  let notBefore = 0
  /** Looks once, soon; nothing is looked for while nothing happens. */
  const soon = (): void => {
    if (closed || timer) return
    timer = setTimeout(
      () => {
        const begun = performance.now()
        looking = look()
          .catch((thrown: unknown) => onTrouble('', asFault(thrown)))
          .then(() => {
            const now = performance.now()
            notBefore = now + Math.max(lookGapMs, (now - begun) / lookShare)
            timer = undefined
          })
      },
      Math.max(lookGapMs, notBefore - performance.now()),
    )
  }
  await look()

  const usedUp = new Set<string>()
  const personAuth = openPersonAuth(secret, (word) => {
    if (usedUp.has(word)) return false
    usedUp.add(word)
    for (const oldest of usedUp) if (usedUp.size > mostUsed) usedUp.delete(oldest)
    return true
  })
  /** Whoever opens the page has it looked at: a project whose store was taken away tells of nothing. */
  const desksNow = (): Operator[] => {
    soon()
    for (const [path, { operator }] of open)
      try {
        isWaiting(operator)
      } catch (thrown) {
        setAside(path, thrown)
      }
    return [...open.values()].map(({ operator }) => operator)
  }
  let page: string | undefined
  const listening = await listen({
    host: '127.0.0.1',
    port,
    allowRemote: false,
    allowOrigins: [],
    requestsPerSecond: loadConfig({ flags: {} }).config.limits.requestsPerSecond,
    peers: openPeers(),
    // Nobody is told it, and it would open nothing.
    token: randomBytes(32).toString('base64url'),
    isPerson: personAuth.isPerson,
    isPersonKey: () => false,
    needs: {
      agent: 'No token opens anything here: this serves a person, who signs in with the link that `handrail desk` prints.',
      person: "This is for the person: sign in with the link that `handrail desk` prints. An agent's token does not open it.",
    },
    page: { name: personAuth.name, basePath: personAuth.basePath, detour },
    routes: { ...signInPages(personAuth, () => page, 'desk'), ...approvalPages(desksNow, personAuth, () => leftOut) },
  })
  page = listening.page
  const release = claimPort(listening.port)
  const stopHearing = hearOfUse(asked, soon, lookEveryMs)
  return {
    url: listening.url,
    link: () => `${page ?? listening.url}/sign-in?key=${signInKey(secret, personAuth.instance)}`,
    projects: () => [...open.keys()],
    async close() {
      closed = true
      stopHearing()
      clearTimeout(timer)
      release()
      await listening.close()
      await looking
      for (const { operator, leave } of open.values()) {
        leave()
        await operator.close()
      }
    },
  }
}
