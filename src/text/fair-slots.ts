import { onAbort } from './aborts.ts'

/** A bounded number of places that several clients share. */
export interface FairSlots {
  /** Takes a place: nothing where one is free, else what to wait for. Throws where this client waits too often already. */
  enter(client: string, signal?: AbortSignal): Promise<void> | undefined
  leave(client: string): void
}

/** Looked at each time: they change with the settings. */
export interface SlotLimits {
  /** Places there are. */
  slots: number
  /** Places one client may hold at once. */
  perClient: number
  /** Calls of one client that may wait. */
  mostWaiting: number
  /** What one more is told. */
  busy: (waiting: number) => Error
  /** For what is done on the event loop itself, so that many that came together are not one turn of it. */
  throttle?: Throttle
}

export interface Throttle {
  /** Whether there is time left in this turn of the event loop. */
  ready(): boolean
  /** Does it in the next turn. */
  later(act: () => void): void
}

interface Waiting {
  start: () => void
}

interface Client {
  active: number
  waiting: Set<Waiting>
}

/** However many clients there are, no more wait in all than this many times what one may. */
const crowd = 4
/** Clients that have nothing to do are known a while longer: most calls come alone, one after the other. */
const mostKnown = 64

/**
 * Whoever waits is let in by turns, one call of each client after one of the next, so that it does not matter to the others how
 * many of them one client has. No client holds all places while there are others than it could use.
 */
export function openFairSlots(limits: SlotLimits): FairSlots {
  const { busy, throttle } = limits
  /** The one in front is next; whoever was let in, or has left, goes to the end. */
  const clients = new Map<string, Client>()
  let active = 0
  let waitingInAll = 0

  const mayEnter = (client: Client | undefined): boolean => active < limits.slots && (client?.active ?? 0) < limits.perClient
  const known = (name: string): Client => {
    const client = clients.get(name) ?? { active: 0, waiting: new Set<Waiting>() }
    clients.set(name, client)
    return client
  }
  const forget = (name: string, client: Client): void => {
    if (clients.size > mostKnown && client.active === 0 && client.waiting.size === 0) clients.delete(name)
  }
  const toTheEnd = (name: string, client: Client): void => {
    clients.delete(name)
    clients.set(name, client)
  }
  const startNext = (): void => {
    if (waitingInAll === 0 || active >= limits.slots) return
    for (const [name, client] of clients) {
      if (client.waiting.size === 0 || !mayEnter(client)) continue
      if (throttle && !throttle.ready()) return throttle.later(startNext)
      const [next] = client.waiting
      client.waiting.delete(next as Waiting)
      waitingInAll--
      active++
      client.active++
      toTheEnd(name, client)
      ;(next as Waiting).start()
      // How long it takes shows only once it runs.
      return throttle ? throttle.later(startNext) : startNext()
    }
  }
  const queue = (name: string, signal: AbortSignal | undefined): Promise<void> => {
    const client = known(name)
    const others = [...clients.values()].filter((one) => one.waiting.size > 0 && one !== client).length
    const { mostWaiting } = limits
    const share = Math.max(1, Math.min(mostWaiting, Math.floor((crowd * mostWaiting) / (others + 1))))
    if (client.waiting.size >= share) throw busy(client.waiting.size)
    return new Promise<void>((resolve, reject) => {
      const stop = (): void => {
        client.waiting.delete(one)
        waitingInAll--
        forget(name, client)
        reject(signal?.reason as Error)
      }
      const one: Waiting = {
        start() {
          stopListening()
          resolve()
        },
      }
      const stopListening = onAbort(signal, stop)
      client.waiting.add(one)
      waitingInAll++
      startNext()
    })
  }

  return {
    enter(name, signal) {
      signal?.throwIfAborted()
      if (waitingInAll > 0 || !mayEnter(clients.get(name)) || throttle?.ready() === false) return queue(name, signal)
      active++
      known(name).active++
      return undefined
    },
    leave(name) {
      const client = clients.get(name)
      if (!client) return
      active--
      client.active--
      if (waitingInAll > 0) toTheEnd(name, client)
      forget(name, client)
      startNext()
    },
  }
}
