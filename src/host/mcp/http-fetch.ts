import { Fault } from '../../contracts/faults/fault.ts'
import { openJsonScale } from '../../text/json.ts'
import { bounds } from './line-transport.ts'

/**
 * How a mounted server is reached over HTTP: at its own address and nowhere else, since what signs in goes with every request; and no
 * answer is longer, or has more in it, than a message may have, or comes with a flood of others. It is not listened to beyond its answers.
 */
export function boundedFetch(origin: string): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    if (new URL(url).origin !== origin) throw new Fault('policy', `A mounted server is reached at ${origin} only`)
    // Nobody waits for news here; the protocol knows servers that have none to give.
    if (init.method === 'GET') return new Response(null, { status: 405 })
    const response = await fetch(url, { ...init, redirect: 'error' })
    const reader = response.body?.getReader()
    if (!reader) return response
    const isStream = /^text\/event-stream\b/i.test(response.headers.get('content-type') ?? '')
    const id = isStream ? askedIn(init.body) : undefined
    const checkPiece = openAnswerLimits(isStream)
    const body = new ReadableStream<Uint8Array>({
      async pull(controller) {
        try {
          const { done, value } = await reader.read()
          if (!done) {
            checkPiece(value)
            return controller.enqueue(value)
          }
          if (id !== undefined) controller.enqueue(ending(id, 'it ended its answer without one'))
          controller.close()
        } catch (thrown) {
          reader.cancel().catch(() => undefined)
          if (id === undefined || init.signal?.aborted) throw thrown
          controller.enqueue(ending(id, thrown instanceof Fault ? thrown.message : 'the connection broke off'))
          controller.close()
        }
      },
      cancel: (reason) => reader.cancel(reason),
    })
    return new Response(body, { status: response.status, statusText: response.statusText, headers: response.headers })
  }
}

/** Throws at what is too much of an answer, before it is handed on. */
function openAnswerLimits(isStream: boolean): (piece: Uint8Array) => void {
  let left: number = bounds.message
  let [since, before] = [performance.now(), 0]
  const scale = openJsonScale(isStream)
  return (piece) => {
    left -= piece.length
    if (left < 0) throw new Fault('too-large', `It answered with more than ${bounds.message} bytes`)
    try {
      scale.add(piece)
    } catch {
      throw new Fault('too-large', 'It answered with more in it than is read')
    }
    // As with programs: what it tells beside its answer is taken apart one by one.
    if (performance.now() - since > bounds.unaskedMs) [since, before] = [performance.now(), scale.events()]
    if (scale.events() - before > bounds.unasked)
      throw new Fault('too-large', `It sends more than ${bounds.unasked} messages in ${bounds.unaskedMs / 1_000} seconds`)
  }
}

/** The number of the request that is sent, where it wants an answer. */
function askedIn(body: unknown): number | string | undefined {
  try {
    const { id, method } = JSON.parse(String(body)) as { id?: unknown; method?: unknown }
    return method !== undefined && (typeof id === 'number' || typeof id === 'string') ? id : undefined
  } catch {
    return undefined
  }
}

/**
 * Said at the end of every stream, in the server's place: whoever waits for an answer that did not come would wait until its own time is
 * over. Where it has come, nobody waits any more, and it is not heard.
 */
function ending(id: number | string, why: string): Uint8Array {
  const error = { jsonrpc: '2.0', id, error: { code: -32_000, message: why } }
  return new TextEncoder().encode(`\n\ndata: ${JSON.stringify(error)}\n\n`)
}
