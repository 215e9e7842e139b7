import type { Tool } from '../contracts/tool.ts'
import { files, type FileUse } from './files/index.ts'
import { records, type RecordsUse } from './records/index.ts'
import { session, type SessionUse } from './session/index.ts'

/** What each toolset may use of the house. */
export interface Uses {
  files: FileUse
  session: SessionUse
  records: RecordsUse
}

/** Every tool there is, bound to its slice. The list is written out, so that it can be read and searched. */
export function allTools(use: Uses): Tool[] {
  return [
    ...files.map((tool) => tool.bind(use.files)),
    ...session.map((tool) => tool.bind(use.session)),
    ...records.map((tool) => tool.bind(use.records)),
  ]
}

/** The same tools as descriptions only, for generated contracts and docs: nothing in it can be carried out. */
export function catalogue(): Tool[] {
  return allTools({ files: undefined as never, session: undefined as never, records: undefined as never })
}
