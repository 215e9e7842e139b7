/** Whose a skill is. What a project brings counts once a person has trusted its bytes. */
export type SkillOrigin = 'handrail' | 'person' | 'project'

/** Something about a skill that its author, or whoever uses it, should know. `skipped`: it could not be loaded. */
export interface SkillDiagnostic {
  level: 'skipped' | 'warning' | 'note'
  says: string
}

/** A skill by its front matter alone: this is all that is read of it before it is chosen. */
export interface SkillInfo {
  /** The name of its folder. */
  id: string
  name: string
  description: string
  tags: readonly string[]
  version?: string
  license?: string
  compatibility?: string
  /** What it says it needs; it grants nothing. */
  allowedTools: readonly string[]
  metadata: Readonly<Record<string, unknown>>
  /** Only a person may choose it. */
  disableModelInvocation: boolean
  origin: SkillOrigin
  /** Its folder: from the project on, or, for those of the person and ours, below the folder it was found in. */
  path: string
  /** By name and path from its folder on; nobody has read them. */
  scripts: readonly { name: string; relative_path: string }[]
  diagnostics: readonly SkillDiagnostic[]
}

/** A skill that was chosen: now its text is read too. What it says is content, and grants nothing. */
export interface Skill {
  info: SkillInfo
  body: string
  /** The line of SKILL.md on which the body begins. */
  bodyLine: number
}

/** A folder that looks like a skill and is not offered: it cannot be read as one, another takes its place, or nobody trusted it. */
export interface SkippedSkill {
  id: string
  path: string
  origin: SkillOrigin
  why: 'unreadable' | 'shadowed' | 'untrusted'
  says: string
  /** What it says of itself, where that can be read. */
  info?: SkillInfo
}

/** What there is to know of skills before one is chosen. */
export interface SkillListing {
  /** Those that can be chosen, each id once, in the order of precedence. */
  skills: readonly SkillInfo[]
  skipped: readonly SkippedSkill[]
  /** What was not looked at, and why. */
  left: readonly string[]
}

/** The skills there are. Looked at anew each time; what did not change is not read again. */
export interface SkillLibrary {
  list(): Promise<SkillListing>
  /** With its text. Throws `not-found`. */
  load(id: string): Promise<Skill>
  /** A text file of a skill, by its path in it. Throws `not-found`. */
  file(id: string, path: string): Promise<string>
}

/** What `handrail skills check` says of one. */
export interface CheckedSkill {
  id: string
  path: string
  loads: boolean
  /** How many steps were found in it. */
  steps: number
  diagnostics: readonly SkillDiagnostic[]
  asks: readonly { for: string; says: string; line: number }[]
}

/** A skill, a prompt or words about the agent that a project brings: an instruction to models, written by somebody else. */
export interface ProjectText {
  kind: 'skill' | 'prompt' | 'identity'
  id: string
  /** Where it lies in the project. */
  file: string
  /** Over all of its bytes; none where it cannot be read. */
  digest?: string
  text?: string
  trusted: boolean
  /** Why it cannot be used, trusted or not. */
  wrong: readonly string[]
  /** What it would do. */
  does: readonly string[]
}
