import { readFile } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'

/** Of the time, while many connect one after the other without an end. */
const share = 0.2
/** So much of it can be saved up: whoever opens a few connections waits for none of this. */
const mostSavedMs = 50
/** However long one reading took, nobody waits longer than five times this for the next to begin. */
const mostOwedMs = 20

/** Systems that tell nobody, or not this user. Any other failure passes, as that of a process which has opened too many files. */
const untold = new Set<string | undefined>(['ENOENT', 'EACCES', 'EPERM'])

/** As it is at some moment after it was asked for: empty where the system has none, nothing where it could not be read this time. */
export type ReadTable = () => Promise<string | undefined>

/**
 * Linux's list of the connections of this machine. To list them takes the system 5 ms, however few there are, because it looks at every place where one
 * could be. So all who ask before a reading begins share it, and a client that connects again and again does not keep a processor busy with it.
 */
export function openTable(path: string): ReadTable {
  let next: Promise<string | undefined> | undefined
  let last: Promise<unknown> = Promise.resolve()
  let saved = mostSavedMs
  let since = performance.now()

  const settle = (spent: number): void => {
    const now = performance.now()
    saved = Math.max(-mostOwedMs, Math.min(mostSavedMs, saved + (now - since) * share) - spent)
    since = now
  }
  const read = async (): Promise<string | undefined> => {
    settle(0)
    if (saved < 0) await pause(-saved / share)
    next = undefined
    const began = performance.now()
    const text = await readFile(path, 'latin1').catch(({ code }: NodeJS.ErrnoException) => (untold.has(code) ? '' : undefined))
    settle(performance.now() - began)
    return text
  }
  return () => {
    last = next ??= last.then(read)
    return next
  }
}

export const socketTables: Record<'tcp' | 'tcp6', ReadTable> = {
  tcp: openTable('/proc/net/tcp'),
  tcp6: openTable('/proc/net/tcp6'),
}
