import type { Reason } from './fault.ts'

/** Seed 001 §4, and the two codes its gateway has for what is no tool call at all. Each has one status. */
export const statuses001 = {
  invalid_tool_input: 400,
  tool_forbidden_path: 403,
  tool_not_found: 404,
  tool_conflict: 409,
  tool_error: 500,
  tool_disabled: 403,
  invalid_request: 400,
  unauthorized: 401,
} as const

export type Code001 = keyof typeof statuses001

/** A no of a person, or none yet, is an answer and no error: 200, `tool_result.ok: false`, with `approval_id`. */
export type Row001 = { code: Code001; status: number } | { ok: false; status: 200 }

const error = (code: Code001): Row001 => ({ code, status: statuses001[code] })
const answer: Row001 = { ok: false, status: 200 }

export const contract001 = {
  'bad-input': error('invalid_tool_input'),
  'bad-request': error('invalid_request'),
  'duplicate-request': error('invalid_request'),
  'unknown-tool': error('tool_not_found'),
  unauthorized: error('unauthorized'),
  'path-denied': error('tool_forbidden_path'),
  'not-found': error('tool_not_found'),
  'too-large': error('tool_error'),
  encoding: error('tool_error'),
  parse: error('tool_error'),
  lint: error('tool_error'),
  conflict: error('tool_conflict'),
  // The server does not let its tools do this: of the six codes this one says it.
  policy: error('tool_disabled'),
  'needs-approval': answer,
  declined: answer,
  'no-dry-run': error('tool_disabled'),
  'read-only': error('tool_disabled'),
  disabled: error('tool_disabled'),
  'over-limit': error('tool_error'),
  busy: error('tool_error'),
  timeout: error('tool_error'),
  cancelled: error('tool_error'),
  unsupported: error('tool_error'),
  preview: error('tool_error'),
  io: error('tool_error'),
  internal: error('tool_error'),
  'model-failed': error('tool_error'),
  'page-timeout': error('tool_error'),
  'page-crashed': error('tool_error'),
  'page-script': error('tool_error'),
  'page-failed': error('tool_error'),
  'mount-failed': error('tool_error'),
  'element-not-found': error('tool_not_found'),
  'login-field-not-found': error('tool_not_found'),
  'session-not-found': error('tool_not_found'),
  'template-not-found': error('tool_not_found'),
  'template-version': error('tool_error'),
  'trust-level': error('tool_disabled'),
  'run-not-found': error('tool_not_found'),
  'step-failed': error('tool_error'),
  'artifact-not-found': error('tool_not_found'),
  'artifact-expired': error('tool_not_found'),
} as const satisfies Record<Reason, Row001>
