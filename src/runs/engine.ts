import { Fault } from '../contracts/faults/fault.ts'
import type { AuditEntry } from '../contracts/audit.ts'
import { bounds } from '../contracts/kept.ts'
import { aloneAfter, mostDeaths, type RunRecord } from '../contracts/run-ports.ts'
import { ownSession, type RunError } from '../contracts/run.ts'
import { errorOf, Lost } from './execute-steps.ts'
import { complain, tellLog, type RunPorts } from './ports.ts'
import { Closing, openRunner, type LiveRun } from './runner.ts'

/** How soon it is seen that a process died with runs in its hands, and how soon one is taken up again whose end could not be written. */
const deadMs = 2_000
const tidyMs = 60_000
const clearMs = 3_600_000
/** So much is written before it is looked what may go, a small artifact counting as this: a flood does not wait for the minute. */
const tidyBytes = 67_108_864
const smallBytes = 65_536
/** Between an artifact and the end of the run that names it lies a moment; a process may sleep in it. */
const strayMs = 86_400_000
/** Looked at in one turn of the event loop. */
const few = 50
/** What was begun and may not be done again has so long to end when Handrail is closed. */
const graceMs = 5_000
/** Taken at first by whoever comes for what was offered. */
const firstTaken = 2
const handOnEveryMs = 200
/** Where others carry out what is handed in here, it is looked whether they still do this often, however much is handed in. */
const servedMs = 200

export interface Engine {
  /** This process has handed something in, and carries that out. */
  wake(): void
  /** A run that is being handed in here: it is not begun before that is told, however early it is found in the queue. */
  accepting<T>(id: string, told: Promise<T>): Promise<T>
  /** It carries out whatever is in the queue, from now on: for processes that stay. */
  work(): void
  /** Ends a run, wherever it is carried out. Undefined where there is none. */
  cancel(id: string, by: string): Promise<{ run: RunRecord; done: boolean } | undefined>
  /** Takes no more; resolves when nothing is under way here but what waits for a person. */
  drain(): Promise<void>
  close(): Promise<void>
}

