/** Kinds of folders that are no projects unless the person names the danger. */
export type Danger = 'home' | 'system'

/** What the person gives to say that they know. */
export const dangerFlags: Record<Danger, string> = { home: 'allow-home-as-project', system: 'allow-system-folder-as-project' }

export interface RuntimeOptions {
  project: string
  /** Where state is kept; a person's to say, never a project's. */
  state?: string | undefined
  allows?: readonly Danger[]
  flags?: Record<string, string | boolean | undefined>
  environment?: Record<string, string | undefined>
  /**
   * Settings that count, untrusted, where the project's own cannot be used: for a person who only looks or takes something back,
   * and for a server that has to go on. Without it such a project is not opened.
   */
  standIn?: string
  /** For a person who takes something back: what a project's own file tightens binds agents, and nobody's undo. */
  untightened?: boolean
  /**
   * How long it waits on the spot for another process that holds the store or a lock. Short for a process of several projects: while one
   * of them is waited for, nobody is answered for the others.
   */
  patienceMs?: number
  /** Only the very folder that lies there: where its path has come to lead to another one, nothing is made for that. */
  noLink?: boolean
  /** For processes that stay: settings that change take effect for the calls that come after. */
  live?: boolean
}
