import { toolsUsing } from '../../contracts/tool.ts'
import type { Files } from '../../host/files.ts'

/** The slice of the host the program tools may use: reading. The kernel runs what they ask for. */
export interface ShellUse {
  files: Files
  commandTimeoutMs: number
}

export const defineTool = toolsUsing<ShellUse>('shell')
