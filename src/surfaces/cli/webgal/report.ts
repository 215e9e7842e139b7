export interface Diagnostic {
  scene: string
  /** Below the project. */
  path: string
  line: number
  column?: number
  endColumn?: number
  code: string
  message: string
  fixHint?: string
  severity: 'error' | 'warning' | 'info'
}

/** The answer of `project_report`. */
export interface Report {
  valid: boolean
  game: string
  games?: string[]
  engine?: { version: string; from: string; derivative?: string }
  scenes: number
  lines: number
  words: number
  errors: number
  warnings: number
  notes: number
  diagnostics: Diagnostic[]
  truncated: boolean
  unreadable: string[]
  encodings?: { path: string; encoding: string }[]
  unused: string[]
  characters: { name: string; lines: number; words: number }[]
  leftOut?: string[]
}

/** One game that was looked at, as it is told. */
export interface Told {
  project: string
  report: Report
  /** What is shown of it. */
  shown: Diagnostic[]
  failed: boolean
}
