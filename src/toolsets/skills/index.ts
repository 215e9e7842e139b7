import { agentRun } from './agent-run.ts'
import { pythonRun } from './python-run.ts'
import { readSkillTool } from './read-skill.ts'
import { scriptRun } from './script-run.ts'

/** Reading skills; running what they bring along, and other agents, on a stage. */
export const skills = [pythonRun, scriptRun, agentRun, readSkillTool]
export type { SkillsUse } from './use.ts'
