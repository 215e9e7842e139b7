import { Fault } from '../contracts/faults/fault.ts'
import { bounds } from '../contracts/kept.ts'
import type { NewRun, RunRecord } from '../contracts/run-ports.ts'
import {
  isTerminal,
  runBounds,
  runModes,
  type RunDesk,
  type RunHeadView,
  type RunOrigin,
  type RunView,
  type Submission,
  type Submitted,
} from '../contracts/run.ts'
import type { Template } from '../contracts/template.ts'
import { chunkOf } from './artifact-chunk.ts'
import { totalSteps } from './carry-out.ts'
import type { Engine } from './engine.ts'
import { openEvents } from './events.ts'
import { at, isLarger } from './expressions.ts'
import { tellLog, type RunPorts } from './ports.ts'
import { behindOf } from './retry.ts'
import { validatorFor } from './schemas.ts'
import type { Shelf } from './shelf.ts'
import { levelOf, trustOf } from './trust.ts'

/** Inputs are kept with the run, and read whenever it is taken up. */
const mostInputs = 1_048_576

/** What tools and the command line reach of runs. Who may hand what in is judged here; what a run does is judged call by call, by the kernel. */
export function openDesk(ports: RunPorts, engine: Engine, shelf: Shelf): RunDesk {
  const { store, worker, log, limits } = ports
  const events = openEvents(ports)

  const found = async (id: string): Promise<RunRecord> => {
    const run = await store.get(id)
    if (!run)
      throw new Fault('run-not-found', `There is no such run, or no longer: ${id.slice(0, 100)}`, {
        details: { runId: id.slice(0, 100) },
        hint: (name) =>
          `Runs are kept for ${limits().runTtlMs / 60_000} minutes after their end; ${name('list_task_runs')} shows those there are.`,
      })
    return run
  }
  const view = async (run: RunRecord): Promise<RunView> => ({
    ...headOf(run),
    result: resultIn(run) ? await store.result(run.id) : null,
  })

  const accept = async (run: NewRun, mode: 'sync' | 'async'): Promise<Submitted> => {
    const { run: accepted, deduplicated } = await store.accept(run, { mostQueued: bounds.runs.queued })
    if (!deduplicated) {
      const { id, template, status, origin } = accepted
      tellLog(log, { event: 'run.queued', run: id, ...whoIn(origin), details: { template, status } })
    }
    engine.wake()
    return { run: await view(accepted), mode, deduplicated }
  }

  const desk: RunDesk = {
    async submit(given, origin) {
      const template = templateFor(shelf, given, origin)
      const timeoutMs = timeoutFor(given, template)
      const inputs = inputsFor(template, given)
      if (given.sessionId !== undefined) throw noSession(given.sessionId)
      const mode = modeFor(given, template, inputs)
      const { idempotencyKey: key } = given
      return accept(
        {
          id: ports.newId('run'),
          template,
          inputs,
          ...(key !== undefined && { key }),
          origin: { ...origin },
          mode,
          timeoutMs,
          totalSteps: totalSteps({ template, inputs }),
          worker,
          ttlMs: limits().runTtlMs,
        },
        mode,
      )
    },
    get: async (id) => view(await found(id)),
    async list({ status, templateId, limit = runBounds.listLimit, offset = 0 }) {
      const { runs, total } = await store.list({ status, template: templateId, limit, offset })
      return { runs: runs.map(headOf), total }
    },
    async steps(id) {
      await found(id)
      return (await store.steps(id)).map((one) => {
        const { output: _, ...step } = one
        return step
      })
    },
    async cancel(id, by) {
      const ended = await engine.cancel(id, by)
      if (!ended) await found(id)
      if (ended?.done) return { success: true }
      return { success: false, reason: `The run has its end already: ${ended?.run.status ?? 'gone'}` }
    },
    work: engine.work,
    async wait(id, { signal, onProgress } = {}) {
      for await (const _ of events.follow(id, signal)) {
        const run = await found(id)
        if (isTerminal(run.status)) return view(run)
        onProgress?.({ ...headOf(run), result: null })
      }
      throw (
        signal?.reason ?? new Fault('io', 'Handrail was closed here; the run goes on elsewhere', { hint: 'Ask for it again.' })
      )
    },
    async retry(id, origin, how) {
      const old = await found(id)
      const body = await store.body(id)
      if (!body || !isTerminal(old.status))
        throw new Fault('conflict', `The run is still ${old.status}`, { hint: 'Wait for its end, or cancel it first.' })
      const { template, inputs } = body
      const behind = behindOf(old, template, await store.steps(id), how)
      const { mode, timeoutMs } = old
      const run = {
        id: ports.newId('run'),
        template,
        inputs,
        origin,
        mode,
        timeoutMs,
        totalSteps: totalSteps(body),
        worker,
        ttlMs: limits().runTtlMs,
        behind,
      }
      return accept(run, mode)
    },
    async events(id, after) {
      await found(id)
      return { uri: `handrail://runs/${id}`, ...(await events.since(id, after)) }
    },
    async artifact(id, offset, limit) {
      const info = await store.artifact(id)
      if (!info) throw notThere(id)
      if (info.expired)
        throw new Fault('artifact-expired', 'The artifact was kept for its time, and is gone', {
          details: { artifactId: id, expiredAt: info.expiresAt },
        })
      return chunkOf(info, ports.artifacts, offset, limit)
    },
    artifacts: (run) => store.artifacts(run),
    templates: async () => shelf.all().map(shelf.describe),
    profile(origin) {
      const { maxConcurrentRuns, runTtlMs, artifactTtlMs } = limits()
      const { maxUrls, maxTabsPerSession, syncTimeoutMs, asyncTimeoutMs, artifactMaxChunkSize } = runBounds
      const trustLevel = levelOf(origin)
      return {
        maxConcurrentRuns,
        maxUrls,
        maxTabsPerSession,
        syncTimeoutMs,
        asyncTimeoutMs,
        artifactMaxChunkSize,
        artifactTtlMs,
        runTtlMs,
        supportedModes: [...runModes],
        trustLevel,
        isRemote: trustLevel === 'remote',
      }
    },
  }
  return desk
}

