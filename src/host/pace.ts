import { setImmediate as nextTurn } from 'node:timers/promises'

/** Longest stretch one piece of work may keep other calls waiting. */
export const turnMs = 8

/** Long work in steps: between them everybody else has a turn, and a call that was ended or ran out of time goes no further. */
export interface Pace {
  /** Whether this stretch was long enough; cheap enough to be asked for every line. */
  due(): boolean
  turn(): Promise<void>
}

export function openPace(signal?: AbortSignal): Pace {
  let since = performance.now()
  return {
    due: () => performance.now() - since > turnMs,
    async turn() {
      await nextTurn()
      signal?.throwIfAborted()
      since = performance.now()
    },
  }
}

const chunk = 2_048

/** Sorts in place, in steps. */
export async function sortInSteps<T>(list: T[], compare: (one: T, other: T) => number, pace: Pace): Promise<void> {
  if (list.length <= chunk) return void list.sort(compare)
  for (let from = 0; from < list.length; from += chunk) {
    const part = list.slice(from, from + chunk).sort(compare)
    for (let index = 0; index < part.length; index++) list[from + index] = part[index] as T
    if (pace.due()) await pace.turn()
  }
  for (let size = chunk; size < list.length; size *= 2)
    for (let from = 0; from + size < list.length; from += 2 * size) await merge(list, from, size, compare, pace)
}

async function merge<T>(list: T[], from: number, size: number, compare: (one: T, other: T) => number, pace: Pace): Promise<void> {
  const left = list.slice(from, from + size)
  const right = list.slice(from + size, from + 2 * size)
  let [l, r] = [0, 0]
  for (let at = from; l < left.length || r < right.length; at++) {
    const takeLeft = r >= right.length || (l < left.length && compare(left[l] as T, right[r] as T) <= 0)
    list[at] = takeLeft ? (left[l++] as T) : (right[r++] as T)
    if (at % chunk === 0 && pace.due()) await pace.turn()
  }
}
