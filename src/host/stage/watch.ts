import { readFileSync, readdirSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'

/** Most that one program and all it starts may take. */
export interface Limits {
  processes: number
  memoryBytes: number
  diskBytes: number
}

const diskEveryMs = 500
const pageBytes = 4_096

/** Looks at a tree of processes while it runs, and ends it where it takes more than it may. The system's own limits are per process; these are for all. */
export function watchLimits(
  pid: number,
  upper: string,
  limits: Limits,
  everyMs: number,
  end: (why: string) => void,
): { stop(): void } {
  const timer = setInterval(() => {
    const tree = treeOf(pid, limits.processes)
    if (tree.length > limits.processes) return end(`it started more than ${limits.processes} processes (limits.stageProcesses)`)
    const memory = tree.reduce((sum, one) => sum + residentBytes(one), 0)
    if (memory > limits.memoryBytes) end(`it took more than ${limits.memoryBytes} bytes of memory (limits.stageMemoryBytes)`)
  }, everyMs)
  let stopped = false
  let diskTimer: NodeJS.Timeout | undefined
  const lookAtDisk = async (): Promise<void> => {
    if (await exceeds(upper, limits.diskBytes, () => stopped))
      end(`it wrote more than ${limits.diskBytes} bytes (limits.stageDiskBytes)`)
    if (!stopped) diskTimer = setTimeout(() => void lookAtDisk(), diskEveryMs)
  }
  diskTimer = setTimeout(() => void lookAtDisk(), diskEveryMs)
  return {
    stop() {
      stopped = true
      clearInterval(timer)
      clearTimeout(diskTimer)
    },
  }
}

/** A process and all below it. Whoever loses its parent is taken over by the first process of its namespace, so nobody slips out. */
function treeOf(pid: number, most: number): number[] {
  const found = [pid]
  for (let at = 0; at < found.length && found.length <= most; at++) found.push(...childrenOf(found[at] as number))
  return found
}

function childrenOf(pid: number): number[] {
  try {
    return readdirSync(`/proc/${pid}/task`).flatMap((thread) =>
      readFileSync(`/proc/${pid}/task/${thread}/children`, 'latin1').split(' ').filter(Boolean).map(Number),
    )
  } catch {
    return []
  }
}

function residentBytes(pid: number): number {
  try {
    const [, resident = 0, shared = 0] = readFileSync(`/proc/${pid}/statm`, 'latin1').split(' ').map(Number)
    return (resident - shared) * pageBytes
  } catch {
    return 0
  }
}

/** Whether a folder holds more than so many bytes; it stops counting there. */
export async function exceeds(folder: string, most: number, enough: () => boolean = () => false): Promise<boolean> {
  let sum = 0
  const waiting = [folder]
  for (let at = waiting.pop(); at !== undefined && !enough(); at = waiting.pop()) {
    try {
      for (const entry of await readdir(at, { withFileTypes: true })) {
        const path = `${at}/${entry.name}`
        if (entry.isDirectory()) waiting.push(path)
        else if (entry.isFile()) sum += (await lstat(path)).blocks * 512
        if (sum > most) return true
      }
    } catch {
      // It went while it was counted.
    }
  }
  return false
}
