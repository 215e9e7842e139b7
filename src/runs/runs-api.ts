import { Fault } from '../contracts/faults/fault.ts'
import { planTemplateId } from '../contracts/plan.ts'
import { bounds } from '../contracts/kept.ts'
import type { NewRun, RunRecord } from '../contracts/run-ports.ts'
import {
  isTerminal,
  levelOf,
  ownSession,
  runBounds,
  runModes,
  type RunsApi,
  type RunHeadView,
  type RunOrigin,
  type RunViewer,
  type RunView,
  type Submission,
  type Submitted,
} from '../contracts/run.ts'
import type { Template } from '../contracts/template.ts'
import { wrongWith } from './check-template.ts'
import { chunkOf } from './artifact-chunk.ts'
import { totalSteps } from './execute-steps.ts'
import type { Engine } from './engine.ts'
import { openEvents } from './events.ts'
import { droppedIn } from './ledger.ts'
import { checkOutputSchema } from './output-schema.ts'
import { tellLog, type RunPorts } from './ports.ts'
import { behindOf } from './retry.ts'
import { entryFor, inputsFor, modeFor, templateFor, timeoutFor, withoutSecrets } from './submission.ts'
import { describe, type TemplateCatalog } from './template-catalog.ts'
import { describeTemplate } from './describe-template.ts'

