import { ToolError } from '../contracts/errors.ts'

export interface Deadline {
  signal(): AbortSignal
  within<T>(doing: Promise<T>): Promise<T>
  /** What has begun to change the world is waited for, however late: an answer that says otherwise would be a lie. */
  finishing<T>(doing: Promise<T>): Promise<T>
  done(): void
}

/** A time limit that costs nothing until somebody waits. */
export function deadline(ms: number, outer: AbortSignal | undefined): Deadline {
  let controller: AbortController | undefined
  let timer: NodeJS.Timeout | undefined
  let last: Promise<unknown> | undefined
  const signal = (): AbortSignal => {
    if (controller) return controller.signal
    const made = (controller = new AbortController())
    timer = setTimeout(
      () =>
        made.abort(
          new ToolError('E_TIMEOUT', `The call took longer than ${ms} ms`, {
            hint: 'Ask for less at once, or raise limits.callTimeoutMs.',
          }),
        ),
      ms,
    )
    if (outer?.aborted) made.abort(outer.reason)
    else outer?.addEventListener('abort', () => made.abort(outer.reason), { once: true })
    return made.signal
  }
  return {
    signal,
    within: (doing) =>
      new Promise((resolve, reject) => {
        const limit = signal()
        const late = async (): Promise<void> => {
          // Then what comes of it has a turn to be answered first.
          if (last) await last.then(() => new Promise((turn) => setImmediate(turn)))
          reject(limit.reason as Error)
        }
        if (limit.aborted) void late()
        limit.addEventListener('abort', () => void late(), { once: true })
        doing.then(resolve, reject)
      }),
    finishing(doing) {
      last = doing.catch(() => undefined)
      return doing
    },
    done: () => clearTimeout(timer),
  }
}
