/** One row per error code. Surfaces only look up their column; nobody reads messages to decide. */
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

export interface ErrorBody {
  error: {
    code: ErrorCode
    message: string
    details?: Record<string, unknown>
    hint?: string
    recoverable: boolean
  }
}

export interface ErrorExtras {
  details?: Record<string, unknown>
  hint?: string
  cause?: unknown
}

/** The only error Handrail throws on purpose: what, why and what next. */
export class ToolError extends Error {
  readonly code: ErrorCode
  readonly details: Record<string, unknown> | undefined
  readonly hint: string | undefined

  constructor(code: ErrorCode, message: string, extras: ErrorExtras = {}) {
    super(message, { cause: extras.cause })
    this.name = 'ToolError'
    this.code = code
    this.details = extras.details
    this.hint = extras.hint
  }

  /** The contract's error object (seed 000 §0.2). */
  toBody(): ErrorBody {
    return {
      error: {
        code: this.code,
        message: this.message,
        ...(this.details && { details: this.details }),
        ...(this.hint !== undefined && { hint: this.hint }),
        recoverable: errorTable[this.code].recoverable,
      },
    }
  }
}

/** Whatever was thrown, as a ToolError. The cause stays for the log and never reaches the wire. */
export function asToolError(thrown: unknown): ToolError {
  if (thrown instanceof ToolError) return thrown
  return new ToolError('E_INTERNAL', 'Handrail met an unexpected fault. Nothing is known to be half done.', {
    hint: 'Run `handrail doctor`; the call id in the audit log leads to the cause on stderr.',
    cause: thrown,
  })
}
