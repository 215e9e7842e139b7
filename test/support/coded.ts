import { errorCodeOf, type ErrorCode } from '../../src/contracts/faults/contract-000.ts'
import type { Fault } from '../../src/contracts/faults/fault.ts'

/** A fault with contract 000's code beside its reason: the code is what that contract promises, the reason what we know. */
export type Coded = Fault & { readonly code: ErrorCode }

export const coded = (fault: Fault): Coded => Object.assign(fault, { code: errorCodeOf(fault) })
