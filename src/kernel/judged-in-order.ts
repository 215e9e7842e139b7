import { setImmediate as turn } from 'node:timers/promises'
import type { Touch } from '../contracts/tool.ts'

/**
 * Judging a write takes a moment. Who comes later for the same file does not overtake it meanwhile: they go on once it has taken its
 * turn, or is asked about. Reads that meet no write are not held up at all.
 */
export function judgedInOrder<Call extends { touches: readonly Touch[] }, Found>(
  judge: (call: Call) => Promise<Found[]>,
): (call: Call) => Found[] | Promise<Found[]> {
  const underWay = new Map<string, Promise<void>>()
  return (call) => {
    const touched = call.touches.flatMap((touch) => ('path' in touch ? [touch] : []))
    const ahead = underWay.size ? touched.flatMap(({ path }) => underWay.get(path) ?? []) : []
    const writes = touched.filter(({ access }) => access === 'write')
    if (writes.length === 0) return ahead.length ? Promise.all(ahead).then(() => []) : []
    const found = ahead.length ? Promise.all(ahead).then(() => judge(call)) : judge(call)
    const over = async (): Promise<void> => {
      // What follows on being judged is done before the next turn of the event loop.
      await found.catch(() => undefined)
      await turn()
      for (const { path } of writes) if (underWay.get(path) === gone) underWay.delete(path)
    }
    const gone = over()
    for (const { path } of writes) underWay.set(path, gone)
    return found
  }
}
