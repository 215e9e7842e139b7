import { hintFor, type Fault, type Reason, type ToolNames } from './fault.ts'

/** The nine codes of seed 003 §2.8. They may not be used for anything else, so what they do not say has codes of its own. */
export const codes003 = [
  'ERR_INVALID_REQUEST',
  'ERR_METHOD_NOT_FOUND',
  'ERR_INVALID_PARAMS',
  'ERR_DUPLICATE_REQUEST_ID',
  'ERR_UNAUTHORIZED',
  'ERR_FORBIDDEN',
  'ERR_NOT_FOUND',
  'ERR_CANCELLED',
  'ERR_INTERNAL',
] as const
export const more003 = ['ERR_CONFLICT', 'ERR_TIMEOUT', 'ERR_TOO_LARGE', 'ERR_BUSY', 'ERR_UNSUPPORTED', 'ERR_FAILED'] as const

export type Code003 = (typeof codes003)[number] | (typeof more003)[number]

export const contract003 = {
  'bad-input': 'ERR_INVALID_PARAMS',
  'bad-request': 'ERR_INVALID_REQUEST',
  'duplicate-request': 'ERR_DUPLICATE_REQUEST_ID',
  'unknown-tool': 'ERR_METHOD_NOT_FOUND',
  unauthorized: 'ERR_UNAUTHORIZED',
  'path-denied': 'ERR_FORBIDDEN',
  'not-found': 'ERR_NOT_FOUND',
  'too-large': 'ERR_TOO_LARGE',
  encoding: 'ERR_FAILED',
  parse: 'ERR_FAILED',
  lint: 'ERR_FAILED',
  conflict: 'ERR_CONFLICT',
  policy: 'ERR_FORBIDDEN',
  'needs-approval': 'ERR_FORBIDDEN',
  declined: 'ERR_FORBIDDEN',
  'no-dry-run': 'ERR_FORBIDDEN',
  'read-only': 'ERR_FORBIDDEN',
  disabled: 'ERR_FORBIDDEN',
  'over-limit': 'ERR_FAILED',
  busy: 'ERR_BUSY',
  timeout: 'ERR_TIMEOUT',
  cancelled: 'ERR_CANCELLED',
  unsupported: 'ERR_UNSUPPORTED',
  preview: 'ERR_FAILED',
  io: 'ERR_INTERNAL',
  internal: 'ERR_INTERNAL',
  'model-failed': 'ERR_FAILED',
  'page-timeout': 'ERR_TIMEOUT',
  'page-crashed': 'ERR_FAILED',
  'page-script': 'ERR_FAILED',
  'page-failed': 'ERR_FAILED',
  'mount-failed': 'ERR_FAILED',
  'element-not-found': 'ERR_NOT_FOUND',
  'login-field-not-found': 'ERR_NOT_FOUND',
  'session-not-found': 'ERR_NOT_FOUND',
  'template-not-found': 'ERR_NOT_FOUND',
  'template-version': 'ERR_UNSUPPORTED',
  'trust-level': 'ERR_FORBIDDEN',
  'run-not-found': 'ERR_NOT_FOUND',
  'step-failed': 'ERR_FAILED',
  'artifact-not-found': 'ERR_NOT_FOUND',
  'artifact-expired': 'ERR_NOT_FOUND',
} as const satisfies Record<Reason, Code003>

/** The `error` of a response. What waits for a person is named by `data.approvalId`, as in the details of every such fault. */
export function bridgeErrorOf(fault: Fault, names: ToolNames): { code: Code003; message: string; data: Record<string, unknown> } {
  const hint = hintFor(fault, names)
  const data = { ...fault.details, reason: fault.reason, ...(hint !== undefined && { hint }) }
  return { code: contract003[fault.reason], message: fault.message, data }
}
