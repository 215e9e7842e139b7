import Type, { type Static } from 'typebox'
import { closed } from './shapes.ts'

/** What a check found, as seed 003 §3.1 has it. Lines and columns count from 1, columns in UTF-16 units. */
export const Diagnostic = Type.Object(
  {
    severity: Type.Enum(['error', 'warning', 'info'], { type: 'string' }),
    code: Type.String({ description: 'As the tool says it: TS2322, no-undef, TEST_FAILED; CHECK_… is about the run itself' }),
    message: Type.String(),
    pointer: Type.Optional(
      Type.Object(
        {
          file: Type.String({ description: 'From the project root' }),
          line: Type.Optional(Type.Integer({ minimum: 1 })),
          column: Type.Optional(Type.Integer({ minimum: 1, description: 'In UTF-16 units' })),
        },
        closed,
      ),
    ),
    action: Type.Optional(
      Type.Object(
        { kind: Type.String({ const: 'run.command' }), command: Type.String({ description: 'For a person to type' }) },
        closed,
      ),
    ),
    data: Type.Optional(Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true })),
  },
  closed,
)
export type Diagnostic = Static<typeof Diagnostic>

export const checkNames = ['typecheck', 'lint', 'test'] as const
export type CheckName = (typeof checkNames)[number]

export const CheckResult = Type.Object(
  {
    check: Type.Enum([...checkNames], { type: 'string' }),
    ok: Type.Boolean({ description: 'Exit code 0 and no error among the diagnostics' }),
    exitCode: Type.Integer({
      description: '124 where the time was up, 127 where nothing is configured, 130 where it was cancelled',
    }),
    durationMs: Type.Integer({ minimum: 0 }),
    preview: Type.Optional(Type.String({ description: 'The beginning of what it printed, 4 KB at most' })),
    diagnostics: Type.Array(Diagnostic),
    tool: Type.Optional(Type.String({ description: 'What was run: tsc, eslint, vitest, …, or script' })),
    command: Type.Optional(Type.String({ description: 'The same for a person to type' })),
  },
  closed,
)
export type CheckResult = Static<typeof CheckResult>

/**
 * What `run_checks` tells while it goes on (`CallOptions.onEvent`). Each `check.started` has its `check.finished`, also where it is cancelled; what
 * was found comes just before that.
 */
export type CheckEvent =
  | { kind: 'check.started'; payload: { check: CheckName } }
  | { kind: 'check.diagnostics'; payload: { check: CheckName; diagnostics: Diagnostic[] } }
  | { kind: 'check.finished'; payload: Pick<CheckResult, 'check' | 'ok' | 'exitCode' | 'durationMs'> }
