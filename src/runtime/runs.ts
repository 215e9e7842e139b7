import { randomBytes } from 'node:crypto'
import type { AgentGate } from '../contracts/gate.ts'
import type { RunDesk } from '../contracts/run.ts'
import { ownName } from '../host/running.ts'
import { openTemplateFiles, templatesFolder } from '../host/template-files.ts'
import { awaitDecision } from '../kernel/await-decision.ts'
import { digest } from '../kernel/digest.ts'
import type { RunPorts } from '../runs/ports.ts'
import type { LoadedSettings } from './settings.ts'
import type { Stores } from './stores.ts'

/** Runs, opened when they are first needed: most starts have none. */
export interface Runs {
  desk(): Promise<RunDesk>
  /** For processes that stay: takes up what others handed in, or left. */
  watch(): void
  close(): Promise<void>
}

export function openRuns(parts: {
  stores: Stores
  gate: () => AgentGate
  settings: () => LoadedSettings
  untightened: boolean
  environment: Record<string, string | undefined>
}): Runs {
  const { stores, settings } = parts
  const { audit, approvals } = stores
  let opening: Promise<{ desk: RunDesk; close(): Promise<void> }> | undefined
  let stopWatching: (() => void) | undefined
  let closed = false

  const open = async (): Promise<{ desk: RunDesk; close(): Promise<void> }> => {
    const { openRunsOn } = await import('../runs/open.ts')
    return openRunsOn(portsOf(), openTemplateFiles(templatesFolder(parts.environment)))
  }
  const portsOf = (): RunPorts => ({
    store: stores.runs,
    artifacts: stores.artifacts,
    gate: parts.gate(),
    worker: { name: `${ownName()} ${randomBytes(4).toString('hex')}`, authority: authorityOf(settings(), parts.untightened) },
    // Runs and artifacts are found by whoever knows their id; a call's id guards nothing.
    newId: (prefix) => `${prefix}_${randomBytes(prefix === 'call' ? 12 : 16).toString('hex')}`,
    questions: {
      settled: (id, signal) => awaitDecision(audit, () => approvals.head(id)?.state, { id }, signal),
      look: (id) => approvals.head(id),
    },
    log: {
      subscribe: audit.subscribe,
      write: (entry) => audit.write(entry),
      newestOf: (call) => audit.last(1, (line) => line.call === call, [call])[0],
      lastLine: () => audit.head().seq,
    },
    limits: () => settings().config.limits,
  })
  const work = (): void => {
    stopWatching?.()
    void opened().then(({ desk }) => desk.work(), complain)
  }
  const opened = (): Promise<{ desk: RunDesk; close(): Promise<void> }> => (opening ??= open())
  return {
    desk: async () => (await opened()).desk,
    watch() {
      if (closed) return
      stopWatching = audit.subscribe({ events: (event) => event === 'run.queued' || event === 'run.started' }, (lines) => {
        if (lines.length > 0) work()
      })
      if (stores.db.get(`SELECT 1 FROM runs WHERE status IN ('queued', 'running') LIMIT 1`) !== undefined) work()
    },
    async close() {
      closed = true
      stopWatching?.()
      await (await opening)?.close()
    },
  }
}

function complain(fault: unknown): void {
  console.error('handrail: runs cannot be carried out here:', fault)
}

/**
 * What calls may do here beyond, or short of, what they may in every process of the project: what came by flags and variables. A run is
 * taken over only by a process that was started with the same.
 */
function authorityOf({ settings }: LoadedSettings, untightened: boolean): string {
  const own = settings.filter(({ origin }) => origin === 'flag' || origin === 'environment')
  return digest(
    own.map(({ key, value }) => [key, value]),
    untightened,
  )
}
