import type { AuditLine } from '../../contracts/audit.ts'
import type { Memory } from '../../contracts/memory.ts'
import { toolsUsing } from '../../contracts/tool.ts'

/** Looking at what was done, and nothing else. */
export interface RecordsUse {
  audit: {
    last(count: number): AuditLine[]
    line(seq: number): AuditLine | undefined
  }
  memory(session: string): Pick<Memory, 'search'>
}

export const defineTool = toolsUsing<RecordsUse>('records')
