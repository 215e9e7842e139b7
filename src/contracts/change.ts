import type { Content } from './content.ts'
import type { Form } from './snapshot.ts'

/**
 * One path's change: what must be there now, and what shall be there. One that says neither `form` nor modes is a plain
 * write: it changes regular files of a single name only.
 */
export interface Change {
  path: string
  /** The state (`stateWord`) the change was made for; the change is refused where the path has moved on. Null is "nothing there". */
  expect: string | null
  /** Where it is given, the permission bits must be these, too. */
  expectMode?: number
  /** New content, a link's target, or empty for a folder; null removes. A function is asked once, when its turn comes. */
  after: Buffer | (() => Content) | null
  form?: Form
  /** Permission bits. Without them those of the same form that stood there stay. */
  mode?: number
  /** Snapshots that this change takes back. */
  undoes?: readonly string[]
}

/** A state that was, for the journal to keep. */
export interface Earlier {
  form: Form
  mode: number
  sha256: string
  bytes: number
  content: () => Content
}

/** What somebody else has changed: the state that was there before, null for nothing. */
export interface Changed {
  path: string
  before: Earlier | null
}
