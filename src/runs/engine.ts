import { Fault } from '../contracts/faults/fault.ts'
import type { AuditEntry } from '../contracts/audit.ts'
import type { RunRecord } from '../contracts/run-ports.ts'
import type { RunError } from '../contracts/run.ts'
import { errorOf } from './carry-out.ts'
import { complain, tellLog, type RunPorts } from './ports.ts'
import { Closing, openRunner, type LiveRun } from './runner.ts'

/** How soon it is seen that a process died with runs in its hands. */
const deadMs = 2_000
const tidyMs = 60_000
/** Between an artifact and the end of the run that names it lies a moment; a process may sleep in it. */
const strayMs = 86_400_000
/** Looked at in one turn of the event loop. */
const few = 50
/** Deaths of its process that a run survives without a step in between: one that kills whoever takes it up must have an end. */
const mostDeaths = 5
/** What was begun and may not be done again has so long to end when Handrail is closed. */
const graceMs = 5_000

export interface Engine {
  /** This process has handed something in, and carries that out. */
  wake(): void
  /** It carries out whatever is in the queue, from now on: for processes that stay. */
  work(): void
  /** Ends a run, wherever it is carried out. Undefined where there is none. */
  cancel(id: string, by: string): Promise<{ run: RunRecord; done: boolean } | undefined>
  close(): Promise<void>
}

/** Carries out what is in the queue, beside the other processes of the project, until it is closed. */
export function openEngine(ports: RunPorts): Engine {
  const { store, artifacts, worker, log, limits } = ports
  const live = new Map<string, LiveRun>()
  const runner = openRunner(ports)
  let closed = false
  /** Whose runs are claimed; nobody's authority is empty. */
  let claimer = { ...worker, authority: '' }
  let stopListening: (() => void) | undefined
  let tidying: NodeJS.Timeout | undefined
  let turning: Promise<void> | undefined
  let again = false
  let dead: NodeJS.Timeout | undefined
  const tell = (entry: AuditEntry): void => tellLog(log, entry)

  const wake = (): void => {
    if (closed) return
    begin()
    again = true
    turning ??= turn().finally(() => {
      turning = undefined
      // What came while the last turn was being put away.
      if (again) wake()
    })
  }
  const turn = async (): Promise<void> => {
    while (again && !closed) {
      again = false
      try {
        // Those that were cancelled and still end what they began take room here, though none in the queue.
        while (!closed && [...live.values()].filter((one) => !one.parked).length < limits().maxConcurrentRuns) {
          const run = await store.claim(claimer, limits().maxConcurrentRuns)
          if (!run) break
          start(run)
        }
        if (dead === undefined && (await store.hasForeign(worker)))
          dead = setTimeout(() => {
            dead = undefined
            wake()
          }, deadMs).unref()
      } catch (fault) {
        complain(fault)
      }
    }
  }
  const start = (run: RunRecord): void => {
    const one: LiveRun = { run, stop: new AbortController(), parked: run.waiting !== undefined, done: Promise.resolve() }
    live.set(run.id, one)
    tell({
      event: 'run.started',
      run: run.id,
      session: run.origin.session,
      details: { template: run.template, status: 'running' },
    })
    one.done = (run.deaths > mostDeaths ? runner.fail(one, died()) : runner.carry(one)).catch(complain).finally(() => {
      live.delete(run.id)
      wakeParked()
      wake()
    })
  }
  const wakeParked = (): void => {
    for (const one of live.values()) one.slotFreed?.()
  }
  const begin = (): void => {
    if (stopListening) return
    stopListening = log.subscribe(
      { events: (event) => event.startsWith('run.'), onLost: wake, onEnd: () => void (closed = true) },
      (lines) => {
        for (const { run, event, details } of lines) {
          const isCanceled = event === 'run.ended' && (details as { status?: string }).status === 'canceled'
          if (isCanceled && run !== undefined) live.get(run)?.stop.abort(canceled('another process'))
        }
        if (lines.length === 0) return
        wakeParked()
        wake()
      },
    )
  }
  const tidy = async (): Promise<void> => {
    for (const id of await store.purge()) await artifacts.remove(id)
    for (const run of await store.abandon(worker, limits().runTtlMs, abandoned()))
      tell({ event: 'run.ended', run: run.id, details: { status: run.status } })
  }

  const unlessClosed = (fault: unknown): void => {
    if (!closed) complain(fault)
  }
  /** Contents that a process wrote and died before any run named them. */
  const removeStrays = async (): Promise<void> => {
    for (const [at, id] of (await artifacts.writtenBefore(Date.now() - strayMs)).entries()) {
      if (closed) return
      if ((await store.artifact(id)) === undefined) await artifacts.remove(id)
      if (at % few === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }

  return {
    wake,
    work() {
      claimer = worker
      wake()
      tidying ??= setInterval(() => void tidy().catch(unlessClosed), tidyMs).unref()
      void tidy().then(removeStrays).catch(unlessClosed)
    },
    async cancel(id, by) {
      const fault = canceled(by)
      const ended = await store.cancel(id, errorOf(fault))
      if (ended?.done) {
        live.get(id)?.stop.abort(fault)
        tell({ event: 'run.ended', run: id, by, session: ended.run.origin.session, details: { status: 'canceled' } })
      }
      return ended
    },
    async close() {
      closed = true
      clearTimeout(dead)
      clearInterval(tidying)
      stopListening?.()
      const all = [...live.values()]
      for (const one of all) {
        one.closing = true
        if (one.mayStop !== false) one.stop.abort(closing())
      }
      // What may not be done twice is let finish, so that nobody has to ask whether it was.
      const late = setTimeout(() => all.forEach((one) => one.stop.abort(closing())), graceMs)
      await Promise.all([turning, ...all.map((one) => one.done)])
      clearTimeout(late)
    },
  }
}

const closing = (): Closing => new Closing('closed')

function canceled(by: string): Fault {
  return new Fault('cancelled', `Cancelled by ${by}`, { details: { by }, hint: 'Hand it in again if it is still wanted.' })
}

function died(): RunError {
  return errorOf(
    new Fault('io', `The process that carried this run out died ${mostDeaths + 1} times without finishing a step`, {
      hint: 'Look at `handrail audit` for its last step, then `handrail runs retry ID`.',
    }),
  )
}

function abandoned(): RunError {
  return errorOf(
    new Fault(
      'io',
      'The process this run was handed in to is gone, and none with the same flags and environment came in its place',
      {
        hint: 'A run is only taken over by a process that may do as much. Hand it in again.',
      },
    ),
  )
}
