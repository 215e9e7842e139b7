import { onAbort } from '../../contracts/aborts.ts'
import { ProtocolError, type JSONRPCMessage } from '@modelcontextprotocol/server'
import type { Runtime } from '../../contracts/runtime.ts'
import type { Answerer, ToolCall } from './answer.ts'
import { reachOf, type Answered } from './asking.ts'
import { converse, type Put } from './converse.ts'
import { openProgress } from './progress.ts'

interface Request {
  id: string | number
  method: string
  params?: {
    name?: unknown
    arguments?: unknown
    clientInfo?: ToolCall['client']
    capabilities?: unknown
    requestId?: unknown
    _meta?: Record<string, unknown>
  }
}

export interface ShortWay {
  /** True where it has taken the message. */
  take(message: JSONRPCMessage): boolean
  /** The other side can answer nothing any more: whoever waits for a person through it waits in vain. */
  hangUp(): void
  /** Told of every answer that goes out: the way opens once `initialize` has been answered. */
  sent(message: JSONRPCMessage): void
}

/**
 * The short way for `tools/call` on a connection that opened with `initialize` (before 2026): the same answers without the
 * SDK's dispatcher, which costs more than a read itself. Everything else, and whatever looks unusual, goes the long way.
 */
export function openShortWay(runtime: Runtime, answer: Answerer, send: (message: JSONRPCMessage) => Promise<void>): ShortWay {
  const running = new Map<string | number, AbortController>()
  const asked = new Map<string, (said: Pick<Answered, 'action' | 'content'>) => void>()
  let gone = false
  let questions = 0
  let client: ToolCall['client']
  let reach = reachOf(undefined)
  let opening: string | number | undefined
  let open = false

  /** Ids of our own questions cannot meet those of the SDK, which counts in numbers. */
  const put: Put = (params, signal) =>
    new Promise((resolve, reject) => {
      if (gone) return resolve({ action: 'none' })
      const id = `handrail-${++questions}`
      const stop = onAbort(signal, () => {
        if (asked.delete(id)) void send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: id } })
        reject(new Error('no answer'))
      })
      asked.set(id, (said) => {
        stop()
        resolve(said)
      })
      void send({ jsonrpc: '2.0', id, method: 'elicitation/create', params } as never)
    })

  const perform = async ({ id, params = {} }: Request): Promise<void> => {
    const stop = new AbortController()
    running.set(id, stop)
    const token = params._meta?.['progressToken']
    try {
      const call: ToolCall = {
        name: params.name as string,
        input: params.arguments ?? {},
        client,
        reach,
        signal: stop.signal,
        ...(token !== undefined && {
          progress: openProgress(
            (step) =>
              void send({ jsonrpc: '2.0', method: 'notifications/progress', params: { progressToken: token, ...step } } as never),
          ),
        }),
      }
      const result = await converse(runtime, answer, call, put)
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
        reach = reachOf(request.params?.capabilities)
        opening = request.id
      } else if (request.method === undefined) {
        const heard = asked.get(String(request.id))
        asked.delete(String(request.id))
        heard?.(saidIn(message))
        return heard !== undefined
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
    hangUp() {
      gone = true
      for (const heard of asked.values()) heard({ action: 'none' })
      asked.clear()
    },
    sent(message) {
      if (!open && opening !== undefined && 'result' in message && message.id === opening) open = true
    },
  }
}

/** An error instead of an answer is nobody answering. */
function saidIn(message: JSONRPCMessage): Pick<Answered, 'action' | 'content'> {
  const { action, content } = ('result' in message ? message.result : {}) as { action?: unknown; content?: Answered['content'] }
  return action === 'accept' || action === 'decline' || action === 'cancel' ? { action, content } : { action: 'none' }
}

/** A call with a name and, if any, arguments that are an object; nothing that belongs to a later protocol. */
function isPlain({ id, params }: Request): boolean {
  if (id === undefined || typeof params?.name !== 'string') return false
  const { arguments: input, _meta: meta } = params
  if (input !== undefined && (typeof input !== 'object' || input === null || Array.isArray(input))) return false
  return meta === undefined || (typeof meta === 'object' && meta !== null && !Object.keys(meta).some((key) => key.includes('/')))
}
