import { onAbort } from '../text/aborts.ts'
import { Fault } from '../contracts/faults/fault.ts'

export interface Deadline {
  signal(): AbortSignal
  within<T>(doing: Promise<T>): Promise<T>
  /** For what goes the road itself and hears of the end there: it has a while to say what it had done by then. */
  settling<T>(doing: Promise<T>): Promise<T>
  /** What has begun to change the world is waited for, however late: an answer that says otherwise would be a lie. */
  finishing<T>(doing: Promise<T>): Promise<T>
  /** Over, one way or the other: nothing of it stays on the signal of the caller. */
  done(): void
}

/** What a call that is over its time gets to say what it did. */
const graceMs = 1_000
/** What a call that is made of others gets until those have ended: a program is killed within two seconds. */
const settleMs = 5_000

/** A time limit that costs nothing until somebody waits. */
export function deadline(ms: number, outer: AbortSignal | undefined, late = tooLate): Deadline {
  let controller: AbortController | undefined
  let timer: NodeJS.Timeout | undefined
  let last: Promise<unknown> | undefined
  const pass = (): void => controller?.abort(outer?.reason)
  let stopListening: (() => void) | undefined
  let grace: NodeJS.Timeout | undefined
  const signal = (): AbortSignal => {
    if (controller) return controller.signal
    const made = (controller = new AbortController())
    if (Number.isFinite(ms)) timer = setTimeout(() => made.abort(late(ms)), ms)
    stopListening = onAbort(outer, pass)
    return made.signal
  }
  return {
    signal,
    within: (doing) =>
      new Promise((resolve, reject) => {
        const limit = signal()
        const stop = async (): Promise<void> => {
          // Then what came of it has a moment to be answered.
          if (last) await last.then(() => new Promise((over) => (grace = setTimeout(over, graceMs).unref())))
          reject(limit.reason as Error)
        }
        const deaf = onAbort(limit, () => void stop())
        void doing.then(resolve, reject).finally(deaf)
      }),
    settling: (doing) =>
      new Promise((resolve, reject) => {
        const limit = signal()
        const deaf = onAbort(limit, () => {
          grace = setTimeout(() => reject(limit.reason as Error), settleMs).unref()
        })
        void doing.then(resolve, reject).finally(deaf)
      }),
    finishing(doing) {
      last = doing.catch(() => undefined)
      return doing
    },
    done() {
      clearTimeout(timer)
      stopListening?.()
      clearTimeout(grace)
    },
  }
}

function tooLate(ms: number): Fault {
  return new Fault('timeout', `The call took longer than ${ms} ms`, {
    hint: 'Ask for less at once, or raise limits.callTimeoutMs.',
  })
}
