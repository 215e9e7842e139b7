import { existsSync, mkdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** Holds a number of processes together, whoever starts them. */
export interface Group {
  /** Where a process writes its number to join; the system takes its time over that, so nobody else does it for it. */
  readonly joining: string
  close(): Promise<void>
}

/** Where the system keeps groups of processes whose number is bounded: the older way, or the newer where it is switched on. */
const places = [
  { folder: '/sys/fs/cgroup/pids', ready: () => existsSync('/sys/fs/cgroup/pids/cgroup.procs') },
  {
    folder: '/sys/fs/cgroup',
    ready: () => /\bpids\b/.test(readFileSync('/sys/fs/cgroup/cgroup.subtree_control', 'latin1')),
  },
]

/**
 * The system's limit on processes does not count for root, and a program that starts others without end leaves us no time to look.
 * So root's programs are held in a group of their own, where the system has such; looking at them stays as the second line.
 */
export function boundedGroup(stage: string, processes: number): Group | undefined {
  if (process.getuid?.() !== 0) return undefined
  for (const { folder, ready } of places) {
    const own = join(folder, `handrail-${basename(stage)}`)
    try {
      if (!ready()) continue
      mkdirSync(own)
    } catch {
      continue
    }
    try {
      writeFileSync(join(own, 'pids.max'), String(processes))
      return { joining: join(own, 'cgroup.procs'), close: () => drop(own) }
    } catch {
      void drop(own)
    }
  }
  return undefined
}

/** The group of a stage whose process was killed. */
export function dropGroup(stage: string): void {
  for (const { folder } of places) void drop(join(folder, `handrail-${basename(stage)}`), 0)
}

const tries = 200
const againMs = 1

/** Its last process may still be on its way out, and the system keeps a group as long as anybody is in it. */
async function drop(own: string, more = tries): Promise<void> {
  try {
    rmdirSync(own)
  } catch (cause) {
    if (more === 0 || (cause as NodeJS.ErrnoException).code !== 'EBUSY') return
    await pause(againMs)
    await drop(own, more - 1)
  }
}
