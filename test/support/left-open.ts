import { setTimeout as pause } from 'node:timers/promises'

/**
 * What tests opened in this process and have not closed yet. Test files share a few processes: where a test fails or is too late before it
 * closes what it opened, that is closed at the end of its file (`same-environment.ts`), so that it takes no other file with it.
 */
const open = new Set<() => unknown>()

/** Whoever closes it says so with what this returns. */
export function leftOpen(close: () => unknown): () => void {
  open.add(close)
  return () => void open.delete(close)
}

/** The last first, none for longer than a while: what hangs is left behind. */
export async function closeLeftOpen(): Promise<void> {
  for (const close of [...open].reverse()) {
    open.delete(close)
    const closed = Promise.resolve()
      .then(close)
      .catch(() => undefined)
    await Promise.race([closed, pause(20_000, undefined, { ref: false })])
  }
}
