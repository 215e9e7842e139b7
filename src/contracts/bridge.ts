import Type, { type Static, type TSchema } from 'typebox'
import { ArtifactOutput, CommandResult } from './command-result.ts'
import { checkNames, CheckResult, Diagnostic } from './diagnostic.ts'
import { codes003, more003 } from './faults/contract-003.ts'
import { AnyObject } from './shapes.ts'

// Seed 003 as schemas. `contracts/v1/bridge.json` and the types of `handrail/client` are made of them; fields may be added, never required.

export const bridgeProtocol = 'intent-flow.devserver.v1'

const literal = <T extends string | number | boolean>(value: T, options: { description?: string } = {}) =>
  Type.Unsafe<T>({ const: value, ...options })
const oneOf = <T extends string>(values: readonly T[], options: { description?: string } = {}) =>
  Type.Unsafe<T>({ enum: [...values], ...options })
/** A number that is cut to its maximum; below its minimum, or no whole number, it is ERR_INVALID_PARAMS. */
const bounded = (most: number, preset: number, description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, default: preset, description: `${description} Default ${preset}, at most ${most}.` }))

/** The largest value of each number that a caller may name, and what counts without one. */
export const bridgeBounds = {
  maxBytes: { preset: 65_536, most: 1_000_000 },
  timeoutMs: { least: 1_000, preset: 120_000, most: 600_000 },
  traceMaxBytes: { preset: 524_288, most: 4_194_304 },
  traceChunkBytes: { preset: 16_384, most: 65_536 },
} as const

export const Position = Type.Object({ line: Type.Integer({ minimum: 1 }), column: Type.Integer({ minimum: 1 }) })
export const Range = Type.Object({ start: Position, end: Position }, { description: '1-based; columns count UTF-16 units.' })

export const Outcome = Type.Union([
  Type.Object({ kind: literal('help'), text: Type.String(), exitCode: literal(0) }),
  Type.Object({
    kind: literal('result'),
    result: CommandResult,
    exitCode: Type.Unsafe<0 | 1 | 2>({ enum: [0, 1, 2] }),
  }),
])
export type Outcome = Static<typeof Outcome>

export const CliConfig = Type.Union([
  Type.Object({ found: literal(false) }),
  Type.Object({
    found: literal(true),
    path: Type.String(),
    ok: literal(true),
    config: Type.Unknown(),
    profiles: Type.Array(Type.String()),
    truncated: Type.Optional(Type.Boolean()),
  }),
  Type.Object({
    found: literal(true),
    path: Type.String(),
    ok: literal(false),
    error: Type.Object({ code: Type.String(), message: Type.String() }),
  }),
])
export type CliConfig = Static<typeof CliConfig>

export const DevInfo = Type.Object({
  protocol: literal(bridgeProtocol),
  version: Type.String(),
  cwd: Type.String(),
  capabilities: Type.Object({ write: Type.Boolean({ description: 'Whether commands may write source.' }) }),
  methods: Type.Optional(Type.Array(Type.String(), { description: 'What can be asked for here.' })),
  columns: Type.Optional(literal('utf-16', { description: 'What columns of positions count.' })),
})
export type DevInfo = Static<typeof DevInfo>

export const packageManagers = ['pnpm', 'npm', 'yarn', 'unknown'] as const
export type PackageManager = (typeof packageManagers)[number]

export const WorkspaceSnapshot = Type.Object({
  repoRoot: Type.String(),
  cwd: Type.String(),
  packageManager: oneOf(packageManagers),
  packageManagerName: Type.Optional(Type.String({ description: 'The real name, where the field above has none for it.' })),
  devserver: Type.Object({ protocol: Type.String(), version: Type.String() }),
  cliConfig: CliConfig,
})
export type WorkspaceSnapshot = Static<typeof WorkspaceSnapshot>

/** What can be said of a workspace without reading a line of its source. */
export type WorkspaceFacts = Pick<WorkspaceSnapshot, 'repoRoot' | 'packageManager' | 'packageManagerName'>

