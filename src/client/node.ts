import { WebSocket } from 'ws'
import type { BridgeClient, ConnectOptions } from './api.ts'
import { connectWith, type Socket } from './client.ts'

export { BridgeFailure } from './client.ts'
export type * from './api.ts'
export type * from './wire.ts'

/** Connects to a bridge from Node. */
export function connect(url: string, options: ConnectOptions = {}): Promise<BridgeClient> {
  const open = (to: string, protocols: string[]): Socket =>
    new WebSocket(to, protocols, { perMessageDeflate: false, followRedirects: false }) as unknown as Socket
  return connectWith(open, url, options)
}
