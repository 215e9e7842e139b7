import type { AgentGoal, GoalResult } from '../../contracts/agent.ts'
import { toolsUsing, type ToolContext } from '../../contracts/tool.ts'

/** The agent, as far as a run needs it. Its calls are made as whoever handed the run in. */
export interface AgentUse {
  runGoal(goal: AgentGoal, context: ToolContext): Promise<GoalResult>
}

export const defineTool = toolsUsing<AgentUse>('agent')
