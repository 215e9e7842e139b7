import { ProtocolError, ProtocolErrorCode, Server, type JSONRPCMessage, type Transport } from '@modelcontextprotocol/server'
import { onAbort } from '../../text/aborts.ts'
import { invalidState, type ToolCallHandler, type ToolCall } from './tool-calls.ts'
import { elicitationSupportOf, type ElicitationAnswer } from './elicitation.ts'
import { callWithElicitation, type Asking, type SendElicitation } from './call-with-elicitation.ts'
import { openProgress } from './progress.ts'
import { noTaskOf } from './task-requests.ts'
import { asTask, taskTool } from './tasks.ts'
import { traceparentOf } from '../../text/traceparent.ts'

type Id = string | number

/** Makes the task that a call's answer stands for. */
type CreateTask = (answer: Record<string, unknown>, call: ToolCall) => Promise<Record<string, unknown>>

interface Message {
  id?: Id
  method?: string
  params?: { name?: unknown; arguments?: unknown; task?: unknown; requestId?: unknown; requestState?: unknown; _meta?: unknown }
  result?: unknown
}

interface Plain {
  name: string
  input: Record<string, unknown>
  token: Id | undefined
  traceparent: string | undefined
  /** The client wants a task in place of the answer. */
  task: boolean
}

/**
 * The SDK's server, except for `tools/call` on a connection from before 2026: over whichever transport, those calls, their progress, their
 * cancellation and the questions to the person are carried out here, since the SDK's dispatcher costs more than a read itself.
 */
export class CallServer extends Server {
  private readonly running = new Map<Id, AbortController>()
  private readonly asked = new Map<Id, (said: Pick<ElicitationAnswer, 'action' | 'content'>) => void>()
  private calls: { asking: Asking; answer: ToolCallHandler; except: ReadonlySet<string>; task: CreateTask } | undefined
  private questions = 0
  private gone = false

  /** From now on calls are answered here; those of the tools in `except` are left to the SDK's handler. */
  answerCalls(asking: Asking, answer: ToolCallHandler, except: ReadonlySet<string>, task: CreateTask): void {
    this.calls = { asking, answer, except, task }
  }

  /** The other side can answer nothing any more: whoever waits for a person through it waits in vain. */
  hangUp(): void {
    this.gone = true
    for (const heard of this.asked.values()) heard({ action: 'none' })
    this.asked.clear()
  }

  /**
   * For a transport that hands over what it can before the SDK puts it into a queue, and hears the answer before the SDK takes that apart:
   * a quarter of a read. Not before the client has said who it is.
   */
  takeAtOnce(message: JSONRPCMessage, wire: Transport): boolean {
    return this.transport !== undefined && this.getClientVersion() !== undefined && this.take(message, wire)
  }

  override async connect(transport: Transport): Promise<void> {
    // The SDK has taken its place at the transport when this returns, and no message has come yet.
    const connecting = super.connect(transport)
    const { onmessage: others, onclose: closed } = transport
    // oxlint-disable unicorn/prefer-add-event-listener -- a transport of the SDK has no other way to be heard
    transport.onmessage = (message, extra) => {
      if (!this.take(message, transport)) others?.(message, extra)
    }
    transport.onclose = () => {
      this.hangUp()
      for (const stop of this.running.values()) stop.abort(new Error('the connection is closed'))
      closed?.()
    }
    // oxlint-enable unicorn/prefer-add-event-listener
    await connecting
  }

  /** True where it has taken the message. */
  private take(message: JSONRPCMessage, transport: Transport): boolean {
    const { id, method, params } = message as Message
    if (!this.calls) return false
    if (method === undefined) return this.hear(message as Message)
    if (method === 'notifications/cancelled') {
      const stop = this.running.get(params?.requestId as Id)
      stop?.abort(new Error('cancelled'))
      return stop !== undefined
    }
    if (method !== 'tools/call' || id === undefined || this.calls.except.has(params?.name as string)) return false
    void this.perform(id, params, transport).catch((fault: Error) => this.onerror?.(fault))
    return true
  }

