import type { ErrorSummary } from '../../../contracts/command-result.ts'
import { cliPlane, exitOf } from '../../../contracts/faults/cli-plane.ts'
import { asFault, Fault, hintFor } from '../../../contracts/faults/fault.ts'

/** What ends a command with a code of the plane's own. */
export class PlaneFault extends Error {
  readonly code: string
  readonly hint: string | undefined
  constructor(code: string, message: string, hint?: string) {
    super(message)
    this.code = code
    this.hint = hint
  }
}

/** Whatever was thrown, with its code: a fault keeps the one its reason has, however deep it was wrapped. */
export function errorOf(thrown: unknown): ErrorSummary & { code: string } {
  if (thrown instanceof PlaneFault)
    return { message: short(thrown.message), code: thrown.code, ...(thrown.hint !== undefined && { hint: thrown.hint }) }
  const fault = thrown instanceof Fault ? thrown : asFault(thrown)
  const hint = hintFor(fault, (tool) => tool)
  return { message: short(fault.message), code: cliPlane[fault.reason], ...(hint !== undefined && { hint }) }
}

/** Cut between characters. */
const short = (message: string): string =>
  message.length <= 256 ? message : `${message.slice(0, 255).replace(/[\uD800-\uDBFF]$/, '')}…`

export { exitOf }
