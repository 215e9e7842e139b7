import { createHash } from 'node:crypto'
import { canonical } from '../contracts/canonical.ts'

/** Names a value: equal values have equal digests, whatever the order of their fields. */
export function digest(...values: unknown[]): string {
  return createHash('sha256').update(canonical(values)).digest('hex')
}

/** Names a content. */
export function contentHash(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex')
}
