import { Fault } from '../../contracts/faults/fault.ts'
import { openSerialQueue } from '../../text/serial-queue.ts'
import { onAbort } from '../../text/aborts.ts'
import { inTime } from '../../text/in-time.ts'
import type { Browser } from './browser.ts'
import type { ConfinedContext } from './confined-context.ts'
import { internetOnly, isNear, theseOnly } from './network-scope.ts'
import { openTab, type Tab } from './tab.ts'

/** A tab an agent works in, from call to call. */
export interface AgentTab {
  readonly id: string
  readonly tab: Tab
  /** What it said when it was looked at last, so that only what is new needs to be told. */
  last: string
}

export interface AgentTabs {
  /**
   * Does something in a tab, one thing at a time: the one named, else the one used last. With a host it is opened where there is none, and
   * made anew where it comes from the internet to this machine or the other way round: their pages never meet.
   */
  withTab<T>(
    wanted: { session: string; tab?: string; host?: string; isNew?: boolean; withinMs: number; signal?: AbortSignal | undefined },
    act: (tab: AgentTab) => Promise<T>,
  ): Promise<T>
  list(session: string): Promise<{ id: string; url: string; title: string; active: boolean }[]>
  select(session: string, id: string): Promise<void>
  closeTab(session: string, id: string): Promise<void>
  close(): Promise<void>
}

const mostSessions = 6
const mostTabs = 5
/** Tabs nobody used for so long are closed. */
const idleMs = 600_000
const titleMs = 1_000
/** How long a tab may go on with a call that was cancelled or ran out of time: a page comes to rest in less. */
const endMs = 6_000

interface Place {
  tabs: Map<string, Kept>
  active: string | undefined
  made: number
  contexts: Map<'near' | 'far', { opening: Promise<ConfinedContext>; visited: Set<string> }>
  inTurn: ReturnType<typeof openSerialQueue>
  idle: NodeJS.Timeout | undefined
}
type Kept = AgentTab & { side: 'near' | 'far' }

