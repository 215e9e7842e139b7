import { Fault } from '../../contracts/faults/fault.ts'
import { onAbort } from '../../text/aborts.ts'
import type { Find } from './locate.ts'

/** What goes wrong with pages that are lent, in words. */

export function noSession(id: string): Fault {
  return new Fault('session-not-found', 'There is no such session of the browser', {
    details: { sessionId: id.slice(0, 100) },
    hint: 'It was closed, or is not yours. Begin without one.',
  })
}

export function notForFiles(find: Find, cause: unknown): Fault {
  const what = find.mode === 'selector' ? find.selector : find.query
  return new Fault('element-not-found', `This is no field for files: ${JSON.stringify(what.slice(0, 200))}`, {
    hint: 'Name the field itself, an input of type file; the button that opens it is another element.',
    cause,
  })
}

/** A page could not so much as be opened: a browser of which that is so has ended, or is about to. */
export function notOpened(cause: unknown): Fault {
  if (cause instanceof Fault) return cause
  return new Fault('page-crashed', 'The page or its browser ended', { hint: 'It is opened anew at the next try.', cause })
}

export function within<T>(
  until: AbortSignal,
  { signal, withinMs }: { signal: AbortSignal; withinMs: number },
  work: Promise<T>,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const stop = onAbort(until, () =>
      reject(
        signal.aborted
          ? (signal.reason as Error)
          : new Fault('page-timeout', `The page took longer than ${withinMs} ms`, {
              details: { timeoutMs: withinMs },
              hint: 'Raise limits.browserTimeoutMs if it needs longer.',
            }),
      ),
    )
    void work.then(resolve, reject).finally(stop)
  })
}

export function tooMany(waiting: number): Fault {
  return new Fault('busy', `${waiting} pages of yours wait to be opened`, { hint: 'Wait for some of them first.' })
}
