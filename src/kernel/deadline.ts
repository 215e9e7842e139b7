import { ToolError } from '../contracts/errors.ts'

export interface Deadline {
  signal(): AbortSignal
  within<T>(doing: Promise<T>): Promise<T>
  done(): void
}

/** A time limit that costs nothing until somebody waits. */
export function deadline(ms: number, outer: AbortSignal | undefined): Deadline {
  let controller: AbortController | undefined
  let timer: NodeJS.Timeout | undefined
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
        if (limit.aborted) reject(limit.reason as Error)
        limit.addEventListener('abort', () => reject(limit.reason as Error), { once: true })
        doing.then(resolve, reject)
      }),
    done: () => clearTimeout(timer),
  }
}
