import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { processName } from '../running.ts'
import type { Limits } from './limit-watch.ts'

interface Place {
  folder: string
  joining: string
  ready: () => boolean
  /** Whether a group there can be held to an amount of memory as well. */
  memory: () => boolean
}

const switchedOn = (): string => readFileSync('/sys/fs/cgroup/cgroup.subtree_control', 'latin1')

/** Where the system keeps groups of processes whose number is bounded: the older way, or the newer where it is switched on. */
const places: readonly Place[] = [
  // A thread that joins by itself keeps nobody waiting; a whole process stops every start and end of others for milliseconds.
  {
    folder: '/sys/fs/cgroup/pids',
    joining: 'tasks',
    ready: () => existsSync('/sys/fs/cgroup/pids/tasks'),
    memory: () => false,
  },
  {
    folder: '/sys/fs/cgroup',
    joining: 'cgroup.procs',
    ready: () => /\bpids\b/.test(switchedOn()),
    memory: () => /\bmemory\b/.test(switchedOn()),
  },
]

const isRoot = process.getuid?.() === 0
/** The temporary folders of a stage lie in memory too, and are bounded by themselves. */
const temporaryBytes = 1_073_741_824

export interface Cgroup {
  /** The file a process writes 0 to, to join before it starts others. */
  joining: string
  /** Begins to take it away, once nothing of its program is left. */
  drop(): void
}

/**
 * The system's limit on processes does not count for root, and a program that starts others without end leaves us no time to look.
 * So root's programs are held in a group of their own, one for each, where the system has such; looking at them stays as the second line.
 */
export function openCgroup({ processes, memoryBytes }: Limits): Cgroup | undefined {
  for (const { folder, joining, ready, memory } of isRoot ? places : []) {
    const own = join(folder, `handrail-${processName(process.pid) ?? process.pid}-${randomBytes(6).toString('hex')}`)
    try {
      if (!ready()) continue
      dropOrphans(folder)
      mkdirSync(own)
      writeFileSync(join(own, 'pids.max'), String(processes))
      if (memory()) writeFileSync(join(own, 'memory.max'), String(memoryBytes + temporaryBytes))
      return { joining: join(own, joining), drop: () => begin(own) }
    } catch {
      begin(own)
    }
  }
  return undefined
}

const looked = new Set<string>()

/** What killed processes left, once: its name says whose it was, and the system keeps it as long as anybody is in it. */
function dropOrphans(folder: string): void {
  if (looked.has(folder)) return
  looked.add(folder)
  for (const name of readdirSync(folder)) {
    const [, owner = '', pid = ''] = /^handrail-((\d+)-\d+)-/.exec(name) ?? []
    if (owner === '' || processName(Number(pid)) === owner) continue
    try {
      rmdirSync(join(folder, name))
    } catch {
      // Somebody is still in it, or was quicker.
    }
  }
}

const dropping = new Set<Promise<void>>()

function begin(own: string): void {
  const gone = drop(own).finally(() => dropping.delete(gone))
  dropping.add(gone)
}

/** The system takes its time over that; nobody waits for it before the end. */
export async function cgroupsGone(): Promise<void> {
  await Promise.all(dropping)
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
