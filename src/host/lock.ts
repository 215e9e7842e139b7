import { setTimeout as pause } from 'node:timers/promises'
import { Fault } from '../contracts/faults/fault.ts'
import { openSerialQueue } from '../text/serial-queue.ts'
import { heldHint, isHeldElsewhere, openConnection } from './database.ts'

/**
 * One holder among all processes on a project. It rests on the lock of a small database file, which the system
 * gives back even when the holder is killed, so there is no stale lock to clean up.
 */
export interface Lock {
  /** Waits in turn without blocking the process. */
  hold<T>(act: () => T | Promise<T>, signal?: AbortSignal): Promise<T>
  /** For short work only: waits on the spot. */
  holdNow<T>(act: () => T): T
  close(): void
}

const patienceMs = 30_000
/** For what waits on the spot. */
const briefMs = 10_000
/** A process that has held it so long, one call after the other, lets others have it, who look every few milliseconds. */
const turnMs = 100
const gapMs = 15

export function openLock(path: string, brief = briefMs): Lock {
  const connection = openConnection(path)
  connection.exec('PRAGMA busy_timeout = 0')
  let isQuiet = false
  /**
   * Nothing is ever written to it, so the journal that taking the lock would create on disk can stay in memory. To say so takes a lock
   * too, so it is said with the first one: where others hold it one after the other, opening must not wait for a gap.
   */
  const begin = (): void => {
    if (!isQuiet) connection.exec('PRAGMA journal_mode = MEMORY')
    isQuiet = true
    connection.exec('BEGIN EXCLUSIVE')
  }
  const inTurn = openSerialQueue()
  let turnSince = Number.NEGATIVE_INFINITY
  let releasedAt = Number.NEGATIVE_INFINITY
  const giveWay = async (): Promise<void> => {
    const now = performance.now()
    if (now - releasedAt > gapMs) turnSince = now
    if (now - turnSince < turnMs) return
    await pause(gapMs + Math.random() * gapMs)
    turnSince = performance.now()
  }
  const take = async (signal: AbortSignal | undefined): Promise<void> => {
    await giveWay()
    const until = performance.now() + patienceMs
    for (let wait = 1; ; wait = Math.min(wait * 1.5, 8)) {
      if (tryTake()) return
      signal?.throwIfAborted()
      if (performance.now() > until)
        throw new Fault('timeout', 'Another Handrail process holds this project for longer than 30 s', {
          hint: 'Find it with `handrail doctor`; a stopped (not killed) process keeps its lock.',
        })
      await pause(wait + Math.random() * wait)
    }
  }
  const tryTake = (): boolean => {
    try {
      begin()
      return true
    } catch (cause) {
      if (isHeldElsewhere(cause)) return false
      throw lockFault(cause)
    }
  }
  const release = (): void => {
    connection.exec('ROLLBACK')
    releasedAt = performance.now()
  }
  return {
    hold(act, signal) {
      return inTurn(async () => {
        signal?.throwIfAborted()
        await take(signal)
        try {
          return await act()
        } finally {
          release()
        }
      })
    },
    holdNow(act) {
      const until = performance.now() + brief
      for (let wait = 1; !tryTake(); wait = Math.min(wait * 1.5, 4)) {
        if (performance.now() > until) throw lockFault(Object.assign(new Error('others hold it'), { errcode: busy }))
        Atomics.wait(sleeper, 0, 0, wait + Math.random() * wait)
      }
      try {
        return act()
      } finally {
        release()
      }
    },
    close: () => connection.close(),
  }
}

/** SQLITE_BUSY. */
const busy = 5
const sleeper = new Int32Array(new SharedArrayBuffer(4))

function lockFault(cause: unknown): Fault {
  return new Fault('io', `The project cannot be locked: ${(cause as Error).message}`, {
    hint: isHeldElsewhere(cause)
      ? heldHint
      : 'Is the disk full, or was the project folder moved while Handrail was running? Start it again.',
    cause,
  })
}
