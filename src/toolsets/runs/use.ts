import type { RunDesk, RunOrigin } from '../../contracts/run.ts'
import { toolsUsing, type ToolContext } from '../../contracts/tool.ts'

/** The slice the run tools may use: the desk where runs are handed in and looked at. */
export interface RunsUse {
  desk(): Promise<RunDesk>
}

/** Who hands a run in: its steps are calls of the same session. */
export function originOf({ session, client, caller }: ToolContext): RunOrigin {
  return { surface: caller.surface, client: caller.client, session, ...(client !== session && { peer: client }) }
}

export const defineTool = toolsUsing<RunsUse>('runs')
