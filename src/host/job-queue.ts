import { createRequire } from 'node:module'
import type { Queue, Worker } from 'bullmq'
import type { Dispatcher } from '../contracts/cluster.ts'
import { Fault } from '../contracts/faults/fault.ts'
import { addressOf, type Postgres } from './postgres.ts'

/**
 * BullMQ as the dispatcher: one job for each offer, on PostgreSQL or, where a URL is given, on Redis. A job says only that somebody is to
 * come; a worker that has one takes the runs whose turn it is. So a job that is lost or delivered twice loses and doubles nothing.
 */
export async function openJobQueue(parts: {
  db: Postgres
  redis?: string
  name: string
  /** How long a worker that says nothing keeps what it took. */
  leaseMs: number
  onError: (fault: unknown) => void
}): Promise<Dispatcher & { renew(): void }> {
  const { db, redis, name, leaseMs, onError } = parts
  const bull = loadBull()
  const backend = redis === undefined ? undefined : openRedis(redis, onError)
  const pool = backend ? undefined : db.queuePool()
  if (pool) await bull.runMigrations(pool as never)
  /** Redis asks for a connection of its own wherever it waits; PostgreSQL shares the pool. */
  const how = (): { connection: never } => ({ connection: (backend ? backend.connect() : pool) as never })
  const args = (): [{ connection: never }, never] => [how(), (backend ? undefined : bull.createPostgresBackend) as never]
  const [queueOptions, factory] = args()
  const queue: Queue = new bull.Queue(name, queueOptions, factory)
  queue.on('error', onError)
  let worker: Worker | undefined
  let handler: (() => Promise<void>) | undefined
  let isPaused = false
  let closing: Promise<void> | undefined

  const open = (): void => {
    if (!handler || closing) return
    const take = handler
    const [options] = args()
    worker = new bull.Worker(
      name,
      async () => {
        await take()
      },
      {
        ...options,
        // Whoever comes takes as much as there is room for: a second one beside it would find nothing.
        concurrency: 1,
        lockDuration: leaseMs,
        stalledInterval: Math.max(1_000, Math.round(leaseMs / 2)),
        // However often a worker dies, somebody comes; the row counts deaths and gives the run its end.
        maxStalledCount: 1_000_000,
        removeOnComplete: { count: 0 },
        removeOnFail: { count: 0 },
      },
      factory,
    )
    worker.on('error', onError)
    isPaused = false
  }
  return {
    async offer() {
      await queue.add('run', {}, { removeOnComplete: true, removeOnFail: true })
    },
    work(take) {
      handler = take
      open()
    },
    room(is) {
      if (!worker || is === !isPaused) return
      isPaused = !is
      if (is) void worker.resume().catch(onError)
      // What is under way goes on; nothing more is fetched.
      else void worker.pause(true).catch(onError)
    },
    waiting: async () => {
      const {
        wait = 0,
        waiting = 0,
        delayed = 0,
        prioritized = 0,
      } = await queue.getJobCounts('wait', 'waiting', 'delayed', 'prioritized')
      return wait + waiting + delayed + prioritized
    },
    /** A connection that waits for notices may have died without a word: another one is opened. */
    renew() {
      const old = worker
      if (!old || closing) return
      worker = undefined
      void old.close(true).catch(onError)
      open()
    },
    close() {
      closing ??= (async () => {
        await worker?.close()
        await queue.close()
        await backend?.close()
      })().catch(onError)
      return closing
    },
  }
}

function loadBull(): typeof import('bullmq') {
  try {
    return createRequire(import.meta.url)('bullmq') as typeof import('bullmq')
  } catch (cause) {
    throw new Fault('unsupported', 'A database is configured (cluster.database), and the package bullmq is not installed', {
      hint: 'npm install pg bullmq (ioredis too for cluster.redis), where Handrail is installed.',
      cause,
    })
  }
}

function openRedis(url: string, onError: (fault: unknown) => void) {
  let Redis: typeof import('ioredis').Redis
  try {
    ;({ Redis } = createRequire(import.meta.url)('ioredis') as typeof import('ioredis'))
  } catch (cause) {
    throw new Fault('unsupported', 'A Redis is configured (cluster.redis), and the package ioredis is not installed', {
      hint: 'npm install ioredis, where Handrail is installed.',
      cause,
    })
  }
  const all: InstanceType<typeof Redis>[] = []
  return {
    connect() {
      const one = new Redis(url, { maxRetriesPerRequest: null, connectTimeout: 5_000 })
      one.on('error', (cause: Error) =>
        onError(new Fault('io', `The queue of runs (${addressOf(url)}) is out of reach: ${cause.message.slice(0, 200)}`)),
      )
      all.push(one)
      return one
    },
    async close() {
      for (const one of all) one.disconnect()
    },
  }
}
