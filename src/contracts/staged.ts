import type { Change, Changed } from './change.ts'
import type { ProgramResult, Sides } from './stage.ts'
import type { Card } from './tool.ts'

/** Links that a person is asked about: where they end in the project, and what stands there. */
export interface NewLinks {
  states: Record<string, string | null>
  ends: ReadonlyMap<string, string>
}

/** A program that has run, and what it did. */
export interface Staged {
  readonly ran: ProgramResult
  /** The project's side of everything it changed. */
  readonly states: Record<string, string | null>
  /** Not real yet: what a commit would do. */
  changes(): Promise<Change[]>
  /** Real already, since it could not be confined: the states before, for undo. */
  made(): readonly Changed[]
  /** What a card shows of it; `sensitive` are the files that make other programs run something, `links` new ones under such a name. */
  show(sensitive: ReadonlySet<string>, links?: NewLinks): Promise<Pick<Card, 'changes' | 'rest' | 'counts'>>
  readonly sides: Sides
  /** Before a person is asked about it, where too many wait already: a question of whoever has most `lapse`s, or this is refused. Then it is written down whole. */
  mayWait(lapse: (approval: string) => boolean): Promise<void>
  /** It waits for a person: the same call finds it again, also after a restart. */
  keep(approval: string): void
  /** It is this call's alone from here on: whoever else had found it finds nothing any more, and where we die that call is told of. */
  take(call: string): void
  /** No trace of it is left. */
  discard(): void
}
