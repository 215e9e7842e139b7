import type { BridgeClient, BridgeEventOf, ConnectOptions } from '../../../client/api.ts'
import { bridgeProtocol } from '../../../contracts/bridge.ts'

export type Connect = (url: string, options: ConnectOptions) => Promise<BridgeClient>

type Response = { protocol: string; type: 'response'; requestId: string } & (
  | { ok: true; result: unknown }
  | { ok: false; error: { code: string; message: string; data?: unknown } }
)

export interface Called {
  response: Response
  /** In the order they came; those of this request. */
  events: object[]
}

/** One request over a connection of its own, and its response as the server sent it; what fails on the way is `ERR_CALL_FAILED`. */
export async function callMethod(
  connect: Connect,
  given: { url: string; token: string | undefined; method: string; params: object; timeoutMs: number; requestId?: string },
): Promise<Called> {
  const { url, token, method, params, timeoutMs, requestId = globalThis.crypto.randomUUID() } = given
  const head = { protocol: bridgeProtocol, type: 'response', requestId } as const
  const events: object[] = []
  const onEvent = (event: BridgeEventOf): void => void events.push({ protocol: bridgeProtocol, type: 'event', requestId, event })
  let client: BridgeClient | undefined
  try {
    client = await connect(url, {
      ...(token !== undefined && { token }),
      reconnect: false,
      greet: false,
      connectTimeoutMs: timeoutMs,
    })
    const result = await client.request(method as never, params as never, { requestId, onEvent, timeoutMs })
    return { response: { ...head, ok: true, result }, events }
  } catch (thrown) {
    const { code = '', message, data = {} } = thrown as Error & { code?: string; data?: object }
    const ours = !code.startsWith('ERR_')
    return {
      response: {
        ...head,
        ok: false,
        error: { code: ours ? 'ERR_CALL_FAILED' : code, message, data: ours ? { cause: code, ...data } : data },
      },
      events,
    }
  } finally {
    client?.close()
  }
}