const ids = Type.String({ minLength: 1, maxLength: 128, description: 'Printable characters, echoed exactly.' })

/** What can be asked for, each with what it takes and what it gives. */
export const bridgeMethods = {
  'dev.info': { says: 'What this server is and may do', params: Type.Object({}), result: DevInfo },
  'dev.workspace.snapshot': {
    says: 'Where the workspace lies, its package manager and the settings of its command line',
    params: Type.Object({
      maxBytes: bounded(bridgeBounds.maxBytes.most, bridgeBounds.maxBytes.preset, 'Most bytes of `cliConfig.config`.'),
    }),
    result: WorkspaceSnapshot,
  },
  'dev.run': {
    says: 'Runs one command of the one-shot command line',
    params: Type.Object({
      argv: Type.Array(Type.String(), { description: 'The words behind `handrail`.' }),
      injectRunId: Type.Optional(
        Type.Boolean({ default: true, description: 'Adds `--runId <requestId>` where `argv` has none.' }),
      ),
      trace: Type.Optional(
        Type.Object({
          enabled: Type.Boolean(),
          maxBytes: bounded(bridgeBounds.traceMaxBytes.most, bridgeBounds.traceMaxBytes.preset, 'Most bytes of the trace.'),
          chunkBytes: bounded(bridgeBounds.traceChunkBytes.most, bridgeBounds.traceChunkBytes.preset, 'Most bytes of one piece.'),
        }),
      ),
    }),
    result: Type.Object({ outcome: Outcome }),
  },
  'dev.runChecks': {
    says: 'Runs checks of the workspace one after the other',
    params: Type.Object({
      checks: Type.Array(oneOf(checkNames)),
      timeoutMs: bounded(bridgeBounds.timeoutMs.most, bridgeBounds.timeoutMs.preset, 'How long each check may take.'),
    }),
    result: Type.Object({ results: Type.Array(CheckResult) }),
  },
  'dev.cancel': {
    says: 'Cancels a request that is under way, on this connection or another',
    params: Type.Object({ targetRequestId: ids }),
    result: Type.Object({ cancelled: literal(true), targetRequestId: Type.String() }),
  },
  'dev.stop': {
    says: 'Ends the server',
    params: Type.Object({}),
    result: Type.Object({ stopping: literal(true) }),
  },
} as const satisfies Record<string, { says: string; params: TSchema; result: TSchema }>

export type BridgeMethod = keyof typeof bridgeMethods

const count = Type.Integer({ minimum: 0 })
const traced = <K extends string>(kind: K) => ({ schemaVersion: literal(1), kind: literal(kind) })

/** What is told while a request is under way, by its kind. */
export const bridgeEvents = {
  'dev.event.check.started': Type.Object({ check: Type.String() }),
  'dev.event.check.diagnostics': Type.Object({ check: Type.String(), diagnostics: Type.Array(Diagnostic) }),
  'dev.event.check.finished': Type.Object({
    check: Type.String(),
    ok: Type.Boolean(),
    exitCode: Type.Integer(),
    durationMs: Type.Number({ minimum: 0 }),
  }),
  'dev.event.request.cancelled': Type.Object({}),
  'dev.event.trace.started': Type.Object({ ...traced('DevServerTraceStarted'), fileName: literal('trace.slim.json') }),
  'dev.event.trace.chunk': Type.Object({ ...traced('DevServerTraceChunk'), seq: count, text: Type.String(), bytes: count }),
  'dev.event.trace.finished': Type.Object({
    ...traced('DevServerTraceFinished'),
    available: Type.Boolean(),
    truncated: Type.Optional(Type.Boolean()),
    totalBytes: Type.Optional(count),
    droppedBytes: Type.Optional(count),
  }),
} as const satisfies Record<string, TSchema>

export type BridgeEventKind = keyof typeof bridgeEvents
export type PayloadOf<K extends BridgeEventKind> = Static<(typeof bridgeEvents)[K]>

export const bridgeCodes = [...codes003, ...more003] as const

