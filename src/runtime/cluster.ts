import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { ClusterView, ClusterWorker } from '../contracts/cluster.ts'
import type { Config } from '../contracts/config.ts'
import type { ArtifactStore, KeptSessions, NewRun, RunStore } from '../contracts/run-ports.ts'
import { ownSession } from '../contracts/run.ts'
import type { Template } from '../contracts/template.ts'
import { openJobQueue } from '../host/job-queue.ts'
import { isPassing, openPostgres, type Postgres } from '../host/postgres.ts'
import { ownName } from '../host/running.ts'
import { digest } from '../kernel/digest.ts'
import type { RunPorts } from '../runs/ports.ts'
import { contentsWithEnd, openClusterArtifacts, type Persist } from '../stores/cluster/artifacts.ts'
import { migrate } from '../stores/cluster/migrate.ts'
import { moveToEmbedded, moveToShared, type Moving } from '../stores/cluster/move.ts'
import { endSessionless, holderOf, keepSession } from '../stores/cluster/kept-sessions.ts'
import { openClusterNotifications } from '../stores/cluster/notifications.ts'
import { openClusterRuns } from '../stores/cluster/runs.ts'
import { openS3Artifacts } from '../stores/cluster/s3.ts'
import { openRoster } from '../stores/cluster/workers.ts'
import { version } from '../version.ts'

/**
 * Steps that touch nothing of the project: a run of only such may be carried out by any worker. Whatever is not here is done where the
 * project is.
 */
const anywhere = new Set(['allow_sites', 'browse_page', 'visit_page', 'search_page', 'next_page', 'submit_form', 'compare_pages'])

/** Nothing it does is of one machine; what was sealed on one is, and so is the model that shapes a result. */
const isFree = ({ template: { secrets, steps }, outputSchema }: Pick<NewRun, 'template' | 'outputSchema'>): boolean =>
  !secrets?.length && !outputSchema && steps.every(({ tool }) => anywhere.has(tool))

/** Tried again so soon, and at most so late, where the database does not answer. */
const soonMs = 25
const lateMs = 1_000
/** Offers for what is handed in behind others, at most so often. */
const behindMs = 50
const goodByeMs = 5_000
const quietMs = 60_000

/** Several machines on one database: everything of the engine's ports that is not of this machine. */
export interface Cluster extends Required<Pick<RunPorts, 'store' | 'artifacts' | 'sessions' | 'worker' | 'newId' | 'cluster'>> {
  log: Pick<RunPorts['log'], 'subscribe' | 'write' | 'newestOf'>
  /** Runs to which something happened on another machine. */
  onElsewhere(listener: (runs: readonly string[]) => void): () => void
  view(): Promise<ClusterView>
  /** It takes no more, and says so. */
  drain(): void
  close(): Promise<void>
}

