import { readFileSync } from 'node:fs'
import { lstat, readdir } from 'node:fs/promises'
import { treeOf } from '../running.ts'

/** Most that one program and all it starts may take. */
export interface Limits {
  processes: number
  memoryBytes: number
  diskBytes: number
}

const diskEveryMs = 500

export const wroteTooMuch = ({ diskBytes }: Limits): string => `it wrote more than ${diskBytes} bytes (limits.stageDiskBytes)`
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
    // Whoever loses its parent is taken over by the first process of its namespace, so nobody slips out.
    const tree = treeOf([pid], limits.processes)
    if (tree.length > limits.processes) return end(`it started more than ${limits.processes} processes (limits.stageProcesses)`)
    const memory = tree.reduce((sum, one) => sum + residentBytes(one), 0)
    if (memory > limits.memoryBytes) end(`it took more than ${limits.memoryBytes} bytes of memory (limits.stageMemoryBytes)`)
  }, everyMs)
  let stopped = false
  let diskTimer: NodeJS.Timeout | undefined
  const lookAtDisk = async (): Promise<void> => {
    if (await exceeds(upper, limits.diskBytes, () => stopped)) end(wroteTooMuch(limits))
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
        else if (entry.isFile()) {
          // A file with holes takes little room here, and all of it where it is committed to.
          const { size, blocks } = await lstat(path)
          sum += Math.max(size, blocks * 512)
        }
        if (sum > most) return true
      }
    } catch {
      // It went while it was counted.
    }
  }
  return false
}
