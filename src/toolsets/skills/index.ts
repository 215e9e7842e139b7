import { agentRun } from './agent-run.ts'
import { pythonRun } from './python-run.ts'
import { scriptRun } from './script-run.ts'

/** Running what skills bring along, and other agents, on a stage. */
export const skills = [pythonRun, scriptRun, agentRun]
export type { SkillsUse } from './use.ts'
