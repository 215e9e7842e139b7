import type { RunsApi, RunOrigin } from '../../contracts/run.ts'
import { toolsUsing, type ToolContext } from '../../contracts/tool.ts'

/** The slice the run tools may use: where runs are submitted and looked at. */
export interface RunsUse {
  runsApi(): Promise<RunsApi>
}

/** Who hands a run in: its steps are calls of the same session. */
export function originOf({ session, client, caller }: ToolContext): RunOrigin {
  return { surface: caller.surface, client: caller.client, session, ...(client !== session && { peer: client }) }
}

export const defineTool = toolsUsing<RunsUse>('runs')
