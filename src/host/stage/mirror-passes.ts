import { setImmediate as turn, setTimeout as pause } from 'node:timers/promises'
import { polled } from '../inotify-pressure.ts'

/** Of the time at most a fifth goes into it, however much is changed. */
const restFor = 4
const longestRestMs = 5_000

/** When a mirror is brought up to date: in passes, one after the other, with rests between them. */
export interface Passes {
  /** From now on: before, whoever makes the first copy does so in his own time. */
  begin(): void
  /** Something is due. */
  wake(): void
  /** All that was due by now has been done. */
  caughtUp(): Promise<void>
  close(): void
}

export interface PassParts {
  isDue: () => boolean
  pass: () => Promise<void>
  onFailed: (fault: Error) => void
}

export function openPasses({ isDue, pass, onFailed }: PassParts): Passes {
  let [begun, closed, failed] = [false, false, false]
  let working: Promise<void> | undefined
  let hurry = new AbortController()
  const afterPass: (() => void)[] = []
  const tellAll = (): void => {
    for (const tell of afterPass.splice(0)) tell()
  }
  const work = async (): Promise<void> => {
    while (!closed && isDue()) {
      const began = performance.now()
      await pass()
      tellAll()
      const rest = Math.min(longestRestMs, (performance.now() - began) * restFor)
      await pause(rest, undefined, { ref: false, signal: hurry.signal }).catch(() => undefined)
    }
  }
  const wake = (): void => {
    if (!begun || closed || failed || working) return
    working = turn()
      .then(work)
      .catch((fault: Error) => {
        failed = true
        if (!closed) onFailed(fault)
      })
      .finally(() => {
        working = undefined
        tellAll()
        // Heard between the last look and now.
        if (isDue()) wake()
      })
  }
  return {
    begin() {
      begun = true
      wake()
    },
    wake,
    async caughtUp() {
      // What the system has to say is heard between two turns; that it was too much is known at the end of one.
      await polled()
      await turn()
      // One pass may have begun before; the next one has all of it, whatever has changed since.
      for (let passes = 2; passes > 0 && working && !closed; passes--) {
        const over = new Promise<void>((resolve) => void afterPass.push(resolve))
        hurry.abort()
        hurry = new AbortController()
        await over
      }
    },
    close() {
      closed = true
      hurry.abort()
      tellAll()
    },
  }
}
