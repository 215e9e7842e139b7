import type { BrowserContext } from 'playwright-core'

/** A browser context that is confined to its network scope. */
export interface ConfinedContext {
  readonly context: BrowserContext
  readonly refused: readonly string[]
  /** What the browser itself is asked, whatever its pages do. One that does not answer answers nobody: it is ended, and the next is a new one. */
  answered<T>(work: Promise<T>): Promise<T>
  close(): Promise<void>
}

/** Cookies and storage as the driver tells them. */
export type StoredState = Awaited<ReturnType<BrowserContext['storageState']>>

/** How long a browser is waited for, and listened to. */
export interface Patience {
  launchMs: number
  /** One that takes so long to open something is stuck, however busy the machine is. */
  answerMs: number
  /** A page that does not answer may not hold up its closing, nor a browser its end. */
  closeMs: number
  /** The longest thing it may say at once, in bytes: a page decides how long that is, and the driver makes one string of it, or dies with us. */
  mostSaid?: number
}