const envelope = <T extends string>(type: T) => ({
  protocol: literal(bridgeProtocol),
  type: literal(type),
  requestId: Type.String(),
})

export const BridgeRequest = Type.Object({
  ...envelope('request'),
  requestId: ids,
  method: Type.String(),
  params: Type.Optional(AnyObject()),
  auth: Type.Optional(Type.Object({ token: Type.String({ minLength: 1 }) })),
})
export type BridgeRequest = Static<typeof BridgeRequest>

export const BridgeError = Type.Object({
  code: oneOf(bridgeCodes),
  message: Type.String(),
  data: Type.Optional(AnyObject()),
})
export type BridgeError = Static<typeof BridgeError>

export const BridgeResponse = Type.Union([
  Type.Object({ ...envelope('response'), ok: literal(true), result: AnyObject() }),
  Type.Object({ ...envelope('response'), ok: literal(false), error: BridgeError }),
])
export type BridgeResponse = Static<typeof BridgeResponse>

export const BridgeEvent = Type.Object({
  ...envelope('event'),
  event: Type.Object({ kind: Type.String(), payload: AnyObject(), seq: Type.Optional(count) }),
})
export type BridgeEvent = Static<typeof BridgeEvent>

// For previews of proposed changes: §3.2 and §3.3.

export const Anchor = Type.Object({
  file: Type.String(),
  range: Type.Optional(Range),
  contentHash: Type.Optional(Type.String()),
})
export const TextEdit = Type.Object({ range: Range, newText: Type.String() })
export const FilePatch = Type.Object({
  file: Type.String(),
  kind: oneOf(['create', 'update', 'delete']),
  baseContentHash: Type.Optional(Type.String()),
  edits: Type.Optional(Type.Array(TextEdit)),
  content: Type.Optional(Type.String()),
})

// What the command line of the server prints, and the file it leaves while it runs.

const printed = <K extends string>(kind: K) => ({
  schemaVersion: literal(1),
  kind: literal(kind),
  protocol: literal(bridgeProtocol),
})
const failure = Type.Object({ code: Type.String(), message: Type.String() })

export const DevServerStarted = Type.Object({
  ...printed('DevServerStarted'),
  host: Type.String(),
  port: Type.Integer(),
  url: Type.String(),
  pid: Type.Integer(),
  stateFile: Type.Optional(Type.String()),
})
export const DevServerStartFailed = Type.Object({ ...printed('DevServerStartFailed'), error: failure })
export const DevServerState = Type.Object({
  ...printed('DevServerState'),
  url: Type.String(),
  pid: Type.Integer(),
  cwd: Type.String(),
  host: Type.String(),
  port: Type.Integer(),
  token: Type.Optional(Type.String()),
  process: Type.Optional(Type.String({ description: 'Names this one run of the process: numbers are used again.' })),
})
export type DevServerState = Static<typeof DevServerState>
export const DevServerStatus = Type.Object({
  ...printed('DevServerStatus'),
  ok: Type.Boolean(),
  state: Type.Optional(AnyObject({ description: 'The state file, without its token.' })),
  info: Type.Optional(DevInfo),
  error: Type.Optional(failure),
})
export const DevServerStopResult = Type.Object({
  ...printed('DevServerStopResult'),
  ok: Type.Boolean(),
  stopped: Type.Optional(literal(true)),
  error: Type.Optional(failure),
})

/** All of it, for whoever prints it: `npm run gen`. */
export const bridgeContract = {
  protocol: bridgeProtocol,
  codes: bridgeCodes,
  methods: bridgeMethods,
  events: bridgeEvents,
  messages: { BridgeRequest, BridgeResponse, BridgeEvent, BridgeError },
  shapes: {
    DevInfo,
    WorkspaceSnapshot,
    CliConfig,
    Outcome,
    CommandResult,
    ArtifactOutput,
    CheckResult,
    Diagnostic,
    Anchor,
    TextEdit,
    FilePatch,
    Position,
    Range,
  },
  printed: { DevServerStarted, DevServerStartFailed, DevServerState, DevServerStatus, DevServerStopResult },
} as const
