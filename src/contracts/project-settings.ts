/**
 * Which way a setting is tighter: all that a project's own file may say without a person's trust.
 * `more`, `fewer`: entries of a list. `lower`: of a number. `on`, `off`: of a switch. `inside`: a folder inside the one in force.
 * `each`: a table, each entry of which needs trust; the person's own of the same name stays. Groups of words: the tightest first. `neutral`: nothing is at stake. `trust`: either way costs something, so every other value
 * needs trust. `person`: it names programs, folders or ports of the machine; never a project's to say, trusted or not.
 */
export type Tighter =
  | 'more'
  | 'fewer'
  | 'lower'
  | 'on'
  | 'off'
  | 'inside'
  | 'each'
  | 'neutral'
  | 'trust'
  | 'person'
  | readonly (readonly string[])[]

/** Something a project's own file asks for beyond what is in force without it. */
export interface Loosening {
  key: string
  /** In force without it. */
  from: unknown
  /** What the file says. */
  to: unknown
  /** What that does, in words; what the file itself says stands in quotation marks. */
  says: string
  /** What it does, and each entry of a list by itself. */
  does: string
  entries?: readonly string[]
}

/** A project's own settings file as it was read, and what of it counts. */
export interface ProjectSettings {
  file: string
  /** SHA-256 of its bytes; none where it cannot be read at all. */
  digest?: string | undefined
  text?: string | undefined
  /** Everything it asks for beyond the rest of the settings, and that part of it which nobody has trusted. */
  loosenings: readonly Loosening[]
  ignored: readonly Loosening[]
  /** Settings it may not name, trusted or not. */
  refused: readonly string[]
  /** Why it cannot be used, where somebody only looks. */
  fault?: string | undefined
  /** One sentence for people about what is left out; none where nothing is. */
  says?: string | undefined
}
