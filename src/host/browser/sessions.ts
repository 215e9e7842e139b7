import { availableParallelism } from 'node:os'
import { openFairSlots } from '../../text/fair-slots.ts'
import type { Browser } from './browser.ts'
import type { StoredState } from './confined-context.ts'
import { leasedPage, type LeasedPage } from './leased-page.ts'
import { noSession, notOpened, tooMany, within } from './lending-faults.ts'
import { internetOnly, isNear, theseOnly } from './network-scope.ts'
import { stateOf, type Half, type Session, type Side, type Taken } from './session-state.ts'
import { openTab, type Tab } from './tab.ts'
import { openTurns } from './turns.ts'

/** Whose pages, and where they may go. */
export interface Wanted {
  /** Pages of one session share cookies and storage, and no other's. */
  session: string
  /** Whose it is: whoever used it first, and nobody else. */
  owner: string
  /** Whose turn it takes, where pages are few. */
  client: string
  /** Where there is no such session yet, this is its first use. */
  mayBegin: boolean
  /** The host of the first address: pages of this machine and pages of the internet never meet. */
  host: string
  /** Hosts a page may be sent to, redirects included, as `plainHost` writes them. */
  mayVisit(host: string): boolean
  /** Longest a page may take to load, and all that is done with it. */
  timeoutMs: number
  withinMs: number
  signal: AbortSignal
}

export interface BrowserSessions {
  /** Lends a page for as long as the act takes, and never longer than its time. */
  withPage<T>(wanted: Wanted, act: (page: LeasedPage) => Promise<T>): Promise<T>
  /** From now on only time ends it; what it is known by at its sites survives its browser. Where it is saved, the process as well. */
  keep(session: string, how?: { save?: (state: StoredState) => boolean }): Promise<{ cookies: number }>
  /** Of a login that was saved: whether somebody may use it now, or once a person agreed. */
  savedFor(session: string, owner: string): Promise<'now' | 'asks' | undefined>
  /** Whose it is; undefined where there is none that is kept. */
  creatorOf(session: string): Promise<string | undefined>
  /** Its pages are closed, its cookies forgotten; one that is kept stays. */
  end(session: string): Promise<void>
  /** What is open at this moment. */
  count(): { sessions: number; contexts: number; pages: number }
  close(): Promise<void>
}

/** Where logins that outlive the process are kept, and who may use them. */
export interface SavedStates {
  load(id: string, owner: string): unknown
  refresh(id: string, state: unknown): void
  standing(id: string, session: string): 'now' | 'asks' | undefined
}

/** Pages that stay open, for all sessions together: more only make each of them slower. */
const mostPages = 8
/** Pages that are lent at once, in all and to one client: pages that hang are not in another's way. */
const mostLent = 12
const mostLentToOne = 8
const mostWaiting = 5_000
/** A page of this machine is made by its own processors: more of them at once than those can do only make each of them slower. */
const nearAtOnce = Math.max(2, availableParallelism())
const patienceMs = 500
/** A session nobody used for so long is closed, and so is the one that was quiet the longest where there are more than these. */
const idleMs = 3_600_000
const mostSessions = 40

