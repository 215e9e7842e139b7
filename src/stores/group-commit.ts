import type { Database } from '../host/database.ts'

/**
 * Does it in a transaction, which is on the disk itself when it resolves unless `durable` is false. What it throws, it must throw before it
 * writes.
 */
export type Together = <T>(act: () => T, durable?: boolean) => Promise<T>

interface Waiting {
  act: () => unknown
  durable: boolean
  resolve: (value: never) => void
  reject: (fault: unknown) => void
}

/** What comes in one turn of the event loop shares one transaction, and so one flush: a hundred together cost little more than one. */
export function openGroupCommit(db: Database): Together {
  let waiting: Waiting[] = []
  const commit = (): void => {
    const group = waiting
    waiting = []
    const settled: (() => void)[] = []
    try {
      db.transaction(
        () => {
          for (const { act, resolve, reject } of group)
            try {
              const value = act() as never
              settled.push(() => resolve(value))
            } catch (fault) {
              settled.push(() => reject(fault))
            }
        },
        group.some(({ durable }) => durable),
      )
    } catch (fault) {
      for (const { reject } of group) reject(fault)
      return
    }
    for (const settle of settled) settle()
  }
  return (act, durable = true) =>
    new Promise((resolve, reject) => {
      if (waiting.push({ act, durable, resolve, reject }) === 1) setImmediate(commit)
    })
}
