import { errorBodyOf, type ErrorCode } from '../../src/contracts/faults/contract-000.ts'
import type { Fault } from '../../src/contracts/faults/fault.ts'

/** A fault as contract 000 tells it, beside its reason: the code is what that contract promises, the reason what we know. */
export type Coded = Fault & { readonly code: ErrorCode; readonly hint: string | undefined }

export function coded(fault: Fault): Coded {
  const { code, hint } = errorBodyOf(fault).error
  return Object.assign(fault, { code, hint })
}
