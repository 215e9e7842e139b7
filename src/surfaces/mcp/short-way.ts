import { ProtocolError, type JSONRPCMessage } from '@modelcontextprotocol/server'
import type { ToolCall } from './server.ts'

interface Request {
  id: string | number
  method: string
  params?: {
    name?: unknown
    arguments?: unknown
    clientInfo?: ToolCall['client']
    requestId?: unknown
    _meta?: Record<string, unknown>
  }
}

export interface ShortWay {
  /** True where it has taken the message. */
  take(message: JSONRPCMessage): boolean
  /** Told of every answer that goes out: the way opens once `initialize` has been answered. */
  sent(message: JSONRPCMessage): void
}

/**
 * The short way for `tools/call` on a connection that opened with `initialize` (before 2026): the same answers without the
 * SDK's dispatcher, which costs more than a read itself. Everything else, and whatever looks unusual, goes the long way.
 */
export function openShortWay(
  answer: (call: ToolCall) => Promise<Record<string, unknown>>,
  send: (message: JSONRPCMessage) => Promise<void>,
): ShortWay {
  const running = new Map<string | number, AbortController>()
  let client: ToolCall['client']
  let opening: string | number | undefined
  let open = false

  const perform = async ({ id, params = {} }: Request): Promise<void> => {
    const stop = new AbortController()
    running.set(id, stop)
    const token = params._meta?.['progressToken']
    try {
      const result = await answer({
        name: params.name as string,
        input: params.arguments ?? {},
        client,
        signal: stop.signal,
        ...(token !== undefined && {
          progress: (step) =>
            void send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: token, ...step } } as never),
        }),
      })
      // A cancelled request gets no answer.
      if (!stop.signal.aborted) await send({ jsonrpc: '2.0', id, result } as never)
    } catch (fault) {
      const error =
        fault instanceof ProtocolError
          ? { code: fault.code, message: fault.message }
          : { code: -32603, message: 'Internal error' }
      if (!stop.signal.aborted) await send({ jsonrpc: '2.0', id, error } as never)
    } finally {
      running.delete(id)
    }
  }

  return {
    take(message) {
      const request = message as unknown as Request
      if (request.method === 'initialize') {
        client = request.params?.clientInfo
        opening = request.id
      } else if (request.method === 'notifications/cancelled') {
        const stop = running.get(request.params?.requestId as string | number)
        stop?.abort(new Error('cancelled'))
        return stop !== undefined
      } else if (open && request.method === 'tools/call' && isPlain(request) && !running.has(request.id)) {
        void perform(request)
        return true
      }
      return false
    },
    sent(message) {
      if (!open && opening !== undefined && 'result' in message && message.id === opening) open = true
    },
  }
}

/** A call with a name and, if any, arguments that are an object; nothing that belongs to a later protocol. */
function isPlain({ id, params }: Request): boolean {
  if (id === undefined || typeof params?.name !== 'string') return false
  const { arguments: input, _meta: meta } = params
  if (input !== undefined && (typeof input !== 'object' || input === null || Array.isArray(input))) return false
  return meta === undefined || (typeof meta === 'object' && meta !== null && !Object.keys(meta).some((key) => key.includes('/')))
}
