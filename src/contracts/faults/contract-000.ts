import { hintFor, type Fault, type Reason } from './fault.ts'

/** The fifteen codes of contract 000 (seed 000 §0.2). */
export const errorTable = {
  E_DENY_PATH: { recoverable: true, http: 403, says: 'the path is outside the project or forbidden' },
  E_NOT_FOUND: { recoverable: true, http: 404, says: 'what was named does not exist' },
  E_IO: { recoverable: false, http: 500, says: 'the disk refused' },
  E_TOO_LARGE: { recoverable: true, http: 413, says: 'larger than the limit in force' },
  E_ENCODING: { recoverable: false, http: 415, says: 'not UTF-8 text' },
  E_PARSE_FAIL: { recoverable: false, http: 422, says: 'stored or given data cannot be parsed' },
  E_LINT_FAIL: { recoverable: true, http: 422, says: 'a check could not be carried out' },
  E_CONFLICT: { recoverable: true, http: 409, says: 'the world moved since it was looked at' },
  E_PREVIEW_FAIL: { recoverable: true, http: 502, says: 'no preview could be shown' },
  E_TIMEOUT: { recoverable: true, http: 504, says: 'took longer than allowed, or was cancelled' },
  E_POLICY_VIOLATION: { recoverable: true, http: 403, says: 'policy or a person does not allow it' },
  E_TOOL_DISABLED: { recoverable: false, http: 403, says: 'the tool is switched off here' },
  E_UNSUPPORTED: { recoverable: false, http: 501, says: 'not possible on this system' },
  E_BAD_ARGS: { recoverable: true, http: 400, says: 'the arguments do not fit the contract' },
  E_INTERNAL: { recoverable: false, http: 500, says: 'a fault in Handrail itself' },
} as const

export type ErrorCode = keyof typeof errorTable

/** Which code each reason is told with; the code says the rest. */
export const codes000 = {
  'bad-input': 'E_BAD_ARGS',
  'bad-request': 'E_BAD_ARGS',
  'duplicate-request': 'E_CONFLICT',
  'unknown-tool': 'E_UNSUPPORTED',
  unauthorized: 'E_POLICY_VIOLATION',
  'path-denied': 'E_DENY_PATH',
  'not-found': 'E_NOT_FOUND',
  'too-large': 'E_TOO_LARGE',
  encoding: 'E_ENCODING',
  parse: 'E_PARSE_FAIL',
  lint: 'E_LINT_FAIL',
  conflict: 'E_CONFLICT',
  policy: 'E_POLICY_VIOLATION',
  'needs-approval': 'E_POLICY_VIOLATION',
  declined: 'E_POLICY_VIOLATION',
  'no-dry-run': 'E_POLICY_VIOLATION',
  'read-only': 'E_POLICY_VIOLATION',
  disabled: 'E_TOOL_DISABLED',
  'over-limit': 'E_POLICY_VIOLATION',
  busy: 'E_POLICY_VIOLATION',
  timeout: 'E_TIMEOUT',
  cancelled: 'E_TIMEOUT',
  unsupported: 'E_UNSUPPORTED',
  preview: 'E_PREVIEW_FAIL',
  io: 'E_IO',
  internal: 'E_INTERNAL',
  'model-failed': 'E_PREVIEW_FAIL',
  'page-timeout': 'E_TIMEOUT',
  'page-crashed': 'E_PREVIEW_FAIL',
  'page-script': 'E_PREVIEW_FAIL',
  'page-failed': 'E_PREVIEW_FAIL',
  'mount-failed': 'E_PREVIEW_FAIL',
  'element-not-found': 'E_PREVIEW_FAIL',
  'login-field-not-found': 'E_PREVIEW_FAIL',
  'session-not-found': 'E_NOT_FOUND',
  'template-not-found': 'E_NOT_FOUND',
  'template-version': 'E_UNSUPPORTED',
  'trust-level': 'E_POLICY_VIOLATION',
  'run-not-found': 'E_NOT_FOUND',
  'step-failed': 'E_PREVIEW_FAIL',
  'artifact-not-found': 'E_NOT_FOUND',
  'artifact-expired': 'E_NOT_FOUND',
} as const satisfies Record<Reason, ErrorCode>

/** The contract's error object (seed 000 §0.2). */
export interface ErrorBody {
  error: {
    code: ErrorCode
    message: string
    details?: Record<string, unknown>
    hint?: string
    recoverable: boolean
  }
}

export const errorCodeOf = ({ reason }: Fault): ErrorCode => codes000[reason]

/** The codes some reasons come down to, each once. */
export const errorCodesOf = (reasons: readonly Reason[]): ErrorCode[] => [...new Set(reasons.map((reason) => codes000[reason]))]

/** Its callers know the tools by the names the kernel has for them. */
export function errorBodyOf(fault: Fault): ErrorBody {
  const code = errorCodeOf(fault)
  const hint = hintFor(fault, (tool) => tool)
  return {
    error: {
      code,
      message: fault.message,
      ...(fault.details && { details: fault.details }),
      ...(hint !== undefined && { hint }),
      recoverable: errorTable[code].recoverable,
    },
  }
}
