/** Where Node keeps what `fetch` connects with; since Node 26 the first is only a face of the second. */
const keys = ['undici.globalDispatcher.1', 'undici.globalDispatcher.2'].map((name) => Symbol.for(name))
const known = globalThis as unknown as Record<symbol, unknown>
let done = false

/**
 * From now on `fetch` keeps no connection. A server lets go of one that is idle, and a client that is late by a moment sends its next request into
 * it: on a busy machine that is a failed request, and no test is about such a connection.
 */
export async function keepNoConnection(): Promise<void> {
  if (done) return
  done = true
  // It is there once something was fetched.
  await fetch('data:,')
  for (const key of keys) {
    const agent = known[key] as { constructor: new (options: object) => unknown } | undefined
    if (agent?.constructor.name === 'Agent') known[key] = new agent.constructor({ pipelining: 0 })
  }
}
