/**
 * Calls that a person agreed to and that are being carried out. The same call of the same session, made again meanwhile, waits for what becomes of
 * them: asked about anew, it would wait for an answer that no longer matters.
 */
export interface DuplicateCalls {
  /** From the moment its yes is used up until it is over. */
  begin(call: string, key: string): void
  over(call: string, done: boolean): void
  /** Whether the same call was carried out, once that is known; undefined where none is under way. */
  ahead(key: string): Promise<boolean> | undefined
}

export function openDuplicateCalls(): DuplicateCalls {
  const byKey = new Map<string, Promise<boolean>>()
  const byCall = new Map<string, (done: boolean) => void>()
  return {
    begin(call, key) {
      const ended = new Promise<boolean>((resolve) => {
        byCall.set(call, (done) => {
          byCall.delete(call)
          if (byKey.get(key) === ended) byKey.delete(key)
          resolve(done)
        })
      })
      byKey.set(key, ended)
    },
    over: (call, done) => byCall.get(call)?.(done),
    ahead: (key) => byKey.get(key),
  }
}
