import { readAudit } from './read-audit.ts'

/** What was written down, for agents to look at. */
export const records = [readAudit]
export type { RecordsUse } from './use.ts'
