/** A link: where it stands in the project, and what it says. */
export interface MadeLink {
  path: string
  target: string
}

/** What the links of a project make of its paths. */
export interface KnownLinks {
  /** False where the project has more folders or links than are looked at. */
  readonly all: boolean
  /** False where surely nothing of this name stands at the top of the project: looked up, not looked at. */
  mayStand(name: string): boolean
  /** The other names of a path; `all` is false where there are more than these. */
  namesOf(path: string): { names: readonly string[]; all: boolean }
  /** Where a path in the project really is, all links followed. */
  leadsTo(path: string): string
}
