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

interface At {
  scene: string
  line: number
}

/** The answer of `project_report`. */
export interface Report {
  valid: boolean
  game: string
  games?: string[]
  atLeast?: { version: string; from: string }
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
  unusedFiles: { path: string; bytes: number }[]
  unusedBytes: number
  characters: { name: string; lines: number; words: number; cjk: number; scenes: number; first: At }[]
  texts: { lines: number; words: number; cjk: number; scenes: { scene: string; lines: number; words: number; cjk: number }[] }
  variables: { name: string; flag: boolean; sets: number; reads: number; set: At[]; read: At[] }[]
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
