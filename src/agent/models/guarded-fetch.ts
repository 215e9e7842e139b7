import { Fault } from '../../contracts/faults/fault.ts'
import { onAbort } from '../../text/aborts.ts'

/** More than any answer is; whoever sends more is not listened to. */
const mostBytes = 32 * 1_048_576

/**
 * The only way out of the agent. Requests go to the endpoint and below it, a redirect is an error (it would carry the key to another host), and
 * an endpoint that says nothing for too long is given up. The time counts in here, so that nobody's waiting for a person is cut off by it.
 */
export function guardedFetch(endpoint: string, silenceMs: number, send: typeof fetch = fetch): typeof fetch {
  return async (input, init) => {
    const url = input instanceof Request ? input.url : String(input)
    if (!isBelow(url, endpoint)) throw new Fault('policy', 'The agent sends to the configured endpoint only')
    const silent = new AbortController()
    const waiting = (): NodeJS.Timeout => setTimeout(() => silent.abort(tooSilent(silenceMs)), silenceMs)
    let timer = waiting()
    const stop = onAbort(init?.signal ?? undefined, () => silent.abort(init?.signal?.reason))
    const over = (): void => {
      clearTimeout(timer)
      stop()
    }
    try {
      const response = await send(input, { ...init, redirect: 'error', signal: silent.signal })
      if (!response.body) {
        over()
        return response
      }
      let bytes = 0
      const counted = new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          clearTimeout(timer)
          timer = waiting()
          bytes += chunk.length
          if (bytes > mostBytes) controller.error(new Fault('model-failed', 'The model’s endpoint sends without end'))
          else controller.enqueue(chunk)
        },
        flush: over,
      })
      const body = response.body.pipeThrough(counted, { signal: silent.signal })
      const { status, statusText, headers } = response
      return new Response(body, { status, statusText, headers })
    } catch (thrown) {
      over()
      throw silent.signal.aborted ? silent.signal.reason : thrown
    }
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
