import { browserAction } from './browser-action.ts'

/** Looking at what a local server shows (developer mode). */
export const browser = [browserAction]
export type { BrowserUse } from './use.ts'
