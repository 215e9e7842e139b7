import type { AuditLine } from '../../contracts/audit.ts'
import { toolsUsing } from '../../contracts/tool.ts'

/** Looking at the log, and nothing else. */
export interface RecordsUse {
  audit: {
    last(count: number): AuditLine[]
    line(seq: number): AuditLine | undefined
  }
}

export const defineTool = toolsUsing<RecordsUse>('records')
