import type { CallOptions } from '../../contracts/call.ts'
import { toolsUsing, type ToolContext } from '../../contracts/tool.ts'
import type { Diffs } from '../../host/diffs.ts'
import type { Files } from '../../host/files.ts'

/** The slice of the host the workspace tools may use: reading, and the road itself for the parts of their work that are calls of their own. */
export interface WorkspaceUse {
  files: Files
  diffs: Diffs
  /** A call by whoever made this one, under the same settings. */
  call(tool: string, input: unknown, by: ToolContext, options: Pick<CallOptions, 'signal'>): Promise<unknown>
}

export const defineTool = toolsUsing<WorkspaceUse>('workspace')
