import { randomBytes } from 'node:crypto'
import { setTimeout as pause } from 'node:timers/promises'
import type { ClusterView } from '../contracts/cluster.ts'
import type { AgentGate } from '../contracts/gate.ts'
import { Fault } from '../contracts/faults/fault.ts'
import type { RunsApi } from '../contracts/run.ts'
import type { SchemaChecks } from '../host/schema-checks.ts'
import { ownName } from '../host/running.ts'
import { awaitDecision } from '../kernel/await-decision.ts'
import { digest } from '../kernel/digest.ts'
import type { RunPorts } from '../runs/ports.ts'
import type { Cluster } from './cluster.ts'
import type { OwnTemplates } from './project-templates.ts'
import type { LoadedSettings } from './settings.ts'
import type { Stores } from './stores.ts'

/** Runs, opened when they are first needed: most starts have none. */
export interface Runs {
  runsApi(): Promise<RunsApi>
  /** For processes that stay: takes up what others handed in, or left. */
  watch(): void
  /** Runs to which something happened on another machine. Returns how to stop. */
  onElsewhere(listener: (runs: readonly string[]) => void): () => void
  /** How it is with the machines that share the runs; undefined where there is one. */
  cluster(): Promise<ClusterView | undefined>
  /** All runs of the project from the embedded store into the shared one, or back. */
  move(to: 'shared' | 'embedded'): Promise<{ moved: number; left: number }>
  close(): Promise<void>
}

interface Opened {
  runsApi: RunsApi
  cluster?: Cluster
  close(): Promise<void>
}

/** The database of a cluster may come up later than we do. */
const againMs = 5_000

export function openRuns(parts: {
  stores: Stores
  gate: () => AgentGate
  settings: () => LoadedSettings
  untightened: boolean
  templates: OwnTemplates
  sessions: RunPorts['sessions']
  taskAgent: NonNullable<RunPorts['taskAgent']>
  /** When somebody called last, steps of runs excepted; by `performance.now()`. */
  calledAt(): number
}): Runs {
  const { stores, settings } = parts
  const { audit, approvals } = stores
  let opening: Promise<Opened> | undefined
  let stopWatching: (() => void) | undefined
  let again: NodeJS.Timeout | undefined
  let closed = false
  const elsewhere = new Set<(runs: readonly string[]) => void>()
  const isShared = (): boolean => settings().config.cluster.databaseUrl !== ''

  const open = async (): Promise<Opened> => {
    const [{ openRunsOn }, { openSchemaChecks }, { builtInTemplates }] = await Promise.all([
      import('../runs/open.ts'),
      import('../host/schema-checks.ts'),
      import('./templates.ts'),
    ])
    const cluster = isShared() ? await openShared() : undefined
    const checks = openSchemaChecks()
    const own = portsOf(checks)
    const ports = cluster ? { ...own, ...cluster, log: { ...own.log, ...cluster.log } } : own
    const runs = openRunsOn(ports, parts.templates, builtInTemplates)
    if (!cluster) return { runsApi: runs.runsApi, close: () => runs.close().finally(checks.close) }
    return {
      cluster,
      runsApi: {
        ...runs.runsApi,
        drain() {
          cluster.drain()
          return runs.runsApi.drain()
        },
      },
      async close() {
        await runs.close().finally(checks.close)
        await cluster.close()
      },
    }
  }
  const openShared = async (): Promise<Cluster> => {
    // The driver and the queue are loaded here, and only here.
    const { openCluster } = await import('./cluster.ts')
    const { config } = settings()
    const cluster = await openCluster({
      config: config.cluster,
      authority: sharedAuthorityOf(settings(), parts.untightened),
      place: stores.sealing.place(),
      sign: stores.sealing.sign,
      slots: () => settings().config.limits.maxConcurrentRuns,
      sessions: parts.sessions,
      log: portsOf(undefined).log,
      complain: (fault) => void (closed || complain(fault)),
    })
    cluster.onElsewhere((runs) => elsewhere.forEach((tell) => tell(runs)))
    return cluster
  }
  const portsOf = (checks: SchemaChecks | undefined): RunPorts => ({
    problems: checks?.problems ?? noProblems,
    store: stores.runs,
    artifacts: stores.artifacts,
    gate: givingWay(parts.gate(), parts.calledAt),
    worker: { name: `${ownName()} ${randomBytes(4).toString('hex')}`, authority: authorityOf(settings(), parts.untightened) },
    sessions: parts.sessions,
    taskAgent: parts.taskAgent,
    seal: stores.sealing.seal,
    trustLevel: () => settings().config.policies.trustLevel,
    // Runs and artifacts are found by whoever knows their id; a call's id guards nothing.
    newId: (prefix) => `${prefix}_${randomBytes(prefix === 'call' ? 12 : 16).toString('hex')}`,
    questions: {
      settled: (id, signal) => awaitDecision(audit, () => approvals.head(id)?.state, { id }, signal),
      find: (id) => approvals.head(id),
    },
    log: {
      subscribe: audit.subscribe,
      write: audit.writeTogether,
      newestOf: (call) => audit.last(1, (line) => line.call === call, [call])[0],
      lastLine: () => audit.head().seq,
    },
    limits: () => settings().config.limits,
  })
  const work = (): void => {
    stopWatching?.()
    const later = (fault: unknown): void => {
      if (closed) return
      complain(fault)
      if (isShared()) again = setTimeout(work, againMs).unref()
    }
    void opened()
      .then(({ runsApi }) => runsApi.work())
      .catch(later)
  }
  const opened = (): Promise<Opened> => {
    if (opening) return opening
    const one = open()
    opening = one
    // What could not be opened is tried anew by whoever asks next.
    one.catch(() => void (opening === one && (opening = undefined)))
    return one
  }
  return {
    runsApi: async () => (await opened()).runsApi,
    onElsewhere(listener) {
      elsewhere.add(listener)
      return () => void elsewhere.delete(listener)
    },
    cluster: async () => (isShared() ? (await opened()).cluster?.view() : undefined),
    async move(to) {
      if (!isShared())
        throw new Fault('bad-input', 'No database is configured, so there is no other store', {
          hint: 'Set cluster.databaseUrl (docs/guide/scale-out.md); to go back to one machine, move first and take the setting away then.',
        })
      const { moveRuns } = await import('./cluster.ts')
      return moveRuns(to, {
        config: settings().config.cluster,
        place: stores.sealing.place(),
        sign: stores.sealing.sign,
        authority: sharedAuthorityOf(settings(), parts.untightened),
        local: { db: stores.db, artifacts: stores.artifacts, authority: authorityOf(settings(), parts.untightened) },
      })
    },
    watch() {
      if (closed) return
      if (isShared()) return work()
      stopWatching = audit.subscribe({ events: (event) => event === 'run.queued' || event === 'run.started' }, (lines) => {
        if (lines.some(({ details }) => (details as { kind?: string } | undefined)?.kind !== 'server')) work()
      })
      if (stores.db.get(`SELECT 1 FROM runs WHERE status IN ('queued', 'running') LIMIT 1`) !== undefined) work()
    },
    async close() {
      closed = true
      stopWatching?.()
      clearTimeout(again)
      await (await opening?.catch(() => undefined))?.close()
    },
  }
}

