import type { Kind } from './kept.ts'

/** Something that `handrail prune` takes away, or leaves, and how much of it there is. */
export interface Amount {
  what: string
  count: number
  /** Of files, to the byte. What rows of the database take is known only after. */
  bytes: number
}

export interface PrunePlan {
  days: number
  /** What is younger than this moment is not part of it, however late it is carried out. */
  before: number
  going: Amount[]
  /** What the files among them free. */
  bytes: number
  /** What is left alone whatever its age. */
  stays: Amount[]
  /** The log is broken: its files are evidence, and none of them goes. */
  broken?: string
}

export interface Pruned {
  gone: Amount[]
  bytes: number
  /** By how much the database became smaller. */
  databaseBytes: number
}

/** What is kept takes this much by kind, and of this there is nearly as much as ever is kept. */
export interface StateSize {
  bytes: Record<Kind, number>
  /** Counting stopped at a bound. */
  atLeast: boolean
  near: { what: string; count: number; most: number }[]
}

export interface Pruning {
  size(): Promise<StateSize>
  /** What is older than so many days and may go, and what nothing refers to any more. Changes nothing. */
  plan(days: number): Promise<PrunePlan>
  /** Does it, in small steps beside all who work on the project. Each kind is in the log. */
  apply(plan: PrunePlan, by: string): Promise<Pruned>
}
