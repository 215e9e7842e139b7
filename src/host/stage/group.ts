import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { rmdir } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'

/** Where the system keeps groups of processes whose number is bounded: the older way, or the newer where it is switched on. */
const places = [
  // A thread that joins by itself keeps nobody waiting; a whole process stops every start and end of others for milliseconds.
  { folder: '/sys/fs/cgroup/pids', joining: 'tasks', ready: () => existsSync('/sys/fs/cgroup/pids/tasks') },
  {
    folder: '/sys/fs/cgroup',
    joining: 'cgroup.procs',
    ready: () => /\bpids\b/.test(readFileSync('/sys/fs/cgroup/cgroup.subtree_control', 'latin1')),
  },
]

const isRoot = process.getuid?.() === 0

/**
 * The system's limit on processes does not count for root, and a program that starts others without end leaves us no time to look.
 * So root's programs are held in a group of their own, one for each stage, where the system has such; looking at them stays as the
 * second line. Gives the file a process writes 0 to, to join before it starts others.
 */
export function boundedGroup(stage: string, processes: number): string | undefined {
  for (const { folder, joining, ready } of isRoot ? places : []) {
    const own = join(folder, nameOf(stage))
    try {
      if (!ready()) continue
      mkdirSync(own, { recursive: true })
      writeFileSync(join(own, 'pids.max'), String(processes))
      return join(own, joining)
    } catch {
      void drop(own)
    }
  }
  return undefined
}

const dropping = new Set<Promise<void>>()

/** Begins to take away the group of a stage that is taken away. */
export function dropGroup(stage: string): void {
  for (const { folder } of isRoot ? places : []) {
    const own = join(folder, nameOf(stage))
    if (!existsSync(own)) continue
    const gone = drop(own).finally(() => dropping.delete(gone))
    dropping.add(gone)
  }
}

/** The system takes its time over that; nobody waits for it before the end. */
export async function groupsGone(): Promise<void> {
  await Promise.all(dropping)
}

function nameOf(stage: string): string {
  return `handrail-${basename(stage)}`
}

const tries = 50
const againMs = 20

/** Its last process may still be on its way out, and the system keeps a group as long as anybody is in it. */
async function drop(own: string, more = tries): Promise<void> {
  try {
    await rmdir(own)
  } catch (cause) {
    if (more === 0 || (cause as NodeJS.ErrnoException).code !== 'EBUSY') return
    await pause(againMs)
    await drop(own, more - 1)
  }
}
