import type { Config } from '../contracts/config.ts'
import type { Extent } from './extent.ts'
import { tooMuch } from './extent.ts'

/** What programs did unasked adds up: little by little, nobody removes or fills a project without a question. */
export interface Unasked {
  /** Why a person is asked about one that is little by itself. */
  tooMuchWith(extent: Extent, policies: Config['policies']): string[]
  add(extent: Extent): void
  /** A person has looked. */
  seen(): void
}

/** Two of these are looked back at most, one at least. */
const periodMs = 1_800_000
/** So many programs as large as may be, within that time. */
const times = 10

const none: Extent = { removals: 0, files: 0, bytes: 0 }

/** Counted for all agents of this process together: whoever opens another session begins no new count. */
export function openUnasked(now: () => number = Date.now): Unasked {
  let began = now()
  let before = none
  let since = none
  const turn = (): void => {
    const periods = Math.floor((now() - began) / periodMs)
    // A clock that was set back is none to count by: nothing is forgotten.
    if (periods < 1) return
    before = periods === 1 ? since : none
    since = none
    began += periods * periodMs
  }
  return {
    tooMuchWith(extent, policies) {
      turn()
      const most = {
        ...policies,
        unaskedRemovals: policies.unaskedRemovals * times,
        unaskedFiles: policies.unaskedFiles * times,
        unaskedBytes: policies.unaskedBytes * times,
      }
      const all = together(together(before, since), extent)
      return tooMuch(all, most).map((why) => `${why}, together with what programs did unasked within the hour`)
    },
    add(extent) {
      turn()
      since = together(since, extent)
    },
    seen() {
      before = none
      since = none
    },
  }
}

function together(a: Extent, b: Extent): Extent {
  return { removals: a.removals + b.removals, files: a.files + b.files, bytes: a.bytes + b.bytes }
}