export async function openCluster(parts: {
  config: Config['cluster']
  authority: string
  place: string
  sign: (text: string) => string
  slots: () => number
  sessions: KeptSessions
  log: Pick<RunPorts['log'], 'write' | 'newestOf'>
  complain: (fault: unknown) => void
}): Promise<Cluster> {
  const { config, place, slots, sessions, complain } = parts
  const { leaseMs } = config
  const space = spaceOf(config, place)
  // One that is not answered in time is asked again over another connection, well before the lease is over.
  const db = await openPostgres(config.databaseUrl, {
    answerMs: Math.max(3_000, leaseMs / 2),
  })
  const worker: ClusterWorker = {
    name: `${ownName()}-${randomBytes(8).toString('hex')}`,
    authority: parts.authority,
    place,
    ...(config.workerTemplates.length > 0 && { templates: config.workerTemplates }),
  }
  const closers = [db.close]
  try {
    await patiently(() => migrate(db), leaseMs)
    return await open()
  } catch (fault) {
    for (const close of closers.toReversed()) await close()
    throw fault
  }

  async function open(): Promise<Cluster> {
    const roster = openRoster(db, space, worker, { leaseMs, version })
    let kind: 'worker' | 'caller' = 'caller'
    let draining = false
    let closed = false
    let live: () => readonly string[] = () => []
    let lose: (runs: readonly string[]) => void = () => undefined
    let come: () => void = () => undefined
    let quietUntil = 0
    /** Until then the others take this worker for alive: counted from before it was said. */
    let aliveUntil = 0

    const renew = async (): Promise<void> => {
      const until = performance.now() + leaseMs
      const { lost, givenUp } = await roster.renew(live(), { slots: slots(), draining })
      aliveUntil = until
      if (lost.length > 0) lose(lost)
      // Taken by this very worker, which was not told: nobody else comes for what is bound to it.
      if (givenUp > 0) come()
    }
    const persist = async <T>(act: () => Promise<T>, lost: () => T): Promise<T> => {
      const until = Math.max(aliveUntil, performance.now() + leaseMs / 2)
      for (let wait = soonMs; ; wait = Math.min(wait * 2, lateMs)) {
        try {
          return await act()
        } catch (fault) {
          if (closed || !isPassing(fault)) throw fault
          if (performance.now() + wait > Math.max(until, aliveUntil)) return lost()
          await pause(wait)
        }
      }
    }
    /** Those that only some may carry out, and who. */
    const bound = new WeakMap<NewRun, string>()
    const queueFor = async (run: NewRun): Promise<string> => {
      const { sessionId } = run
      const bindTo = (queue: string): string => {
        bound.set(run, queue)
        return queue
      }
      if (sessionId !== undefined && sessionId !== ownSession(run.id)) {
        const holder = await holderOf(db, sessionId)
        if ((await sessions.creatorOf(sessionId)) !== undefined || holder === undefined) return bindTo(`=${worker.name}`)
        return bindTo(`=${holder.worker}`)
      }
      return isFree(run) ? 'any' : bindTo(`@${place}`)
    }
    const store = openClusterRuns({ db, space, place, persist, queueFor, isFree, sign: parts.sign })
    const spaceMark = digest('space', space).slice(0, 16)
    const placeMark = digest('place', place).slice(0, 16)
    const notifications = openClusterNotifications(db, spaceMark, placeMark)
    closers.push(notifications.close)
    const dispatch = await openJobQueue({
      db,
      ...(config.redisUrl && { redis: config.redisUrl }),
      name: `handrail-${digest('queue', space, worker.authority).slice(0, 32)}`,
      leaseMs,
      onError: (fault) => {
        // What is out of reach says so at every try; people are told now and then.
        if (closed || isPassing(fault) || performance.now() < quietUntil) return
        quietUntil = performance.now() + quietMs
        complain(fault)
      },
    })
    closers.push(dispatch.close)
    await roster.join({ kind, slots: slots() })
    aliveUntil = performance.now() + leaseMs
    const beat = async (): Promise<void> => {
      let wasAway = false
      while (!closed) {
        await pause(leaseMs / 5, undefined, { ref: false })
        if (closed) return
        try {
          await renew()
          // Whatever waits for notices over a connection that died without a word waits on another now.
          if (wasAway) dispatch.renew()
          wasAway = false
        } catch (fault) {
          wasAway = true
          if (!isPassing(fault)) complain(fault)
        }
      }
    }
    // Others take this worker for dead by now: whatever it does from here on counts for nothing, so it does no more. Asked by itself, since
    // nobody may be answered just then.
    const watchdog = setInterval(() => {
      if (performance.now() > aliveUntil) lose(live())
    }, leaseMs / 20).unref()
    /** What nobody was told of, since whoever should have said it, or the queue, is gone; and runs whose session died with its process. */
    const sweep = async (): Promise<void> => {
      while (!closed) {
        await pause(leaseMs / 3, undefined, { ref: false })
        if (closed || kind !== 'worker') continue
        try {
          for (const id of await endSessionless(db, space))
            notifications.tell({ event: 'run.ended', run: id, details: { status: 'failed' } })
          if (await roster.isClaimable()) come()
        } catch (fault) {
          if (!closed && !isPassing(fault)) complain(fault)
        }
      }
    }
    void beat()
    void sweep()
    const offer = (): void => void dispatch.offer().catch((fault: unknown) => void (isPassing(fault) || complain(fault)))
    let offering: NodeJS.Timeout | undefined
    let offeredAt = -Infinity
    /** Where others wait before it, somebody was told and tells others in turn: one offer a moment is enough for all of them. */
    const offerBehind = (): void => {
      if (closed) return
      offering ??= setTimeout(
        () => {
          offering = undefined
          offeredAt = performance.now()
          if (!closed) offer()
        },
        Math.max(0, offeredAt + behindMs - performance.now()),
      ).unref()
    }

    const ownCalls = `call_${digest('calls', place).slice(0, 16)}`
    const artifacts = await openContents(config, db, space, persist)
    return {
      worker,
      artifacts,
      store: {
        ...store,
        ...(!config.artifactUrl && { contentsWithEnd }),
        // While the database is away there is nothing to take; it is told when that is over.
        claim: (by, most) => store.claim(by, most).catch(unlessPassing(undefined)),
        hasForeign: (by) => store.hasForeign(by).catch(unlessPassing(true)),
        async accept(run, room) {
          const accepted = await store.accept(run, room)
          if (accepted.deduplicated) return accepted
          const queue = bound.get(run)
          if (queue !== undefined) notifications.tellBound(queue)
          else if (accepted.isBehind) offerBehind()
          else offer()
          return accepted
        },
        async release(id, by) {
          await store.release(id, by)
          offer()
        },
        async finish(id, by, end) {
          // Whoever reads of its end may use the session at once.
          const session = ownSession(id)
          const creator = await sessions.creatorOf(session)
          if (creator !== undefined) await keepSession(db, session, creator, worker.name)
          const wasBound = store.isBound(id)
          const ended = await store.finish(id, by, end)
          // Others of this place may have waited for its slot.
          if (wasBound) notifications.tellBound(`@${place}`)
          return ended
        },
      } satisfies RunStore,
      sessions: {
        creatorOf: async (id) => (await sessions.creatorOf(id)) ?? (await holderOf(db, id))?.creator,
        savedFor: sessions.savedFor,
        end: sessions.end,
      },
      // A call's id says on which machine its log is: of what was begun on another, nobody here knows how it ended.
      newId: (prefix) =>
        prefix === 'call' ? `${ownCalls}${randomBytes(8).toString('hex')}` : `${prefix}_${randomBytes(16).toString('hex')}`,
      log: {
        subscribe: notifications.subscribe,
        write(entry) {
          notifications.tell(entry)
          return parts.log.write(entry)
        },
        newestOf: (call) => parts.log.newestOf(call) ?? (call.startsWith(ownCalls) ? undefined : elsewhere),
      },
      cluster: {
        lease: {
          holds: (held) => void (live = held),
          onLost: (listener) => void (lose = listener),
        },
        dispatch: {
          ...dispatch,
          work(take) {
            kind = 'worker'
            void patiently(() => roster.join({ kind, slots: slots() }), leaseMs)
              .then(() => !closed && dispatch.work(take))
              .catch(complain)
          },
        },
        since: notifications.since,
        onBound(listener) {
          come = listener
          notifications.onBound((queue) => {
            if (queue === `@${place}` || queue === `=${worker.name}`) listener()
          })
        },
      },
      onElsewhere: notifications.onElsewhere,
      async view() {
        const [workers, depth, ended, offered] = await Promise.all([
          roster.list(),
          roster.depth(),
          roster.ended(),
          dispatch.waiting().catch(() => -1),
        ])
        return {
          database: db.address,
          space,
          queue: config.redisUrl ? 'redis' : 'postgres',
          artifacts: config.artifactUrl ? 's3' : 'postgres',
          workers: workers.filter(({ name }) => name !== worker.name || kind === 'worker'),
          depth: { ...depth, offered },
          ended,
        }
      },
      drain() {
        draining = true
        void renew().catch(() => undefined)
      },
      async close() {
        // Where the database is away, nobody waits for it to say good-bye: the lease says it.
        await soon(notifications.close())
        await soon(dispatch.close())
        closed = true
        clearInterval(watchdog)
        await soon(roster.leave())
        await soon(db.close())
      },
    }
  }
}

