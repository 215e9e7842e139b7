import type { Config } from './config.ts'

/**
 * What the callers of a surface go by, where its contract differs from contract 000. All else is as the person's settings have it, and but for
 * the dry run, which is the contract's to demand or not, and further roots, which the person named, a profile only tightens them.
 */
export interface Profile {
  /** Roots of the setting `roots` that they reach besides the project, by name or as a setting of their own has them; without, none, and they learn of none. */
  readonly roots?: readonly string[] | 'all' | ((config: Config) => readonly string[])
  /** How they write paths: relative to the project, as contract 000 has it, or absolute below it and its further roots as well. */
  readonly paths?: 'relative' | 'absolute'
  /** Names and paths that are out of their reach besides those of the settings. */
  readonly forbids?: readonly string[]
  /** Folders of the system (seed 001 §5) are out of their reach wherever they lie, also where the project is one or holds one, and nothing that is mounted is entered. */
  readonly systemFolders?: 'refused'
  /** Whether a change must have had a dry run of exactly itself. Without, as the settings have it. */
  readonly dryRun?: boolean
  readonly readOnly?: true
  /** A person is asked about every change, also one that can be undone. */
  readonly asksFrom?: 'R1'
  /** Tools they do not have. */
  readonly withholds?: readonly string[]
  /** How long a call may take, and how long its client waits. */
  readonly deadlines?: { readonly callMs?: number; readonly answerMs?: number }
}
