import type { BridgeClient, BridgeEventOf, BridgeState, ConnectOptions, FailureCode, RequestOptions } from './api.ts'
import type { BridgeMethods, BridgeRequest, DevInfo } from './wire.ts'

// The client of the bridge, for Node and for browsers: nothing here is of either.

const protocol = 'intent-flow.devserver.v1'
/** These change nothing: they are asked again where the connection was lost before their answer. */
const repeatable: readonly string[] = ['dev.info', 'dev.workspace.snapshot']
const mostWaiting = 1_000
/** So long a request that timed out may take to say what it had done. */
const graceMs = 10_000

/** Why a request has no result. `data` is the server's. */
export class BridgeFailure extends Error {
  readonly code: FailureCode
  readonly data: Readonly<Record<string, unknown>> | undefined
  constructor(code: FailureCode, message: string, data?: Readonly<Record<string, unknown>>) {
    super(message)
    this.name = 'BridgeFailure'
    this.code = code
    this.data = data
  }
}

/** What is needed of a WebSocket; that of browsers has it, and that of `ws`. */
export interface Socket {
  addEventListener(kind: 'open' | 'message' | 'close' | 'error', heard: (event: never) => void): void
  send(text: string): void
  close(code?: number, reason?: string): void
}

interface Pending {
  method: string
  text: string
  /** It went out on the connection there is. */
  sent: boolean
  onEvent: ((event: BridgeEventOf) => void) | undefined
  resolve(result: unknown): void
  reject(failure: BridgeFailure): void
}

interface Message {
  protocol?: unknown
  type?: unknown
  requestId?: unknown
  ok?: unknown
  result?: unknown
  error?: { code: FailureCode; message: string; data?: Record<string, unknown> }
  event?: BridgeEventOf
}

