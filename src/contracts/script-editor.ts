/** A place in a script as editors count: lines and columns from 0, columns in UTF-16 units. */
export interface ScriptPosition {
  line: number
  character: number
}

export interface ScriptRange {
  start: ScriptPosition
  end: ScriptPosition
}

/** A stretch of a file of the project. */
export interface ScriptLocation {
  path: string
  range: ScriptRange
}

export interface ScriptDiagnostic {
  range: ScriptRange
  severity: 'error' | 'warning' | 'info'
  code: string
  message: string
}

export interface ScriptCompletion {
  label: string
  kind: 'command' | 'argument' | 'file' | 'scene' | 'label' | 'variable' | 'speaker' | 'value'
  detail?: string
  documentation?: string
  insert: string
  /** What it takes the place of. */
  range: ScriptRange
}

export interface ScriptSymbol {
  name: string
  kind: 'label' | 'choice' | 'scene' | 'variable'
  range: ScriptRange
  /** What stands below a label, up to the next one. */
  children?: ScriptSymbol[]
}

export interface ScriptEdit {
  path: string
  edits: { range: ScriptRange; text: string }[]
}

/**
 * What an editor asks of the scripts of a project while they are written. It only reads; what the editor holds goes before what is on the disk.
 * Paths are below the project, as they are written down.
 */
export interface ScriptEditor {
  /** The path of a file below the project; nothing where it is no script of a game or not in reach. */
  pathOf(file: string): string | undefined
  /** What the editor has open; `undefined` once it is closed. */
  hold(path: string, text: string | undefined): void
  /** Files of the project have changed on the disk. */
  changed(): void
  diagnostics(path: string, signal: AbortSignal): Promise<ScriptDiagnostic[]>
  hover(path: string, at: ScriptPosition): Promise<{ text: string; range: ScriptRange } | undefined>
  complete(path: string, at: ScriptPosition): Promise<ScriptCompletion[]>
  definition(path: string, at: ScriptPosition): Promise<ScriptLocation[]>
  references(path: string, at: ScriptPosition): Promise<ScriptLocation[]>
  /** What would be renamed; nothing where nothing there can be. */
  renamed(path: string, at: ScriptPosition): Promise<{ range: ScriptRange; name: string } | undefined>
  /** Throws a `Fault` where that name cannot be. */
  rename(path: string, at: ScriptPosition, name: string): Promise<ScriptEdit[]>
  symbols(path: string): Promise<ScriptSymbol[]>
}
