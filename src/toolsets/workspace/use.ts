import type { CallOptions } from '../../contracts/call.ts'
import { toolsUsing, type ToolContext } from '../../contracts/tool.ts'
import type { Diffs } from '../../host/diffs.ts'
import type { Files } from '../../host/files.ts'
import type { ParseCall, SourceParser } from '../../host/source-parser.ts'
import type { KnownAnchors } from './anchors/known.ts'
import type { Parse } from './anchors/syntax.ts'

/** The slice of the host the workspace tools may use: reading, and the road itself for the parts of their work that are calls of their own. */
export interface WorkspaceUse {
  files: Files
  diffs: Diffs
  sources: SourceParser
  known: KnownAnchors
  /** A call by whoever made this one, under the same settings. */
  call(tool: string, input: unknown, by: ToolContext, options: Pick<CallOptions, 'signal'>): Promise<unknown>
}

/** The parser as one call has it. */
export const parserFor =
  (sources: SourceParser, call: ParseCall): Parse =>
  (file, text) =>
    sources.parse(file, text, call)

export const defineTool = toolsUsing<WorkspaceUse>('workspace')
