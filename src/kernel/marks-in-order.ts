import { setImmediate as turn } from 'node:timers/promises'
import type { Touch } from '../contracts/tool.ts'

/**
 * Judging a write takes a moment, or as long as its pattern does. What comes later of the same session for the same file does not
 * overtake it meanwhile: it goes on once the write has taken its turn, or is asked about. Nobody waits for what another session has judged.
 */
export function marksInOrder<Call extends { session: string; touches: readonly Touch[] }, Found>(
  marksOf: (call: Call) => Promise<Found[]>,
  underWay: Map<string, Promise<void>>,
): (call: Call) => Found[] | Promise<Found[]> {
  return (call) => {
    // Most calls write nothing, and nothing is being judged.
    if (underWay.size === 0 && !call.touches.some(isWrite)) return []
    const touched = call.touches.flatMap((touch) =>
      'path' in touch ? [{ key: `${call.session}\0${touch.path}`, access: touch.access }] : [],
    )
    const ahead = underWay.size ? touched.flatMap(({ key }) => underWay.get(key) ?? []) : []
    const writes = touched.filter(({ access }) => access === 'write')
    if (writes.length === 0) return ahead.length ? Promise.all(ahead).then(() => []) : []
    const found = ahead.length ? Promise.all(ahead).then(() => marksOf(call)) : marksOf(call)
    const over = async (): Promise<void> => {
      // What follows on being judged is done before the next turn of the event loop.
      await found.catch(() => undefined)
      await turn()
      for (const { key } of writes) if (underWay.get(key) === gone) underWay.delete(key)
    }
    const gone = over()
    for (const { key } of writes) underWay.set(key, gone)
    return found
  }
}

function isWrite(touch: Touch): boolean {
  return 'path' in touch && touch.access === 'write'
}
