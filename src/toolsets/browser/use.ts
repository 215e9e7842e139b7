import { toolsUsing } from '../../contracts/tool.ts'
import type { Files } from '../../host/files.ts'
import type { Pages } from '../../host/browser/pages.ts'

/** The slice of the host the browser tools may use: one confined page for each session. */
export interface BrowserUse {
  pages: Pick<Pages, 'open' | 'current'>
  files: Files
  screenshotDir: string
  timeoutMs: number
}

export { pageFault } from '../../host/browser/faults.ts'

export const defineTool = toolsUsing<BrowserUse>('browser')