export function openAgentTabs(
  browser: Browser,
  rules: { allows: (host: string) => boolean; forbids: (host: string) => boolean },
): AgentTabs {
  const places = new Map<string, Place>()

  const leave = async (session: string): Promise<void> => {
    const place = places.get(session)
    if (!place) return
    places.delete(session)
    clearTimeout(place.idle)
    for (const { opening } of place.contexts.values())
      await opening.then(
        (context) => context.close(),
        () => undefined,
      )
  }
  const placeOf = (session: string): Place => {
    const place: Place = places.get(session) ?? {
      tabs: new Map(),
      active: undefined,
      made: 0,
      contexts: new Map(),
      inTurn: openSerialQueue(),
      idle: undefined,
    }
    // Last in line: the one at the front has been quiet the longest.
    places.delete(session)
    places.set(session, place)
    clearTimeout(place.idle)
    place.idle = setTimeout(() => void leave(session), idleMs).unref()
    const [oldest] = places.keys()
    if (places.size > mostSessions && oldest !== undefined) void leave(oldest)
    return place
  }
  const contextOf = async (place: Place, side: 'near' | 'far', host: string, holder: string): Promise<ConfinedContext> => {
    let known = place.contexts.get(side)
    if (!known) {
      const visited = new Set<string>()
      const { mayReach } =
        side === 'far'
          ? internetOnly(rules.forbids)
          : theseOnly((asked) => !rules.forbids(asked) && (rules.allows(asked) || visited.has(asked)))
      known = { opening: browser.openContext({ mayReach }, { holder }), visited }
      const mine = known
      const forget = (): void => {
        if (place.contexts.get(side) === mine) place.contexts.delete(side)
      }
      known.opening.then(({ context }) => void context.once('close', forget), forget)
      place.contexts.set(side, known)
    }
    known.visited.add(host)
    return known.opening
  }
  const tabFor = async (
    place: Place,
    wanted: { session: string; tab?: string; host?: string; isNew?: boolean },
  ): Promise<Kept> => {
    const id = wanted.isNew ? undefined : (wanted.tab ?? place.active)
    const known = id === undefined ? undefined : place.tabs.get(id)
    if (wanted.tab !== undefined && !known) throw noTab(wanted.tab)
    if (known?.tab.page.isClosed()) place.tabs.delete(known.id)
    const living = known && !known.tab.page.isClosed() ? known : undefined
    if (wanted.host === undefined) {
      if (living) return living
      throw noTab(id)
    }
    const side = isNear(wanted.host) ? 'near' : 'far'
    if (living?.side === side) {
      await contextOf(place, side, wanted.host, wanted.session)
      return living
    }
    if (!known && place.tabs.size >= mostTabs)
      throw new Fault('busy', `${mostTabs} tabs are open`, {
        hint: (name) => `Close one with ${name('page_tabs')}, or use one that is open.`,
      })
    await living?.tab.close()
    const confined = await contextOf(place, side, wanted.host, wanted.session)
    const tab = await confined.answered(openTab(confined.context))
    const opened: Kept = { id: known?.id ?? `tab${(place.made += 1)}`, side, last: '', tab }
    place.tabs.set(opened.id, opened)
    return opened
  }

  const remove = async (place: Place, { id, tab }: Kept): Promise<void> => {
    place.tabs.delete(id)
    if (place.active === id) place.active = [...place.tabs.keys()].at(-1)
    await tab.close()
  }

  return {
    withTab(wanted, act) {
      const place = placeOf(wanted.session)
      return place.inTurn(async () => {
        const { signal, withinMs } = wanted
        // Whoever gave up in the queue does nothing any more.
        signal?.throwIfAborted()
        const tab = await tabFor(place, wanted)
        signal?.throwIfAborted()
        place.active = tab.id
        // A page that hangs would keep all the others of its session waiting.
        const drop = (): void => void remove(place, tab)
        const acting = inTime(act(tab), withinMs, () => {
          drop()
          return noAnswer(withinMs)
        })
        const quiet = acting.catch(() => undefined)
        const stopListening = onAbort(signal, () => {
          // Nobody waits for it any more; what is not over soon is not going to be.
          void inTime(quiet, endMs, () => new Error('it goes on')).catch(drop)
        })
        return acting.finally(stopListening)
      })
    },
    async list(session) {
      const place = places.get(session)
      return Promise.all(
        [...(place?.tabs.values() ?? [])]
          .filter(({ tab }) => !tab.page.isClosed())
          .map(async ({ id, tab }) => ({
            id,
            url: tab.page.url(),
            title: (await inTime(tab.page.title(), titleMs, Error).catch(() => '')).slice(0, 200),
            active: id === place?.active,
          })),
      )
    },
    async select(session, id) {
      const place = places.get(session)
      if (!place?.tabs.has(id)) throw noTab(id)
      place.active = id
    },
    async closeTab(session, id) {
      const place = places.get(session)
      const kept = place?.tabs.get(id)
      if (!place || !kept) throw noTab(id)
      await remove(place, kept)
    },
    async close() {
      await Promise.all([...places.keys()].map(leave))
    },
  }
}

function noAnswer(ms: number): Fault {
  return new Fault('page-timeout', `The page took longer than ${ms} ms, and was closed`, {
    details: { timeoutMs: ms },
    hint: (name) => `Open it again with ${name('page_navigate')}.`,
  })
}

function noTab(id: string | undefined): Fault {
  return new Fault('session-not-found', id === undefined ? 'No page is open' : `There is no tab ${id.slice(0, 40)}`, {
    hint: (name) =>
      `Open a page with ${name('page_navigate')}; ${name('page_tabs')} lists those that are open. Tabs nobody uses are closed after ten minutes.`,
  })
}
