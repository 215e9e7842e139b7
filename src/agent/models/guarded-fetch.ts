import { Fault } from '../../contracts/faults/fault.ts'
import { onAbort } from '../../text/aborts.ts'

/** More than any answer is; whoever sends more is not listened to. */
const mostBytes = 32 * 1_048_576
/** Handed on in pieces: those who read events look through what is left of a piece at every end of a line. */
const piece = 4_096

/**
 * The only way out of the agent. Requests go to the endpoint and below it, a redirect is an error (it would carry the key to another host), and
 * an endpoint that says nothing for too long is given up. The time counts in here, so that nobody's waiting for a person is cut off by it.
 */
export function guardedFetch(endpoint: string, silenceMs: number, send: typeof fetch = fetch): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    if (!isBelow(url, endpoint)) throw new Fault('policy', 'The agent sends to the configured endpoint only')
    const silent = new AbortController()
    const stop = onAbort(init?.signal ?? undefined, () => silent.abort(init?.signal?.reason))
    /** Counts only while something is waited for. */
    const inTime = async <T>(waited: Promise<T>): Promise<T> => {
      const timer = setTimeout(() => silent.abort(tooSilent(silenceMs)), silenceMs)
      try {
        return await waited
      } catch (thrown) {
        stop()
        throw silent.signal.aborted ? silent.signal.reason : thrown
      } finally {
        clearTimeout(timer)
      }
    }
    const response = await inTime(send(input, { ...init, redirect: 'error', signal: silent.signal }))
    const reader = response.body?.getReader()
    if (!reader) {
      stop()
      return response
    }
    let bytes = 0
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const { done, value } = await inTime(reader.read())
        if (done) {
          stop()
          return controller.close()
        }
        bytes += value.length
        if (bytes > mostBytes) {
          silent.abort()
          throw new Fault('model-failed', 'The model’s endpoint sends without end')
        }
        for (let at = 0; at < value.length; at += piece) controller.enqueue(value.subarray(at, at + piece))
      },
      cancel(reason) {
        stop()
        return reader.cancel(reason)
      },
    })
    const { status, statusText, headers } = response
    return new Response(body, { status, statusText, headers })
  }
}

/** By the parsed address: what stands before a `@` or behind `..` is no part of a comparison of texts. */
function isBelow(address: string, endpoint: string): boolean {
  if (!URL.canParse(address)) return false
  const [url, base] = [new URL(address), new URL(endpoint)]
  const folder = base.pathname.endsWith('/') ? base.pathname : `${base.pathname}/`
  return url.origin === base.origin && !url.username && !url.password && url.pathname.startsWith(folder)
}

const tooSilent = (ms: number): Fault =>
  new Fault('timeout', `The model said nothing for ${ms} ms`, { hint: 'Try again, or raise agent.modelTimeoutMs.' })
