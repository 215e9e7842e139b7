import { hintFor, type Fault, type Reason, type ToolNames } from './fault.ts'

/** The sixteen codes of contract 002, and what it advises where we know nothing better (seed 002 §5). */
export const advice002 = {
  ELEMENT_NOT_FOUND: 'Look at the page again, then try another selector or description.',
  NAVIGATION_TIMEOUT: 'Wait for less, allow more time, or split the step.',
  SESSION_NOT_FOUND: 'Open a new session and start the task again.',
  PAGE_CRASHED: 'Open the tab or session again and go on from a step that is safe to repeat.',
  INVALID_PARAMETER: 'Correct the range or type of the parameter.',
  EXECUTION_ERROR: 'Check what the script or step takes for granted, or do it in a simpler way.',
  TEMPLATE_NOT_FOUND: 'Correct templateId; list_task_templates shows what there is.',
  RUN_NOT_FOUND: 'Check runId and how long runs are kept, or start the task again.',
  RUN_TIMEOUT: 'Raise timeoutMs, take fewer items, or split the task.',
  RUN_CANCELED: 'It ended because it was cancelled; start it again if it is wanted.',
  STEP_EXECUTION_FAILED: 'Repeat or repair the step that failed.',
  TRUST_LEVEL_NOT_ALLOWED: 'Connect at another level of trust, or use a template that allows this one.',
  TEMPLATE_VERSION_UNSUPPORTED: 'Use another version of the template, or a newer server.',
  ARTIFACT_NOT_FOUND: 'Check artifactId and which run it belongs to.',
  ARTIFACT_EXPIRED: 'Read artifacts while they are kept, or run the task again.',
  TPL_LOGIN_FIELD_NOT_FOUND: 'Change how the fields to sign in with are found.',
} as const

export type Code002 = keyof typeof advice002

export const contract002 = {
  'bad-input': 'INVALID_PARAMETER',
  'bad-request': 'INVALID_PARAMETER',
  'duplicate-request': 'INVALID_PARAMETER',
  'unknown-tool': 'INVALID_PARAMETER',
  unauthorized: 'EXECUTION_ERROR',
  'path-denied': 'INVALID_PARAMETER',
  'not-found': 'INVALID_PARAMETER',
  'too-large': 'INVALID_PARAMETER',
  encoding: 'EXECUTION_ERROR',
  parse: 'EXECUTION_ERROR',
  lint: 'EXECUTION_ERROR',
  conflict: 'EXECUTION_ERROR',
  policy: 'EXECUTION_ERROR',
  'needs-approval': 'EXECUTION_ERROR',
  declined: 'EXECUTION_ERROR',
  'no-dry-run': 'EXECUTION_ERROR',
  'read-only': 'EXECUTION_ERROR',
  disabled: 'EXECUTION_ERROR',
  'over-limit': 'EXECUTION_ERROR',
  busy: 'EXECUTION_ERROR',
  timeout: 'RUN_TIMEOUT',
  cancelled: 'RUN_CANCELED',
  unsupported: 'EXECUTION_ERROR',
  preview: 'EXECUTION_ERROR',
  io: 'EXECUTION_ERROR',
  internal: 'EXECUTION_ERROR',
  'model-failed': 'EXECUTION_ERROR',
  'page-timeout': 'NAVIGATION_TIMEOUT',
  'page-crashed': 'PAGE_CRASHED',
  'page-script': 'EXECUTION_ERROR',
  'page-failed': 'EXECUTION_ERROR',
  'mount-failed': 'EXECUTION_ERROR',
  'element-not-found': 'ELEMENT_NOT_FOUND',
  'login-field-not-found': 'TPL_LOGIN_FIELD_NOT_FOUND',
  'session-not-found': 'SESSION_NOT_FOUND',
  'template-not-found': 'TEMPLATE_NOT_FOUND',
  'template-version': 'TEMPLATE_VERSION_UNSUPPORTED',
  'trust-level': 'TRUST_LEVEL_NOT_ALLOWED',
  'run-not-found': 'RUN_NOT_FOUND',
  'step-failed': 'STEP_EXECUTION_FAILED',
  'artifact-not-found': 'ARTIFACT_NOT_FOUND',
  'artifact-expired': 'ARTIFACT_EXPIRED',
} as const satisfies Record<Reason, Code002>

interface Told002 {
  errorCode: Code002
  recoverHint: string
  details: Record<string, unknown>
}

/** `Run.error`. One code stands for many reasons, so the details name the one it is. */
export function runErrorOf(fault: Fault, names: ToolNames): Told002 & { message: string } {
  const errorCode = contract002[fault.reason]
  const recoverHint = hintFor(fault, names) ?? advice002[errorCode]
  return { errorCode, message: fault.message, recoverHint, details: { ...fault.details, reason: fault.reason } }
}

/** What a tool answers with `isError`. */
export function toolErrorOf(fault: Fault, names: ToolNames): Told002 & { error: string } {
  const { message, ...told } = runErrorOf(fault, names)
  return { error: message, ...told }
}
