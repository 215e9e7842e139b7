import { orAborted } from '../text/aborts.ts'
import type { Caller } from '../contracts/call.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { openFairSlots, type FairSlots, type Throttle } from '../text/fair-slots.ts'
import type { Touch } from '../contracts/tool.ts'
import { openPathOrder } from './path-order.ts'

/**
 * `reads`: over in a moment. `changes`: may wait for the project's lock, behind a commit of any length. `waits`: for a page, a search, a pattern.
 * `programs`: as long as they run. Each has slots of its own.
 */
export type Lane = 'reads' | 'changes' | 'waits' | 'programs'

export interface Scheduled {
  caller: Pick<Caller, 'session' | 'peer'>
  lane: Lane
  touches: readonly Touch[]
  signal?: AbortSignal | undefined
}

/** Who goes next: files in the order of their session, slots by turns between clients; no client holds all slots where it could be long. */
export interface PathScheduler {
  run<T>(call: Scheduled, act: () => Promise<T>): Promise<T>
}

/** Looked at each time: they change with the settings. */
export interface SchedulerLimits {
  readonly maxConcurrent: number
  readonly maxPrograms: number
  readonly maxQueued: number
}

/** After so long the rest waits for the next turn of the event loop: ten thousand calls that came together must not be one turn. */
const turnMs = 10

export function openPathScheduler(limits: SchedulerLimits): PathScheduler {
  const order = openPathOrder()
  const waiting = new Map<string, number>()
  const busy = (count: number): Fault =>
    new Fault('busy', `Too many calls at once: ${count} of this client wait already`, {
      details: { busy: true, waiting: count },
      hint: 'Wait for answers before sending more, or raise limits.maxQueued.',
    })
  const open = (slots: () => number, perClient: (slots: number) => number, throttle?: Throttle): FairSlots =>
    openFairSlots({
      get slots() {
        return slots()
      },
      get perClient() {
        return perClient(slots())
      },
      get mostWaiting() {
        return limits.maxQueued
      },
      busy,
      ...(throttle && { throttle }),
    })
  const throttle = openThrottle(turnMs)
  const lanes: Record<Lane, FairSlots> = {
    reads: open(() => limits.maxConcurrent, all, throttle),
    changes: open(() => limits.maxConcurrent, shareOf, throttle),
    waits: open(() => limits.maxConcurrent, shareOf),
    programs: open(() => limits.maxPrograms, shareOf),
  }

  /** For those in front of the same files. They are counted like all others that wait. */
  const inOrder = async (client: string, wait: Promise<void>, signal: AbortSignal | undefined): Promise<void> => {
    const count = waiting.get(client) ?? 0
    if (count >= limits.maxQueued) throw busy(count)
    waiting.set(client, count + 1)
    try {
      await orAborted(wait, signal)
    } finally {
      const left = (waiting.get(client) ?? 1) - 1
      if (left > 0) waiting.set(client, left)
      else waiting.delete(client)
    }
  }

  return {
    async run({ caller, lane, touches, signal }, act) {
      const client = caller.peer ?? caller.session
      const place = order.enter(caller.session, touches)
      try {
        if (place.wait) await inOrder(client, place.wait, signal)
        const slot = lanes[lane].enter(client, signal)
        if (slot) await slot
        try {
          return await act()
        } finally {
          lanes[lane].leave(client)
        }
      } finally {
        place.leave()
      }
    },
  }
}

const all = (slots: number): number => slots

/** A quarter is always left for others. */
function shareOf(slots: number): number {
  return Math.max(1, slots - Math.ceil(slots / 4))
}

/** Counts the time of each turn of the event loop from its first call on. */
function openThrottle(ms: number): Throttle {
  let began: number | undefined
  const acts = new Set<() => void>()
  const next = (): void => {
    began = undefined
    const told = [...acts]
    acts.clear()
    for (const act of told) act()
  }
  return {
    ready() {
      if (began !== undefined) return performance.now() - began < ms
      began = performance.now()
      setImmediate(next)
      return true
    },
    later: (act) => void acts.add(act),
  }
}
