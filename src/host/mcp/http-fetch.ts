import { Fault } from '../../contracts/faults/fault.ts'
import { bounds } from './line-transport.ts'

/**
 * How a mounted server is reached over HTTP: at its own address and nowhere else, since what signs in goes with every request; and no
 * answer is longer than a message may be. It is not listened to beyond its answers.
 */
export function boundedFetch(origin: string): (url: string | URL, init?: RequestInit) => Promise<Response> {
  return async (url, init = {}) => {
    if (new URL(url).origin !== origin) throw new Fault('policy', `A mounted server is reached at ${origin} only`)
    // Nobody waits for news here; the protocol knows servers that have none to give.
    if (init.method === 'GET') return new Response(null, { status: 405 })
    const response = await fetch(url, { ...init, redirect: 'error' })
    if (!response.body) return response
    let left: number = bounds.message
    const counted = response.body.pipeThrough(
      new TransformStream<Uint8Array, Uint8Array>({
        transform(chunk, controller) {
          left -= chunk.length
          if (left < 0) controller.error(new Fault('too-large', `It answered with more than ${bounds.message} bytes`))
          else controller.enqueue(chunk)
        },
      }),
    )
    return new Response(counted, { status: response.status, statusText: response.statusText, headers: response.headers })
  }
}
