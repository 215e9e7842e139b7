import type { AuditEntry } from '../contracts/audit.ts'

/** Lines on their way into the log that somebody waits for. */
export interface Awaited {
  /** Resolves when it is there. */
  add(line: AuditEntry): Promise<void>
  /** All of them are. */
  written(): void
  /** None of them is, nor will be: whoever waits is told why. */
  refuse(cause: unknown): ReadonlySet<AuditEntry>
}

/** What is said before the event loop takes up its next event is written once, at the end of that, unless somebody else wrote it by then. */
export function openAwaited(flush: () => void): Awaited {
  let all: { line: AuditEntry; resolve: () => void; reject: (fault: unknown) => void }[] = []
  const settle = (): typeof all => {
    const settled = all
    all = []
    return settled
  }
  return {
    add: (line) =>
      new Promise((resolve, reject) => {
        if (all.push({ line, resolve, reject }) === 1) process.nextTick(() => all.length > 0 && flush())
      }),
    written() {
      for (const { resolve } of settle()) resolve()
    },
    refuse(cause) {
      const refused = settle()
      for (const { reject } of refused) reject(cause)
      return new Set(refused.map(({ line }) => line))
    },
  }
}
