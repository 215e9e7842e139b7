import { inTime } from '../../text/in-time.ts'
import type { ConfinedContext, StoredState } from './confined-context.ts'
import { pageTimeout } from './faults.ts'
import { isNear } from './network-scope.ts'
import type { Tab } from './tab.ts'

/** One half of a session. A page of the internet reaches nothing of this machine or its network, a page of this machine only what it was let visit. */
export type Side = 'near' | 'far'

export interface Half {
  opening: Promise<ConfinedContext>
  /** The one that was used last is last. */
  free: Tab[]
  visited: Set<string>
}

export interface Taken {
  tab: Tab
  half: Half
  confined: ConfinedContext
}

export interface Session {
  owner: string
  kept: boolean
  halves: Map<Side, Half>
  state?: StoredState
  /** The login it goes by, as it was written down last. */
  login?: { id: string; written: string }
  leases: number
  idle: NodeJS.Timeout | undefined
}

const nothing: StoredState = { cookies: [], origins: [] }

/** How long a session may take to tell what it is known by: a page that hangs does not. */
const tellMs = 5_000

/** What a session is known by at its sites, as it stands now. */
export async function stateOf(session: Pick<Session, 'halves' | 'state'>): Promise<StoredState> {
  // Both halves begin with all of it; what has changed since stands in the one whose sites it is of.
  const states = await Promise.all(
    (['near', 'far'] as const).map(async (side) => {
      const { cookies, origins } = await tellOf(session.halves.get(side), session.state ?? nothing)
      const isOf = (host: string): boolean => isNear(host) === (side === 'near')
      return {
        cookies: cookies.filter(({ domain }) => isOf(domain.replace(/^\./, ''))),
        origins: origins.filter(({ origin }) => isOf(new URL(origin).hostname)),
      }
    }),
  )
  return { cookies: states.flatMap(({ cookies }) => cookies), origins: states.flatMap(({ origins }) => origins) }
}

async function tellOf(half: Half | undefined, known: StoredState): Promise<StoredState> {
  if (!half) return known
  const { context } = await half.opening
  return inTime(context.storageState(), tellMs, () => pageTimeout('what the session is known by'))
}
