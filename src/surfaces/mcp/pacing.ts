import type { JSONRPCMessage } from '@modelcontextprotocol/server'

/** Requests that are taken up together; the others wait behind them and cost nothing yet. */
const together = 32
/** What handing work in takes of that: its answer is a few words, and what it waits for is one flush, which all that come together share. */
const submission = 1 / 4
/** Where none of them was answered for so long they wait for somebody, and hold up nobody. */
const stuckMs = 100

type Id = string | number

export interface Pacing {
  /** Hands a message on, now or when there is room for its answer. */
  take(message: JSONRPCMessage): void
  answered(id: Id): void
  /** The other side has read something. */
  moved(): void
  /** Whether messages wait: then no more should be read. */
  readonly waits: boolean
}

/**
 * Keeps requests of one connection from being taken up faster than their answers are fetched, so that whoever asks ten thousand
 * times and reads nothing fills no memory but its own. Answers to our own questions, and cancellations, never wait.
 */
export function openPacing(parts: {
  deliver(message: JSONRPCMessage): void
  /** Whether more answers lie about unread than should. */
  clogged(): boolean
  /** A request that never got to be taken up was cancelled. */
  dropped(id: Id): void
  /** Nothing waits any more. */
  emptied(): void
}): Pacing {
  const fresh = new Map<Id, number>()
  let taken = 0
  let line: JSONRPCMessage[] = []
  let timer: NodeJS.Timeout | undefined
  let answers = 0
  let going = false

  const idOf = (message: JSONRPCMessage): Id | undefined => ('method' in message && 'id' in message ? message.id : undefined)
  const room = (): boolean => taken < together && !parts.clogged()
  const go = (): void => {
    // An answer that is there at once comes back here while its request is being handed on.
    if (going) return
    going = true
    let at = 0
    for (; at < line.length && room(); at++) handOn(line[at] as JSONRPCMessage)
    line = line.slice(at)
    going = false
    if (line.length === 0) parts.emptied()
    else watch()
  }
  const handOn = (message: JSONRPCMessage): void => {
    const id = idOf(message)
    if (id !== undefined) {
      // The same id twice is the client's mistake, and counts once.
      taken += shareOf(message) - (fresh.get(id) ?? 0)
      fresh.set(id, shareOf(message))
    }
    parts.deliver(message)
  }
  const watch = (): void => {
    const before = answers
    timer ??= setTimeout(() => {
      timer = undefined
      if (answers === before) {
        fresh.clear()
        taken = 0
      }
      if (line.length) go()
    }, stuckMs).unref()
  }
  const cancels = (message: JSONRPCMessage): boolean => {
    if (!('method' in message) || message.method !== 'notifications/cancelled') return false
    const id = (message.params as { requestId?: Id } | undefined)?.requestId
    const at = line.findIndex((one) => id !== undefined && idOf(one) === id)
    if (at >= 0) {
      line.splice(at, 1)
      parts.dropped(id as Id)
    } else parts.deliver(message)
    return true
  }

  return {
    take(message) {
      if (!('method' in message)) return parts.deliver(message)
      if (cancels(message)) return
      if (line.length === 0 && !going && room()) return handOn(message)
      line.push(message)
      watch()
    },
    answered(id) {
      answers++
      taken -= fresh.get(id) ?? 0
      fresh.delete(id)
      if (line.length) go()
    },
    moved() {
      if (line.length) go()
    },
    get waits() {
      return line.length > 0
    },
  }
}

const shareOf = (message: JSONRPCMessage): number =>
  'method' in message &&
  message.method === 'tools/call' &&
  (message.params as { name?: unknown } | undefined)?.name === 'run_task_template'
    ? submission
    : 1
