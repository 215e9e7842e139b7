/** A link: where it stands in the project, and what it says. */
export interface MadeLink {
  path: string
  target: string
}

/** What the links of a project make of its paths. */
export interface KnownLinks {
  /** False where the project has more folders or links than are looked at. */
  readonly all: boolean
  /** The other names of a path; `all` is false where there are more than these. */
  namesOf(path: string): { names: readonly string[]; all: boolean }
  /** Where a path in the project really is, all links followed. */
  leadsTo(path: string): string
  /** Which file of the project, or of its git, starts what stands at a path. */
  namedBy(path: string): NamedBy | undefined
}

export interface NamedBy {
  starter: string
  /** It is taken into the starter, as if it stood there. */
  included: boolean
  /** How it is known: the path stands there, its end does in a file that goes to other folders, or nobody can say. */
  how: 'whole' | 'end' | 'unread'
}
