import { ToolError } from '../contracts/errors.ts'
import type { Touch } from '../contracts/tool.ts'

interface Waiting {
  touches: readonly Touch[]
  start: () => void
  drop: (fault: unknown) => void
}

/**
 * Who goes next: calls on the same file take turns in the order they came (readers together, a writer alone),
 * a bounded number is carried out at once, and a bounded number waits.
 */
export interface Turns {
  take<T>(touches: readonly Touch[], signal: AbortSignal | undefined, act: () => Promise<T>): Promise<T>
}

export function openTurns(maxConcurrent: number, maxQueued: number): Turns {
  const busy = new Map<string, { readers: number; writer: boolean }>()
  let queue: Waiting[] = []
  let active = 0

  const free = (touches: readonly Touch[], ahead?: ReadonlyMap<string, boolean>): boolean =>
    touches.every((touch) => {
      if (!('path' in touch)) return true
      const writes = touch.access === 'write'
      const held = busy.get(touch.path)
      if (held && (held.writer || (writes && held.readers > 0))) return false
      const before = ahead?.get(touch.path)
      return before === undefined || (!before && !writes)
    })
  const enter = (touches: readonly Touch[]): void => {
    active++
    for (const touch of touches) {
      if (!('path' in touch)) continue
      const held = busy.get(touch.path) ?? { readers: 0, writer: false }
      if (touch.access === 'write') held.writer = true
      else held.readers++
      busy.set(touch.path, held)
    }
  }
  const leave = (touches: readonly Touch[]): void => {
    active--
    for (const touch of touches) {
      if (!('path' in touch)) continue
      const held = busy.get(touch.path)
      if (!held) continue
      if (touch.access === 'write') held.writer = false
      else held.readers--
      if (!held.writer && held.readers <= 0) busy.delete(touch.path)
    }
    if (queue.length) startNext()
  }
  const startNext = (): void => {
    /** Paths wanted by calls that came earlier and still wait: true where one of them writes. */
    const ahead = new Map<string, boolean>()
    const still: Waiting[] = []
    const ready: Waiting[] = []
    for (const waiting of queue) {
      if (active < maxConcurrent && free(waiting.touches, ahead)) {
        enter(waiting.touches)
        ready.push(waiting)
        continue
      }
      still.push(waiting)
      for (const touch of waiting.touches)
        if ('path' in touch) ahead.set(touch.path, (ahead.get(touch.path) ?? false) || touch.access === 'write')
    }
    queue = still
    for (const waiting of ready) waiting.start()
  }

  const queued = (touches: readonly Touch[], signal: AbortSignal | undefined): Promise<void> => {
    if (queue.length >= maxQueued)
      throw new ToolError('E_POLICY_VIOLATION', `Too many calls at once: ${maxQueued} wait already`, {
        hint: 'Wait for answers before sending more, or raise limits.maxQueued.',
      })
    signal?.throwIfAborted()
    return new Promise<void>((resolve, reject) => {
      const waiting: Waiting = { touches, start: resolve, drop: reject }
      queue.push(waiting)
      signal?.addEventListener('abort', () => {
        if (!queue.includes(waiting)) return
        queue = queue.filter((one) => one !== waiting)
        reject(signal.reason)
        startNext()
      })
      // Others wait, but perhaps for another file: this one may go at once.
      if (active < maxConcurrent) startNext()
    })
  }

  return {
    async take(touches, signal, act) {
      if (queue.length === 0 && active < maxConcurrent && free(touches)) enter(touches)
      else await queued(touches, signal)
      try {
        return await act()
      } finally {
        leave(touches)
      }
    },
  }
}