export function openBrowserSessions(
  browser: Browser,
  rules: { allows: (host: string) => boolean; forbids: (host: string) => boolean },
  logins: SavedStates,
): BrowserSessions {
  const sessions = new Map<string, Session>()
  const slots = openFairSlots({ slots: mostLent, perClient: mostLentToOne, mostWaiting, busy: tooMany })
  const turns = openTurns(nearAtOnce, patienceMs)
  let open = 0

  /** Each client that may use a saved login has a session of its own with it. */
  const keyOf = (id: string, owner: string): string => {
    const known = sessions.get(id)
    const isOthers = known ? known.owner !== owner && known.login !== undefined : true
    return isOthers && logins.standing(id, owner) === 'now' ? `${id} of ${owner}` : id
  }
  const begin = (owner: string): Session => ({ owner, kept: false, halves: new Map(), leases: 0, idle: undefined })
  const withLogin = (id: string, owner: string): Session | undefined => {
    const state = logins.load(id, owner) as StoredState | undefined
    return state && { ...begin(owner), kept: true, state, login: { id, written: JSON.stringify(state) } }
  }
  const sessionOf = (id: string, login: string, owner: string, mayBegin: boolean): Session => {
    const known = sessions.get(id) ?? withLogin(login, owner) ?? (mayBegin ? begin(owner) : undefined)
    if (!known) throw noSession(login)
    if (known.login && known.owner === owner && logins.standing(login, owner) !== 'now') {
      // A person removed it.
      void close(id)
      throw noSession(login)
    }
    // Whose it is not, need not learn that it is there.
    if (known.owner !== owner) throw noSession(id)
    // Last in line: the one at the front has been quiet the longest.
    sessions.delete(id)
    sessions.set(id, known)
    if (sessions.size > mostSessions) {
      const quiet = [...sessions].filter(([one, { leases }]) => leases === 0 && one !== id)
      // A login that is kept goes last: it cannot be begun anew without a person.
      const [first] = quiet.find(([, { kept }]) => !kept) ?? quiet[0] ?? []
      if (first !== undefined) void close(first)
    }
    return known
  }
  const closeTab = async (tab: Tab): Promise<void> => {
    open--
    await tab.close()
  }
  const halfOf = (session: Session, side: Side): Half => {
    const known = session.halves.get(side)
    if (known) return known
    const visited = new Set<string>()
    const scope =
      side === 'far'
        ? internetOnly(rules.forbids)
        : theseOnly((host) => !rules.forbids(host) && (rules.allows(host) || visited.has(host)))
    const opening = browser.openContext(scope, { state: session.state, holder: session.owner }).then(async (confined) => {
      await confined.answered(confined.context.addInitScript(noDialogs))
      return confined
    })
    const half: Half = { opening, free: [], visited }
    session.halves.set(side, half)
    const forget = (): void => {
      if (session.halves.get(side) === half) session.halves.delete(side)
      empty(half)
    }
    half.opening.then(({ context, close }) => {
      // Its browser ended, or it was closed: the next page of this session begins anew.
      context.once('close', () => {
        forget()
        void close()
      })
    }, forget)
    return half
  }
  /** Its context is closed, and its pages with it. */
  const empty = (half: Half): void => {
    open -= half.free.length
    half.free = []
  }
  /** One that nobody uses goes, so that another can be opened. */
  const makeRoom = async (): Promise<void> => {
    while (open >= mostPages) {
      const half = [...sessions.values()].flatMap(({ halves }) => [...halves.values()]).find(({ free }) => free.length > 0)
      const tab = half?.free.shift()
      if (!tab) return
      await closeTab(tab)
    }
  }
  const take = async (session: Session, side: Side): Promise<Taken> => {
    const half = halfOf(session, side)
    const confined = await half.opening
    const kept = half.free.pop()
    if (kept?.isFit()) return { tab: kept, half, confined }
    if (kept) void closeTab(kept)
    await makeRoom()
    open++
    try {
      return { tab: await confined.answered(openTab(confined.context)), half, confined }
    } catch (cause) {
      open--
      throw cause
    }
  }
  const giveBack = async ({ half, tab }: Taken, whole: boolean): Promise<void> => {
    if (whole && tab.isFit()) half.free.push(tab)
    else await closeTab(tab)
  }
  /** Sites change what they know somebody by. A session whose browser ended stays as it was. */
  const writeDown = async (session: Session): Promise<void> => {
    const { login } = session
    if (!login || session.halves.size === 0) return
    const state = await stateOf(session).catch(() => undefined)
    const text = JSON.stringify(state)
    if (!state || text === login.written || logins.standing(login.id, session.owner) !== 'now') return
    login.written = text
    session.state = state
    logins.refresh(login.id, state)
  }
  const close = async (id: string): Promise<void> => {
    const session = sessions.get(id)
    if (!session) return
    sessions.delete(id)
    clearTimeout(session.idle)
    await writeDown(session).catch(() => undefined)
    for (const half of session.halves.values()) {
      empty(half)
      await half.opening.then(
        ({ close }) => close(),
        () => undefined,
      )
    }
  }
  const restLater = (id: string, session: Session): void => {
    clearTimeout(session.idle)
    if (session.leases === 0 && sessions.get(id) === session) session.idle = setTimeout(() => void close(id), idleMs).unref()
  }

  return {
    async withPage<Result>(wanted: Wanted, act: (page: LeasedPage) => Promise<Result>): Promise<Result> {
      const until = AbortSignal.any([wanted.signal, AbortSignal.timeout(wanted.withinMs)])
      const side: Side = isNear(wanted.host) ? 'near' : 'far'
      const id = keyOf(wanted.session, wanted.owner)
      const session = sessionOf(id, wanted.session, wanted.owner, wanted.mayBegin)
      session.leases++
      try {
        await slots.enter(wanted.client, wanted.signal)
      } catch (fault) {
        session.leases--
        throw fault
      }
      const taking = take(session, side)
      let giveTurn: (() => void) | undefined
      let whole = false
      const work = async (): Promise<Result> => {
        const { tab, half, confined } = await taking.catch((cause: unknown) => {
          throw notOpened(cause)
        })
        half.visited.add(wanted.host)
        const leave = { mayVisit: wanted.mayVisit, timeoutMs: wanted.timeoutMs }
        const turn = side === 'near' ? await turns.take() : undefined
        // Nobody waits for it any more.
        if (until.aborted) turn?.()
        until.throwIfAborted()
        giveTurn = turn
        return act(leasedPage(tab, confined.refused, leave))
      }
      try {
        const done = await within(until, wanted, work())
        whole = true
        return done
      } finally {
        session.leases--
        // Also where the time was up while it was still being opened: nobody waits for that.
        const back = taking.then(
          (taken) => giveBack(taken, whole),
          () => undefined,
        )
        if (whole) await back
        restLater(id, session)
        if (session.leases === 0) void writeDown(session).catch(() => undefined)
        giveTurn?.()
        slots.leave(wanted.client)
      }
    },
    async keep(id, { save } = {}) {
      const session = sessions.get(id)
      if (!session) throw noSession(id)
      const state = await stateOf(session)
      session.state = state
      session.kept = true
      if (save?.(state)) session.login = { id, written: JSON.stringify(state) }
      return { cookies: state.cookies.length }
    },
    savedFor: async (id, owner) => logins.standing(id, owner),
    async creatorOf(id) {
      const session = sessions.get(id)
      return session?.kept === true ? session.owner : undefined
    },
    async end(id) {
      if (!sessions.get(id)?.kept) await close(id)
    },
    count: () => ({
      sessions: sessions.size,
      contexts: [...sessions.values()].reduce((sum, { halves }) => sum + halves.size, 0),
      pages: open,
    }),
    async close() {
      await Promise.all([...sessions.keys()].map(close))
    },
  }
}

/** Nobody is there to answer: a page that asks a thousand times has its answers at once. */
const noDialogs = `alert = () => undefined; confirm = () => false; prompt = () => null; print = () => undefined`
