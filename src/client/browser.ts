import type { BridgeClient, ConnectOptions } from './api.ts'
import { connectWith, type Socket } from './client.ts'

export { BridgeFailure } from './client.ts'
export type * from './api.ts'
export type * from './wire.ts'

/** Connects to a bridge from a page. Its origin must be one that the server lets in (`--allowOrigin`). */
export function connect(url: string, options: ConnectOptions = {}): Promise<BridgeClient> {
  const { WebSocket } = globalThis as unknown as { WebSocket: new (url: string, protocols: string[]) => Socket }
  return connectWith((to, protocols) => new WebSocket(to, protocols), url, options)
}
