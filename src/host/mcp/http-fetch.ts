import { Fault } from '../../contracts/faults/fault.ts'
import { openJsonScale } from '../../text/json.ts'
import { bounds } from './line-transport.ts'

/**
 * How a mounted server is reached over HTTP: at its own address and nowhere else, since what signs in goes with every request; and no
 * answer is longer, or has more in it, than a message may have. It is not listened to beyond its answers.
 */
export function boundedFetch(origin: string): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    if (new URL(url).origin !== origin) throw new Fault('policy', `A mounted server is reached at ${origin} only`)
    // Nobody waits for news here; the protocol knows servers that have none to give.
    if (init.method === 'GET') return new Response(null, { status: 405 })
    const response = await fetch(url, { ...init, redirect: 'error' })
    if (!response.body) return response
    let left: number = bounds.message
    const scale = openJsonScale(/^text\/event-stream\b/i.test(response.headers.get('content-type') ?? ''))
    const counted = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          left -= chunk.length
          if (left < 0) return controller.error(new Fault('too-large', `It answered with more than ${bounds.message} bytes`))
          try {
            scale.add(chunk)
            controller.enqueue(chunk)
          } catch {
            controller.error(new Fault('too-large', 'It answered with more in it than is read'))
          }
        },
      }),
    )
    return new Response(counted, { status: response.status, statusText: response.statusText, headers: response.headers })
  }
}
