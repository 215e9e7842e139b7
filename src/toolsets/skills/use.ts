import type { SkillLibrary } from '../../contracts/skill.ts'
import { toolsUsing } from '../../contracts/tool.ts'
import type { Diffs } from '../../host/diffs.ts'
import type { Files } from '../../host/files.ts'
import type { Installed, Programs } from '../../host/installed.ts'

/** The slice of the host the skill tools may use: reading, and finding what is installed. The kernel runs what they ask for. */
export interface SkillsUse {
  files: Files
  diffs: Diffs
  programs: Programs
  python: () => Promise<Installed>
  /** What Handrail itself was started with; other agents find their keys there. */
  library: SkillLibrary
  environment: Readonly<Record<string, string | undefined>>
}

export { isText } from '../../host/stage/readable-text.ts'

export const defineTool = toolsUsing<SkillsUse>('skills')
