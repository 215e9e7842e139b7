import { statfsSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { treeInSteps } from '../running.ts'
import { runInSlices } from '../../text/steps.ts'
import { unlinkedUsage, memoryOf, temporaryEntries } from './memory-usage.ts'
import { whyOverLimit, measureDiskUsage, type UsageLimits } from './disk-usage.ts'
import { openPriority } from './priority.ts'

/** Most that one program and all it starts may take. */
export interface Limits extends UsageLimits {
  processes: number
  memoryBytes: number
}

export interface WatchedProgram {
  /** What was started: the stage, and the program on it. */
  pid: number
  /** The first process of the program's own namespace, once it is there. */
  first: () => number | undefined
  /** The folders it writes to. */
  written: readonly string[]
  unshare: string
  everyMs: number
}

const diskEveryMs = 500
/** Whoever is on its way from one program to the next may be shut for a moment. */
const shutLooks = 3
/**
 * While they are looked at one after the other, processes part from each other or come to share what was counted already: one look
 * can find too much where there is none, not two in a row.
 */
const memoryLooks = 2
const againMs = 50
/** A disk that is this full is full for everybody. */
const lastBytes = 268_435_456

/** Looks at a tree of processes while it runs, has many step back behind others, and ends it where it takes more than it may. The system's own limits are per process; these are for all. */
export function watchLimits(watched: WatchedProgram, limits: Limits, end: (why: string) => void): { stop(): void } {
  const { pid, first, written, unshare, everyMs } = watched
  /** Shared memory, as it was found when the disk was looked at. */
  let shared = 0
  let unlinkedBytes = 0
  const seen = new Map<string, number>()
  let stopped = false
  const tellIfRunning = (why: string | undefined): void => {
    if (why !== undefined && !stopped) end(why)
  }

  // Whoever loses its parent is taken over by the first process of its namespace, so nobody slips out.
  const tree = (): Promise<number[]> => runInSlices(treeInSteps([pid], limits.processes))
  const lookAtMemory = async (found: readonly number[]): Promise<string | undefined> => {
    if ((await memoryOf(found, limits.memoryBytes, shared)) <= limits.memoryBytes) return undefined
    for (let look = 1; look < memoryLooks; look++) {
      await pause(againMs)
      if ((await memoryOf(await tree(), limits.memoryBytes, shared)) <= limits.memoryBytes) return undefined
    }
    return `it took more than ${limits.memoryBytes} bytes of memory (limits.stageMemoryBytes)`
  }
  let counting: Promise<void> | undefined
  const priority = openPriority()
  let steppedBack = false
  const lookAtProcesses = async (): Promise<string | undefined> => {
    const found = await tree()
    if (found.length > limits.processes) return `it started more than ${limits.processes} processes (limits.stageProcesses)`
    // A moment after its start: what is over at once is not worth it.
    if (!steppedBack && !stopped) steppedBack = priority.apply(found)
    // It may take seconds, and a program that starts others does not wait.
    counting ??= lookAtMemory(found)
      .then(tellIfRunning)
      .finally(() => (counting = undefined))
    return undefined
  }

  /** The program's own processes; the first of its namespace is a shell of ours that nobody can make do anything. */
  const own = async (): Promise<number[]> => {
    const root = first()
    if (root === undefined) return []
    return (await runInSlices(treeInSteps([root], limits.processes))).filter((one) => one !== root)
  }
  const shut = new Map<number, number>()
  const lookAtUnlinked = async (): Promise<string | undefined> => {
    const found = await own()
    // Whoever began a session of its own meanwhile.
    if (!stopped) steppedBack = priority.apply(found)
    const unlinked = await unlinkedUsage(found, seen)
    shared = unlinked.shared
    unlinkedBytes = unlinked.bytes
    if (unlinked.tooMany) return 'it has more files open and mapped than can be counted'
    for (const one of unlinked.shut) {
      const looks = (shut.get(one) ?? 0) + 1
      if (looks >= shutLooks) return 'it hides from us which files it has open, so what it writes cannot be counted'
      shut.set(one, looks)
    }
    return whyOverLimit({ bytes: unlinkedBytes, entries: 0 }, limits)
  }
  const free = freeBytes(written)
  const lookAtDisk = async (): Promise<string | undefined> => {
    const usage = await measureDiskUsage(written, limits, unshare, () => stopped)
    const entries = usage.entries + (await temporaryEntries(await own()))
    const why = whyOverLimit({ bytes: usage.bytes + unlinkedBytes, entries }, limits)
    if (why !== undefined) return why
    // Whatever it found to fill it with.
    const left = freeBytes(written)
    return left < lastBytes && free - left > limits.diskBytes ? 'the disk it writes to is nearly full' : undefined
  }
  // None waits for another: a program can make each of them take long. One that takes long rests as long.
  const every = [
    [lookAtProcesses, everyMs],
    [lookAtUnlinked, diskEveryMs],
    [lookAtDisk, diskEveryMs],
  ] as const
  const looks = every.map(([look, ms]) => {
    const place: { next?: NodeJS.Timeout } = {}
    const again = async (): Promise<void> => {
      const since = performance.now()
      tellIfRunning(await look().catch(() => undefined))
      if (!stopped) place.next = setTimeout(() => void again(), Math.max(ms, performance.now() - since))
    }
    place.next = setTimeout(() => void again(), ms)
    return place
  })
  return {
    stop() {
      stopped = true
      priority.close()
      for (const { next } of looks) clearTimeout(next)
    },
  }
}

/** On the spot: the system has the number at hand, and a thread to ask for it is up later than the program. */
function freeBytes([folder = '/']: readonly string[]): number {
  try {
    const { bavail, bsize } = statfsSync(folder)
    return bavail * bsize
  } catch {
    return Number.MAX_SAFE_INTEGER
  }
}
