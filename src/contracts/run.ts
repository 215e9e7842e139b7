import Type, { type Static } from 'typebox'
import type { IgnoredTemplates } from './project-templates.ts'
import { AnyObject, closed } from './shapes.ts'
import type { Template, TemplateStep } from './template.ts'

/** The states of a run (seed 002 §3.1). The last four are final. */
export const runStatuses = ['queued', 'running', 'succeeded', 'failed', 'partial_success', 'canceled'] as const
export type RunStatus = (typeof runStatuses)[number]

const nextOf: Record<RunStatus, readonly RunStatus[]> = {
  queued: ['running', 'failed', 'canceled'],
  running: ['succeeded', 'failed', 'partial_success', 'canceled'],
  succeeded: [],
  failed: [],
  partial_success: [],
  canceled: [],
}

/** Whether a run may go from one state to the next. */
export const mayFollow = (from: RunStatus, to: RunStatus): boolean => nextOf[from].includes(to)

export const isTerminal = (status: RunStatus): boolean => nextOf[status].length === 0

export const runModes = ['sync', 'async', 'auto'] as const
export type RunMode = (typeof runModes)[number]

/** From where a run was handed in: some templates are for the machine itself only. */
export const trustLevels = ['local', 'remote'] as const
export type TrustLevel = (typeof trustLevels)[number]

/** Whoever comes from another machine is remote; on this one a process must show the project's token. */
export function levelOf({ peer }: { peer?: string | undefined }, setting: TrustLevel): TrustLevel {
  const address = peer?.startsWith('address ') ? peer.slice('address '.length) : undefined
  const isHere = address === undefined || /^(127\.|::1$|::ffff:127\.|$)/.test(address)
  return isHere ? setting : 'remote'
}

/** The session of the browser that a run opens for itself. */
export const ownSession = (run: string): string => run.replace(/^run_/, 'sess_')

/** The numbers of seed 002 that are no settings. */
export const runBounds = {
  maxUrls: 1_000,
  maxTabsPerSession: 20,
  syncTimeoutMs: 300_000,
  asyncTimeoutMs: 600_000,
  /** A result that is larger is in its artifact only, with a summary in its place. */
  inlineBytes: 65_536,
  artifactMaxChunkSize: 262_144,
  /** `auto` does not make a caller wait longer than this, by what the template expects. */
  autoSyncMs: 30_000,
  autoSyncItems: 10,
  listLimit: 50,
  keyLength: 256,
} as const

const time = Type.Integer({ minimum: 0, description: 'Unix time in milliseconds' })
const id = (prefix: string) => Type.String({ pattern: `^${prefix}_[0-9a-f]{32}$` })
const nullable = <T extends object>(schema: T, description: string) =>
  Type.Unsafe<Static<T & {}> | null>({ anyOf: [schema, { type: 'null' }], description })

export const RunError = Type.Object(
  {
    errorCode: Type.String(),
    message: Type.String(),
    recoverHint: Type.String(),
    details: AnyObject(),
  },
  closed,
)
export type RunError = Static<typeof RunError>

const heading = {
  runId: id('run'),
  templateId: Type.String(),
  templateVersion: Type.Optional(Type.String()),
  sessionId: Type.Unsafe<string | null>({ type: ['string', 'null'], description: 'The browser session it uses, if it is yours' }),
  ownsSession: Type.Boolean(),
  status: Type.Enum([...runStatuses], { type: 'string' }),
  mode: Type.Optional(Type.Enum(['sync', 'async'], { type: 'string', description: 'How it was handed in' })),
  waiting: Type.Optional(
    Type.Object(
      { approvalId: Type.String() },
      { ...closed, description: 'A person is being asked; until they answer, its clock stands and it holds no slot.' },
    ),
  ),
  progress: Type.Object({ doneSteps: Type.Integer({ minimum: 0 }), totalSteps: Type.Integer({ minimum: 0 }) }, closed),
  metrics: Type.Object({ elapsedMs: Type.Integer({ minimum: 0 }) }, closed),
  error: nullable(RunError, 'Why it failed or was cancelled; null before its end'),
  artifactIds: Type.Array(id('art')),
  createdAt: time,
  updatedAt: time,
}

/** A run without its result, as lists have it. */
export const RunHeadShape = Type.Object(heading, closed)
export type RunHeadView = Static<typeof RunHeadShape>

/** The Run of seed 002 §3.2. */
export const RunShape = Type.Object(
  { ...heading, result: Type.Unknown({ description: 'null before a successful end; a summary where it is large' }) },
  closed,
)
export type RunView = Static<typeof RunShape>

/** The chunk of seed 002 §3.3. */
export const ArtifactChunk = Type.Object(
  {
    artifactId: id('art'),
    mimeType: Type.String(),
    totalSize: Type.Integer({ minimum: 0 }),
    offset: Type.Integer({ minimum: 0 }),
    length: Type.Integer({ minimum: 0, description: 'Bytes in this chunk' }),
    data: Type.String({ description: 'Text as it is, anything else as base64' }),
    complete: Type.Boolean({ description: 'Whether this is the end' }),
  },
  closed,
)
export type ArtifactChunk = Static<typeof ArtifactChunk>

/** Whether `data` of a chunk is the text itself, and not base64. */
export const isTextType = (mimeType: string): boolean => /^text\/|^application\/(json|xml|yaml)\b|\+(json|xml)\b/.test(mimeType)

