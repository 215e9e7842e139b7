/** A running `handrail serve`, as it has told every process of its project. */
export interface ServedPage {
  /** Random, and new in each process: a sign-in key counts at the one server it was made for. */
  instance: string
  /** Where it listens. */
  url: string
  /** The origin that the person's pages have for themselves; undefined where others could sit at that name. */
  page?: string
}
