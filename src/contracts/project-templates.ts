/** The folder of a project in which it brings templates of runs: reached by tools as any other, and a file in it is one that runs. */
export const templatesInProject = ['handrail', 'templates'] as const

/** A template that a project brings, and whether it counts. */
export interface ProjectTemplate {
  /** Its path below the project. */
  file: string
  /** SHA-256 of its bytes; none where it cannot be read. */
  digest?: string
  text?: string
  id?: string
  trusted: boolean
  /** Why it cannot be used, trusted or not. */
  wrong: readonly string[]
  /** What it would do, line by line. */
  does: readonly string[]
}

/** What of a project's templates does not count. */
export interface IgnoredTemplates {
  ignored: number
  says: string
}
