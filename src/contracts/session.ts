export interface Session {
  id: string
  surface: string
  client: string
  startedAt: number
  lastAt: number
  /** The process that called last, where it is known. */
  peer?: string | null
}

/** Something an agent said to the person: a question, or that it is done. */
export interface SessionNote {
  session: string
  kind: 'question' | 'completion'
  text: string
  at: number
}

/** What is kept of a session's work, so that the next call knows of it. */
export interface SessionWork {
  /** Remembers a dry run: what was rehearsed, on which state of the world. */
  rememberDryRun(session: string, tool: string, same: string, state: string): void
  dryRunState(session: string, tool: string, same: string): string | undefined
  /** A check of a file passed or failed. Failing again without a write in between counts once. */
  checked(session: string, path: string, passed: boolean): void
  /** Whether any file of this session was ever checked and failed: where none was, nothing else about it need be asked. */
  failing(session: string): boolean
  repaired(session: string, path: string): void
  /** How often the file has failed its check, each time after another try to mend it. */
  failures(session: string, path: string): number
}
