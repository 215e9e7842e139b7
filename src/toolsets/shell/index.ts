import { executeCommand } from './execute-command.ts'
import { shell } from './shell.ts'

/** Running programs of the project, on a stage. */
export const shellTools = [shell, executeCommand]
export type { ShellUse } from './use.ts'
