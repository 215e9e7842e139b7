/** A state of one file in its timeline. */
export interface Snapshot {
  id: string
  path: string
  timestamp: number
  /** Full SHA-256 of the content; null is the state "no such file". */
  sha256: string | null
  bytes: number
  kind: 'baseline' | 'write' | 'remove'
  call: string | null
  session: string | null
  idempotencyKey: string | null
  /** The state just before, in the same timeline. */
  before: string | null
  /** Set when a later undo took this state back. */
  undoneBy: string | null
}

export const snapshotIdPattern = '^snap_\\d{8}T\\d{6}_[0-9a-f]{8}$'
