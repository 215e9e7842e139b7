const key = Symbol.for('undici.globalDispatcher.1')
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
  const agent = known[key] as { constructor: new (options: object) => unknown } | undefined
  if (agent) known[key] = new agent.constructor({ pipelining: 0 })
}
