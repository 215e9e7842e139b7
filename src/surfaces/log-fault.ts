import { inspect } from 'node:util'
import { redact } from '../text/redact/redact.ts'

const longest = 8_000

/** An unexpected fault, on stderr, where clients keep it in files of theirs: without the secrets it may quote. */
export function logFault(what: string, thrown: unknown): void {
  console.error(what, redact(inspect(thrown).slice(0, longest)))
}