/** Carries out what is in the queue, beside the other processes of the project, until it is closed. */
export function openEngine(ports: RunPorts): Engine {
  const { store, artifacts, worker, log, limits, cluster } = ports
  const live = new Map<string, LiveRun & { gone: Promise<void> }>()
  const beingAccepted = new Map<string, Promise<unknown>>()
  const countWritten = ({ length }: Uint8Array): void => {
    written += Math.max(length, smallBytes)
    if (written < tidyBytes) return
    written = 0
    void tidy().catch(unlessClosed)
  }
  const put = async (id: string, bytes: Uint8Array): Promise<void> => {
    await artifacts.put(id, bytes)
    countWritten(bytes)
  }
  const finish: typeof store.finish = async (id, by, end) => {
    const isEnded = await store.finish(id, by, end)
    for (const { bytes } of end.contents ?? []) countWritten(bytes)
    return isEnded
  }
  /** With a finished step nobody suspects it any more: others may be carried out beside it. */
  const journal: typeof store.journal = async (id, by, step, progress) => {
    const isWritten = await store.journal(id, by, step, progress)
    const run = live.get(id)?.run
    if (!isWritten || !run || run.deaths === 0 || step.state === 'begun') return isWritten
    const wasAlone = run.deaths >= aloneAfter
    run.deaths = 0
    if (wasAlone) wake()
    return isWritten
  }
  const runner = openRunner({ ...ports, store: { ...store, finish, journal }, artifacts: { ...artifacts, put } })
  let closed = false
  let draining = false
  /** Whose runs are claimed; nobody's authority is empty. */
  let claimer = { ...worker, authority: '' }
  let stopListening: (() => void) | undefined
  let tidying: NodeJS.Timeout | undefined
  let clearing: NodeJS.Timeout | undefined
  let turning: Promise<void> | undefined
  let again = false
  let dead: NodeJS.Timeout | undefined
  let looking: NodeJS.Timeout | undefined
  let written = 0
  /** Nothing was to be had here, since others have it: until then nobody looks. */
  let servedUntil = 0
  /** There may be runs that wait for a slot of this process. */
  let isWaitedFor = false
  let handedOnAt = -Infinity
  const tell = (entry: AuditEntry): void => void tellLog(log, entry)

  const wake = (): void => {
    if (closed) return
    begin()
    if (performance.now() < servedUntil) {
      looking ??= setTimeout(lookAgain, servedMs).unref()
      return
    }
    again = true
    turning ??= turn().finally(() => {
      turning = undefined
      // What came while the last turn was being put away.
      if (again) wake()
    })
  }
  const taken = (): number => [...live.values()].filter((one) => !one.parked).length
  /** One that must be alone has its answer and waits until it is: were others taken meanwhile, it never would be. */
  const isKeptFor = (): boolean => [...live.values()].some((one) => one.parked && one.slotFreed && one.run.deaths >= aloneAfter)
  const free = (): number => (closed || draining || isKeptFor() ? 0 : limits().maxConcurrentRuns - taken())
  const tellRoom = (): void => cluster?.dispatch.room(free() > 0)
  /** For the dispatcher: whatever there is room for. */
  const take = async (): Promise<void> => {
    // There is no room after all: somebody else comes for it.
    if (free() <= 0) {
      tellRoom()
      return cluster?.dispatch.offer()
    }
    wake()
    await turning
  }
  /** There is more than was taken here: others may have room. Told now and then, however much there is. */
  const handOn = (): void => {
    if (!cluster || claimer.authority === '' || performance.now() - handedOnAt < handOnEveryMs) return
    handedOnAt = performance.now()
    void cluster.dispatch.offer().catch(unlessClosed)
  }
  /**
   * In a cluster several are taken in one step, and at first so few that others who come get their share; where slots were waited for, as
   * many as there are.
   */
  const takeSome = async (most: number): Promise<number> => {
    const slots = limits().maxConcurrentRuns
    const found = await Promise.all(Array.from({ length: most }, () => store.claim(claimer, slots)))
    const runs = found.filter((run) => run !== undefined)
    for (const run of runs) {
      await beingAccepted.get(run.id)?.catch(() => undefined)
      if (closed) await store.release(run.id, worker)
      else start(run)
    }
    return runs.length
  }
  cluster?.onBound(() => lookAgain())
  cluster?.lease.holds(() => [...live.keys()])
  cluster?.lease.onLost((runs) => {
    for (const id of runs) live.get(id)?.stop.abort(new Lost())
  })
  const lookAgain = (): void => {
    clearTimeout(dead)
    clearTimeout(looking)
    dead = looking = undefined
    servedUntil = 0
    wake()
  }
  const turn = async (): Promise<void> => {
    while (again && !closed) {
      again = false
      try {
        // Whoever left a slot in the same moment leaves it now: what there is room for is taken in one step.
        if (cluster) await new Promise((resolve) => setImmediate(resolve))
        let next = !cluster ? 1 : isWaitedFor ? Infinity : firstTaken
        // Those that were cancelled and still end what they began take room here, though none in the queue.
        isWaitedFor = true
        for (let room = free(); room > 0; room = free()) {
          const most = Math.min(next, room)
          isWaitedFor = (await takeSome(most)) === most
          if (!isWaitedFor) break
          handOn()
          if (cluster) next *= 2
        }
        tellRoom()
        if (dead === undefined && !closed && (await store.hasForeign(worker))) {
          dead = setTimeout(lookAgain, deadMs).unref()
          if (cluster && claimer.authority === '' && live.size === 0) servedUntil = performance.now() + servedMs
        }
      } catch (fault) {
        if (closed) return
        complain(fault)
        // Nobody else may come by to say that there is something.
        dead ??= setTimeout(lookAgain, deadMs).unref()
      }
    }
  }
  const start = (run: RunRecord): void => {
    let parked = run.waiting !== undefined
    let leave: () => void = () => undefined
    const left = new Promise<void>((resolve) => (leave = resolve))
    const one: LiveRun & { gone: Promise<void> } = {
      gone: left,
      run,
      stop: new AbortController(),
      get parked() {
        return parked
      },
      set parked(is) {
        parked = is
        if (is) leave()
        // Its slot is free; on one machine whoever waits for it hears so by the log.
        if (is && cluster && isWaitedFor) wake()
        else tellRoom()
      },
      done: Promise.resolve(),
    }
    if (parked) leave()
    live.set(run.id, one)
    tell({
      event: 'run.started',
      run: run.id,
      session: run.origin.session,
      // A call that was begun there has no end in the log: where it may be made twice, its step is another call now.
      ...(run.deaths > 0 && {
        message: 'taken up again: the process that had it in hand was gone; what had no answer yet is made again',
      }),
      details: { template: run.template, status: 'running', ...(run.deaths > 0 && { deaths: run.deaths }) },
    })
    const carried = run.deaths > mostDeaths ? runner.fail(one, died()) : runner.carry(one)
    one.done = carried
      .catch((fault: unknown) => takeUpLater(run.id, fault))
      .finally(() => {
        live.delete(run.id)
        leave()
        if (run.sessionId !== undefined && run.sessionId === ownSession(run.id)) void ports.sessions.end(run.sessionId)
        wakeParked()
        // In a cluster the dispatcher says when there is something to take, but where something was left for want of a slot.
        if (!cluster || isWaitedFor || claimer.authority === '') wake()
        else tellRoom()
      })
  }
  /** Where not even its end could be written: the disk may have room again later. Until then it has no end, and nobody has it in hand. */
  const takeUpLater = (id: string, fault: unknown): void => {
    complain(fault)
    const putDown = (): void => void store.release(id, worker).then(wake, (again: unknown) => takeUpLater(id, again))
    setTimeout(() => !closed && putDown(), deadMs).unref()
  }
  const wakeParked = (): void => {
    for (const one of live.values()) one.slotFreed?.()
  }
  const begin = (): void => {
    if (stopListening) return
    stopListening = log.subscribe(
      // How far one is changes nothing about whose turn it is.
      {
        events: (event) => event.startsWith('run.') && event !== 'run.progress',
        onLost: wake,
        onEnd: () => void (closed = true),
      },
      (lines) => {
        for (const { run, event, details } of lines) {
          const isCanceled = event === 'run.ended' && (details as { status?: string }).status === 'canceled'
          if (isCanceled && run !== undefined) live.get(run)?.stop.abort(canceled('another process'))
        }
        // In a cluster most of it is of no concern here; what is, comes by itself.
        if (lines.length === 0 || cluster) return
        wakeParked()
        wake()
      },
    )
  }
  const removeAll = async (ids: readonly string[]): Promise<void> => {
    for (const [at, id] of ids.entries()) {
      await artifacts.remove(id)
      if (at % few === 0) await new Promise((resolve) => setImmediate(resolve))
    }
  }
  const tidy = async (): Promise<void> => {
    for (let more = true; more && !closed;) {
      const gone = await store.purge(bounds.runs)
      await removeAll(gone.contents)
      more = gone.more
    }
    const { runTtlMs, artifactTtlMs } = limits()
    for (const run of await store.abandon(worker, runTtlMs, abandoned(), artifactTtlMs))
      tell({ event: 'run.ended', run: run.id, details: { status: run.status } })
  }

  const unlessClosed = (fault: unknown): void => {
    if (!closed) complain(fault)
  }
  /** Contents that a process wrote and died before any run named them, or that it let expire and died before they were gone. */
  const removeStrays = async (): Promise<void> => {
    const old = await artifacts.writtenBefore(Date.now() - strayMs)
    for (let from = 0; from < old.length && !closed; from += few) {
      const known = await Promise.all(old.slice(from, from + few).map(async (id) => ({ id, info: await store.artifact(id) })))
      await removeAll(known.filter(({ info }) => !info || info.expired).map(({ id }) => id))
    }
  }

  return {
    wake,
    accepting(id, told) {
      const over = (): void => void beingAccepted.delete(id)
      beingAccepted.set(id, told)
      told.then(over, over)
      return told
    },
    work() {
      claimer = worker
      wake()
      if (tidying) return
      cluster?.dispatch.work(take)
      tidying = setInterval(() => void tidy().catch(unlessClosed), tidyMs).unref()
      const clear = (): void => void tidy().then(removeStrays).catch(unlessClosed)
      clearing = setInterval(clear, clearMs).unref()
      clear()
    },
    async cancel(id, by) {
      const fault = canceled(by)
      const ended = await store.cancel(id, errorOf(fault), limits().artifactTtlMs)
      if (ended?.done) {
        live.get(id)?.stop.abort(fault)
        tell({ event: 'run.ended', run: id, by, session: ended.run.origin.session, details: { status: 'canceled' } })
      }
      return ended
    },
    async drain() {
      draining = true
      tellRoom()
      // What was left here for want of a slot is for others now.
      if (isWaitedFor) handOn()
      await turning
      while (taken() > 0) await Promise.race([...live.values()].filter((one) => !one.parked).map((one) => one.gone))
    },
    async close() {
      closed = true
      clearTimeout(dead)
      clearTimeout(looking)
      clearInterval(tidying)
      clearInterval(clearing)
      stopListening?.()
      tellRoom()
      const all = [...live.values()]
      for (const one of all) {
        one.closing = true
        if (!one.held) one.stop.abort(closing())
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
    new Fault(
      'io',
      `The process that carried this run out died ${mostDeaths + 1} times without finishing a step, at last ${mostDeaths + 1 - aloneAfter} times with nothing else in hand`,
      { hint: 'Look at `handrail audit` for its last step, then `handrail runs retry ID`.' },
    ),
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
