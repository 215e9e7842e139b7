import { bridgeProtocol, type BridgeEventKind, type PayloadOf } from '../../contracts/bridge.ts'
import { bridgeErrorOf } from '../../contracts/faults/contract-003.ts'
import { asFault, Fault } from '../../contracts/faults/fault.ts'
import { logFault } from '../log-fault.ts'

/** Where words for one client go. */
export interface Line {
  /** Resolves to whether somebody was there to take it. */
  send(text: string): Promise<boolean>
  /** Bytes that wait for the client to read them. */
  unread(): number
}

/** A request that is under way. It has one answer; what is told of it is told before, and what began to be told has an end. */
export interface Flight {
  readonly id: string
  readonly signal: AbortSignal
  /** Resolves when it was answered, or when nobody is there to hear it. */
  readonly over: Promise<void>
  /** Resolves when the system has taken the answer, too. */
  readonly told: Promise<void>
  /** Results that count although it was cancelled. */
  partial: Record<string, unknown>
  tell<K extends BridgeEventKind>(kind: K, payload: PayloadOf<K>): Promise<boolean>
  /** Something that has an end: told at the latest with the answer. Returns how to tell it, once. */
  begin<S extends BridgeEventKind, F extends BridgeEventKind>(
    started: [S, PayloadOf<S>],
    finished: F,
    otherwise: () => PayloadOf<F>,
  ): (payload?: PayloadOf<F>) => void
  answer(result: object): Promise<boolean>
  fail(thrown: unknown): Promise<boolean>
  cancel(): void
  /** Whoever asked is gone. */
  abandon(): void
}

/** From here on only what has to be told is told to a client that does not read. */
const spareUnread = 1 << 20
/** So long what was cancelled may take to end; then it is answered without it. */
const graceMs = 5_000

export function openFlight(id: string, line: Line): Flight {
  const abort = new AbortController()
  const open = new Set<() => void>()
  let seq = 0
  let cancelled = false
  let done = false
  let end = (): void => undefined
  const over = new Promise<void>((resolve) => (end = resolve))
  let gone = (): void => undefined
  const told = new Promise<void>((resolve) => (gone = resolve))

  const send = (message: object): Promise<boolean> => line.send(JSON.stringify({ protocol: bridgeProtocol, ...message }))
  const close = (): void => {
    for (const finish of open) finish()
    done = true
    end()
  }
  const respond = async (text: () => string): Promise<boolean> => {
    if (done) return false
    close()
    const taken = await line.send(text())
    gone()
    return taken
  }
  const flight: Flight = {
    id,
    signal: abort.signal,
    over,
    told,
    partial: {},
    tell(kind, payload) {
      if (done || (isSpare(kind) && line.unread() > spareUnread)) return Promise.resolve(!done)
      return send({ type: 'event', requestId: id, event: { kind, payload, seq: seq++ } })
    },
    begin(started, finished, otherwise) {
      void flight.tell(...started)
      const finish = (payload = otherwise()): void => {
        if (open.delete(close)) void flight.tell(finished, payload)
      }
      const close = (): void => finish()
      open.add(close)
      return (payload) => (open.has(close) ? finish(payload) : undefined)
    },
    answer(result) {
      if (cancelled) return flight.fail(undefined)
      let text: string
      try {
        text = JSON.stringify(result)
      } catch (cause) {
        return flight.fail(cause)
      }
      // Not made of parts again: it may be long.
      return respond(
        () => `{"protocol":"${bridgeProtocol}","type":"response","requestId":${JSON.stringify(id)},"ok":true,"result":${text}}`,
      )
    },
    fail(thrown) {
      const fault = cancelled ? taken(flight.partial) : asFault(thrown)
      return respond(() =>
        JSON.stringify({ protocol: bridgeProtocol, type: 'response', requestId: id, ok: false, error: errorOf(fault) }),
      )
    },
    cancel() {
      if (cancelled || done) return
      cancelled = true
      void flight.tell('dev.event.request.cancelled', {})
      abort.abort(taken({}))
      setTimeout(() => void flight.fail(undefined), graceMs).unref()
    },
    abandon() {
      if (done) return
      open.clear()
      cancelled = true
      close()
      gone()
      abort.abort(taken({}))
    },
  }
  return flight
}

const isSpare = (kind: BridgeEventKind): boolean => kind === 'dev.event.check.diagnostics'

const taken = (details: Record<string, unknown>): Fault => new Fault('cancelled', 'The request was cancelled', { details })

/** A fault in the protocol's words. What nobody foresaw is named by its kind, and its whole story stays in our own log. */
export function errorOf(fault: Fault): ReturnType<typeof bridgeErrorOf> {
  const error = bridgeErrorOf(fault, () => undefined)
  if (fault.reason !== 'internal') return error
  const { cause } = fault
  logFault('handrail: bridge:', cause ?? fault)
  return { ...error, data: { ...error.data, cause: cause instanceof Error ? cause.name : 'unknown' } }
}
