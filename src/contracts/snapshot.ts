/** What can stand at a path. Anything else (devices, sockets) is nobody's to touch. */
export type Form = 'file' | 'link' | 'folder'

/** A state of one path in its timeline. */
export interface Snapshot {
  id: string
  path: string
  timestamp: number
  /** Full SHA-256 of the content, of a link's target, of nothing for a folder; null is the state "nothing there". */
  sha256: string | null
  bytes: number
  /** Null where nothing is there, and in states kept before forms were: those are files. */
  form: Form | null
  /** Permission bits; null where they are not known. */
  mode: number | null
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

/** What tells one state from another. */
export type State = Pick<Snapshot, 'sha256' | 'form' | 'mode'>

export const formOf = (state: State): Form => state.form ?? 'file'

export function sameContent(a: State | undefined, b: State | undefined): boolean {
  const [there, here] = [a?.sha256 ?? null, b?.sha256 ?? null]
  return there === here && (there === null || formOf(a as State) === formOf(b as State))
}

/** Bits of a link count nowhere, and bits that are not known fit any. */
export function sameMode(a: State | undefined, b: State | undefined): boolean {
  return a?.form === 'link' || (a?.mode ?? null) === null || (b?.mode ?? null) === null || a?.mode === b?.mode
}

export function sameState(a: State | undefined, b: State | undefined): boolean {
  return sameContent(a, b) && sameMode(a, b)
}