const whoIn = ({ surface, client, session }: RunOrigin): { surface: string; client: string; session: string } => ({
  surface,
  client,
  session,
})

const resultIn = ({ status }: RunRecord): boolean => status === 'succeeded' || status === 'partial_success'

function headOf(run: RunRecord): RunHeadView {
  const isActive = run.status === 'running' && run.waiting === undefined
  return {
    runId: run.id,
    templateId: run.template,
    templateVersion: run.version,
    sessionId: run.sessionId ?? null,
    ownsSession: false,
    status: run.status,
    mode: run.mode,
    ...(run.waiting !== undefined && { waiting: { approvalId: run.waiting } }),
    progress: { doneSteps: run.progress.done, totalSteps: run.progress.total },
    metrics: { elapsedMs: run.activeMs + (isActive ? Math.max(0, Date.now() - run.updatedAt) : 0) },
    error: run.error ?? null,
    artifactIds: run.artifacts,
    createdAt: run.createdAt,
    updatedAt: run.updatedAt,
  }
}

function templateFor(shelf: Shelf, { templateId, templateVersion }: Submission, origin: RunOrigin): Template {
  const template = shelf.get(templateId)
  if (!template)
    throw new Fault('template-not-found', `There is no such template: ${templateId.slice(0, 100)}`, {
      details: { templateId: templateId.slice(0, 100), templates: shelf.all().map(({ id }) => id) },
      hint: (name) => `${name('list_task_templates')} shows what there is.`,
    })
  if (templateVersion !== undefined && templateVersion !== template.version)
    throw new Fault(
      'template-version',
      `${template.id} exists in version ${template.version}, not in ${templateVersion.slice(0, 50)}`,
      {
        details: { templateId: template.id, version: template.version },
      },
    )
  const level = levelOf(origin)
  if (!trustOf(template).includes(level))
    throw new Fault('trust-level', `${template.id} is not for callers from another machine`, {
      details: { templateId: template.id, trustLevel: level, trustLevelSupport: trustOf(template) },
    })
  return template
}

function timeoutFor({ timeoutMs, mode }: Submission, { limits }: Template): number {
  const usual = mode === 'async' ? runBounds.asyncTimeoutMs : runBounds.syncTimeoutMs
  return Math.min(
    timeoutMs ?? limits?.timeoutMs ?? usual,
    limits?.timeoutMs ?? runBounds.asyncTimeoutMs,
    runBounds.asyncTimeoutMs,
  )
}

function inputsFor(template: Template, { inputs = {} }: Submission): Record<string, unknown> {
  const validate = validatorFor(template.inputs)
  const wrong = (fields: { field: string; problem: string }[]): Fault =>
    new Fault(
      'bad-input',
      `Bad inputs for ${template.id}: ${fields.map(({ field, problem }) => `${field} ${problem}`).join('; ')}`,
      {
        details: { fields },
        hint: (name) => `${name('list_task_templates')} has the schema of its inputs.`,
      },
    )
  if (isLarger(inputs, mostInputs)) throw wrong([{ field: 'inputs', problem: `are larger than ${mostInputs} characters` }])
  if (validate(inputs)) return inputs
  throw wrong(
    (validate.errors ?? []).slice(0, 20).map(({ instancePath, message, params }) => {
      const { missingProperty, additionalProperty } = params as { missingProperty?: string; additionalProperty?: string }
      const named = missingProperty ?? additionalProperty?.slice(0, 100)
      const field = ['inputs', ...instancePath.split('/').slice(1), ...(named === undefined ? [] : [named])].join('.')
      return { field, problem: missingProperty === undefined ? (message ?? 'does not fit') : 'is required' }
    }),
  )
}

/** `auto` makes nobody wait long: for many items, or where the template expects more than half a minute, the caller is answered at once. */
function modeFor({ mode = 'auto' }: Submission, template: Template, inputs: Record<string, unknown>): 'sync' | 'async' {
  if (mode !== 'auto') return mode
  const lists = template.steps.map(({ each }) => (each === undefined ? undefined : at({ inputs }, each)))
  const items = Math.max(0, ...lists.map((list) => (Array.isArray(list) ? list.length : 0)))
  const { ms = 0, msPerItem = 0 } = template.expects ?? {}
  const isLong = items > runBounds.autoSyncItems || ms + msPerItem * items > runBounds.autoSyncMs
  return isLong ? 'async' : 'sync'
}

function noSession(id: string): Fault {
  return new Fault('session-not-found', 'There is no such session of the browser', {
    details: { sessionId: id.slice(0, 100) },
    hint: 'Leave sessionId out: no template here needs one.',
  })
}

function notThere(id: string): Fault {
  return new Fault('artifact-not-found', 'There is no such artifact', {
    details: { artifactId: id.slice(0, 100) },
    hint: (name) => `Its id stands in artifactIds of its run: ${name('get_task_run')}.`,
  })
}
