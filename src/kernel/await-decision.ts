import { onAbort } from '../text/aborts.ts'
import { isAnswerTo } from '../text/is-answer-to.ts'
import { pollWithBackoff } from '../text/poll-with-backoff.ts'
import type { ApprovalState } from '../contracts/approval.ts'
import type { AuditStream } from '../contracts/audit.ts'
import { closed } from './question-faults.ts'

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
    let stopLooking: (() => void) | undefined
    let stopListening: (() => void) | undefined
    const end = (): void => {
      over = true
      stop()
      clearTimeout(timer)
      stopLooking?.()
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
    const lookAgain = (): void => {
      stopLooking?.()
      stopLooking = pollWithBackoff(() => {
        look()
        return over
      })
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
    const stop = audit.subscribe({ events: changes, onLost: lookAgain, onEnd: () => fail(closed()) }, (lines) => {
      if (lines.some((line) => isAnswerTo(id, line))) lookAgain()
      else if (lines.length > 0) look()
    })
    stopListening = onAbort(signal, () => fail(signal?.reason))
    if (over) return
    wait()
    // What was answered just before anybody listened.
    lookAgain()
  })
}
