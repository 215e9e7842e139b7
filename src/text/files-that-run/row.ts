/**
 * When such a file does something. `1`: with no further act of the person. `1*`: the same, once they trusted the folder or switched it
 * on. `2`: on an everyday command. `3`: when it is used on purpose. `I`: it instructs agents.
 */
export type RunClass = '1' | '1*' | '2' | '3' | 'I'

export interface RunRow {
  /** Whose file it is. */
  of: string
  /**
   * `R`: only at the top of the project. `U`: the tool walks up from where it is started. `A`: anywhere. Names with a dot in front
   * count anywhere, since a folder below can be opened by itself.
   */
  depth: 'R' | 'U' | 'A'
  class: RunClass
  /** Ends a sentence: "package.json runs …"; for `I`, "CLAUDE.md tells …". */
  when: string
  /** Names and paths, with `*` within one name, `**` for everything below, and `{a,b}`; blanks between them. */
  files: string
}

export const opened = (by: string): string => `runs when you open the folder in ${by}`
export const built = (by: string): string => `runs when you build, test or install with ${by}`
