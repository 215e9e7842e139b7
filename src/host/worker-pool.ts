import { Worker } from 'node:worker_threads'
import { Fault } from '../contracts/faults/fault.ts'
import { openFairSlots } from '../text/fair-slots.ts'

/** One piece of work for a thread. */
export interface Work<Job> {
  job: Job
  /** Whose it is: threads go round between clients, and nobody holds all of them. */
  client: string
  timeoutMs: number
  /** What is told where it took longer; its thread is ended. */
  late: () => Error
  /** What is told where the thread broke. */
  broken: (cause: unknown) => unknown
  signal?: AbortSignal | undefined
}

/** Threads that do one kind of work, started when they are needed. */
export interface WorkerPool<Job, Answer> {
  run(work: Work<Job>): Promise<Answer>
  close(): void
}

const threads = 4
const perClient = 2
const mostWaiting = 256
const startMs = 10_000

/** What a thread may have. */
export interface ThreadLimits {
  memoryMb: number
  /** Of the machine's own stack, for work that goes as deep as its input does. Taken when it is used. */
  stackMb?: number
  /** A thread that had nothing to do for so long is ended, and what it holds of memory is given back. */
  restMs?: number
}

/** A thread that takes too long, or whose caller is gone, is ended: the time of each is counted from when it has a thread. */
export function openWorkerPool<Job, Answer>(
  source: string,
  { memoryMb, stackMb, restMs }: ThreadLimits,
): WorkerPool<Job, Answer> {
  const resourceLimits = { maxOldGenerationSizeMb: memoryMb, ...(stackMb !== undefined && { stackSizeMb: stackMb }) }
  const idle: Worker[] = []
  const resting = new Map<Worker, NodeJS.Timeout>()
  const all = new Set<Worker>()
  const slots = openFairSlots({ slots: threads, perClient, mostWaiting, busy })
  const take = (): { worker: Worker; fresh: boolean } => {
    const rested = idle.pop()
    const worker = rested ?? new Worker(source, { eval: true, resourceLimits })
    clearTimeout(resting.get(worker))
    resting.delete(worker)
    // One that breaks while nobody waits for it any more must not end the process.
    if (!rested) worker.on('error', () => undefined)
    all.add(worker)
    worker.ref()
    return { worker, fresh: rested === undefined }
  }
  const end = (worker: Worker): void => {
    resting.delete(worker)
    all.delete(worker)
    void worker.terminate()
  }
  const give = (worker: Worker, usable: boolean): void => {
    if (!usable || !all.has(worker)) return end(worker)
    worker.unref()
    idle.push(worker)
    if (restMs === undefined) return
    const rest = (): void => {
      idle.splice(idle.indexOf(worker), 1)
      end(worker)
    }
    resting.set(worker, setTimeout(rest, restMs).unref())
  }
  const work = ({ job, timeoutMs, late, broken, signal }: Work<Job>): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const { worker, fresh } = take()
      const finish = (usable: boolean): void => {
        clearTimeout(timer)
        signal?.removeEventListener('abort', onAbort)
        worker.off('online', onUp)
        worker.off('message', onMessage)
        worker.off('error', onError)
        worker.off('exit', onExit)
        give(worker, usable)
      }
      const tooLate = (): void => {
        finish(false)
        reject(late())
      }
      let timer = setTimeout(tooLate, fresh ? startMs + timeoutMs : timeoutMs)
      // A thread that is only being started has not begun: on a busy machine that alone takes longer than a short limit.
      const onUp = (): void => {
        clearTimeout(timer)
        timer = setTimeout(tooLate, timeoutMs)
      }
      if (fresh) worker.once('online', onUp)
      // Whoever asked is gone: nobody else waits behind work that nobody wants any more.
      const onAbort = (): void => {
        finish(false)
        reject(signal?.reason as Error)
      }
      const onMessage = (answer: Answer): void => {
        finish(true)
        resolve(answer)
      }
      const onError = (cause: unknown): void => {
        finish(false)
        reject(broken(cause))
      }
      const onExit = (): void => onError(new Error('the thread was ended'))
      signal?.addEventListener('abort', onAbort)
      worker.on('message', onMessage)
      worker.on('error', onError)
      worker.on('exit', onExit)
      worker.postMessage(job)
    })
  return {
    async run(wanted) {
      const place = slots.enter(wanted.client, wanted.signal)
      if (place) await place
      try {
        return await work(wanted)
      } finally {
        slots.leave(wanted.client)
      }
    },
    close() {
      for (const timer of resting.values()) clearTimeout(timer)
      resting.clear()
      for (const worker of all) void worker.terminate()
      all.clear()
      idle.length = 0
    },
  }
}

function busy(waiting: number): Fault {
  return new Fault('busy', `Too much at once: ${waiting} patterns, comparisons or sources of this client wait already`, {
    details: { busy: true, waiting },
    hint: 'Wait for answers before asking for more.',
  })
}