/** One thing that happened to a run. */
export const RunEvent = Type.Object(
  {
    cursor: Type.Integer({ minimum: 1 }),
    event: Type.String(),
    at: Type.String(),
    status: Type.Optional(Type.Enum([...runStatuses], { type: 'string' })),
    progress: Type.Optional(Type.Object({ doneSteps: Type.Integer(), totalSteps: Type.Integer() }, closed)),
    details: Type.Optional(AnyObject()),
  },
  closed,
)
export type RunEvent = Static<typeof RunEvent>

/** Who handed a run in: its steps are calls of this session, whichever process makes them. */
export interface RunOrigin {
  surface: string
  client: string
  session: string
  peer?: string
}

/** Who looks at a run: its browser session is shown to whoever handed it in, and to nobody else. */
export type RunViewer = Pick<RunOrigin, 'session'>

export interface Submission {
  templateId: string
  templateVersion?: string | undefined
  sessionId?: string | undefined
  inputs?: Record<string, unknown> | undefined
  mode?: RunMode | undefined
  timeoutMs?: number | undefined
  idempotencyKey?: string | undefined
  /** Counts where an agent with a model carries it out; templates alone ignore it. */
  outputSchema?: object | undefined
}

/** What a submission came to: the run, whether it was there before, and how the caller is answered. */
export interface Submitted {
  run: RunView
  mode: 'sync' | 'async'
  deduplicated: boolean
}

export interface ArtifactInfo {
  artifactId: string
  runId: string
  mimeType: string
  bytes: number
  createdAt: number
  expiresAt: number
  expired: boolean
}

export interface StepRecord {
  step: string
  /** Which item of a batch; absent for a step that is one call. */
  item?: number
  state: StepState
  /** The call it was, for the log. */
  call?: string
  error?: RunError
  at: number
}

/** `begun`: it may not be done again, and nothing is known of its end. `dropped`: left out, and why is in its error. */
export type StepState = 'begun' | 'done' | 'failed' | 'dropped'

/** How to go on after a step of which nobody knows whether it was done. */
export type UnknownStep = 'again' | 'done'

/** Runs as tools and the command line know them. */
export interface RunsApi {
  /** From now on this process carries out what is in the queue, whoever handed it in, and what dead processes left. */
  work(): void
  /** This process takes nothing more in hand; resolves when what it had is over, or waits for a person. */
  drain(): Promise<void>
  submit(given: Submission, origin: RunOrigin): Promise<Submitted>
  /** A plan as a run of its own kind: it is in no list of runs unless that asks for plans. */
  submitPlan(template: Template, inputs: Record<string, unknown>, origin: RunOrigin): Promise<Submitted>
  get(runId: string, viewer?: RunViewer): Promise<RunView>
  list(
    wanted: {
      status?: RunStatus | undefined
      templateId?: string | undefined
      limit?: number | undefined
      offset?: number | undefined
    },
    viewer?: RunViewer,
  ): Promise<{ runs: RunHeadView[]; total: number }>
  steps(runId: string): Promise<StepRecord[]>
  cancel(runId: string, by: string): Promise<{ success: boolean; reason?: string }>
  /** Resolves with the run at its end; told of what happens meanwhile. */
  wait(
    runId: string,
    options?: { signal?: AbortSignal | undefined; onProgress?: (run: RunView) => void; viewer?: RunViewer },
  ): Promise<RunView>
  /** A new run that has all that was done in an old one behind it, and does the rest. */
  retry(runId: string, origin: RunOrigin, how: { failed?: boolean; unknown?: UnknownStep }): Promise<Submitted>
  /** What happened to a run after a line of the log, and the line from which to ask on. */
  events(runId: string, after: number): Promise<{ uri: string; cursor: number; events: RunEvent[] }>
  artifact(artifactId: string, offset: number, limit: number): Promise<ArtifactChunk>
  artifacts(runId?: string): Promise<ArtifactInfo[]>
  templates(): Promise<TemplateView[]>
  /** What the project brings as templates and nobody trusted. */
  ignoredTemplates(): IgnoredTemplates | undefined
  template(id: string): Promise<TemplateDetails>
  profile(origin: Pick<RunOrigin, 'peer'>): RuntimeProfile
}

export interface TemplateView {
  templateId: string
  version: string
  name: string
  description: string
  inputsSchema: object
  outputsSchema: object
  exampleInputs: unknown
  trustLevelSupport: TrustLevel[]
  executionMode: RunMode
  supportsPartialSuccess: boolean
  partialSuccessThreshold: number
  limits: Record<string, number>
  /** Whose it is. */
  from: 'handrail' | 'person' | 'project'
}

/** One template, for people. */
export interface TemplateDetails extends TemplateView {
  /** What it does, line by line. */
  does: string[]
  steps: readonly TemplateStep[]
  digest?: string
}

/** Seed 002 §4.5. */
export const RuntimeProfile = Type.Object(
  {
    maxConcurrentRuns: Type.Integer({ minimum: 1 }),
    maxUrls: Type.Integer({ minimum: 1 }),
    maxTabsPerSession: Type.Integer({ minimum: 1 }),
    syncTimeoutMs: Type.Integer({ minimum: 1 }),
    asyncTimeoutMs: Type.Integer({ minimum: 1 }),
    artifactMaxChunkSize: Type.Integer({ minimum: 1 }),
    artifactTtlMs: Type.Integer({ minimum: 1 }),
    runTtlMs: Type.Integer({ minimum: 1 }),
    supportedModes: Type.Array(Type.Enum([...runModes], { type: 'string' })),
    trustLevel: Type.Enum([...trustLevels], { type: 'string' }),
    isRemote: Type.Boolean(),
  },
  closed,
)
export type RuntimeProfile = Static<typeof RuntimeProfile>