/** Connects, and resolves once the server has said who it is. `open` makes a WebSocket of an address. */
export async function connectWith(
  open: (url: string, protocols: string[]) => Socket,
  url: string,
  options: ConnectOptions = {},
): Promise<BridgeClient> {
  const { token, reconnect = true, connectTimeoutMs = 10_000, onState, greet = true } = options
  const again = typeof reconnect === 'object' ? reconnect : reconnect ? {} : { times: 0 }
  const { leastMs = 250, mostMs = 10_000, times = Number.POSITIVE_INFINITY } = again
  const pending = new Map<string, Pending>()
  let state: BridgeState = 'connecting'
  let server: DevInfo | undefined
  let socket: Socket | undefined
  let tries = 0
  let timer: ReturnType<typeof setTimeout> | undefined
  let settle: { resolve(): void; reject(failure: BridgeFailure): void } | undefined

  const turn = (next: BridgeState): void => {
    if (state === next) return
    state = next
    onState?.(next)
  }
  const lost = (why: string): BridgeFailure => new BridgeFailure('CONNECTION_LOST', why)
  const end = (why: string | BridgeFailure): void => {
    if (state === 'closed') return
    clearTimeout(timer)
    turn('closed')
    const failure = typeof why === 'string' ? lost(why) : why
    for (const one of pending.values()) one.reject(failure)
    pending.clear()
    settle?.reject(failure)
    settle = undefined
    socket?.close(1000)
  }
  const dropped = (why: string): void => {
    if (state === 'closed') return
    const first = settle !== undefined
    for (const [id, one] of pending) {
      if (!one.sent) continue
      one.sent = false
      if (repeatable.includes(one.method)) continue
      pending.delete(id)
      one.reject(lost(why))
    }
    if (first || tries >= times) return end(why)
    turn('waiting')
    const wait = Math.min(mostMs, leastMs * 2 ** tries++)
    // Not all clients of a server that was started again at the same moment.
    timer = setTimeout(connect, wait * (0.5 + Math.random() / 2))
  }
  const heard = (text: unknown): void => {
    let message: Message
    try {
      message = JSON.parse(String(text)) as Message
    } catch {
      return
    }
    const id = String(message.requestId)
    const one = pending.get(id)
    if (message.protocol !== protocol || !one) return
    if (message.type === 'event' && message.event) one.onEvent?.(message.event)
    if (message.type !== 'response') return
    pending.delete(id)
    const { error } = message
    if (message.ok === true) one.resolve(message.result)
    else one.reject(new BridgeFailure(error?.code ?? 'ERR_INTERNAL', error?.message ?? 'The answer is none', error?.data))
  }
  const flush = (): void => {
    for (const one of pending.values()) {
      if (one.sent || state !== 'open') continue
      one.sent = true
      socket?.send(one.text)
    }
  }
  const entered = (): void => {
    tries = 0
    turn('open')
    settle?.resolve()
    settle = undefined
    flush()
  }
  const connect = (): void => {
    turn('connecting')
    let mine: Socket
    try {
      mine = open(url, [protocol])
    } catch (cause) {
      return end((cause as Error).message)
    }
    socket = mine
    let why = 'The server cannot be reached'
    mine.addEventListener('open', () => {
      why = 'The connection was lost'
      if (!greet) return entered()
      void ask(mine).then(
        (info) => {
          server = info
          entered()
        },
        (failure: BridgeFailure) => end(failure),
      )
    })
    mine.addEventListener('message', ({ data }: { data: unknown }) => heard(data))
    mine.addEventListener('close', ({ code, reason }: { code?: number; reason?: string }) => {
      if (socket !== mine) return
      const said = reason ? `${why}: ${reason}` : code === undefined || code === 1006 ? why : `${why} (${code})`
      for (const [id, { method, sent }] of pending) if (method === hello && sent) pending.delete(id)
      dropped(said)
    })
    // What is wrong is said by the end that follows.
    mine.addEventListener('error', () => undefined)
  }
  const wire = (id: string, method: string, params: object): string =>
    JSON.stringify({
      protocol,
      type: 'request',
      requestId: id,
      method,
      params: params as BridgeRequest['params'],
      ...(token !== undefined && { auth: { token } }),
    } satisfies Omit<BridgeRequest, 'params'> & { params: unknown })
  /** The first word on a connection: before it is answered nothing else goes out. */
  const ask = (mine: Socket): Promise<DevInfo> =>
    new Promise((resolve, reject) => {
      const id = randomId()
      pending.set(id, { method: hello, text: '', sent: true, onEvent: undefined, resolve: resolve as never, reject })
      mine.send(wire(id, 'dev.info', {}))
    })

  const client: BridgeClient = {
    get state() {
      return state
    },
    get server() {
      return server
    },
    request(method, params, { requestId = randomId(), signal, onEvent, timeoutMs }: RequestOptions = {}) {
      if (state === 'closed') return Promise.reject(lost('This client is closed'))
      if (pending.size >= mostWaiting)
        return Promise.reject(new BridgeFailure('ERR_BUSY', 'Too many requests wait for their answer'))
      if (pending.has(requestId))
        return Promise.reject(new BridgeFailure('ERR_DUPLICATE_REQUEST_ID', `${requestId} is under way on this client`))
      return new Promise<BridgeMethods[typeof method]['result']>((resolve, reject) => {
        let limit: ReturnType<typeof setTimeout> | undefined
        let late: BridgeFailure | undefined
        /** Where it went out its own answer says how it ended; else it is over at once. */
        const cancel = (): void => {
          const one = pending.get(requestId)
          if (!one) return
          if (one.sent && state === 'open') return void client.cancel(requestId).catch(() => undefined)
          pending.delete(requestId)
          one.reject(new BridgeFailure('ERR_CANCELLED', 'The request was cancelled before it was sent'))
        }
        const over = (): void => {
          clearTimeout(limit)
          signal?.removeEventListener('abort', cancel)
        }
        pending.set(requestId, {
          method,
          text: wire(requestId, method, params),
          sent: false,
          onEvent,
          resolve(result) {
            over()
            resolve(result as BridgeMethods[typeof method]['result'])
          },
          reject(failure) {
            over()
            reject(late && failure.code === 'ERR_CANCELLED' ? new BridgeFailure(late.code, late.message, failure.data) : failure)
          },
        })
        if (timeoutMs !== undefined)
          limit = setTimeout(() => {
            late = new BridgeFailure('CALL_TIMEOUT', `No answer within ${timeoutMs} ms`)
            cancel()
            limit = setTimeout(
              () => {
                const one = pending.get(requestId)
                pending.delete(requestId)
                one?.reject(late as BridgeFailure)
              },
              Math.min(graceMs, timeoutMs),
            )
          }, timeoutMs)
        if (signal?.aborted) return cancel()
        signal?.addEventListener('abort', cancel, { once: true })
        flush()
      })
    },
    info: (given) => client.request('dev.info', {}, given),
    snapshot: (params = {}, given) => client.request('dev.workspace.snapshot', params, given),
    run: (params, given) => client.request('dev.run', params, given),
    runChecks: (params, given) => client.request('dev.runChecks', params, given),
    cancel: (targetRequestId) => client.request('dev.cancel', { targetRequestId }),
    stop: () => client.request('dev.stop', {}),
    close: () => end('This client was closed'),
  }
  await new Promise<void>((resolve, reject) => {
    const slow = setTimeout(() => end('The server did not answer in time'), connectTimeoutMs)
    settle = {
      resolve() {
        clearTimeout(slow)
        resolve()
      },
      reject(failure) {
        clearTimeout(slow)
        reject(failure)
      },
    }
    connect()
  })
  return client
}

const hello = 'hello'

function randomId(): string {
  // Not `randomUUID`: a page has that only where it came over a connection that counts as safe.
  return [...globalThis.crypto.getRandomValues(new Uint8Array(16))].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
