import {
  WebStandardStreamableHTTPServerTransport,
  type JSONRPCMessage,
  type TransportSendOptions,
} from '@modelcontextprotocol/server'
import { Refusal } from '../../contracts/refusal.ts'

type Id = string | number

export const idInUse = (): Refusal => new Refusal(400, 'This id is in use: another request has it and is not answered yet.')

/**
 * The SDK's transport keeps a request, and the stream its answer would come on, until it is answered; one that is cancelled never is, and
 * would stay for as long as its session. Here it is over when it is cancelled.
 */
export class SessionTransport extends WebStandardStreamableHTTPServerTransport {
  /** Requests that are not answered yet, each with those that came together with it. */
  private readonly open = new Map<unknown, readonly unknown[]>()

  /** Takes them up; what it gives is called when their stream is closed. An id stands for one request: two could not be told apart. */
  begin(ids: readonly unknown[]): () => void {
    if (ids.some((id) => this.open.has(id))) throw idInUse()
    for (const id of ids) this.open.set(id, ids)
    return () => {
      for (const id of ids) if (this.open.get(id) === ids) this.open.delete(id)
    }
  }

  override send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!('method' in message)) this.open.delete(message.id)
    return super.send(message, options)
  }

  /** Tells the server, and ends what waits for the answer. */
  cancel(id: Id, reason: string): void {
    this.onmessage?.({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id, reason } })
    this.forget(id)
  }

  /** A cancelled request gets no answer; among several that came together it gets one, since their answers share a stream. */
  forget(id: unknown): void {
    const together = this.open.get(id)
    if (together === undefined) return
    if (together.length === 1) this.closeSSEStream(id as Id)
    const over = { jsonrpc: '2.0', id, error: { code: -32_000, message: 'Cancelled' } } as JSONRPCMessage
    // It may have been answered in the same moment.
    void this.send(over).catch(() => undefined)
  }
}
