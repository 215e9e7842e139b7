/** A login that a person let be saved: what a browser session is known by at its sites, over restarts. */
export interface SavedLogin {
  /** The browser session that runs name. */
  id: string
  /** Where it was signed in. */
  site: string
  savedAt: number
  usedAt: number
}

/** What the person holds of them. */
export interface SavedLogins {
  list(): SavedLogin[]
  /** Its sessions end at their next use, wherever they are. Undefined where there is none. */
  remove(id: string, by: string): SavedLogin | undefined
}
