import type { Worker } from './run-ports.ts'

/**
 * What a cluster adds to the ports of runs: several machines on one database. Which of them carries out a run that any could, the queue
 * of an existing engine decides; everything else stands in the tables.
 */
export interface Dispatcher {
  /** Somebody is to come for runs that any worker may carry out. Which ones, the store says by turn. */
  offer(): Promise<void>
  /** From now on `take` is called for what is offered, while this worker has room, and not again before it has resolved. */
  work(take: () => Promise<void>): void
  /** There is room here, or none: what is offered goes to others meanwhile. */
  room(is: boolean): void
  /** Offers that nobody has come for yet. */
  waiting(): Promise<number>
  /** Takes no more; resolves when what it had begun to take is over. */
  close(): Promise<void>
}

/** A process counts as alive while it says so in time. */
export interface Lease {
  /** What it holds now: whatever else is its own in the store is given up for others. */
  holds(runs: () => readonly string[]): void
  /** These are no longer this worker's, or it could not say in time that it is alive, so that others may have them. */
  onLost(listener: (runs: readonly string[]) => void): void
}

/** A process of a cluster, as `handrail runs workers` shows it. */
export interface WorkerView {
  name: string
  /** The machine it runs on. */
  host: string
  pid: number
  version: string
  /** Takes whatever is there, or only what it hands in itself. */
  kind: 'worker' | 'caller'
  /** Serves the same project in the same folder of the same machine as whoever asks. */
  here: boolean
  /** Goes by the same settings as whoever asks: only then does it carry out what is handed in here. */
  sameRules: boolean
  slots: number
  /** Takes no more, and ends when what it has is over. */
  draining: boolean
  /** Templates it takes; all of them where it says none. */
  templates: string[]
  /** Under way now, and waiting for a person. */
  running: number
  parked: number
  startedAt: number
  /** How long ago it last said that it is alive. */
  silentMs: number
  alive: boolean
}

export interface QueueView {
  queued: number
  /** How long the one that waits longest has waited. */
  oldestMs: number
  running: number
  waitingForPerson: number
  /** Offers in the queue of the engine beneath. */
  offered: number
}

/** Runs on several machines, as the person watches them. */
export interface ClusterView {
  /** Where it is, without names or passwords. */
  database: string
  space: string
  queue: 'postgres' | 'redis'
  artifacts: 'postgres' | 's3'
  workers: WorkerView[]
  depth: QueueView
  /** How it ended, how often, of those that are still kept. */
  ended: Record<string, number>
}

/** What a worker of a cluster is besides its name. */
export interface ClusterWorker extends Worker {
  /** Machine, project and state folder: files, approvals, sealed secrets and the log are there. */
  place: string
  templates?: readonly string[]
}
