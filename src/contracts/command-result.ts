import Type, { type Static } from 'typebox'
import type { CallOptions, Caller } from './call.ts'
import { closed } from './shapes.ts'

/** Why a command failed, in a form that can be sent: no stack, no class. */
export const ErrorSummary = Type.Object(
  {
    name: Type.Optional(Type.String()),
    message: Type.String({ maxLength: 256 }),
    code: Type.Optional(Type.String()),
    hint: Type.Optional(Type.String()),
  },
  closed,
)
export type ErrorSummary = Static<typeof ErrorSummary>

/** One thing a command made: in a file of the out folder, or inline. */
export const ArtifactOutput = Type.Object(
  {
    outputKey: Type.String({ minLength: 1 }),
    kind: Type.String({ minLength: 1 }),
    ok: Type.Boolean(),
    schemaVersion: Type.Optional(Type.Integer({ minimum: 1 })),
    file: Type.Optional(Type.String({ description: 'Its name in the out folder' })),
    inline: Type.Optional(Type.Unknown()),
    truncated: Type.Optional(Type.Boolean()),
    budgetBytes: Type.Optional(Type.Integer({ minimum: 0 })),
    actualBytes: Type.Optional(Type.Integer({ minimum: 0 })),
    digest: Type.Optional(
      Type.String({ pattern: '^sha256:[0-9a-f]{64}$', description: 'Of the stable JSON of the whole value' }),
    ),
    reasonCodes: Type.Optional(Type.Array(Type.String())),
    error: Type.Optional(ErrorSummary),
  },
  closed,
)
export type ArtifactOutput = Static<typeof ArtifactOutput>

/** What a command of the CLI plane answers: one line of JSON with sorted keys, without times, durations or random ids. */
export const CommandResult = Type.Object(
  {
    schemaVersion: Type.Integer({ const: 1 }),
    kind: Type.String({ const: 'CommandResult' }),
    runId: Type.String({ minLength: 1 }),
    command: Type.String({ minLength: 1 }),
    mode: Type.Optional(Type.Enum(['report', 'write'], { type: 'string' })),
    ok: Type.Boolean(),
    artifacts: Type.Array(ArtifactOutput),
    error: Type.Optional(ErrorSummary),
  },
  closed,
)
export type CommandResult = Static<typeof CommandResult>

/** What a command does to the world: `writes-source` is refused where only reading is allowed, the others are not. */
export type CommandEffect = 'read' | 'writes-artifacts' | 'writes-source' | 'executes-code'

/** An invocation as it was understood, with the defaults and the profile of the settings file in it. */
export interface ParsedCommand {
  /** Dotted; `unknown` where it was not understood. */
  command: string
  effect: CommandEffect
  /** Changes source files. Decided on this, never on the words. */
  writes: boolean
  help: boolean
  /** Nothing where none was given. */
  runId: string | undefined
  /** Reads standard input. */
  stdin: boolean
  /** Where its artifacts go, relative to the project; nothing where they are inline. */
  outFolder: string | undefined
}

export type CommandOutcome =
  | { kind: 'help'; text: string; exitCode: 0 }
  | {
      kind: 'result'
      result: CommandResult
      exitCode: 0 | 1 | 2
      /** As in `ParsedCommand`: where the files that `artifacts` names are. */
      outFolder?: string | undefined
    }

export interface RunCommandOptions {
  signal?: AbortSignal | undefined
  /** Without it a command that would change sources ends with `CLI_VIOLATION_READ_ONLY`, exit 2. */
  allowWrite: boolean
  /** Who it is for, in the log and on the road: a person at a terminal, or an agent on the bridge. */
  caller: Caller
  /** For `--ops -`; where it is missing, `-` is refused. */
  stdin?: () => Promise<string>
  onEvent?: CallOptions['onEvent']
}

/** The one-shot commands: `describe`, `check`, `anchor index`, `anchor autofill`, `transform`, `artifact validate`, `artifact diff`, `trial`. */
export interface CliPlane {
  /** Never throws: what cannot be understood is `unknown`, and `run` says why. `argv` without `handrail`. */
  parse(argv: readonly string[]): ParsedCommand
  /** Never throws; everything heavy is off the event loop and ends with the signal. */
  run(argv: readonly string[], options: RunCommandOptions): Promise<CommandOutcome>
  /** The section `cli` of handrail.config.json, as `dev.workspace.snapshot` shows it. */
  config():
    | { found: false }
    | { found: true; path: string; ok: true; config: Record<string, unknown>; profiles: string[] }
    | { found: true; path: string; ok: false; error: { code: string; message: string } }
}
