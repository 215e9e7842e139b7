import { toolsUsing } from '../../contracts/tool.ts'
import type { Diffs } from '../../host/diffs.ts'
import type { Files } from '../../host/files.ts'
import type { Preview } from '../../host/preview/preview.ts'

/** The slice of the host the WebGAL tools may use. */
export interface WebgalUse {
  files: Files
  diffs: Diffs
  /** Language of diagnostics. */
  lang: 'ZH' | 'EN'
  /** Commands that a derivative engine adds. */
  extraCommands: readonly string[]
  preview: Pick<Preview, 'show'>
}

export { textChange } from '../../host/text-change.ts'

export const defineTool = toolsUsing<WebgalUse>('webgal')
