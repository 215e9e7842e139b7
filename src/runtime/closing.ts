/** Remembers to close what was opened. */
export type Keep = <T extends { close(): unknown }>(one: T) => T

export interface Closing {
  keep: Keep
  /** The last first; all of it, whatever fails on the way. */
  close(): Promise<void>
  /** For what could not be opened whole. */
  closeNow(): void
}

export function openClosing(): Closing {
  const opened: { close(): unknown }[] = []
  return {
    keep(one) {
      opened.push(one)
      return one
    },
    async close() {
      const faults: unknown[] = []
      for (const one of opened.splice(0).toReversed())
        try {
          await one.close()
        } catch (fault) {
          faults.push(fault)
        }
      if (faults.length) throw faults[0]
    },
    closeNow() {
      for (const one of opened.splice(0).toReversed()) void one.close()
    },
  }
}
