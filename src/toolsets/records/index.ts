import { readAudit } from './read-audit.ts'
import { searchMemory } from './search-memory.ts'

/** What was written down, for agents to look at. */
export const records = [readAudit, searchMemory]
export type { RecordsUse } from './use.ts'
