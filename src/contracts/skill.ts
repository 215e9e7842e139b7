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
  /** SHA-256 of its SKILL.md; of all of its folder's files together, for what a project brings. */
  digest: string
  trusted: boolean
  /** By name and path from its folder on; nobody has read them. */
  scripts: readonly { name: string; relative_path: string }[]
  diagnostics: readonly SkillDiagnostic[]
}

/** A skill that was chosen: now its text is read too. What it says is content, and grants nothing. */
export interface Skill {
  info: SkillInfo
  body: string
}

/** A folder that looks like a skill and is not offered: it cannot be read as one, is shadowed, or nobody trusted it. */
export interface SkippedSkill {
  id: string
  path: string
  origin: SkillOrigin
  why: 'unreadable' | 'shadowed' | 'untrusted'
  digest?: string
  diagnostics: readonly SkillDiagnostic[]
}

/** The skills there are. */
export interface Skills {
  /** Those that can be chosen, in the order of precedence, without their text. */
  list(): Promise<readonly SkillInfo[]>
  skipped(): Promise<readonly SkippedSkill[]>
  /** With its text; undefined where there is none of this id. */
  load(id: string): Promise<Skill | undefined>
}
