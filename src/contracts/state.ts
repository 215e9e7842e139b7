/** What is kept of one project, and where. */
export interface StateView {
  base: string
  folder: string
  /** The project as it stands now. */
  project: { path: string; device: string; inode: string }
  /** Whether the state there is this project's, or what a person has to say about it first. */
  fits: 'yes' | 'none yet' | 'another folder' | 'unknown'
  why?: string
  /** Bytes by kind. */
  bytes: { database: number; audit: number; snapshots: number; evidence: number; other: number }
  /** Of all projects and stages below the base. */
  baseBytes: number
  /** Counting stopped at a bound: there is more than the bytes say. */
  atLeast: boolean
  others: { path: string; folder: string; gone: boolean }[]
  /** Projects that are not in the list. */
  moreOthers: number
  setAside: number
  /** The project brings a `.handrail` folder of an older version, which is ignored. */
  oldState: boolean
  /** The path from which this very folder was moved here, where the state of that path is still there. */
  movedFrom?: string
}

/** What would be taken over by `adopt`. */
export interface Adoption {
  from: string
  folder: string
  /** Where it will lie. */
  to: string
  moved: boolean
}

/** What would be taken over from a `.handrail` folder of an older version. */
export interface OldState {
  snapshots: number
  paths: number
  bytes: number
  /** States that are not taken, and the first reasons. */
  refused: number
  reasons: string[]
  auditBytes: number
}

/** A person's tools for the state of a project; it opens no runtime, since that is refused where the state does not fit. */
export interface StateAdmin {
  show(): Promise<StateView>
  adoption(from?: string): Adoption
  adopt(plan: Adoption): void
  /** Sets the state aside; says where it lies now, or nothing where there was none. */
  reset(): string | undefined
  oldState(): OldState
  /** Takes over what `oldState` found; says how many states are new. */
  importOld(): { snapshots: number; auditFile: string | undefined }
  close(): void
}
