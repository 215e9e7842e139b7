import { pursueGoal } from './pursue-goal.ts'

/** The agent that comes with Handrail, as a tool of runs. */
export const agent = [pursueGoal]
export type { AgentUse } from './use.ts'