/** Somebody who called so long ago, or who calls again at once, is served before steps of runs are. */
const freshMs = 5
/** A step waits so long at most, however many calls come. */
const mostMs = 20
const lookMs = 2

/** Whoever calls waits for an answer; nobody waits for one step of a run. */
function givingWay(gate: AgentGate, calledAt: () => number): RunPorts['gate'] {
  const giveWay = async (): Promise<void> => {
    const since = performance.now()
    for (let now = since; now - calledAt() < freshMs && now - since < mostMs; now = performance.now()) await pause(lookMs)
  }
  return {
    get tools() {
      return gate.tools
    },
    offers: gate.offers,
    async call(name, input, caller, how) {
      await giveWay()
      // Cancelled meanwhile, it has not begun.
      how?.signal?.throwIfAborted()
      return gate.call(name, input, caller, how)
    },
  }
}
const noProblems: RunPorts['problems'] = () => Promise.resolve([])

function complain(fault: unknown): void {
  console.error('handrail: runs cannot be carried out here:', fault instanceof Fault ? fault.message : fault)
}

/**
 * What calls may do here beyond, or short of, what they may in every process of the project: what came by flags and variables. A run is
 * taken over only by a process that was started with the same.
 */
function authorityOf({ settings }: LoadedSettings, untightened: boolean): string {
  const own = settings.filter(({ key, origin }) => (origin === 'flag' || origin === 'environment') && !key.startsWith('cluster.'))
  return digest(
    own.map(({ key, value }) => [key, value]),
    untightened,
  )
}

/** They name folders and ports of the machine, or how much it carries out: other machines have others, and may do no more for it. */
const ofMachine = new Set([
  'limits.maxConcurrentRuns',
  'stage.stagePlace',
  'stage.stageReads',
  'stage.bubblewrap',
  'preview.engine',
  'preview.terrePort',
])

/**
 * The same between machines, where settings files differ as well: everything that is in force, but for how runs are shared and where
 * things lie. A run is carried out elsewhere only under the very rules it was handed in under.
 */
function sharedAuthorityOf({ settings }: LoadedSettings, untightened: boolean): string {
  const all = settings.filter(({ key }) => !key.startsWith('cluster.') && !ofMachine.has(key))
  return digest(
    'cluster',
    all.map(({ key, value }) => [key, value]),
    untightened,
  )
}