  private async perform(id: Id, params: Message['params'], transport: Transport): Promise<void> {
    const { asking, answer, task: create } = this.calls as NonNullable<typeof this.calls>
    const stop = new AbortController()
    const before = this.running.get(id)
    // Two calls with one id could be neither answered nor cancelled apart.
    if (before && !before.signal.aborted) {
      const error = { code: ProtocolErrorCode.InvalidRequest, message: 'This id is in use: its call is not answered yet' }
      return transport.send({ jsonrpc: '2.0', id, error })
    }
    this.running.set(id, stop)
    try {
      const { name, input, token, traceparent, task } = plainly(params)
      if (task && name !== taskTool) throw noTaskOf(name)
      const call: ToolCall = {
        name,
        input: task ? asTask(input) : input,
        client: this.getClientVersion(),
        elicitation: elicitationSupportOf(this.getClientCapabilities()),
        signal: stop.signal,
        traceparent,
        progress:
          token === undefined
            ? undefined
            : openProgress((step) => this.tell(transport, id, 'notifications/progress', { progressToken: token, ...step })),
      }
      const answered = await callWithElicitation(asking, answer, call, this.asking(transport, id))
      const result = task ? await create(answered, call) : answered
      // A cancelled request gets no answer.
      if (!stop.signal.aborted) await transport.send({ jsonrpc: '2.0', id, result } as JSONRPCMessage)
    } catch (fault) {
      const error = fault instanceof ProtocolError ? fault : new ProtocolError(ProtocolErrorCode.InternalError, 'Internal error')
      const { code, message, data } = error
      if (stop.signal.aborted) return
      await transport.send({ jsonrpc: '2.0', id, error: { code, message, ...(data !== undefined && { data }) } })
    } finally {
      if (this.running.get(id) === stop) this.running.delete(id)
    }
  }

  /** Puts a question over the connection the call came on. Its ids cannot meet those of the SDK, which counts in numbers. */
  private asking(transport: Transport, call: Id): SendElicitation {
    return (params, signal) =>
      new Promise((resolve, reject) => {
        if (this.gone) return resolve({ action: 'none' })
        const id = `handrail-${++this.questions}`
        const stopListening = onAbort(signal, () => {
          if (this.asked.delete(id)) this.tell(transport, call, 'notifications/cancelled', { requestId: id })
          reject(new Error('no answer'))
        })
        if (signal.aborted) return
        this.asked.set(id, (said) => {
          stopListening()
          resolve(said)
        })
        const question = { jsonrpc: '2.0', id, method: 'elicitation/create', params } as JSONRPCMessage
        transport.send(question, { relatedRequestId: call }).catch((fault: Error) => {
          this.asked.delete(id)
          reject(fault)
        })
      })
  }

  /** What came back for a question of ours. An error instead of an answer is nobody answering. */
  private hear({ id, result }: Message): boolean {
    const heard = this.asked.get(id as Id)
    if (!heard) return false
    this.asked.delete(id as Id)
    const { action, content } = (result ?? {}) as { action?: unknown; content?: ElicitationAnswer['content'] }
    heard(action === 'accept' || action === 'decline' || action === 'cancel' ? { action, content } : { action: 'none' })
    return true
  }

  private tell(transport: Transport, call: Id, method: string, params: Record<string, unknown>): void {
    void transport.send({ jsonrpc: '2.0', method, params }, { relatedRequestId: call }).catch(() => undefined)
  }
}

/** A call with a name and, if any, arguments that are an object. What stands in it is the kernel's to check. */
function plainly({
  name,
  arguments: input = {},
  task,
  _meta: meta = {},
  requestState,
}: NonNullable<Message['params']> = {}): Plain {
  const wrong = (what: string): ProtocolError =>
    new ProtocolError(ProtocolErrorCode.InvalidParams, `Invalid tools/call request: ${what}`)
  // Only a client of 2026 is ever given one; whoever brings one here has it from another.
  if (requestState !== undefined) throw invalidState()
  if (typeof name !== 'string') throw wrong('name must be a string')
  if (!isObject(input)) throw wrong('arguments must be an object')
  if (!isObject(meta)) throw wrong('_meta must be an object')
  const { progressToken: token } = meta
  if (token !== undefined && typeof token !== 'string' && !Number.isSafeInteger(token))
    throw wrong('progressToken must be a string or a whole number')
  if (task !== undefined && !isObject(task)) throw wrong('task must be an object')
  return {
    name,
    input,
    token: token as Id | undefined,
    traceparent: traceparentOf(meta['traceparent']),
    task: task !== undefined,
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
