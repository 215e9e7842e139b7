import type { Reason } from './fault.ts'

/** The one-shot command line behind contract 003: 2 is the user's to mend or a gate that said no, 1 everything else. */
export const exits = {
  CLI_INVALID_ARGUMENT: 2,
  CLI_INVALID_COMMAND: 2,
  CLI_INVALID_INPUT: 2,
  CLI_VIOLATION_POLICY: 2,
  CLI_VIOLATION_CONFLICT: 2,
  CLI_COMMAND_FAILED: 1,
  CLI_IO_ERROR: 1,
  CLI_INTERNAL: 1,
} as const

export type CliCode = keyof typeof exits

/** Codes that no fault stands behind: what the commands say of their own words. */
export const wordExits = { CLI_MISSING_RUNID: 2, CLI_ENTRY_NO_EXPORT: 2, CLI_ENTRY_IMPORT_FAILED: 2 } as const

/** A function of the code alone: whatever a gate calls its no (`CLI_VIOLATION_…`) is 2. */
export const exitOf = (code: string | undefined): 1 | 2 =>
  code?.startsWith('CLI_VIOLATION')
    ? 2
    : (new Map<string | undefined, 1 | 2>(Object.entries({ ...exits, ...wordExits })).get(code) ?? 1)

export const cliPlane = {
  'bad-input': 'CLI_INVALID_ARGUMENT',
  'bad-request': 'CLI_INVALID_ARGUMENT',
  'duplicate-request': 'CLI_INVALID_ARGUMENT',
  'unknown-tool': 'CLI_INVALID_COMMAND',
  unauthorized: 'CLI_VIOLATION_POLICY',
  'path-denied': 'CLI_VIOLATION_POLICY',
  'not-found': 'CLI_INVALID_INPUT',
  'too-large': 'CLI_INVALID_INPUT',
  encoding: 'CLI_INVALID_INPUT',
  parse: 'CLI_INVALID_INPUT',
  lint: 'CLI_COMMAND_FAILED',
  conflict: 'CLI_VIOLATION_CONFLICT',
  policy: 'CLI_VIOLATION_POLICY',
  'needs-approval': 'CLI_VIOLATION_POLICY',
  declined: 'CLI_VIOLATION_POLICY',
  'no-dry-run': 'CLI_VIOLATION_POLICY',
  'read-only': 'CLI_VIOLATION_POLICY',
  disabled: 'CLI_VIOLATION_POLICY',
  'over-limit': 'CLI_COMMAND_FAILED',
  busy: 'CLI_COMMAND_FAILED',
  timeout: 'CLI_COMMAND_FAILED',
  cancelled: 'CLI_COMMAND_FAILED',
  unsupported: 'CLI_COMMAND_FAILED',
  preview: 'CLI_COMMAND_FAILED',
  io: 'CLI_IO_ERROR',
  internal: 'CLI_INTERNAL',
  'model-failed': 'CLI_COMMAND_FAILED',
  'page-timeout': 'CLI_COMMAND_FAILED',
  'page-crashed': 'CLI_COMMAND_FAILED',
  'page-script': 'CLI_COMMAND_FAILED',
  'page-failed': 'CLI_COMMAND_FAILED',
  'mount-failed': 'CLI_COMMAND_FAILED',
  'element-not-found': 'CLI_COMMAND_FAILED',
  'login-field-not-found': 'CLI_COMMAND_FAILED',
  'session-not-found': 'CLI_INVALID_INPUT',
  'template-not-found': 'CLI_INVALID_INPUT',
  'template-version': 'CLI_INVALID_INPUT',
  'trust-level': 'CLI_VIOLATION_POLICY',
  'run-not-found': 'CLI_INVALID_INPUT',
  'step-failed': 'CLI_COMMAND_FAILED',
  'artifact-not-found': 'CLI_INVALID_INPUT',
  'artifact-expired': 'CLI_INVALID_INPUT',
} as const satisfies Record<Reason, CliCode>
