import { statfs } from 'node:fs/promises'
import { treeOf } from '../running.ts'
import { unlinkedUsage, memoryOf, temporaryEntries } from './memory-usage.ts'
import { whyOverLimit, measureDiskUsage, type UsageLimits } from './disk-usage.ts'

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
/** A disk that is this full is full for everybody. */
const lastBytes = 268_435_456

/** Looks at a tree of processes while it runs, and ends it where it takes more than it may. The system's own limits are per process; these are for all. */
export function watchLimits(watched: WatchedProgram, limits: Limits, end: (why: string) => void): { stop(): void } {
  const { pid, first, written, unshare, everyMs } = watched
  /** Shared memory, as it was found when the disk was looked at. */
  let shared = 0
  const seen = new Map<string, number>()
  const timer = setInterval(() => {
    // Whoever loses its parent is taken over by the first process of its namespace, so nobody slips out.
    const tree = treeOf([pid], limits.processes)
    if (tree.length > limits.processes) return end(`it started more than ${limits.processes} processes (limits.stageProcesses)`)
    if (memoryOf(tree, limits.memoryBytes, shared) > limits.memoryBytes)
      end(`it took more than ${limits.memoryBytes} bytes of memory (limits.stageMemoryBytes)`)
  }, everyMs)
  let stopped = false
  let diskTimer: NodeJS.Timeout | undefined
  const shut = new Map<number, number>()
  const free = freeBytes(written)

  /** The program's own processes; the first of its namespace is bubblewrap, which lets nobody look. */
  const own = (): number[] => {
    const root = first()
    return root === undefined ? [] : treeOf([root], limits.processes).filter((one) => one !== root)
  }
  const lookAtDisk = async (): Promise<string | undefined> => {
    const pids = own()
    const unlinked = await unlinkedUsage(pids, seen)
    shared = unlinked.shared
    for (const one of unlinked.shut) {
      const looks = (shut.get(one) ?? 0) + 1
      if (looks >= shutLooks) return 'it hides from us which files it has open, so what it writes cannot be counted'
      shut.set(one, looks)
    }
    const usage = await measureDiskUsage(written, limits, unshare, () => stopped)
    const entries = usage.entries + (await temporaryEntries(pids))
    const why = whyOverLimit({ bytes: usage.bytes + unlinked.bytes, entries }, limits)
    if (why !== undefined) return why
    // Whatever it found to fill it with.
    const [was, is] = [await free, await freeBytes(written)]
    return is < lastBytes && was - is > limits.diskBytes ? 'the disk it writes to is nearly full' : undefined
  }
  const again = async (): Promise<void> => {
    const why = await lookAtDisk().catch(() => undefined)
    if (stopped) return
    if (why !== undefined) end(why)
    diskTimer = setTimeout(() => void again(), diskEveryMs)
  }
  diskTimer = setTimeout(() => void again(), diskEveryMs)
  return {
    stop() {
      stopped = true
      clearInterval(timer)
      clearTimeout(diskTimer)
    },
  }
}

async function freeBytes([folder = '/']: readonly string[]): Promise<number> {
  const found = await statfs(folder).catch(() => undefined)
  return found ? found.bavail * found.bsize : Number.MAX_SAFE_INTEGER
}
