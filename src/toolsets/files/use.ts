import type { Content } from '../../contracts/content.ts'
import { Fault } from '../../contracts/faults/fault.ts'
import { toolsUsing } from '../../contracts/tool.ts'
import type { Snapshot } from '../../contracts/snapshot.ts'
import type { Steps } from '../../text/steps.ts'
import type { Diffs } from '../../host/diffs.ts'
import type { Files } from '../../host/files.ts'
import type { PathStates } from '../../host/path-state.ts'
import type { RegexEngine } from '../../host/regex.ts'
import type { Search } from '../../host/search.ts'

/** The slice of the host the file tools may use: reading, searching, and looking at what is kept. */
export interface FileUse {
  files: Files
  diffs: Diffs
  search: Search
  regex: RegexEngine
  regexTimeoutMs: number
  /** What stands at a path that is to be taken back. */
  states: PathStates
  kept: {
    list(limit: number, prefix: string, among?: (path: string) => boolean): Snapshot[]
    get(id: string): Snapshot | undefined
    content(id: string): Buffer
    contentOnDisk(id: string): Content
    ofCall(call: string): Steps<Snapshot[]>
    ofSession(session: string): Steps<Snapshot[]>
    after(path: string, timestamp: number): Steps<Snapshot[]>
    latest(path: string): Snapshot | undefined
    lastChange(upTo?: number): Snapshot | undefined
    /** False where only its place in the timeline is left. */
    isKept(id: string): boolean
  }
}

/** Looking at what is kept: the contract calls a disk that refuses there a fault of the runtime, not of the caller's file. */
export function readingKept<T>(look: () => T): T {
  try {
    return look()
  } catch (fault) {
    if (!(fault instanceof Fault) || fault.reason !== 'io') throw fault
    throw new Fault('internal', `The snapshots cannot be read: ${fault.message}`, {
      hint: fault.hint ?? 'Run `handrail doctor`.',
      cause: fault,
    })
  }
}

export { readableText } from '../../host/stage/readable-text.ts'
export { textChange } from '../../host/text-change.ts'

export const defineTool = toolsUsing<FileUse>('files')
