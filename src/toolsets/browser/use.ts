import type { TrustLevel } from '../../contracts/run.ts'
import type { SavedLogin } from '../../contracts/saved-login.ts'
import { toolsUsing } from '../../contracts/tool.ts'
import type { AgentTabs } from '../../host/browser/agent-tabs.ts'
import type { BrowserSessions } from '../../host/browser/sessions.ts'
import type { Files } from '../../host/files.ts'
import type { Pages } from '../../host/browser/pages.ts'

/** The slice of the host the browser tools may use: one confined page for each session, and sessions with many. */
export interface BrowserUse {
  pages: Pick<Pages, 'open' | 'current'>
  sessions: Pick<BrowserSessions, 'withPage' | 'keep'>
  tabs: Pick<AgentTabs, 'withTab' | 'list' | 'select' | 'closeTab'>
  files: Files
  screenshotDir: string
  timeoutMs: number
  /** Whether the person lets pages of this call be sent there. */
  mayVisit(host: string, call: { session: string; id: string }): boolean
  /** What was sealed when its run was handed in. */
  unseal(sealed: string): unknown
  /** Logins that were saved on request. */
  logins: {
    save(login: { id: string; site: string; state: unknown }, owner: string): boolean
    admit(id: string, session: string): SavedLogin | undefined
    get(id: string): SavedLogin | undefined
  }
  /** At which level of trust a client is. */
  trustOf(client: string): TrustLevel
}

export type { Find, Wait } from '../../host/browser/locate.ts'
export type { LeasedPage } from '../../host/browser/leased-page.ts'
export { isNear } from '../../host/browser/network-scope.ts'
export type { Arrival } from '../../host/browser/tab.ts'
export type { AgentTab } from '../../host/browser/agent-tabs.ts'
export { chooseFile, chooseIn, clickElement, typeInto, withoutSending } from '../../host/browser/act-on-page.ts'
export type { UploadedFile } from '../../host/browser/upload.ts'
export { readPage } from '../../host/browser/read-page.ts'
export { pageFault } from '../../host/browser/faults.ts'

export const defineTool = toolsUsing<BrowserUse>('browser')
