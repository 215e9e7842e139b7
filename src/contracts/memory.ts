/** What can be found again. */
export const memoryKinds = ['call', 'run', 'artifact', 'conversation', 'event'] as const
export type MemoryKind = (typeof memoryKinds)[number]

/** What is looked for: all of it must fit. */
export interface MemoryQuery {
  /** Every word must be there, in any order. */
  words?: string | undefined
  /** A file, or a folder and what lies below it. */
  path?: string | undefined
  tool?: string | undefined
  kind?: MemoryKind | undefined
  /** Milliseconds since 1970. */
  since?: number | undefined
  until?: number | undefined
  limit: number
}

/** Something that was done or said, as the log, the runs, the artifacts and the conversations have it now. */
export interface MemoryHit {
  kind: MemoryKind
  /** Of a call, a run, an artifact or a conversation; the number of its line in the log for anything else. */
  id: string
  at: string
  /** In one line. */
  what: string
  /** Where the words stand. */
  excerpt?: string
  tool?: string
  paths?: string[]
  outcome?: string
  session?: string
  run?: string
  /** Its lines in the log. */
  lines?: number[]
}

export interface MemoryAnswer {
  /** The newest first. */
  hits: MemoryHit[]
  /** Lines of the log that were not looked through yet. */
  behind: number
  /** There may be older ones. */
  more: boolean
}

export interface MemoryStatus {
  entries: number
  bytes: number
  /** The last line of the log it knows of, and the log's own last one. */
  upTo: number
  head: number
  /** Why it was made anew when it was last opened here. */
  madeAnew?: string
}

/**
 * Finds what was done before. It is an index and nothing more: each answer is read from the log, the runs, the artifacts and the conversations
 * themselves, so it can miss something and never make anything up. Deleted or damaged, it is made anew from them.
 */
export interface Memory {
  search(query: MemoryQuery, signal?: AbortSignal, onProgress?: (done: number, total: number) => void): Promise<MemoryAnswer>
  /** Throws the index away and makes it anew; says how many entries it has. */
  rebuild(onProgress?: (done: number, total: number) => void): Promise<MemoryStatus>
  status(): MemoryStatus
}
