import { onAbort } from '../text/aborts.ts'
import type { ApprovalState } from '../contracts/approval.ts'
import type { AuditStream } from '../contracts/audit.ts'
import { Fault } from '../contracts/faults/fault.ts'

/** A line about a decision is in the log just before the decision is in the store: so long it is looked for at most. */
const storeMs = 20_000
const longestMs = 2 ** 31 - 1

/**
 * Waits until a question no longer stands, whoever answers it in whichever process, or until a time. Every line of the log that is no read
 * may be about it, so each of them is a reason to look; nothing runs in between.
 */
export function awaitDecision(
  audit: AuditStream,
  state: () => ApprovalState | undefined,
  { id, until = Number.POSITIVE_INFINITY }: { id: string; until?: number },
  signal: AbortSignal | undefined,
): Promise<void> {
  if (until <= Date.now()) return Promise.resolve()
  return new Promise((resolve, reject) => {
    let over = false
    let timer: NodeJS.Timeout | undefined
    let again: NodeJS.Timeout | undefined
    let stopListening: (() => void) | undefined
    const end = (): void => {
      over = true
      stop()
      clearTimeout(timer)
      clearTimeout(again)
      stopListening?.()
    }
    const fail = (fault: unknown): void => {
      end()
      reject(fault as Error)
    }
    const look = (): void => {
      if (over) return
      try {
        if (state() === 'pending' && Date.now() < until) return
      } catch (fault) {
        return fail(fault)
      }
      end()
      resolve()
    }
    /** Now and after 1, 2, 4… ms: a decision whose line is there may still be on its way into the store. */
    const lookOften = (): void => {
      const before = Date.now() + storeMs
      const next = (ms: number): void => {
        clearTimeout(again)
        look()
        if (!over && Date.now() < before) again = setTimeout(next, ms, ms * 2).unref()
      }
      next(1)
    }
    const wait = (): void => {
      if (until === Number.POSITIVE_INFINITY) return
      timer = setTimeout(
        () => {
          look()
          if (!over) wait()
        },
        Math.min(longestMs, Math.max(1, until - Date.now())),
      )
    }
    const changes = (event: string): boolean => event !== 'call.read'
    const stop = audit.subscribe({ events: changes, onLost: lookOften, onEnd: () => fail(closed()) }, (lines) => {
      if (lines.some((line) => line.approval === id && line.event === 'approval.decided')) lookOften()
      else if (lines.length > 0) look()
    })
    stopListening = onAbort(signal, () => fail(signal?.reason))
    if (over) return
    wait()
    // What was answered just before anybody listened.
    lookOften()
  })
}

function closed(): Fault {
  return new Fault('io', 'Handrail was closed here while this call waited for an answer', {
    hint: 'The question stands, and an answer to it is kept: make the same call again.',
  })
}