const soon = (act: Promise<unknown>): Promise<unknown> =>
  Promise.race([act.catch(() => undefined), pause(goodByeMs, undefined, { ref: false })])

function openContents(
  config: Config['cluster'],
  db: Postgres,
  space: string,
  persist: Persist,
): ArtifactStore | Promise<ArtifactStore> {
  const { artifactUrl: url, artifactRegion: region, artifactKeyId: keyId, artifactSecret: secret } = config
  return url ? openS3Artifacts({ url, region, keyId, secret }, db, space) : openClusterArtifacts(db, space, persist)
}

const spaceOf = (config: Config['cluster'], place: string): string => config.runSpace || `place-${place}`

/** All runs of the project from one store into the other. */
export async function moveRuns(
  to: 'shared' | 'embedded',
  parts: { config: Config['cluster']; place: string; sign: (text: string) => string; authority: string; local: Moving['local'] },
): Promise<{ moved: number; left: number }> {
  const { config, place, sign, authority, local } = parts
  const db = await openPostgres(config.databaseUrl)
  try {
    await patiently(() => migrate(db), config.leaseMs)
    const space = spaceOf(config, place)
    const moving: Moving = {
      local,
      shared: { db, space, place, authority, artifacts: await openContents(config, db, space, (act) => act()) },
      mover: ownName(),
      sign,
      isFree: ({ template, output_schema: schema }) =>
        isFree({ template: JSON.parse(template) as Template, ...(schema !== null && { outputSchema: {} }) }),
    }
    return await (to === 'shared' ? moveToShared(moving) : moveToEmbedded(moving))
  } finally {
    await db.close()
  }
}

const unlessPassing =
  <T>(instead: T) =>
  (fault: unknown): T => {
    if (isPassing(fault)) return instead
    throw fault
  }

/** Begun on another machine, whose log is there. */
const elsewhere = { seq: 0, at: '', prev: '', hash: '', event: 'call.start' } as const

async function patiently<T>(act: () => Promise<T>, forMs: number): Promise<T> {
  const until = performance.now() + forMs
  for (let wait = soonMs; ; wait = Math.min(wait * 2, lateMs)) {
    try {
      return await act()
    } catch (fault) {
      if (!isPassing(fault) || performance.now() + wait > until) throw fault
      await pause(wait)
    }
  }
}