/** What tools and the command line reach of runs. Who may hand what in is judged here; what a run does is judged call by call, by the kernel. */
export function openRunsApi(ports: RunPorts, engine: Engine, catalog: TemplateCatalog): RunsApi {
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
  const view = async (run: RunRecord, viewer: RunViewer | undefined): Promise<RunView> => ({
    ...headOf(run, viewer),
    result: resultIn(run) ? await store.result(run.id) : null,
  })

  /** One that was kept for whoever asks, or the run's own; that of another is not told from one that never was. */
  const sessionFor = async (
    run: string,
    template: Template,
    given: string | undefined,
    origin: RunOrigin,
  ): Promise<{ sessionId?: string; template: Template }> => {
    if (given === undefined) return { template, ...(template.browser !== undefined && { sessionId: ownSession(run) }) }
    if ((await ports.sessions.creatorOf(given)) === origin.session) return { template, sessionId: given }
    // A login that a person let be saved is theirs to lend.
    const isNear = levelOf(origin, ports.trustLevel()) === 'local'
    const saved = isNear ? await ports.sessions.savedFor(given, origin.session) : undefined
    if (saved === undefined) throw noSession(given)
    return { template: saved === 'asks' ? withLogin(template) : template, sessionId: given }
  }
  const acceptAndTell = async (run: NewRun, digest?: string): ReturnType<typeof store.accept> => {
    const result = await store.accept(run, bounds.runs)
    const { id, template, status, origin } = result.run
    const details = { template, status, ...(digest !== undefined && { digest }) }
    // Other processes hear of it there, also where this one dies as soon as it has answered.
    if (!result.deduplicated) await tellLog(log, { event: 'run.queued', run: id, ...whoIn(origin), details })
    return result
  }
  const accept = async (run: NewRun, mode: 'sync' | 'async', digest?: string): Promise<Submitted> => {
    const { run: accepted, deduplicated } = await engine.accepting(run.id, acceptAndTell(run, digest))
    engine.wake()
    return { run: await view(accepted, run.origin), mode, deduplicated }
  }

  const handIn = async (
    found: Template,
    digest: string | undefined,
    given: Submission,
    origin: RunOrigin,
  ): Promise<Submitted> => {
    const open = await inputsFor(found, given, (schema, value) => ports.problems(schema, value, holderIn(origin)))
    const inputs = withoutSecrets(found, open, ports.seal)
    // Without a model there is nobody to make anything of it: then it is ignored, as the contract has it.
    const outputSchema = ports.taskAgent?.() ? given.outputSchema : undefined
    if (outputSchema) await checkOutputSchema(outputSchema, (schema, value) => ports.problems(schema, value, holderIn(origin)))
    const id = ports.newId('run')
    const { template, sessionId } = await sessionFor(id, found, given.sessionId, origin)
    const mode = modeFor(given, template, inputs)
    const timeoutMs = timeoutFor(given, mode, template)
    const { idempotencyKey: key } = given
    return accept(
      {
        id,
        template,
        inputs,
        ...(key !== undefined && { key }),
        ...(outputSchema && { outputSchema }),
        origin: { ...origin },
        ...(sessionId !== undefined && { sessionId }),
        holder: holderIn(origin),
        mode,
        timeoutMs,
        totalSteps: totalSteps({ template, inputs }),
        worker,
        ttlMs: limits().runTtlMs,
      },
      mode,
      digest,
    )
  }

  const runsApi: RunsApi = {
    async submit(given, origin) {
      const { template, digest } = await templateFor(catalog, given, levelOf(origin, ports.trustLevel()))
      return handIn(template, digest, given, origin)
    },
    async submitPlan(template, inputs, origin) {
      const wrong = wrongWith(template, (tool) => ports.gate.offers(tool))
      if (wrong.length > 0)
        throw new Fault('bad-input', `This cannot be run: ${wrong[0]}`, { details: { wrong: wrong.slice(0, 20) } })
      return handIn(template, undefined, { templateId: template.id, inputs, mode: 'async' }, origin)
    },
    get: async (id, viewer) => view(await found(id), viewer),
    async list({ status, templateId, limit = runBounds.listLimit, offset = 0 }, viewer) {
      const { runs, total } = await store.list({
        status,
        template: templateId,
        ...(templateId === undefined && { without: planTemplateId }),
        limit,
        offset,
      })
      return { runs: runs.map((run) => headOf(run, viewer)), total }
    },
    async steps(id) {
      const run = await found(id)
      const [body, journalled] = [await store.body(id), await store.steps(id)]
      const dropped = body && isTerminal(run.status) ? droppedIn(body, journalled, run) : []
      const told = journalled.map((one) => {
        const { output: _, elsewhere: __, ...step } = one
        return step
      })
      return [...told, ...dropped]
    },
    async cancel(id, by) {
      await found(id)
      const ended = await engine.cancel(id, by)
      if (ended?.done) return { success: true }
      return { success: false, reason: `The run has its end already: ${ended?.run.status ?? 'gone'}` }
    },
    work: engine.work,
    drain: engine.drain,
    async wait(id, { signal, onProgress, viewer } = {}) {
      for await (const _ of events.follow(id, signal)) {
        const run = await found(id)
        if (isTerminal(run.status)) return view(run, viewer)
        onProgress?.({ ...headOf(run, viewer), result: null })
      }
      throw (
        signal?.reason ?? new Fault('io', 'Handrail was closed here; the run goes on elsewhere', { hint: 'Ask for it again.' })
      )
    },
    async retry(of, origin, how) {
      const old = await found(of)
      const body = await store.body(of)
      if (!body || !isTerminal(old.status))
        throw new Fault('conflict', `The run is still ${old.status}`, { hint: 'Wait for its end, or cancel it first.' })
      if (body.elsewhere) throw notOurs(of)
      const { inputs } = body
      const { mode, timeoutMs } = old
      const id = ports.newId('run')
      const isOwn = old.sessionId === ownSession(old.id)
      const { template, sessionId } = await sessionFor(id, withoutLogin(body.template), isOwn ? undefined : old.sessionId, origin)
      const steps = (await store.steps(of)).filter(({ step }) => step !== loginStep.id)
      const behind = behindOf(old, { ...body, template }, steps, how)
      const run = {
        id,
        template,
        inputs,
        ...(body.outputSchema && { outputSchema: body.outputSchema }),
        origin,
        holder: holderIn(origin),
        ...(sessionId !== undefined && { sessionId }),
        mode,
        timeoutMs,
        totalSteps: totalSteps({ template, inputs }),
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
    templates: async () => (await catalog.all()).map(describe),
    ignoredTemplates: catalog.ignored,
    async template(id) {
      const { template, ...rest } = await entryFor(catalog, id)
      const titleOf = (tool: string): string | undefined => ports.gate.tools.find(({ name }) => name === tool)?.title
      return { ...describe({ template, ...rest }), does: describeTemplate(template, titleOf), steps: template.steps, ...rest }
    },
    profile(origin) {
      const { maxConcurrentRuns, runTtlMs, artifactTtlMs } = limits()
      const { maxUrls, maxTabsPerSession, syncTimeoutMs, asyncTimeoutMs, artifactMaxChunkSize } = runBounds
      const trustLevel = levelOf(origin, ports.trustLevel())
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
  return runsApi
}

/** Begins with the question whether its client may use the login that was saved. */
const loginStep = { id: 'saved_login', tool: 'use_login', input: { session: { $: 'session' } }, repeat: true }
const withLogin = (template: Template): Template => ({ ...template, steps: [loginStep, ...template.steps] })
const withoutLogin = (template: Template): Template => ({
  ...template,
  steps: template.steps.filter(({ id, tool }) => id !== loginStep.id || tool !== loginStep.tool),
})

const whoIn = ({ surface, client, session }: RunOrigin): { surface: string; client: string; session: string } => ({
  surface,
  client,
  session,
})

/** One who calls has one share of the queue, and of the threads that compare schemas, however many sessions they open. */
const holderIn = ({ peer, session }: RunOrigin): string => peer ?? session

const resultIn = ({ status }: RunRecord): boolean => status === 'succeeded' || status === 'partial_success'

function headOf(run: RunRecord, viewer: RunViewer | undefined): RunHeadView {
  const isActive = run.status === 'running' && run.waiting === undefined
  return {
    runId: run.id,
    templateId: run.template,
    templateVersion: run.version,
    sessionId: viewer?.session === run.origin.session ? (run.sessionId ?? null) : null,
    ownsSession: run.sessionId === ownSession(run.id),
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

function notOurs(id: string): Fault {
  return new Fault('policy', 'This run was handed in on another machine, or changed since: it is not done again from here', {
    details: { runId: id },
    hint: (name) => `Retry it where it was handed in, or hand it in anew: ${name('run_task_template')}.`,
  })
}

function noSession(id: string): Fault {
  return new Fault('session-not-found', 'There is no such session of the browser, or it is not yours', {
    details: { sessionId: id.slice(0, 100) },
    hint: 'Leave sessionId out, or give one that a run of yours kept.',
  })
}

function notThere(id: string): Fault {
  return new Fault('artifact-not-found', 'There is no such artifact', {
    details: { artifactId: id.slice(0, 100) },
    hint: (name) => `Its id is listed in artifactIds of its run: ${name('get_task_run')}.`,
  })
}
