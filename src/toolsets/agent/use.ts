import type { AgentGoal, Pursued } from '../../contracts/agent.ts'
import { toolsUsing, type ToolContext } from '../../contracts/tool.ts'

/** The agent, as far as a run needs it. Its calls are made as whoever handed the run in. */
export interface AgentUse {
  pursue(goal: AgentGoal, context: ToolContext): Promise<Pursued>
}

export const defineTool = toolsUsing<AgentUse>('agent')
